use std::path::PathBuf;

use admin::Arguments;
use admin::luns::resolve;
use cluster::UnitPlaces;
use cluster::membership::Member;
use iscsi::server::{Paths, Way};
use vfs::backend::RenameMode;
use vfs::index::Index;
use vfs::state::Party;
use vfs::{Actor, Caller, OpenOptions};

use super::*;

/// A state folder and the share "A".
struct Scene {
    folder: tempfile::TempDir,
    volumes: Arc<Volumes>,
    units: Units,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        ["a", "state"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
        std::fs::write(folder.path().join("a/x.img"), vec![7; 1 << 20]).unwrap();
        let volumes = Volumes::new(Index::open(&state).unwrap(), &state);
        let units = Units::new(LunTable::alone(&state), None);
        Self { folder, volumes, units }
    }

    fn state(&self) -> PathBuf {
        self.folder.path().join("state")
    }

    fn settings(&self, below: &str) -> Settings {
        let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{below}\n");
        std::fs::write(self.folder.path().join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, self.folder.path().into())).unwrap()
    }

    async fn apply(&self, below: &str) -> Vec<String> {
        let settings = self.settings(below);
        let resolved = resolve(&LunTable::alone(&self.state()), &settings, &[1; 16]).unwrap();
        self.units.apply(resolved, &settings, &self.volumes).await
    }

    fn volume(&self) -> Arc<Volume> {
        let settings = self.settings("");
        self.volumes.open(&settings.shares[0], &settings).unwrap()
    }

    fn only(&self) -> iscsi::server::TargetLun {
        let [target] = &self.units.targets()[..] else { panic!("not one target") };
        let [lun] = &target.luns()[..] else { panic!("not one LUN") };
        lun.clone()
    }
}

const ONE: &str = "[[share.lun]]\nname = \"one\"\nsize = \"1 MiB\"\n";

#[tokio::test]
async fn what_does_not_change_stays_the_same_unit_over_a_reload() {
    let scene = Scene::new();
    assert_eq!(scene.apply(ONE).await, Vec::<String>::new());
    let (target, lun) = (scene.units.targets()[0].clone(), scene.only());
    assert_eq!(lun.unit.size(), 1 << 20);
    scene.apply(&format!("guests = true\n{ONE}read-only = true\ninitiators = [\"iqn.a\"]\n")).await;
    let after = scene.only();
    assert!(Arc::ptr_eq(&lun.unit, &after.unit) && Arc::ptr_eq(&target, &scene.units.targets()[0]));
    assert_eq!((after.initiators, after.readers), (vec!["iqn.a".to_owned()], vec!["*".to_owned()]));
    assert!(target.policy().guests);
    scene.apply(&ONE.replace("1 MiB", "3 MiB")).await;
    assert!(Arc::ptr_eq(&lun.unit, &scene.only().unit));
    assert_eq!(lun.unit.size(), 3 << 20);
    let file = scene.folder.path().join("a/.fourfold-luns/one.img");
    assert_eq!(std::fs::metadata(file).unwrap().len(), 3 << 20);
    scene.apply("").await;
    assert!(scene.units.targets().is_empty() && target.luns().is_empty());
}

#[tokio::test]
async fn settings_of_a_share_leave_the_unit_of_its_lun_alone() {
    let scene = Scene::new();
    assert_eq!(scene.apply(ONE).await, Vec::<String>::new());
    let unit = scene.only().unit;
    for setting in [
        "safe-save = false",
        "snapshot-folder = \"hidden\"",
        "read-only = true",
        "mac-sidecars = true",
        "deny-modes = \"data-only\"",
    ] {
        for below in [format!("{setting}\n{ONE}"), ONE.to_owned()] {
            assert_eq!(scene.apply(&below).await, Vec::<String>::new(), "{setting}");
            assert!(Arc::ptr_eq(&unit, &scene.only().unit), "{setting}");
        }
    }
}

#[tokio::test]
async fn a_lun_of_a_read_only_share_can_be_written_when_the_share_can() {
    let scene = Scene::new();
    let below = |more| format!("{more}[[share.lun]]\nname = \"x\"\nfile = \"x.img\"\n");
    assert_eq!(scene.apply(&below("read-only = true\n")).await, Vec::<String>::new());
    let before = scene.only().unit;
    assert_eq!(scene.apply(&below("")).await, Vec::<String>::new());
    assert!(!Arc::ptr_eq(&before, &scene.only().unit), "its file was open for reading only");
    assert_eq!(scene.units.problem("A/x"), None);
}

