//! A share for backups: each of its contributors sees only what is its own. Others see all.

use super::*;

const CARL: u32 = 6003;

/// Shares that keep their contributors apart.
fn backups() -> Vec<Share> {
    let shares = shares();
    for share in &shares {
        let roles = Roles::clone(&share.volume.roles().unwrap());
        share.volume.set_roles(Some(Arc::new(roles.keeping_apart(true))));
    }
    shares
}

fn names(share: &Share, by: &Actor, folder: &Found) -> vfs::Result<Vec<String>> {
    let page = share.volume.list(&by.caller, &share.now(folder), 0)?;
    let mut names: Vec<String> =
        page.named().map(|entry| String::from_utf8_lossy(entry.name()).into_owned()).collect();
    names.sort();
    Ok(names)
}

#[test]
fn contributors_of_a_share_for_backups_see_only_their_own() {
    for share in backups() {
        let (root, carl) = (share.root(), by_login(CARL));
        let (his, his_bundle) = share.make(&carl, &root, NewKind::Folder).unwrap();
        let (hers, her_bundle) = share.make(&cora(), &root, NewKind::Folder).unwrap();
        assert_eq!(names(&share, &carl, &root), Ok(vec![his.clone()]));
        assert_eq!(names(&share, &cora(), &root), Ok(vec![hers.clone()]));
        let mut all = vec![his.clone(), hers.clone()];
        all.sort();
        for uid in [6001, 6002, 6004] {
            assert_eq!(names(&share, &by_login(uid), &root), Ok(all.clone()), "{uid}");
        }
        let (_, band) = share.file(&cora(), &her_bundle).unwrap();
        assert_eq!(names(&share, &carl, &her_bundle), Err(Error::AccessDenied));
        let root_now = share.now(&root);
        let rights = share.volume.rights(&carl.caller, &share.now(&her_bundle), Some(&root_now));
        assert_eq!(rights, Ok(Rights::NONE));
        assert_eq!(share.read(&carl, &band), Err(Error::AccessDenied));
        assert_eq!(share.write(&carl, &band), Err(Error::AccessDenied));
        assert_eq!(share.file(&carl, &her_bundle).map(drop), Err(Error::AccessDenied));
        assert_eq!(share.remove(&carl, &root, &hers, Kind::Folder), Err(Error::AccessDenied));
        let (name, own) = share.file(&carl, &his_bundle).unwrap();
        assert_eq!((share.write(&carl, &own), share.read(&carl, &own)), (Ok(()), Ok(())));
        assert_eq!(names(&share, &carl, &his_bundle), Ok(vec![name.clone()]));
        assert_eq!(share.remove(&carl, &his_bundle, &name, Kind::File), Ok(()));
    }
}

#[test]
fn a_long_listing_goes_on_behind_what_is_not_seen() {
    for share in backups() {
        let (root, carl) = (share.root(), by_login(CARL));
        (0..3000).for_each(|_| _ = share.file(&cora(), &root).unwrap());
        let (own, _) = share.file(&carl, &root).unwrap();
        let (mut seen, mut cookie) = (Vec::new(), 0);
        loop {
            let page = share.volume.list(&carl.caller, &share.now(&root), cookie).unwrap();
            seen.extend(page.named().map(|entry| String::from_utf8_lossy(entry.name()).into_owned()));
            match page.entries().last() {
                Some(last) if !page.complete => cookie = last.cookie,
                _ => break,
            }
        }
        assert_eq!(seen, [own]);
    }
}

#[test]
fn another_role_shows_a_contributor_the_backups_of_others() {
    for share in backups() {
        let everyone = RoleEntry { role: Role::Reader, grantee: Grantee::Everyone };
        let entries = share.volume.roles().unwrap().entries().iter().cloned().chain([everyone]).collect();
        share.volume.set_roles(Some(Arc::new(Roles::new(entries).keeping_apart(true))));
        let (root, carl) = (share.root(), by_login(CARL));
        let (name, theirs) = share.file(&cora(), &root).unwrap();
        assert_eq!(names(&share, &carl, &root), Ok(vec![name]));
        assert_eq!(share.read(&carl, &theirs), Ok(()));
        assert_eq!(share.write(&carl, &theirs), Err(Error::AccessDenied));
    }
}

#[test]
fn a_list_for_the_top_folder_takes_no_role_away() {
    for share in shares() {
        let (root, owner) = (share.root(), by_login(6001));
        let shown = share.volume.acl(&root).unwrap().entries;
        let without = |uid| {
            let list = shown.list.iter().filter(|entry| entry.who != Who::User(uid)).cloned().collect();
            Entries { list, ..shown.clone() }
        };
        for uid in [6001, 6002, 6004] {
            assert_eq!(share.set(&owner, &root, without(uid)), Err(Error::AccessDenied), "{uid}");
        }
        let mut less = without(6002);
        less.list.push(Entry::allow(Who::User(6002), Rights::READ_DATA));
        assert_eq!(share.set(&owner, &root, less), Err(Error::AccessDenied));
        // What is added, or denied, counts beside the roles.
        let mut more = shown.clone();
        more.list.insert(0, Entry::deny(Who::User(6004), Rights::READ_DATA));
        more.list.push(Entry::allow(Who::User(6006), Rights::READ_DATA));
        assert_eq!(share.set(&owner, &root, more), Ok(()));
        assert!(share.volume.list(&by_login(6004).caller, &share.now(&root), 0).is_err());
    }
}
