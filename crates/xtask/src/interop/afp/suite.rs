//! Netatalk's test programs (`afp_spectest`, `afp_logintest`). Debian 13 has them as a package. On
//! the release before, they are in the folder of [`packages`], and run with their own loader.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail, ensure};

use crate::netatalk::packages::{self, TESTS, plain_version, unpacked};
use crate::process;

const BRIEFLY: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub struct SpectestSuite {
    /// The folder of the programs.
    folder: PathBuf,
    /// The loader of another release and the folder of its libraries, if the system cannot start
    /// the programs.
    loader: Option<(PathBuf, PathBuf)>,
    /// Netatalk's version. The tests depend on it.
    pub version: String,
}

impl SpectestSuite {
    /// The programs in a folder given, installed, or unpacked by [`packages::install`].
    pub fn find(given: Option<&Path>) -> Option<Self> {
        if let Some(folder) = given {
            return Some(Self { folder: folder.into(), loader: None, version: version_beside(folder)? });
        }
        if let Some(program) = process::find("afp_spectest") {
            let folder = program.parent()?.to_path_buf();
            let packaged = installed_version().filter(|_| folder == Path::new("/usr/bin"));
            let version = packaged.or_else(|| version_beside(&folder))?;
            return Some(Self { folder, loader: None, version });
        }
        let version = packages::version()?;
        let libraries = libraries(&unpacked())?;
        let loader = files_in(&libraries).into_iter().find(|path| is_loader(path))?;
        Some(Self { folder: unpacked().join("usr/bin"), loader: Some((loader, libraries)), version })
    }

    /// The command that starts one of the programs.
    pub fn command(&self, program: &str) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let program = text(&self.folder.join(program));
        match &self.loader {
            Some((loader, libraries)) => {
                vec![text(loader), "--library-path".into(), text(libraries), program]
            }
            None => vec![program],
        }
    }

    /// The names of spectest's sets.
    pub fn sets(&self) -> Result<Vec<String>> {
        let command = [self.command("afp_spectest"), vec!["-l".into()]].concat();
        let args: Vec<&str> = command.iter().skip(1).map(String::as_str).collect();
        let output = process::output(&command[0], &args, BRIEFLY)?; // its exit status is 2
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let names: Vec<String> = text.lines().filter(|line| !line.contains(' ')).map(str::to_owned).collect();
        ensure!(!names.is_empty(), "afp_spectest -l lists nothing: {text}");
        Ok(names)
    }
}

/// Makes the programs available where that can be done.
pub fn install() -> Result<()> {
    if SpectestSuite::find(None).is_some() {
        return Ok(());
    }
    if !process::is_root() || process::find("apt-get").is_none() {
        bail!("as root, and with apt-get, they are installed");
    }
    let _ = process::run("apt-get", &["update", "-q"]); // the install shows whether it worked
    if has_package() {
        let env = [("DEBIAN_FRONTEND", "noninteractive")];
        return process::run_with(
            "apt-get",
            &["install", "-y", "-q", "--no-install-recommends", TESTS],
            &env,
        );
    }
    packages::install()
}

fn has_package() -> bool {
    let shown = process::stdout_of("apt-cache", &["show", TESTS], BRIEFLY);
    shown.is_ok_and(|text| text.contains("Package: "))
}

fn installed_version() -> Option<String> {
    let text = process::stdout_of("dpkg-query", &["-W", "-f", "${Version}", TESTS], BRIEFLY).ok()?;
    Some(plain_version(&text))
}

/// The version that Netatalk reports in the folder of these programs.
fn version_beside(folder: &Path) -> Option<String> {
    // Its exit status is 1.
    let output = process::output(folder.join("nad"), &["--version"], BRIEFLY).ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(plain_version(text.split("Netatalk ").nth(1)?))
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// The folder of the libraries: one below `usr/lib` whose name depends on the processor.
fn libraries(root: &Path) -> Option<PathBuf> {
    files_in(&root.join("usr/lib"))
        .into_iter()
        .find(|folder| files_in(folder).iter().any(|path| is_loader(path)))
}

fn is_loader(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("ld-linux"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_what_its_makers_gave_it() {
        assert_eq!(plain_version("4.2.3~ds-1+deb13u2_amd64.deb"), "4.2.3");
        assert_eq!(plain_version("4.5.1)\n"), "4.5.1");
    }
}
