//! General comments on filenames, RFC 1813 3.2, at every procedure that takes one.

use super::*;

/// The status of every procedure on this name in the root.
fn statuses(s: &Session, name: &[u8]) -> Vec<(&'static str, Status)> {
    let root = &s.root;
    let source = s.file("source", b"");
    let all = vec![
        ("lookup", s.lookup(root, name).err().map(|fail| fail.status)),
        ("create", s.create(root, name, CreateHow::Guarded(mode(0o644))).err().map(|fail| fail.status)),
        ("exclusive", s.create(root, name, CreateHow::Exclusive([1; 8])).err().map(|fail| fail.status)),
        ("mkdir", s.mkdir(root, name, mode(0o755)).err().map(|fail| fail.status)),
        ("symlink", s.symlink(root, name, b"x").err().map(|fail| fail.status)),
        ("mknod", s.mknod(root, name, MknodData::Fifo(mode(0o644))).err().map(|fail| fail.status)),
        ("remove", s.remove(root, name).err().map(|fail| fail.status)),
        ("rmdir", s.rmdir(root, name).err().map(|fail| fail.status)),
        ("rename from", s.rename((root, name), (root, b"new")).err().map(|fail| fail.status)),
        ("rename to", s.rename((root, b"source"), (root, name)).err().map(|fail| fail.status)),
        ("link", s.link(&source, root, name).err().map(|fail| fail.status)),
    ];
    all.into_iter().map(|(procedure, status)| (procedure, status.unwrap_or(Status::OK))).collect()
}

fn refused(name: &[u8], expected: Status) {
    let s = Session::new();
    let before = s.attributes(&s.root);
    for (procedure, status) in statuses(&s, name) {
        assert_eq!(status, expected, "{procedure} {}", name.escape_ascii());
    }
    let left = s.readdir(&s.root, 0, 4096).unwrap().entries;
    assert_eq!(left.len(), 3, "only the source was made: {left:?}");
    assert_eq!(s.attributes(&s.root).nlink, before.nlink);
}

#[test]
fn an_empty_name_is_acces() {
    refused(b"", Status::ACCES);
}

#[test]
fn a_name_with_a_slash_or_a_nul_is_acces() {
    for name in [&b"a/b"[..], b"/", b"/etc", b"../x", b"a\0b", b"\0"] {
        refused(name, Status::ACCES);
    }
}

#[test]
fn a_name_longer_than_the_host_holds_is_nametoolong() {
    refused(&[b'n'; 256], Status::NAMETOOLONG);
    refused(&[b'n'; 4096], Status::NAMETOOLONG);
    refused(&[b'n'; 65_536], Status::NAMETOOLONG);
}

/// A name of 300 bytes and 100 characters, as clients of other protocols make them.
fn characters(of: &str) -> Vec<u8> {
    of.repeat(100).into_bytes()
}

#[test]
fn a_name_of_255_characters_is_made_found_moved_and_removed() {
    let s = Session::new();
    let (one, two) = (characters("\u{6f22}"), "\u{5b57}".repeat(255).into_bytes());
    let file = s.create(&s.root, &one, CreateHow::Guarded(mode(0o644))).unwrap().handle;
    assert_eq!(s.lookup(&s.root, &one).unwrap().handle, file);
    assert_eq!(s.create(&s.root, &one, CreateHow::Guarded(mode(0o644))).err().unwrap().status, Status::EXIST);
    s.rename((&s.root, &one), (&s.root, &two)).unwrap();
    assert_eq!(s.lookup(&s.root, &one).err().unwrap().status, Status::NOENT);
    assert_eq!(s.lookup(&s.root, &two).unwrap().handle, file);
    s.link(&file, &s.root, &one).unwrap();
    assert_eq!(s.attributes(&file).nlink, 2);
    let folder = characters("\u{5c71}");
    let made = s.mkdir(&s.root, &folder, mode(0o755)).unwrap();
    let path = format!("/share/{}", String::from_utf8(folder.clone()).unwrap());
    assert_eq!(Session::mounted(s.client.clone(), &path).root, made.handle);
    assert_eq!(s.symlink(&s.root, &characters("x"), b"x").map(drop), Ok(())); // 100 bytes
    assert_eq!(s.symlink(&s.root, &characters("\u{6d77}"), b"x").err().unwrap().status, Status::NAMETOOLONG);
    s.remove(&s.root, &one).unwrap();
    s.remove(&s.root, &two).unwrap();
    s.rmdir(&s.root, &folder).unwrap();
    assert_eq!(s.readdir(&s.root, 0, 4096).unwrap().entries.len(), 3);
    assert_eq!(s.pathconf(&s.root).unwrap().name_max, 255, "Linux sets a limit of 255 in any case");
}

