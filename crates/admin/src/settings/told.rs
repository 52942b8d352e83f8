//! The settings of the audit log and the log of slow operations.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::section::Section;

/// The smallest file of the audit log, in bytes.
const SMALLEST_LOG: u64 = 64 * 1024;

/// What a person is told of by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToldSettings {
    /// The file of the audit log.
    pub audit_log: PathBuf,
    /// The size in bytes from which the file is replaced by a new one.
    pub audit_log_size: u64,
    /// The older files that are kept.
    pub audit_log_files: usize,
    /// Operations that take longer are logged; `None`: none.
    pub slow_operation: Option<Duration>,
}

/// The operations on a share that the audit log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Audited {
    /// None.
    Nothing,
    /// Those that change something.
    Changes,
    /// All of them.
    All,
}

impl Audited {
    pub(super) fn named(word: Option<&str>) -> Self {
        match word {
            Some("changes") => Self::Changes,
            Some("all") => Self::All,
            _ => Self::Nothing,
        }
    }
}

/// The settings of a section; relative paths count from `folder`, or from the settings file's folder.
pub(super) fn read(server: &Section, folder: &Path, file: Option<&Path>, state: &Path) -> ToldSettings {
    let duration =
        |key: &str| server.number(key).filter(|milliseconds| *milliseconds > 0).map(Duration::from_millis);
    ToldSettings {
        audit_log: server.path("audit-log", folder, file).unwrap_or_else(|| state.join("audit.log")),
        audit_log_size: server.number("audit-log-size").unwrap_or_default().max(SMALLEST_LOG),
        audit_log_files: server.number("audit-log-files").and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        slow_operation: duration("slow-operation"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Arguments, Settings};

    fn load(server: &str, share: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n{share}");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let loaded = Settings::load(&Arguments::new(false, folder.path().into()));
        loaded.map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn nothing_is_audited_by_default() {
        let settings = load("state = \"/state\"", "").unwrap();
        let told = settings.server.told;
        assert_eq!(told.audit_log, Path::new("/state/audit.log"));
        assert_eq!((told.audit_log_size, told.audit_log_files), (64 << 20, 10));
        assert_eq!(told.slow_operation, None);
        assert_eq!(settings.shares[0].audit, Audited::Nothing);
    }

    #[test]
    fn a_share_inherits_what_is_audited() {
        let below =
            "audit = \"changes\"\n[[share]]\nname = \"A/b\"\n[[share]]\nname = \"A/c\"\naudit = \"all\"\n";
        let settings = load("slow-operation = \"250 ms\"", below);
        // The folders of the inner shares are not there: they are not served, and keep their settings.
        let settings = settings.unwrap();
        let audits = settings.shares.iter().chain(&settings.absent).map(|share| share.audit);
        assert_eq!(audits.collect::<Vec<_>>(), [Audited::Changes, Audited::Changes, Audited::All]);
        assert_eq!(settings.server.told.slow_operation, Some(Duration::from_millis(250)));
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        let refused = |server: &str| load(server, "").unwrap_err();
        let slow = refused("slow-operation = 2");
        assert!(slow.contains("`slow-operation = \"2 s\"`"), "{slow}");
    }
}
