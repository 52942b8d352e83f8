use super::*;
use crate::Error;
use crate::backend::RenameMode;
use crate::backend::faulty::Call;
use crate::streams::STORE;

fn rename(disk: &Disk, from: &str, to: &str, mode: RenameMode) -> Result<()> {
    let root = disk.root();
    disk.streams.pairs().rename(&user(), (&*root, from.as_bytes()), (&*root, to.as_bytes()), mode)
}

fn fork(disk: &Disk, name: &str) -> Vec<u8> {
    disk.fork(&disk.find(name).unwrap())
}

fn with_fork(disk: &Disk, name: &str) -> Owned {
    let file = disk.make(name);
    disk.put_fork(&file, name.as_bytes());
    file
}

/// What docs/on-disk-format.md says of `user.fourfold.moving`, behind the first byte; the only attribute of the file.
fn place_of_sidecar(file: &Owned) -> Vec<u8> {
    assert_eq!(file.object.list_xattrs(), Ok(vec![b"user.fourfold.moving".to_vec()]));
    file.object.xattr(b"user.fourfold.moving").unwrap().split_off(1)
}

#[test]
fn a_fork_follows_its_file_to_another_folder() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    let (root, sub) = (disk.root(), disk.folder("sub"));
    disk.streams.pairs().rename(&user(), (&*root, b"a"), (&*sub, b"b"), RenameMode::Keep).unwrap();
    assert!(!disk.has("._a"));
    let moved = find_in(sub.clone(), "b").unwrap();
    assert_eq!(disk.fork(&moved), b"a");
    assert_eq!(place_of_sidecar(&moved), [sub.key().local().as_bytes(), b"._b"].concat());
}

#[test]
fn a_replaced_file_takes_its_fork_along() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    with_fork(&disk, "b");
    disk.make("c");
    rename(&disk, "a", "b", RenameMode::Replace).unwrap();
    assert_eq!(fork(&disk, "b"), b"a");
    rename(&disk, "c", "b", RenameMode::Replace).unwrap();
    assert_eq!(fork(&disk, "b"), b"");
    assert!(!disk.has("._b") && !disk.has("._a"));
}

#[test]
fn exchanged_files_keep_their_forks() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    with_fork(&disk, "b");
    disk.make("none");
    rename(&disk, "a", "b", RenameMode::Exchange).unwrap();
    assert_eq!((fork(&disk, "a"), fork(&disk, "b")), (b"b".to_vec(), b"a".to_vec()));
    for (from, to) in [("a", "none"), ("a", "none")] {
        rename(&disk, from, to, RenameMode::Exchange).unwrap();
    }
    rename(&disk, "none", "a", RenameMode::Exchange).unwrap();
    assert_eq!((fork(&disk, "a"), fork(&disk, "none")), (vec![], b"b".to_vec()));
}

#[test]
fn a_refused_rename_leaves_everything() {
    let disk = Disk::new();
    let file = with_fork(&disk, "a");
    with_fork(&disk, "b");
    assert_eq!(rename(&disk, "a", "b", RenameMode::Keep), Err(Error::Exists));
    disk.folder("d");
    assert_eq!(rename(&disk, "a", "d", RenameMode::Replace), Err(Error::IsFolder));
    assert_eq!((fork(&disk, "a"), fork(&disk, "b")), (b"a".to_vec(), b"b".to_vec()));
    assert_eq!(place_of_sidecar(&file), [disk.root().key().local().as_bytes(), b"._a"].concat());
}

#[test]
fn a_removed_file_takes_its_fork_along() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    disk.streams.pairs().remove(&user(), &*disk.root(), b"a", None).unwrap();
    assert!(!disk.has("a") && !disk.has("._a"));
    let refused = disk.streams.pairs().remove(&user(), &*disk.root(), b"a", None);
    assert_eq!(refused, Err(Error::NotFound));
}

