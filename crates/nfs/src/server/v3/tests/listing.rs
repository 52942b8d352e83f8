//! READDIR and READDIRPLUS, RFC 1813 3.3.16 and 3.3.17.

use std::collections::BTreeSet;

use vfs::names::Hiding;

use super::*;

/// A listing procedure: READDIR or READDIRPLUS, with this many bytes at most.
type List = fn(&Session, &[u8], u64, u32) -> Result<ListingReply, Fail<PostOpAttr>>;

const BOTH: [(&str, List); 2] = [
    ("readdir", |s, dir, cookie, count| s.readdir(dir, cookie, count)),
    ("readdirplus", |s, dir, cookie, count| s.readdirplus(dir, cookie, count, count)),
];

fn with_files(count: usize) -> Session {
    let s = Session::new();
    for number in 0..count {
        s.file(&format!("file{number:04}"), b"");
    }
    s
}

/// Every entry, read page by page. `between` runs between pages.
fn walk(s: &Session, list: List, count: u32, mut between: impl FnMut(usize)) -> Vec<Entry> {
    let (mut all, mut cookie) = (Vec::new(), 0);
    for page in 0..10_000 {
        let listed = list(s, &s.root, cookie, count).unwrap();
        assert!(listed.size <= count as usize, "{} of {count}", listed.size);
        all.extend(listed.entries);
        if listed.eof {
            return all;
        }
        cookie = all.last().expect("a page that is not the last has entries").cookie;
        between(page);
    }
    panic!("the folder never ends");
}

fn names(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| String::from_utf8(entry.name.clone()).unwrap()).collect()
}

#[test]
fn every_entry_comes_once_whatever_the_size_of_a_page() {
    let s = with_files(100);
    for (kind, list) in BOTH {
        for count in [280, 300, 512, 1000, 4096, 65_536, u32::MAX] {
            let entries = names(&walk(&s, list, count, |_| {}));
            let unique: BTreeSet<&String> = entries.iter().collect();
            assert_eq!((entries.len(), unique.len()), (102, 102), "{kind} {count}");
            assert!(unique.contains(&".".to_owned()) && unique.contains(&"..".to_owned()));
        }
    }
}

#[test]
fn entries_that_stay_come_once_while_others_come_and_go() {
    for (kind, list) in BOTH {
        let s = with_files(100);
        let entries = names(&walk(&s, list, 400, |page| {
            if page < 50 {
                s.remove(&s.root, format!("file{:04}", page * 2 + 1).as_bytes()).unwrap();
                s.file(&format!("new{page}"), b"");
            }
        }));
        let unique: BTreeSet<&String> = entries.iter().collect();
        assert_eq!(unique.len(), entries.len(), "{kind}: no entry comes twice");
        for number in (0..100).step_by(2) {
            assert!(unique.contains(&format!("file{number:04}")), "{kind}: file{number:04} stayed");
        }
    }
}

#[test]
fn the_entry_a_cookie_came_with_may_go() {
    let s = with_files(50);
    for (kind, list) in BOTH {
        let first = list(&s, &s.root, 0, 600).unwrap();
        let last = first.entries.last().unwrap();
        s.remove(&s.root, &last.name).unwrap();
        let rest = list(&s, &s.root, last.cookie, 65_536).unwrap();
        let seen: BTreeSet<&[u8]> = first.entries.iter().map(|entry| &entry.name[..]).collect();
        assert!(rest.entries.iter().all(|entry| !seen.contains(&entry.name[..])), "{kind}");
        let left = list(&s, &s.root, 0, 65_536).unwrap().entries.len();
        assert_eq!(first.entries.len() - 1 + rest.entries.len(), left, "{kind}");
    }
}

#[test]
fn a_count_too_small_for_one_entry_is_toosmall_with_attributes() {
    let s = with_files(1);
    for (kind, list) in BOTH {
        for count in [0, 1, 8, 100, 120] {
            let fail = list(&s, &s.root, 0, count).unwrap_err();
            assert_eq!(fail.status, Status::TOOSMALL, "{kind} {count}");
            assert_eq!(fail.body, Some(s.attributes(&s.root)));
        }
    }
}

