//! The role to put files in gives its own files other names: programs put a file in by a temporary name.

use super::*;

const DORA: u32 = 6005;

/// Moves what Dora may move by the name `from` of a folder to the name `to` of another.
fn moved(share: &Share, from: (&Found, &str), to: (&Found, &str), mode: RenameMode) -> vfs::Result<()> {
    let (folder, other) = (share.now(from.0), share.now(to.0));
    let names = (from.1.as_bytes(), to.1.as_bytes());
    share.volume.rename(&by_login(DORA), (&folder, names.0), (&other, names.1), mode).map(drop)
}

#[test]
fn who_puts_in_gives_its_own_files_free_names_only() {
    for share in shares() {
        let (root, dora) = (share.root(), by_login(DORA));
        let (theirs, _) = share.file(&cora(), &root).unwrap();
        for mode in [RenameMode::Replace, RenameMode::Keep] {
            let (name, file) = share.file(&dora, &root).unwrap();
            assert_eq!(moved(&share, (&root, &name), (&root, &theirs), mode), Err(Error::AccessDenied));
            let (own, _) = share.file(&dora, &root).unwrap();
            assert_eq!(moved(&share, (&root, &name), (&root, &own), mode), Err(Error::AccessDenied));
            let new = share.new_name();
            assert_eq!(moved(&share, (&root, &name), (&root, &new), mode), Ok(()));
            assert_eq!(share.write(&dora, &file), Ok(()));
            assert_eq!(share.read(&dora, &file), Err(Error::AccessDenied));
            assert_eq!(share.remove(&dora, &root, &new, Kind::File), Err(Error::AccessDenied));
        }
        assert_eq!(
            moved(&share, (&root, &theirs), (&root, "mine"), RenameMode::Keep),
            Err(Error::AccessDenied)
        );
    }
}

#[test]
fn who_puts_in_exchanges_nothing() {
    for share in shares() {
        let (root, dora) = (share.root(), by_login(DORA));
        let ((one, _), (other, _)) = (share.file(&dora, &root).unwrap(), share.file(&dora, &root).unwrap());
        let exchanged = moved(&share, (&root, &one), (&root, &other), RenameMode::Exchange);
        assert_eq!(exchanged, Err(Error::AccessDenied));
    }
}

#[test]
fn who_puts_in_moves_between_the_top_and_its_own_folders() {
    for share in shares() {
        let (root, dora) = (share.root(), by_login(DORA));
        let (own, theirs) = (share.folder(&dora, &root), share.folder(&cora(), &root));
        let (name, _) = share.file(&dora, &own).unwrap();
        let keep = RenameMode::Keep;
        assert_eq!(moved(&share, (&own, &name), (&theirs, &name), keep), Err(Error::AccessDenied));
        assert_eq!(moved(&share, (&own, &name), (&root, &name), keep), Ok(()));
        assert_eq!(moved(&share, (&root, &name), (&own, &name), keep), Ok(()));
        let (inner, _) = share.make(&dora, &own, NewKind::Folder).unwrap();
        assert_eq!(moved(&share, (&own, &inner), (&root, "moved"), keep), Ok(()));
    }
}

#[test]
fn an_entry_that_takes_removal_takes_the_new_name_too() {
    for share in shares() {
        let (root, dora) = (share.root(), by_login(DORA));
        let (name, file) = share.file(&dora, &root).unwrap();
        let takes =
            Entries { list: vec![Entry::deny(Who::User(DORA), Rights::DELETE)], ..Entries::default() };
        share.set(&by_login(6001), &file, takes).unwrap();
        assert_eq!(
            moved(&share, (&root, &name), (&root, "other"), RenameMode::Keep),
            Err(Error::AccessDenied)
        );
    }
}

#[test]
fn the_right_to_rename_is_in_no_list_that_clients_see() {
    for share in shares() {
        let file = share.file(&by_login(DORA), &share.root()).unwrap().1;
        for of in [&share.root(), &file] {
            let list = share.volume.acl(of).unwrap().entries.list;
            assert!(list.iter().all(|entry| Rights::ALL.contains(entry.rights)), "{list:?}");
        }
    }
}