#[test]
fn files_without_sidecars_cost_a_look_up_a_name() {
    let disk = Disk::new();
    disk.make("warm");
    disk.streams.pairs().remove(&user(), &*disk.root(), b"warm", None).unwrap(); // learns that there is no store
    for name in ["a", "b", "c"] {
        disk.make(name);
    }
    let root = disk.root();
    let cost = |action: &dyn Fn()| {
        let before = disk.faulty.plan().calls(None);
        action();
        disk.faulty.plan().calls(None) - before - 1
    };
    let rename = |from: &[u8], to: &[u8], mode| {
        disk.streams.pairs().rename(&user(), (&*root, from), (&*root, to), mode).unwrap();
    };
    assert_eq!(cost(&|| rename(b"a", b"new", RenameMode::Keep)), 1);
    assert_eq!(cost(&|| rename(b"b", b"new", RenameMode::Replace)), 2);
    assert_eq!(cost(&|| disk.streams.pairs().remove(&user(), &*root, b"c", None).unwrap()), 1);
    assert_eq!(disk.faulty.plan().calls(Some(Call::SetXattr)), 0);
}

#[test]
fn a_sidecar_made_by_others_is_adopted_when_its_file_moves() {
    let disk = Disk::new();
    let file = disk.make("a");
    let (header, _) = crate::mac::sidecar::synthesize(&crate::mac::FinderInfo::NONE, &[], 4);
    let sidecar = disk.put("._a", &[&header[..], b"fork"].concat());
    assert_eq!(disk.fork(&file), b"fork");
    rename(&disk, "a", "b", RenameMode::Replace).unwrap();
    assert_eq!(sidecar.xattr(b"user.fourfold.owner").unwrap(), file.object.key().as_bytes());
    assert_eq!(fork(&disk, "b"), b"fork");
}

#[test]
fn an_archive_may_bring_the_sidecar_before_the_file() {
    let disk = Disk::new();
    let (header, _) = crate::mac::sidecar::synthesize(&crate::mac::FinderInfo::NONE, &[], 4);
    disk.put("._a", &[&header[..], b"fork"].concat());
    disk.make("temporary");
    rename(&disk, "temporary", "a", RenameMode::Replace).unwrap();
    assert_eq!(fork(&disk, "a"), b"fork");
}

#[test]
fn another_name_of_a_file_keeps_the_fork_when_the_first_goes() {
    let disk = Disk::new();
    let file = with_fork(&disk, "a");
    disk.root().link(&user(), &*file.object, b"b").unwrap();
    disk.streams.pairs().remove(&user(), &*disk.root(), b"a", None).unwrap();
    assert_eq!(fork(&disk, "b"), b"a");
    assert!(disk.has("._b") && !disk.has("._a"));
}

#[test]
fn a_folder_is_empty_when_only_lost_sidecars_are_in_it() {
    let disk = Disk::new();
    let sub = disk.folder("sub");
    for name in [&b"gone"[..], b"moved"] {
        let made = sub.create(&user(), name, NewKind::File, 0o644).unwrap();
        let file = Owned { folder: sub.clone(), name: name.to_vec(), object: made.object };
        disk.put_fork(&file, name);
    }
    sub.remove(&user(), b"gone").unwrap(); // both by a program that does not know of sidecars
    sub.rename(&user(), b"moved", &*disk.root(), b"moved", RenameMode::Keep).unwrap();
    disk.streams.pairs().remove_folder(&user(), &*disk.root(), b"sub").unwrap();
    assert_eq!(fork(&disk, "moved"), b"moved");
    let full = disk.folder("full");
    full.create(&user(), b"._notes", NewKind::File, 0o644).unwrap();
    assert_eq!(disk.streams.pairs().remove_folder(&user(), &*disk.root(), b"full"), Err(Error::NotEmpty));
}

#[test]
fn scrubbing_brings_forks_to_files_that_others_moved() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    with_fork(&disk, "gone");
    let root = disk.root();
    root.rename(&user(), b"a", &*root, b"b", RenameMode::Keep).unwrap();
    root.remove(&user(), b"gone").unwrap();
    assert_eq!(disk.streams.pairs().scrub(&*root), Ok(2));
    assert_eq!(fork(&disk, "b"), b"a");
    assert!(!disk.has("._a") && !disk.has("._gone"));
    assert_eq!(disk.streams.pairs().scrub(&*root), Ok(0));
}

#[test]
fn a_plain_file_in_the_way_of_a_sidecar_stays_and_so_does_the_fork() {
    let disk = Disk::new();
    with_fork(&disk, "a");
    let plain = disk.put("._b", b"notes");
    rename(&disk, "a", "b", RenameMode::Replace).unwrap();
    assert_eq!(content(&*plain), b"notes");
    rename(&disk, "b", "c", RenameMode::Replace).unwrap();
    assert_eq!(fork(&disk, "c"), b"a");
    assert!(!disk.has(std::str::from_utf8(STORE).unwrap()));
}