#[test]
fn a_cookie_made_up_is_an_answer_or_bad_cookie_and_never_repeats_forever() {
    let s = with_files(100);
    let made_up = [3, 1 << 31, (1 << 32) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, u64::MAX - 1, u64::MAX];
    for (kind, list) in BOTH {
        for cookie in made_up {
            match list(&s, &s.root, cookie, 4096) {
                Ok(listed) => assert!(listed.eof || !listed.entries.is_empty(), "{kind} {cookie}"),
                Err(fail) => assert_eq!(fail.status, Status::BAD_COOKIE, "{kind} {cookie}"),
            }
        }
    }
}

#[test]
fn after_the_last_entry_comes_eof_and_nothing() {
    let s = with_files(3);
    for (kind, list) in BOTH {
        let all = list(&s, &s.root, 0, 4096).unwrap();
        assert!(all.eof);
        let after = list(&s, &s.root, all.entries.last().unwrap().cookie, 4096).unwrap();
        assert!(after.eof && after.entries.is_empty(), "{kind}");
        assert_eq!(after.dir, Some(s.attributes(&s.root)));
    }
}

#[test]
fn no_cookie_is_zero_which_means_the_start() {
    let s = with_files(10);
    for (_, list) in BOTH {
        assert!(list(&s, &s.root, 0, 4096).unwrap().entries.iter().all(|entry| entry.cookie != 0));
    }
}

#[test]
fn fileids_are_those_of_getattr() {
    let s = with_files(2);
    for (_, list) in BOTH {
        for entry in list(&s, &s.root, 0, 4096).unwrap().entries {
            let found = s.lookup(&s.root, &entry.name).unwrap();
            assert_eq!(entry.fileid, s.attributes(&found.handle).fileid);
        }
    }
}

#[test]
fn readdirplus_gives_the_handles_and_attributes_of_lookup() {
    let s = with_files(40);
    s.folder("folder");
    s.symlink(&s.root, b"link", b"x").unwrap();
    let listed = s.readdirplus(&s.root, 0, 65_536, 65_536).unwrap();
    assert_eq!(listed.dir, Some(s.attributes(&s.root)));
    for entry in listed.entries.iter().filter(|entry| !entry.name.starts_with(b".")) {
        let found = s.lookup(&s.root, &entry.name).unwrap();
        assert_eq!((&entry.handle, entry.attributes), (&Some(found.handle), found.attributes));
    }
}

#[test]
fn readdirplus_tells_of_changes_at_once() {
    let s = with_files(40);
    let attributes = |s: &Session| {
        let listed = s.readdirplus(&s.root, 0, 65_536, 65_536).unwrap();
        listed.entries.iter().find(|entry| entry.name == b"file0007").unwrap().attributes.unwrap()
    };
    let file = s.lookup(&s.root, b"file0007").unwrap().handle;
    attributes(&s);
    s.write(&file, 0, b"abc", StableHow::UNSTABLE).unwrap();
    assert_eq!(attributes(&s), s.attributes(&file));
    s.setattr(&file, mode(0o600), None).unwrap();
    assert_eq!(attributes(&s), s.attributes(&file));
}

#[test]
fn dircount_limits_names_and_maxcount_all() {
    let s = with_files(100);
    let all = s.readdirplus(&s.root, 0, 65_536, 65_536).unwrap();
    assert!(all.eof);
    let few = s.readdirplus(&s.root, 0, 512, 65_536).unwrap();
    let names: usize = few.entries.iter().map(|entry| 4 + 8 + 4 + entry.name.len().div_ceil(4) * 4 + 8).sum();
    assert!(!few.eof && !few.entries.is_empty() && names <= 512, "{names}");
    let small = s.readdirplus(&s.root, 0, 65_536, 1024).unwrap();
    assert!(!small.eof && small.size <= 1024 && small.entries.len() < few.entries.len() + 20);
    // A dircount too low for a single name must not block a client for ever.
    assert!(!s.readdirplus(&s.root, 0, 1, 65_536).unwrap().entries.is_empty());
}

#[test]
fn listing_what_is_no_folder_is_notdir() {
    let s = Session::new();
    let file = s.file("notes", b"");
    for (_, list) in BOTH {
        let fail = list(&s, &file, 0, 4096).unwrap_err();
        assert_eq!((fail.status, fail.body), (Status::NOTDIR, Some(s.attributes(&file))));
    }
}