/// Linux refuses the whole reply if a name in it is longer than 255 bytes (NFS3_MAXNAMLEN of include/uapi/linux/nfs3.h).
#[test]
fn no_listing_has_a_name_of_more_than_255_bytes_unless_the_share_says_so() {
    let name = characters("\u{6f22}");
    for whole in [false, true] {
        let mut export = export("share", 1, Arc::new(Memory::ticking()));
        export.options.shortens_names = !whole;
        let s = Session::with(vec![export]);
        let file = s.create(&s.root, &name, CreateHow::Guarded(mode(0o644))).unwrap().handle;
        let listings = [s.readdir(&s.root, 0, 4096), s.readdirplus(&s.root, 0, 4096, 4096)];
        for entries in listings.map(|listed| listed.unwrap().entries) {
            let listed = entries.into_iter().map(|entry| entry.name).find(|name| name.len() > 2).unwrap();
            assert_eq!(listed == name, whole);
            assert!(whole || listed.len() <= 255 && listed.starts_with(&name[..200]));
            assert_eq!(s.lookup(&s.root, &listed).unwrap().handle, file, "either name leads to the file");
        }
    }
}

#[test]
fn a_name_longer_than_any_message_may_hold_is_garbage() {
    use crate::wire::rpc::Outcome;
    let s = Session::new();
    let answer = s.call(Procedure::LOOKUP, &lookup::Request { what: place(&s.root, &[b'n'; 65_540]) });
    assert_eq!(answer.outcome, Outcome::GarbageArgs);
}

#[test]
fn dots_are_no_names_to_make_remove_or_move() {
    for name in [&b"."[..], b".."] {
        let s = Session::new();
        let before = s.attributes(&s.root).nlink;
        for (procedure, status) in statuses(&s, name) {
            let expected = match procedure {
                "lookup" => Status::OK,
                // RFC 1813 3.3.9 for MKDIR. Both names exist in every folder.
                "mkdir" | "create" | "exclusive" | "symlink" | "mknod" => Status::EXIST,
                // RFC 1813 3.3.13.
                "rmdir" if name == b".." => Status::EXIST,
                // RFC 1813 3.3.13 to 3.3.15.
                _ => Status::INVAL,
            };
            assert_eq!(status, expected, "{procedure} {}", name.escape_ascii());
        }
        assert_eq!(s.attributes(&s.root).nlink, before);
    }
}

#[test]
fn any_other_bytes_are_a_name() {
    let s = Session::new();
    let names: [&[u8]; 8] = [b"...", b" ", b"a b", b"\xff\xfe", b"\x01", b"a:b\\*?", b"-rf", &[b'n'; 255]];
    for name in names {
        let made = s.create(&s.root, name, CreateHow::Guarded(mode(0o644))).unwrap();
        assert_eq!(s.lookup(&s.root, name).unwrap().handle, made.handle);
    }
    let listed: Vec<Vec<u8>> =
        s.readdir(&s.root, 0, 8192).unwrap().entries.into_iter().map(|entry| entry.name).collect();
    for name in names {
        assert!(listed.iter().any(|other| other == name), "{}", name.escape_ascii());
        s.remove(&s.root, name).unwrap();
    }
}