#[test]
fn a_sticky_folder_does_not_part_a_file_from_its_fork() {
    let disk = Disk::new();
    let file = with_fork(&disk, "a");
    let sidecar = disk.find("._a").unwrap().object;
    let theirs = crate::SetAttributes { uid: Some(77), ..Default::default() };
    sidecar.set_attributes(&Caller::root(), &theirs).unwrap();
    let sticky = crate::SetAttributes { mode: Some(0o1777), ..Default::default() };
    file.folder.set_attributes(&Caller::root(), &sticky).unwrap();
    rename(&disk, "a", "b", RenameMode::Replace).unwrap();
    assert_eq!(fork(&disk, "b"), b"a");
}

/// A program on the host moves a file, and knows nothing of its sidecar.
#[test]
fn a_fork_follows_a_file_that_the_host_moved() {
    let disk = Disk::new();
    let (root, folder) = (disk.root(), disk.folder("folder"));
    let file = with_fork(&disk, "a");
    root.rename(&user(), b"a", &*root, b"b", RenameMode::Keep).unwrap();
    assert_eq!(fork(&disk, "b"), b"a");
    assert!(disk.has("._b") && !disk.has("._a"));
    // Into another folder, after a move of the server's own; and while another file takes the old name.
    rename(&disk, "b", "c", RenameMode::Replace).unwrap();
    root.rename(&user(), b"c", &*folder, b"d", RenameMode::Keep).unwrap();
    let other = disk.make("c");
    assert_eq!(disk.fork(&other), b"", "never another file's");
    disk.put_fork(&other, b"of the other");
    let moved = find_in(folder.clone(), "d").unwrap();
    assert_eq!(disk.fork(&moved), b"a");
    assert_eq!((disk.fork(&other), moved.object.key()), (b"of the other".to_vec(), file.object.key()));
    assert!(find_in(folder, "._d").is_some());
}

#[test]
fn a_file_whose_fork_is_gone_is_not_marked() {
    let disk = Disk::new();
    let file = with_fork(&disk, "a");
    assert!(file.object.xattr(b"user.fourfold.moving").is_ok());
    disk.streams.remove_fork(&user(), &file.file()).unwrap();
    assert!(file.object.xattr(b"user.fourfold.moving").is_err());
    let file = with_fork(&disk, "b");
    disk.root().remove(&user(), b"._b").unwrap();
    assert_eq!(disk.fork(&file), b"");
    assert!(file.object.xattr(b"user.fourfold.moving").is_ok(), "it may come back here");
    disk.root().rename(&user(), b"b", &*disk.root(), b"c", RenameMode::Keep).unwrap();
    let file = disk.find("c").unwrap();
    assert_eq!(disk.fork(&file), b"");
    assert!(file.object.xattr(b"user.fourfold.moving").is_err());
}

/// The server of an ordinary user forgets where it saw a file, and then cannot tell whether the file is gone.
#[test]
fn a_fork_whose_file_is_not_found_makes_way_and_is_not_lost() {
    let disk = Disk::new();
    let (root, folder) = (disk.root(), disk.folder("folder"));
    with_fork(&disk, "a");
    root.rename(&user(), b"a", &*folder, b"b", RenameMode::Keep).unwrap();
    disk.faulty.plan().forget_keys(true);
    let other = disk.make("a");
    disk.put_fork(&other, b"of the other");
    assert_eq!(disk.streams.own_store.scrub(), Ok(0), "what is kept for a file that may be there stays");
    disk.faulty.plan().forget_keys(false);
    assert_eq!(disk.fork(&find_in(folder, "b").unwrap()), b"a");
    assert_eq!(fork(&disk, "a"), b"of the other");
}

#[test]
fn a_moved_file_looks_for_its_fork_again_if_the_old_folder_is_not_found_at_first() {
    let disk = Disk::new();
    let (root, folder) = (disk.root(), disk.folder("folder"));
    with_fork(&disk, "a");
    disk.streams.pairs().rename(&user(), (&*root, b"a"), (&*folder, b"a"), RenameMode::Keep).unwrap();
    folder.rename(&user(), b"a", &*root, b"b", RenameMode::Keep).unwrap();
    disk.faulty.plan().forget_keys(true);
    assert_eq!(fork(&disk, "b"), b"");
    disk.faulty.plan().forget_keys(false);
    assert_eq!(fork(&disk, "b"), b"a");
}
