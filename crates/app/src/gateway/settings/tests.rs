use std::sync::Mutex;

use super::*;

/// etcd, with nothing but the settings.
#[derive(Default)]
struct Etcd(Mutex<Option<(String, u64)>>);

impl CommonText for Etcd {
    fn cluster(&self) -> &'static str {
        "home"
    }

    fn read(&self) -> Result<Option<(String, u64)>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn swap(&self, revision: u64, text: &str) -> Result<bool, String> {
        let mut now = self.0.lock().unwrap();
        let is_same = now.as_ref().map_or(0, |(_, revision)| *revision) == revision;
        if is_same {
            *now = Some((text.to_owned(), revision + 1));
        }
        Ok(is_same)
    }
}

/// A server with a settings file and a state folder.
struct Server(tempfile::TempDir);

impl Server {
    fn new(own: &str, common: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("state")).unwrap();
        let server = Self(folder);
        server.write(&format!("[server]\nstate = \"state\"\nbonjour-name = \"{own}\"\n{common}"));
        server
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("fourfold.toml")
    }

    fn write(&self, text: &str) {
        std::fs::write(self.file(), text).unwrap();
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.file()).unwrap()
    }

    fn change(&self, before: &str, after: &str) {
        self.write(&self.text().replace(before, after));
    }

    fn sync(&self, etcd: &Etcd, whose: SettingsOwner) -> Result<SyncOutcome, Failure> {
        let arguments = Arguments::new(false, self.0.path().into());
        sync(&arguments, &self.0.path().join("state"), etcd, whose)
    }
}

const SIGNED: &str = "smb-signing = \"required\"\n";

#[test]
fn a_change_at_one_server_is_taken_by_the_other_which_keeps_what_is_its_own() {
    let (etcd, one, two) = (Etcd::default(), Server::new("one", SIGNED), Server::new("two", SIGNED));
    assert_eq!(one.sync(&etcd, SettingsOwner::Changed).unwrap(), SyncOutcome::Given);
    assert_eq!(two.sync(&etcd, SettingsOwner::Changed).unwrap(), SyncOutcome::Nothing);
    one.change("required", "optional");
    assert_eq!(one.sync(&etcd, SettingsOwner::Changed).unwrap(), SyncOutcome::Given);
    let SyncOutcome::Taken(previous) = two.sync(&etcd, SettingsOwner::Changed).unwrap() else { panic!() };
    assert!(std::fs::read_to_string(previous).unwrap().contains("required"));
    assert!(two.text().contains("optional") && two.text().contains("\"two\""), "{}", two.text());
    for server in [&one, &two] {
        assert_eq!(server.sync(&etcd, SettingsOwner::Changed).unwrap(), SyncOutcome::Nothing);
    }
}

#[test]
fn of_changes_at_both_a_person_chooses() {
    let (etcd, one, two) = (Etcd::default(), Server::new("one", SIGNED), Server::new("two", SIGNED));
    for server in [&one, &two] {
        server.sync(&etcd, SettingsOwner::Changed).unwrap();
    }
    one.change("required", "optional");
    one.sync(&etcd, SettingsOwner::Changed).unwrap();
    two.change("smb-signing", "smb-encryption");
    let before = two.text();
    let refused = two.sync(&etcd, SettingsOwner::Changed).unwrap_err();
    let Failure::Choose(keys) = &refused else { panic!("{refused}") };
    assert_eq!(*keys, ["server.smb-encryption", "server.smb-signing"]);
    assert!(refused.to_string().contains("fourfold cluster settings take"));
    assert_eq!(two.text(), before);
    assert_eq!(two.sync(&etcd, SettingsOwner::Here).unwrap(), SyncOutcome::Given);
    assert!(matches!(one.sync(&etcd, SettingsOwner::Changed), Ok(SyncOutcome::Taken(_))));
    assert!(one.text().contains("smb-encryption = \"required\"") && !one.text().contains("smb-signing"));
}

#[test]
fn a_server_that_joins_with_other_settings_chooses_too() {
    let (etcd, one, two) = (Etcd::default(), Server::new("one", SIGNED), Server::new("two", ""));
    one.sync(&etcd, SettingsOwner::Changed).unwrap();
    assert!(matches!(two.sync(&etcd, SettingsOwner::Changed), Err(Failure::Choose(_))));
    assert!(matches!(two.sync(&etcd, SettingsOwner::Cluster), Ok(SyncOutcome::Taken(_))));
    assert!(two.text().contains("required"));
}

#[test]
fn settings_that_are_refused_here_are_not_taken() {
    let (etcd, one) = (Etcd::default(), Server::new("one", SIGNED));
    one.sync(&etcd, SettingsOwner::Changed).unwrap();
    *etcd.0.lock().unwrap() = Some(("[server]\nsmb-signing = \"never\"\n".to_owned(), 9));
    let before = one.text();
    assert!(matches!(one.sync(&etcd, SettingsOwner::Changed), Err(Failure::Refused(_))));
    assert_eq!(one.text(), before);
}
