//! Snapshots of ZFS by its command, on a pool in a file. The daemon of zfs-fuse is started if no ZFS
//! runs.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use snapshots::{Dataset, EngineKind, Refusal};

use crate::scene::zfs::Pool;
use crate::scene::{names, text};

#[test]
fn zfs_takes_names_holds_and_shows_snapshots() {
    let Some(pool) = Pool::new() else { return };
    let root = Dataset::find(&pool.root()).unwrap();
    assert_eq!(root.engine(), EngineKind::Zfs);
    let share = root.make_subdataset(Path::new("share")).unwrap();
    let mounts = pool.mounts();
    let dataset = Dataset::find(&share).unwrap().with_mounts(&mounts);
    assert_eq!((dataset.engine(), dataset.list().unwrap()), (EngineKind::Zfs, vec![]));

    fs::write(share.join("file"), b"one").unwrap();
    let before = SystemTime::now() - Duration::from_secs(2);
    dataset.create("first", SystemTime::now()).unwrap();
    fs::write(share.join("file"), b"two").unwrap();
    fs::write(share.join("new"), b"new").unwrap();
    assert!(matches!(dataset.create("first", SystemTime::now()), Err(Refusal::Exists { .. })));
    let first = dataset.snapshot("first").unwrap();
    assert!(first.created >= before && first.created <= SystemTime::now(), "{first:?}");
    assert_eq!(root.list().unwrap(), [], "those of a dataset below are its own");

    dataset.hold("first", "audit").unwrap();
    assert_eq!(dataset.snapshot("first").unwrap().held, ["audit"]);
    assert!(matches!(dataset.remove("first"), Err(Refusal::Held { .. })));
    dataset.release("first", "audit").unwrap();
    dataset.rename("first", "renamed").unwrap();
    assert_eq!(names(&dataset), ["renamed"]);

    let seen = dataset.mount("renamed").unwrap();
    assert_eq!(fs::read(seen.join("file")).unwrap(), b"one");
    assert_eq!(dataset.mount("renamed").unwrap(), seen);
    let changes = dataset.diff("renamed", None).unwrap();
    let changed: Vec<_> = changes.iter().map(|change| text(&change.path)).collect();
    assert_eq!(changed, ["file", "new"]);
    for name in ["größer", "a+b", "50%"] {
        assert!(matches!(dataset.create(name, SystemTime::now()), Err(Refusal::Name { .. })), "{name}");
        assert!(matches!(dataset.rename("renamed", name), Err(Refusal::Name { .. })), "{name}");
    }
    // A schedule gives the name to the next snapshot.
    fs::write(share.join("file"), b"three").unwrap();
    dataset.rename("renamed", "older").unwrap();
    dataset.create("renamed", SystemTime::now()).unwrap();
    let shown = |name: &str| fs::read(dataset.mount(name).unwrap().join("file")).unwrap();
    assert_eq!((shown("renamed"), shown("older")), (b"three".to_vec(), b"one".to_vec()));
    dataset.remove("older").unwrap();
    dataset.remove("renamed").unwrap();
    assert_eq!(names(&dataset), [""; 0]);
    a_quota_is_kept(&dataset, &share);
}

/// ZFS counts snapshots, too.
fn a_quota_is_kept(dataset: &Dataset, share: &Path) {
    const MIB: u64 = 1 << 20;
    assert!(dataset.has_quotas());
    dataset.set_quota(20 * MIB, &[]).unwrap();
    let size = || {
        let found = rustix::fs::statvfs(share).unwrap();
        found.f_blocks * found.f_frsize
    };
    assert_eq!(size(), 20 * MIB, "as clients see it");
    let refused = (0..40).map(|name| fs::write(share.join(format!("f{name}")), vec![7; MIB as usize]));
    let refused = refused.filter_map(Result::err).next().unwrap();
    assert_eq!(refused.raw_os_error(), Some(122), "EDQUOT");
    let usage = dataset.usage().unwrap();
    assert!(usage.used >= usage.referenced && usage.used <= 21 * MIB, "{usage:?}");
    dataset.create("full", SystemTime::now()).unwrap();
    assert!(dataset.snapshot_usage().contains_key("full"));
    dataset.remove("full").unwrap();
    dataset.remove_quota().unwrap();
    assert!(size() > 20 * MIB);
    fs::write(share.join("more"), vec![7; MIB as usize]).unwrap();
}
