//! Permission comes first: an actor that may not do what it asks for takes no lease of others, and cannot tell from the answer
//! whether others have leases, locked ranges or deny modes.

use std::time::Duration;

use bytes::Bytes;

use vfs::acl::{AclChange, Entries};
use vfs::backend::{Found, NewKind, RenameMode, Stability};
use vfs::mac::Metadata;
use vfs::state::{Caching, ClientId, LockKind, Modes, Party, Range, Stream};
use vfs::{Actor, Beside, Caller, Error, Kind, OpenOptions, Result, SetAttributes, SetTime, Time};

use crate::scene::{Scene, client, scenes};

/// A user who owns nothing.
const ANNA: u32 = 5001;

fn anna() -> Actor {
    Actor { caller: Caller::new(ANNA, ANNA, &[]), ..client(7) }
}

/// What others may have of the file, and of the one that is replaced.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Held {
    Nothing,
    Leases,
    Locks,
    Denials,
}

/// The files `kept` (mode 0600) and `other` (0666) of the superuser in a folder where everybody may change entries, in one with the sticky
/// bit, and in the root, where only the superuser may change entries.
struct Places {
    scene: Scene,
    root: Found,
    all: Found,
    sticky: Found,
}

impl Places {
    fn of(scene: Scene) -> Option<Self> {
        let folder = |name: &str, mode| {
            let made = scene.folder(name);
            let mode = SetAttributes { mode: Some(mode), ..Default::default() };
            made.object.set_attributes(&Caller::root(), &mode).ok()?;
            scene.find(name).ok()
        };
        let (all, sticky) = (folder("all", 0o777)?, folder("sticky", 0o1777)?);
        let closed = SetAttributes { mode: Some(0o755), ..Default::default() };
        scene.root.object.set_attributes(&Caller::root(), &closed).ok()?;
        let root = scene.volume.root().unwrap();
        for folder in [&root, &all, &sticky] {
            for (name, mode) in [(&b"kept"[..], 0o600), (b"other", 0o666)] {
                let made = scene.volume.create(&client(1), folder, name, NewKind::File, mode).unwrap().found;
                made.object.write_at(&client(1).caller, 0, b"0123456789", Stability::Unstable).ok()?;
            }
        }
        // Where this program is not the superuser, the host takes all callers for one.
        let probe = scene.volume.lookup(&anna().caller, &root.object, b"kept").ok()?;
        let mode = SetAttributes { mode: Some(0o600), ..Default::default() };
        let is_refused = scene.volume.set_attributes(&anna(), &probe, &mode).is_err();
        is_refused.then_some(Self { scene, root, all, sticky })
    }

    fn find(&self, folder: &Found, name: &[u8]) -> Found {
        self.scene.volume.lookup(&client(1).caller, &folder.object, name).unwrap()
    }
}

/// What Anna may not do, and the host's answer: open(2), truncate(2), chmod(2), chown(2), utimensat(2), unlink(2), rename(2),
/// link(2).
const REFUSED: &[(&str, Error)] = &[
    ("read", Error::AccessDenied),
    ("write", Error::AccessDenied),
    ("open", Error::AccessDenied),
    ("set size", Error::AccessDenied),
    ("set mode", Error::NotPermitted),
    ("set owner", Error::NotPermitted),
    ("set group", Error::NotPermitted),
    ("set time", Error::NotPermitted),
    ("touch", Error::AccessDenied),
    ("set ACL", Error::AccessDenied),
    ("set comment", Error::AccessDenied),
    ("set attribute", Error::AccessDenied),
    ("remove stream", Error::AccessDenied),
    ("remove", Error::AccessDenied),
    ("remove from sticky", Error::NotPermitted),
    ("rename", Error::AccessDenied),
    ("rename in sticky", Error::NotPermitted),
    ("move out", Error::AccessDenied),
    ("move in", Error::AccessDenied),
    ("replace", Error::AccessDenied),
    ("replace in sticky", Error::NotPermitted),
    ("exchange names", Error::AccessDenied),
    ("exchange contents", Error::AccessDenied),
    ("link", Error::AccessDenied),
];

async fn attempt(at: &Places, what: &str) -> Result<()> {
    match what.split_once(' ') {
        Some(("set", _)) => set(at, what),
        _ if what.starts_with("re") && what != "read" || what.contains("move") => entries(at, what).await,
        _ => data(at, what).await,
    }
}