fn listed(s: &Session) -> Vec<String> {
    let entries = s.readdir(&s.root, 0, 8192).unwrap().entries.into_iter();
    let names = entries.map(|entry| String::from_utf8(entry.name).unwrap());
    let mut names: Vec<String> = names.filter(|name| !matches!(&**name, "." | "..")).collect();
    names.sort();
    names
}

const NFC: &str = "caf\u{e9}";
const NFD: &str = "cafe\u{301}";

#[test]
fn a_name_keeps_its_normal_form_and_another_form_of_it_is_the_same_file() {
    for (name, other) in [(NFC, NFD), (NFD, NFC)] {
        let s = Session::new();
        let made = s.create(&s.root, name.as_bytes(), CreateHow::Guarded(mode(0o644))).unwrap();
        assert_eq!(listed(&s), [name]);
        let other = other.as_bytes();
        assert_eq!(s.lookup(&s.root, other).unwrap().handle, made.handle);
        for (procedure, status) in statuses(&s, other) {
            let expected = match procedure {
                "rmdir" | "rename from" => Status::NOENT, // it has been removed
                "lookup" | "remove" | "rename to" => Status::OK,
                _ => Status::EXIST,
            };
            assert_eq!(status, expected, "{procedure}");
        }
        assert_eq!(listed(&s), [String::from_utf8_lossy(other)]);
        let again = s.create(&s.root, name.as_bytes(), CreateHow::Unchecked(mode(0o644))).unwrap();
        assert_eq!(s.lookup(&s.root, other).unwrap().handle, again.handle);
        s.rename((&s.root, other), (&s.root, name.as_bytes())).unwrap();
        assert_eq!(listed(&s), [name]);
    }
}

/// The requests of rsync --delete-after: it renames a temporary file to its final name. At the end
/// it removes all listed names that the source does not have.
#[test]
fn a_mirror_that_removes_what_its_source_does_not_have_keeps_decomposed_names() {
    let s = Session::new();
    s.file(NFC, b"as an earlier version stored it");
    s.file("gone", b"");
    let source = [(NFD, "one"), ("no\u{308}te", "two"), ("\u{1100}\u{1161}", "three")];
    for _ in 0..2 {
        for (name, content) in source {
            let temporary = format!(".{name}.Xq3d");
            let file = s.file(&temporary, content.as_bytes());
            s.rename((&s.root, temporary.as_bytes()), (&s.root, name.as_bytes())).unwrap();
            assert_eq!(s.lookup(&s.root, name.as_bytes()).unwrap().handle, file);
        }
        for name in listed(&s).iter().filter(|name| source.iter().all(|(kept, _)| kept != name)) {
            s.remove(&s.root, name.as_bytes()).unwrap();
        }
        let mut expected = source.map(|(name, _)| name.to_owned());
        expected.sort();
        assert_eq!(listed(&s), expected);
    }
    for (name, content) in source {
        assert_eq!(s.content(&s.lookup(&s.root, name.as_bytes()).unwrap().handle), content.as_bytes());
    }
}

/// The server's own folders, at any depth and in any case, and their sidecars.
#[test]
fn the_names_of_the_servers_own_folders_are_acces() {
    for name in [&b".fourfold-streams"[..], b".fourfold-luns", b".FOURFOLD-streams", b"._.fourfold-streams"] {
        refused(name, Status::ACCES);
        let s = Session::new();
        let (folder, file) = (s.folder("folder"), s.file("file", b""));
        assert_eq!(s.link(&file, &folder, name).unwrap_err().status, Status::ACCES);
        assert_eq!(s.rename((&s.root, b"file"), (&folder, name)).unwrap_err().status, Status::ACCES);
        let unchecked = CreateHow::Unchecked(mode(0o644));
        assert_eq!(s.create(&folder, name, unchecked).unwrap_err().status, Status::ACCES);
    }
}

#[test]
fn a_share_is_mounted_by_any_normal_form_of_its_name() {
    let service = service_with(vec![export(NFC, 1, Arc::new(Memory::ticking()))]);
    for name in [NFC, NFD] {
        assert!(now(Client::new(&service).mount(&format!("/{name}"))).is_ok(), "{name}");
    }
}
