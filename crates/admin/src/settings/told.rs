//! The settings of the audit log, the log of slow operations, and alerts.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::diagnostic::Findings;
use super::secret::Secret;
use super::section::Section;

/// The smallest file of the audit log, in bytes.
const SMALLEST_LOG: u64 = 64 * 1024;
/// The shortest interval of the doctor: what a client does in less says nothing.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);

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
    /// The slowest operations are recorded also while the page is not open.
    pub record_slowest: bool,
    /// How often the doctor looks at the clients; `None`: never.
    pub doctor_interval: Option<Duration>,
    /// Percent of a disk that should be free; 0: no alert.
    pub space: u64,
    /// The greatest age of a backup of a Mac; `None`: no alert.
    pub backup: Option<Duration>,
    /// The URL to which alerts are sent.
    pub webhook: Option<Secret>,
    /// The mails about alerts.
    pub mail: Option<MailSettings>,
}

/// Mails about alerts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailSettings {
    /// The server that takes mails.
    pub server: Secret,
    /// The sender.
    pub from: String,
    /// The receivers.
    pub to: Vec<String>,
}

/// The operations on a share that the audit log has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AuditScope {
    /// None.
    Nothing,
    /// Those that change something.
    Changes,
    /// All of them.
    All,
}

impl AuditScope {
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
    let mail = |server_url| MailSettings {
        server: server_url,
        from: server.text("alert-mail-from").unwrap_or_default(),
        to: server.texts("alert-mail-to"),
    };
    ToldSettings {
        audit_log: server.path("audit-log", folder, file).unwrap_or_else(|| state.join("audit.log")),
        audit_log_size: server.number("audit-log-size").unwrap_or_default().max(SMALLEST_LOG),
        audit_log_files: server.number("audit-log-files").and_then(|n| usize::try_from(n).ok()).unwrap_or(1),
        slow_operation: duration("slow-operation"),
        record_slowest: server.bool("record-slowest"),
        doctor_interval: duration("doctor-interval").map(|interval| interval.max(SHORTEST_INTERVAL)),
        space: server.number("alert-space").unwrap_or_default(),
        backup: duration("alert-backup"),
        webhook: server.secret("alert-webhook"),
        mail: server.secret("alert-mail").map(mail),
    }
}

/// Mails have a sender and receivers.
pub(super) fn check(server: &Section, settings: &ToldSettings, findings: &mut Findings) {
    let Some(mail) = &settings.mail else { return };
    let is_address = |text: &str| {
        let parts = text.trim_end_matches('>').rsplit_once('@');
        parts.is_some_and(|(name, host)| !name.is_empty() && !host.is_empty())
    };
    if !is_address(&mail.from) {
        let what = format!("`alert-mail` needs a sender, and `alert-mail-from` is {:?}", mail.from);
        let instead = "write `alert-mail-from = \"storage@example.com\"`, with an address of yours";
        findings.error(server.place_of("alert-mail-from"), what, instead);
    }
    if mail.to.is_empty() {
        let what = "`alert-mail` needs receivers, and `alert-mail-to` is empty";
        let instead = "write `alert-mail-to = [\"ada@example.com\"]`, with an address of yours";
        findings.error(server.place_of("alert-mail"), what, instead);
    }
    for (address, place) in server.texts_with_places("alert-mail-to") {
        if !is_address(&address) {
            let what = format!("`alert-mail-to` must be addresses of mail, not {address:?}");
            findings.error(&place, what, "write `\"ada@example.com\"`");
        }
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
    fn nothing_is_audited_or_sent_by_default() {
        let settings = load("state = \"/state\"", "").unwrap();
        let told = settings.server.told;
        assert_eq!(told.audit_log, Path::new("/state/audit.log"));
        assert_eq!((told.audit_log_size, told.audit_log_files), (64 << 20, 10));
        assert_eq!((told.slow_operation, told.webhook, told.mail), (None, None, None));
        assert_eq!((told.space, told.backup), (5, Some(Duration::from_secs(7 * 86_400))));
        assert_eq!(settings.shares[0].audit, AuditScope::Nothing);
    }

    #[test]
    fn the_doctor_looks_every_second_at_most() {
        let interval = |text: &str| load(text, "").unwrap().server.told.doctor_interval;
        assert_eq!(interval(""), Some(Duration::from_secs(5)));
        assert_eq!(interval("doctor-interval = \"2 min\""), Some(Duration::from_secs(120)));
        assert_eq!(interval("doctor-interval = \"10 ms\""), Some(Duration::from_secs(1)));
        assert_eq!(interval("doctor-interval = \"off\""), None);
    }

    #[test]
    fn a_share_inherits_what_is_audited() {
        let below =
            "audit = \"changes\"\n[[share]]\nname = \"A/b\"\n[[share]]\nname = \"A/c\"\naudit = \"all\"\n";
        let settings = load("slow-operation = \"250 ms\"\nalert-backup = \"off\"", below);
        // The folders of the inner shares are not there: they are not served, and keep their settings.
        let settings = settings.unwrap();
        let audits = settings.shares.iter().chain(&settings.absent).map(|share| share.audit);
        assert_eq!(audits.collect::<Vec<_>>(), [AuditScope::Changes, AuditScope::Changes, AuditScope::All]);
        assert_eq!(settings.server.told.slow_operation, Some(Duration::from_millis(250)));
        assert_eq!(settings.server.told.backup, None);
    }

    #[test]
    fn what_is_wrong_is_said_with_what_to_write() {
        let refused = |server: &str| load(server, "").unwrap_err();
        let slow = refused("slow-operation = 2");
        assert!(slow.contains("`slow-operation = \"2 s\"`"), "{slow}");
        let hook = refused("alert-webhook = \"ftp://a\"");
        assert!(hook.contains("a URL that begins with https:// or http://"), "{hook}");
        let hook = refused("alert-webhook = \"alerts.example.com/x\"");
        assert!(hook.contains("`alert-webhook = \"https://alerts.example.com/fourfold\"`"), "{hook}");
        assert!(!hook.contains("/x"), "the path may be a secret: {hook}");
        let mail =
            refused("alert-mail = \"smtp://mail\"\nalert-mail-from = \"me\"\nalert-mail-to = [\"you\"]");
        assert!(mail.contains("needs a sender") && mail.contains("addresses of mail, not \"you\""), "{mail}");
        let no_receiver = refused("alert-mail = \"smtp://mail\"\nalert-mail-from = \"a@b\"");
        assert!(no_receiver.contains("needs receivers"), "{no_receiver}");
    }
}