async fn data(at: &Places, what: &str) -> Result<()> {
    let (volume, kept) = (&at.scene.volume, at.find(&at.root, b"kept"));
    let now = SetAttributes { accessed: SetTime::Now, modified: SetTime::Now, ..Default::default() };
    match what {
        "read" => volume.stateless().read(&anna(), &kept, 0, 4).await.map(drop),
        "write" => {
            let data = Bytes::from_static(b"x");
            volume.stateless().write(&anna(), &kept, 0, data, Stability::Unstable).await.map(drop)
        }
        "open" => volume.open(&anna(), &kept, OpenOptions::data(Modes(3))).await.map(drop),
        "touch" => volume.set_attributes(&anna(), &kept, &now).map(drop),
        "exchange names" => {
            let (from, to) = ((&at.all, &b"kept"[..]), (&at.root, &b"kept"[..]));
            volume.rename(&anna(), from, to, RenameMode::Exchange).map(drop)
        }
        "exchange contents" => {
            volume.mac_tree().exchange(&anna(), (&at.all, b"kept"), (&at.all, b"other")).await
        }
        "link" => volume.link(&anna(), &at.find(&at.root, b"other"), &at.root, b"new").map(drop),
        other => panic!("{other}"),
    }
}

fn set(at: &Places, what: &str) -> Result<()> {
    let (volume, kept) = (&at.scene.volume, at.find(&at.root, b"kept"));
    let place = Some(Beside { folder: &at.root.object, name: b"kept" });
    let none = SetAttributes::default();
    let changes = match what {
        "set size" => SetAttributes { size: Some(1), ..none },
        "set mode" => SetAttributes { mode: Some(0o666), ..none },
        "set owner" => SetAttributes { uid: Some(ANNA), ..none },
        "set group" => SetAttributes { gid: Some(ANNA), ..none },
        "set time" => SetAttributes { modified: SetTime::To(Time::default()), ..none },
        "set ACL" => {
            let change = AclChange { entries: Some(Entries::default()), ..AclChange::default() };
            return volume.set_acl(&anna(), &kept, &change).map(drop);
        }
        "set comment" => {
            let change = |metadata: &mut Metadata| metadata.comment = b"x".to_vec();
            return volume.change_metadata(&anna(), &kept, place, change);
        }
        _ => {
            let plan = |_| Ok(vec![(b"a".to_vec(), Some(b"b".to_vec()))]);
            return volume.change_xattrs(&anna(), &kept, place, plan);
        }
    };
    volume.set_attributes(&anna(), &kept, &changes).map(drop)
}

async fn entries(at: &Places, what: &str) -> Result<()> {
    let volume = &at.scene.volume;
    let remove = |folder| volume.remove(&anna(), folder, b"kept", Kind::File).map(drop);
    let rename = |from, to| volume.rename(&anna(), from, to, RenameMode::Replace).map(drop);
    let (kept, new): (&[u8], &[u8]) = (b"kept", b"new");
    match what {
        "remove stream" => {
            let place = Beside { folder: &at.root.object, name: kept };
            let found = at.find(&at.root, kept);
            volume.remove_stream(&anna(), &found, place, &Stream::Named("s".into())).await
        }
        "remove" => remove(&at.root),
        "remove from sticky" => remove(&at.sticky),
        "rename" => rename((&at.root, kept), (&at.root, new)),
        "rename in sticky" => rename((&at.sticky, kept), (&at.sticky, new)),
        "move out" => rename((&at.root, kept), (&at.all, new)),
        "move in" => rename((&at.all, kept), (&at.root, new)),
        "replace" => rename((&at.all, b"other"), (&at.root, kept)),
        "replace in sticky" => rename((&at.all, b"other"), (&at.sticky, kept)),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn who_is_refused_takes_no_lease_and_learns_of_none() {
    let mut tried = 0;
    for scene in scenes() {
        let Some(places) = Places::of(scene) else { continue };
        for (what, refusal) in REFUSED {
            for held in [Held::Nothing, Held::Leases, Held::Locks, Held::Denials] {
                refused(&places, what, *refusal, held).await;
                tried += 1;
            }
        }
    }
    assert!(tried > 0);
}

/// Makes an attempt while others have something of each file: the answer is the same, and no holder is asked for anything.
async fn refused(places: &Places, what: &str, refusal: Error, held: Held) {
    let volume = &places.scene.volume;
    let folders = [&places.root, &places.all, &places.sticky];
    let files = folders.map(|folder| [places.find(folder, b"kept"), places.find(folder, b"other")]);
    let (mut leases, mut opens) = (Vec::new(), Vec::new());
    for file in files.iter().flatten() {
        match held {
            Held::Nothing => {}
            Held::Leases => {
                let want = Caching::READ | Caching::WRITE | Caching::HANDLE;
                leases.push(places.scene.lease(&file.object, Party::client(ClientId(2)), want).await);
            }
            Held::Locks | Held::Denials => {
                let deny = if held == Held::Denials { Modes::ALL } else { Modes::NONE };
                let options = OpenOptions { deny, ..OpenOptions::data(Modes(3)) };
                let open = volume.open(&client(2), file, options).await.unwrap();
                open.lock(Range::to_end(0), LockKind::Exclusive).await.unwrap();
                opens.push(open);
            }
        }
    }
    let answer = tokio::time::timeout(Duration::from_secs(10), attempt(places, what)).await;
    assert_eq!(answer.expect("it waits for others"), Err(refusal), "{what} beside {held:?}");
    for (_lease, told) in &mut leases {
        assert!(told.try_recv().is_err(), "{what}: a lease was recalled");
    }
}
