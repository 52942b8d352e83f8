//! Landlock: what the server can still do when an attacker has taken it over. It executes programs of the system only, never a
//! file that a client has written.
//!
//! Landlock could keep the process inside its shares, too, and it does not: the kernel judges a file by the path of its
//! dentry, and a file that is opened by its handle, after the kernel has dropped its name from the cache, has none.
//! Measured on Linux 6.18 with ext4: `open_by_handle_at` of such a file fails with EACCES, although the whole file system is
//! permitted below its mount. NFS clients, and all ids of files, need these handles. Rules about opening, reading and writing are
//! therefore left out; execution and renames between folders are judged by names that the process has just looked up.

use std::path::{Path, PathBuf};

use admin::ServerSettings;
use landlock::{
    AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError,
};

/// The folders of programs: of the system, and of those whose files only root writes.
const OF_PROGRAMS: [&str; 9] = ["/bin", "/etc", "/gnu", "/lib", "/lib64", "/nix", "/opt", "/sbin", "/usr"];

/// Whether files of the shares cannot be executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Confinement {
    /// They cannot.
    Confined,
    /// The settings have turned it off.
    Off,
    /// The kernel cannot do it; the reason.
    Unsupported(String),
}

/// Confines this thread, and all threads and programs that it starts. It cannot be taken back.
pub(crate) fn confine(settings: &ServerSettings) -> Confinement {
    if !settings.confinement {
        return Confinement::Off;
    }
    let command = settings.cluster.as_ref().and_then(|cluster| cluster.address_command.clone());
    let more = std::env::current_exe().into_iter().chain(command).collect::<Vec<PathBuf>>();
    match restrict(&more) {
        Ok(()) => Confinement::Confined,
        Err(error) => Confinement::Unsupported(error.to_string()),
    }
}

/// Whether the kernel can do it.
pub(crate) fn is_supported() -> bool {
    ruleset().is_ok()
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    // A kernel that has Landlock without `Refer` (before 5.19) would refuse all renames between folders.
    let handled: BitFlags<AccessFs> = AccessFs::Execute | AccessFs::Refer;
    Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(handled)?.create()
}

fn restrict(more: &[PathBuf]) -> Result<(), RulesetError> {
    let mut rules = ruleset()?;
    if let Ok(root) = PathFd::new("/") {
        rules = rules.add_rule(PathBeneath::new(root, AccessFs::Refer))?;
    }
    // Folders that this host does not have need no rule.
    let folders = OF_PROGRAMS.iter().map(Path::new).chain(more.iter().map(PathBuf::as_path));
    for folder in folders.filter_map(|folder| PathFd::new(folder).ok()) {
        rules = rules.add_rule(PathBeneath::new(folder, AccessFs::Execute))?;
    }
    rules.restrict_self().map(drop)
}

impl Confinement {
    /// A line for the log.
    pub(crate) fn tell(&self) {
        match self {
            Self::Confined => tracing::debug!("files of shares cannot be executed (Landlock)"),
            Self::Off => tracing::info!("`confinement` is off: Landlock does not restrict the server"),
            Self::Unsupported(why) => tracing::info!(
                "Landlock does not restrict the server, as this kernel cannot do it (Linux 5.19 and later can): {why}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    use super::*;

    #[test]
    fn files_of_a_share_are_not_executed_and_still_move_between_folders() {
        if !is_supported() {
            return; // `doctor` says so
        }
        let folder = tempfile::tempdir().unwrap();
        let (program, inner) = (folder.path().join("program"), folder.path().join("inner"));
        std::fs::create_dir(&inner).unwrap();
        std::fs::write(&program, "#!/bin/sh\nexit 0\n").unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Landlock restricts the thread that asks for it, and what it starts.
        let confined = std::thread::spawn(move || {
            restrict(&[]).unwrap();
            let refused = Command::new(&program).status().unwrap_err().kind();
            let of_system = Command::new("/bin/true").status().unwrap().success();
            std::fs::rename(&program, inner.join("moved")).unwrap();
            std::fs::hard_link(inner.join("moved"), &program).unwrap();
            (refused, of_system, std::fs::read(&program).unwrap().len())
        });
        assert_eq!(confined.join().unwrap(), (ErrorKind::PermissionDenied, true, 17));
    }
}