#[tokio::test]
async fn clients_can_read_but_not_spoil_an_image_that_is_served() {
    let scene = Scene::new();
    let before = std::fs::read(scene.folder.path().join("a/x.img")).unwrap();
    scene.apply("[[share.lun]]\nname = \"x\"\nfile = \"x.img\"\n").await;
    assert_eq!(scene.only().unit.size(), 1 << 20);
    let (volume, ada) = (scene.volume(), Actor::new(Caller::root(), Party::client(ClientId::unused())));
    let root = volume.root().unwrap();
    let found = volume.lookup(&ada.caller, &root.object, b"x.img").unwrap();
    let open = |access| volume.open(&ada, &found, OpenOptions::data(access));
    assert_eq!(open(READ_WRITE).await.err(), Some(Error::ShareConflict));
    assert!(open(Modes::READ).await.is_ok());
    assert!(volume.remove(&ada, &root, b"x.img", vfs::Kind::File).is_err());
    assert!(volume.rename(&ada, (&root, b"x.img"), (&root, b"y"), RenameMode::Keep).is_err());
    assert_eq!(std::fs::read(scene.folder.path().join("a/x.img")).unwrap(), before);
}

#[tokio::test]
async fn one_that_cannot_be_served_does_not_stop_the_others() {
    let scene = Scene::new();
    scene.apply(ONE).await;
    std::fs::remove_file(scene.folder.path().join("a/x.img")).unwrap();
    let volume = scene.volume();
    iscsi::disks::remove(&volume, b"one.img").unwrap();
    let two = "[[share.lun]]\nname = \"two\"\nsize = \"1 MiB\"\n";
    let fresh = Scene { units: Units::new(LunTable::alone(&scene.state()), None), ..scene };
    let settings = fresh.settings(&format!("{ONE}{two}"));
    let resolved = resolve(&LunTable::alone(&fresh.state()), &settings, &[1; 16]).unwrap();
    let lines = fresh.units.apply(resolved, &settings, &fresh.volumes).await;
    assert_eq!(
        lines,
        [
            "the LUN A/one is not served: its file .fourfold-luns/one.img is not there; is its file system mounted?"
        ]
    );
    assert_eq!(fresh.only().unit.identity().name, "A/two");
    assert!(fresh.units.problem("A/one").is_some());
}

/// Places of two servers, 7 and 9, of which this one is 7; the virtual address is at one of them.
fn places(at: Option<u16>) -> UnitPlaces {
    let member =
        |number: u16| Member { number, name: format!("gate{number}"), port: number, ..Member::default() };
    let addresses = at.map(|server| (VIRTUAL, server)).into_iter().collect();
    UnitPlaces { me: 7, members: vec![member(7), member(9)], addresses, ..UnitPlaces::default() }
}

const VIRTUAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 50));

#[tokio::test]
async fn in_a_cluster_the_server_with_the_address_serves_a_lun() {
    let (told, hears) = tokio::sync::watch::channel(places(Some(9)));
    let roles = Arc::new(Roles::of(hears, vec![VIRTUAL], 3260));
    let scene = Scene::new();
    let units = Units::new(LunTable::alone(&scene.state()), Some(roles.clone()));
    let scene = Scene { units, ..scene };
    let lines = scene.apply(ONE).await;
    assert!(lines[0].contains("has not made its file"), "{lines:?}");
    told.send_replace(places(Some(7)));
    assert_eq!(scene.apply(ONE).await, Vec::<String>::new());
    let (first, target) = (scene.only().unit, scene.units.targets()[0].name.clone());
    assert!(!first.is_standby() && roles.way(&target, VIRTUAL) == Way::Here);
    assert_eq!(scene.units.active_at(first.identity().naa), None);
    let kept = scene.folder.path().join(format!("a/.fourfold-luns/{:016x}.1.kept", first.identity().naa));
    assert!(kept.exists());
    // Its address is at no server: it goes on, as it may still be reached at others.
    told.send_replace(places(None));
    scene.apply(ONE).await;
    assert!(Arc::ptr_eq(&first, &scene.only().unit));
    told.send_replace(places(Some(9)));
    scene.apply(ONE).await;
    let standby = scene.only().unit;
    assert!(standby.is_standby() && standby.identity() == first.identity() && standby.size() == first.size());
    assert_eq!(scene.units.active_at(first.identity().naa), Some("gate9".to_owned()));
    // What the other server has made longer.
    let longer = ONE.replace("1 MiB", "2 MiB");
    let image = scene.folder.path().join("a/.fourfold-luns/one.img");
    std::fs::File::options().write(true).open(image).unwrap().set_len(2 << 20).unwrap();
    scene.apply(&longer).await;
    assert!(Arc::ptr_eq(&standby, &scene.only().unit) && standby.size() == 2 << 20);
    // It comes back while commands of the former unit have not ended: they have the file.
    told.send_replace(places(Some(7)));
    scene.apply(&longer).await;
    assert!(Arc::ptr_eq(&standby, &scene.only().unit) && scene.units.is_pending());
    assert_eq!(roles.way(&target, VIRTUAL), Way::Soon);
    let why = scene.units.problem("A/one").unwrap();
    assert!(why.contains("cannot yet: a client has its file open"), "{why}");
    drop(first);
    scene.apply(&longer).await;
    let second = scene.only().unit;
    assert!(!second.is_standby() && second.size() == 2 << 20 && !scene.units.is_pending());
    assert_eq!(scene.units.problem("A/one"), None);
    assert!(!kept.exists(), "the next number counts");
}
