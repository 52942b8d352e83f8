//! Who opens an image, what the hidden share gives, and when it ends.

use admin::settings::Port;
use auth::{AccountFile, Ids};
use images::memory::MemoryFiles;
use images::tree::FileSystem as _;
use vfs::Caller;
use vfs::index::Index;

use super::*;
use crate::people::accounts;

/// A share for backups that only ada enters, with a bundle.
struct Scene {
    _top: tempfile::TempDir,
    volumes: Arc<Volumes>,
    current: Current,
}

impl Scene {
    fn new(more: &str) -> Self {
        let top = tempfile::tempdir().unwrap();
        let path = top.path().canonicalize().unwrap();
        std::fs::create_dir_all(path.join("backups/Ada's Mac.sparsebundle")).unwrap();
        std::fs::create_dir(path.join("s")).unwrap();
        let text = format!(
            "[server]\nstate = \"s\"\n[[share]]\nname = \"Backups\"\npath = \"backups\"\ntime-machine = true\nusers = [\"ada\"]\n{more}"
        );
        std::fs::write(path.join("fourfold.toml"), text).unwrap();
        let settings = Settings::load(&admin::Arguments::new(false, path.clone())).unwrap();
        assert_ne!(settings.server.ports.of(Protocol::Smb), Port::Off);
        let state = path.join("s");
        for name in ["ada", "grace"] {
            AccountFile::edit(&state, |file| file.add(name, Ids::default(), "secret")).unwrap();
        }
        let accounts = accounts::read(&state, &settings).unwrap();
        let volumes = Volumes::new(Index::open(&state).unwrap(), &state);
        let current = Current { settings, accounts, kerberos: None, logons: None };
        Self { _top: top, volumes, current }
    }

    fn find(&self, account: &str) -> anyhow::Result<(ImagePlace, Person)> {
        let find = |place: &ImagePlace| place.find(&self.volumes, &self.current, account);
        let (place, (person, _)) = ImagePlace::named("Ada's Mac", &self.current.settings, find)?;
        Ok((place, person))
    }

    fn serve(&self, is_encrypted: bool, until: Instant) -> anyhow::Result<Arc<BrowsedShare>> {
        let mut files = MemoryFiles::new("Disk");
        files.file(files.root(), "diary", b"Dear diary");
        let opened = OpenedImage::of(Arc::new(files), is_encrypted);
        serve(&self.volumes, &self.current, self.find("ada").unwrap(), (&opened, 7), until)
    }
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(3600)
}

#[test]
fn an_account_that_may_not_enter_the_share_opens_no_image_in_it() {
    let scene = Scene::new("");
    assert!(scene.find("ada").is_ok());
    let why = scene.find("grace").err().unwrap().to_string();
    assert!(why.contains("may not enter"), "{why}");
    assert!(scene.find("nobody").err().unwrap().to_string().contains("no account"));
}

#[test]
fn the_hidden_share_is_for_one_account_and_read_only() {
    let scene = Scene::new("guests = true\n[[share.client]]\nmatch = \"*\"\nsquash = \"none\"\n");
    let served = scene.serve(false, later()).unwrap();
    let share = &served.share;
    assert_eq!((share.name.as_str(), share.read_only, share.guests), ("Ada-s Mac$", true, false));
    assert_eq!(share.users, ["ada"]);
    assert!(share.clients.iter().all(|rule| rule.squash == Squash::Root), "root of a client is nobody");
    assert!(!share.protocols.contains(&Protocol::Iscsi));
    assert!(scene.volumes.browsed().of_account(&share.name, "ada").is_some());
    assert!(scene.volumes.browsed().of_account(&share.name, "grace").is_none());
    assert!(scene.volumes.browsed().all_of("grace").is_empty());
    let root = served.volume.root().unwrap();
    let stranger = Caller::new(65_000, 65_000, &[]);
    assert_eq!(served.volume.list(&stranger, &root, 0).err(), Some(vfs::Error::AccessDenied));
    let again = scene.serve(true, later()).unwrap();
    assert_eq!((again.share.name.as_str(), again.needs_proof), ("Ada-s Mac 2$", true));
}

#[test]
fn it_ends_after_its_time_and_when_the_person_may_not_read_it_any_more() {
    let mut scene = Scene::new("");
    let (now, browsed) = (Instant::now(), scene.volumes.clone());
    let first = scene.serve(false, now + Duration::from_secs(60)).unwrap().share.name.clone();
    let second = scene.serve(false, now + Duration::from_secs(120)).unwrap().share.name.clone();
    let browsed = browsed.browsed();
    assert!(!browsed.end_old(&scene.volumes, &scene.current, now));
    assert!(browsed.end_old(&scene.volumes, &scene.current, now + Duration::from_secs(60)));
    let names: Vec<String> = browsed.all().iter().map(|one| one.share.name.clone()).collect();
    assert_eq!(names, [&*second]);
    scene.current.settings.shares[0].users = vec!["grace".into()];
    assert!(browsed.end_old(&scene.volumes, &scene.current, now));
    assert!(browsed.all().is_empty() && !browsed.end(&first) && !browsed.end(&second));
}

#[test]
fn a_folder_that_is_no_image_is_refused_and_says_so() {
    let scene = Scene::new("");
    let new =
        NewBrowse { place: "Ada's Mac".into(), account: Some("ada".into()), minutes: 5, passphrase: None };
    let refused = begin(&scene.volumes, &scene.current, &new).err().unwrap();
    assert!(format!("{refused:#}").contains("image"), "{refused:#}");
    let endless = NewBrowse { minutes: LONGEST_MINUTES + 1, ..new };
    assert!(begin(&scene.volumes, &scene.current, &endless).is_err());
}
