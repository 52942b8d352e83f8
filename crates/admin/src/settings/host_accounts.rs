//! Logins of users of the host, by PAM.

use std::path::Path;

use super::diagnostic::Findings;
use super::section::Section;

/// Where the uids of people begin on Linux: `UID_MIN` of login.defs(5).
const LOWEST: u32 = 1000;
/// The folders of PAM's services.
const FOLDERS: [&str; 2] = ["/etc/pam.d", "/usr/lib/pam.d"];

/// The service of PAM that verifies passwords; `None`: users of the host do not log in.
pub(super) fn read(server: &Section) -> Option<String> {
    let is_on = server.text("host-accounts").as_deref() == Some("pam");
    server.text("pam-service").filter(|_| is_on)
}

/// The lowest uid of users of the host that may log in.
pub(super) fn min_uid(server: &Section) -> u32 {
    let number = server.number("host-min-uid").and_then(|number| u32::try_from(number).ok());
    number.map_or(LOWEST, |number| number.max(1)) // never root
}

/// The service is a name or an absolute path, and its file is there.
pub(super) fn check(server: &Section, service: Option<&str>, privileged: bool, findings: &mut Findings) {
    let place = server.place_of("pam-service");
    let Some(service) = service else {
        for key in ["pam-service", "host-min-uid"].into_iter().filter(|key| server.is_set(key)) {
            let what = format!("`{key}` has no effect without `host-accounts = \"pam\"`");
            let instead = "write `host-accounts`, too, or remove the line";
            findings.note(server.place_of(key), what, instead);
        }
        return;
    };
    let name = service.rsplit('/').next().unwrap_or_default();
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_name = !name.is_empty() && name.chars().all(fits) && !name.starts_with('.');
    let is_path = service.starts_with('/') && !service.contains('\0');
    if !is_name || !(is_path || name == service) {
        let what = format!("`pam-service`: {service:?} is neither a name nor an absolute path");
        findings.error(
            place,
            what,
            "write the name of a file in /etc/pam.d, or the path of a file elsewhere",
        );
        return;
    }
    let is_there = |folder: &&str| Path::new(folder).join(service).exists(); // a path counts from the root
    if !FOLDERS.iter().any(is_there) {
        let what = format!("PAM has no file for the service {service:?}, so users of the host cannot log in");
        let instead = "write /etc/pam.d/fourfold with `@include common-auth` and `@include common-account`; docs/security.md has more";
        findings.note(place, what, instead);
    }
    if !privileged {
        let what =
            "the server does not run as root, and PAM mostly verifies other users' passwords for root only";
        findings.note(server.place_of("host-accounts"), what, "start it as root");
    }
}

#[cfg(test)]
mod tests {
    use crate::settings::{Arguments, Settings};

    fn load(server: &str) -> Result<Settings, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("a")).unwrap();
        let text = format!("[server]\n{server}\n[[share]]\nname = \"A\"\npath = \"a\"\n");
        std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
        let all = Settings::load(&Arguments::new(true, folder.path().into()));
        all.map_err(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn users_of_the_host_log_in_only_if_the_settings_say_so() {
        assert_eq!(load("").unwrap().server.pam_service, None);
        assert_eq!(load("host-accounts = \"pam\"").unwrap().server.pam_service.as_deref(), Some("fourfold"));
        let noted = |server: &str, text: &str| {
            load(server).unwrap().notes.iter().any(|note| note.what.contains(text))
        };
        assert!(
            noted("pam-service = \"sshd\"", "has no effect") && noted("host-min-uid = 500", "has no effect")
        );
        assert_eq!(load("host-accounts = \"pam\"").unwrap().server.host_min_uid, 1000);
        assert_eq!(load("host-accounts = \"pam\"\nhost-min-uid = 500").unwrap().server.host_min_uid, 500);
        assert!(load("host-accounts = \"pam\"\nhost-min-uid = 0").is_err(), "root never logs in");
        assert!(noted("host-accounts = \"pam\"\npam-service = \"no-such-service\"", "PAM has no file"));
        for wrong in ["", "../sshd", "a b", "/etc/", "etc/pam.d/x"] {
            let said = load(&format!("host-accounts = \"pam\"\npam-service = \"{wrong}\"")).unwrap_err();
            assert!(said.contains("neither a name nor an absolute path"), "{wrong}: {said}");
        }
    }
}