#[test]
fn listing_needs_the_right_to_read_the_folder() {
    let s = Session::new();
    let folder = s.folder("folder");
    s.setattr(&folder, mode(0o711), None).unwrap();
    for (_, list) in BOTH {
        let fail = list(&s.user(2000), &folder, 0, 4096).unwrap_err();
        assert_eq!((fail.status, fail.body), (Status::ACCES, Some(s.attributes(&folder))));
    }
}

#[test]
fn a_folder_without_the_right_to_pass_lists_names_alone() {
    let s = Session::new();
    let folder = s.folder("folder");
    s.create(&folder, b"inner", CreateHow::Guarded(mode(0o644))).unwrap();
    s.setattr(&folder, mode(0o744), None).unwrap();
    let listed = s.user(2000).readdirplus(&folder, 0, 4096, 4096).unwrap();
    let inner = listed.entries.iter().find(|entry| entry.name == b"inner").unwrap();
    assert_eq!((&inner.handle, inner.attributes), (&None, None));
}

#[test]
fn a_folder_of_the_longest_names_pages_right() {
    let s = Session::new();
    let wanted: BTreeSet<Vec<u8>> = (0..60).map(|number| format!("{number:0>255}").into_bytes()).collect();
    for name in &wanted {
        s.create(&s.root, name, CreateHow::Guarded(mode(0o644))).unwrap();
    }
    for (kind, list) in BOTH {
        let entries = walk(&s, list, 1000, |_| {});
        let long = entries.into_iter().map(|entry| entry.name).filter(|name| name.len() == 255);
        assert_eq!(long.collect::<BTreeSet<_>>(), wanted, "{kind}");
    }
}

/// A share whose listings leave these names out.
fn hiding(hide: &[&str]) -> Session {
    let mut export = export("share", 1, Arc::new(Memory::ticking()));
    let hide: Vec<String> = hide.iter().map(|text| (*text).to_owned()).collect();
    export.options.hiding = Arc::new(Hiding::new(&hide, &[], false));
    Session::with(vec![export])
}

#[test]
fn names_that_the_share_hides_are_not_listed_and_can_be_used_by_name() {
    let s = hiding(&["*.tmp", "lost+found"]);
    let hidden = s.file("a.TMP", b"abc");
    for name in ["plain", ".profile", ".AppleDouble"] {
        s.file(name, b"");
    }
    s.mkdir(&s.root, b"lost+found", mode(0o755)).unwrap();
    for (kind, list) in BOTH {
        let listed: BTreeSet<String> = names(&walk(&s, list, 4096, |_| {})).into_iter().collect();
        // Netatalk's files are moved and removed with those that they belong to.
        let expected = [".", "..", ".profile", "plain"];
        assert_eq!(listed, expected.map(str::to_owned).into(), "{kind}");
    }
    assert_eq!(s.lookup(&s.root, b"a.TMP").unwrap().handle, hidden);
    assert_eq!(s.read(&hidden, 0, 10).unwrap().data, b"abc");
    s.remove(&s.root, b"a.TMP").unwrap();
    assert_eq!(s.lookup(&s.root, b"a.TMP").unwrap_err().status, Status::NOENT);
}

#[test]
fn the_folder_and_its_parent_are_listed_whatever_is_hidden() {
    for pattern in ["*", ".*", "?"] {
        let s = hiding(&[pattern]);
        s.file(".x", b"");
        s.file("y", b"");
        for (kind, list) in BOTH {
            let listed = names(&walk(&s, list, 4096, |_| {}));
            assert!(listed.starts_with(&[".".into(), "..".into()]), "{kind} {pattern}: {listed:?}");
        }
    }
}

/// RFC 1813 3.3.16: a client goes on until it is told of the end, from the cookie of the last entry it got.
#[test]
fn a_page_is_never_empty_before_the_end_however_many_names_are_hidden() {
    let s = hiding(&["file*"]);
    s.file("first", b"");
    for number in 0..3000 {
        s.file(&format!("file{number:04}"), b"");
    }
    s.file("last", b"");
    for (kind, list) in BOTH {
        for count in [280, 4096] {
            let listed: BTreeSet<String> = names(&walk(&s, list, count, |_| {})).into_iter().collect();
            assert_eq!(listed, [".", "..", "first", "last"].map(str::to_owned).into(), "{kind} {count}");
        }
    }
}
