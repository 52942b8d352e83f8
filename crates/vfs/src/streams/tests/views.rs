use super::*;
use crate::Error;
use crate::backend::{Backend, RenameMode};
use crate::mac::attr::NewAttr;
use crate::mac::{FinderInfo, Metadata, sidecar};
use crate::streams::SidecarView;

/// What a Mac reads when it opens `._f`; `None` when it does not find it.
fn read(disk: &Disk, name: &str) -> Option<Vec<u8>> {
    match disk.streams.sidecar_files().view(&user(), &*disk.root(), name.as_bytes()).unwrap() {
        SidecarView::OnDisk(found) => Some(content(&*found.object)),
        SidecarView::Synthesized(made) => {
            assert_eq!(made.attributes.size, made.bytes.len() as u64);
            Some(made.bytes)
        }
        SidecarView::Plain | SidecarView::Absent => None,
    }
}

/// A Mac makes or overwrites `._f`, and closes it.
fn write(disk: &Disk, name: &str, bytes: &[u8]) {
    let root = disk.root();
    let found = disk.streams.sidecar_files().materialize(&user(), &*root, name.as_bytes()).unwrap().unwrap();
    let empty = crate::SetAttributes { size: Some(0), ..Default::default() };
    found.object.set_attributes(&user(), &empty).unwrap();
    found.object.prepare(&user(), &found.attributes, Access::WRITE, true).unwrap();
    found.object.write_at(&user(), 0, bytes, Stability::File).unwrap();
    disk.streams.absorb(&disk.find(&name[2..]).unwrap().file()).unwrap();
}

fn text() -> FinderInfo {
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    info
}

fn sidecar_of(info: &FinderInfo, attrs: &[NewAttr<'_>], fork: &[u8]) -> Vec<u8> {
    let (mut bytes, problems) = sidecar::synthesize(info, attrs, fork.len() as u64);
    assert_eq!(problems, []);
    bytes.extend_from_slice(fork);
    bytes
}

fn model(disk: &Disk, name: &str) -> Metadata {
    let (metadata, problems) = disk.streams.load(&disk.find(name).unwrap().file()).unwrap();
    assert_eq!(problems, []);
    metadata
}

fn store(disk: &Disk, name: &str, info: FinderInfo) {
    let mut metadata = model(disk, name);
    metadata.set_finder_info(info);
    disk.streams.store(&user(), &disk.find(name).unwrap().file(), &metadata).unwrap();
}

fn stream(disk: &Disk, name: &str, stream: &[u8]) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let file = disk.find(name).unwrap();
    disk.streams.read_stream(&user(), &file.file(), stream, (0, 1 << 20), &mut bytes)?;
    Ok(bytes)
}

fn hidden(disk: &Disk, name: &str) -> bool {
    disk.streams.sidecar_files().hidden(&*disk.root(), name.as_bytes()).unwrap()
}

#[test]
fn a_file_with_nothing_to_say_has_no_sidecar_to_see() {
    let disk = Disk::new();
    disk.make("f");
    assert_eq!(read(&disk, "._f"), None);
    assert_eq!(read(&disk, "._missing"), None);
    let view = disk.streams.sidecar_files().view(&user(), &*disk.root(), b"f").unwrap();
    assert!(matches!(view, SidecarView::Plain));
}

#[test]
fn finder_info_and_attributes_are_seen_as_a_sidecar_that_is_not_on_the_disk() {
    let disk = Disk::new();
    let file = disk.make("f");
    store(&disk, "f", text());
    set_xattr(&*file.object, b"user.com.apple.quarantine", b"0083;");
    let seen = read(&disk, "._f").unwrap();
    let quarantine: NewAttr<'_> = (b"com.apple.quarantine", b"0083;");
    assert_eq!(seen, sidecar_of(&text(), &[quarantine], b""));
    assert!(!disk.has("._f"));
    assert!(disk.find("._f").is_none() && !hidden(&disk, "._f"));
}

#[test]
fn a_mac_reads_back_what_it_wrote_and_others_see_what_it_says() {
    let disk = Disk::new();
    let file = disk.make("f");
    let tags: NewAttr<'_> = (b"com.apple.metadata:_kMDItemUserTags", b"bplist00");
    let written = sidecar_of(&text(), &[tags], b"a resource fork");
    write(&disk, "._f", &written);
    assert_eq!(read(&disk, "._f").unwrap(), written);
    assert_eq!(disk.fork(&file), b"a resource fork");
    assert_eq!(model(&disk, "f").finder_info, text());
    assert_eq!(file.object.xattr(b"user.com.apple.metadata:_kMDItemUserTags").unwrap(), b"bplist00");
    assert!(hidden(&disk, "._f"));
}

#[test]
fn the_first_write_puts_what_was_synthesized_on_the_disk() {
    let disk = Disk::new();
    disk.make("f");
    store(&disk, "f", text());
    let seen = read(&disk, "._f").unwrap();
    let found = disk.streams.sidecar_files().materialize(&user(), &*disk.root(), b"._f").unwrap().unwrap();
    assert_eq!(content(&*found.object), seen);
    // A Mac changes the type in place.
    found.object.write_at(&user(), 50, b"ttro", Stability::File).unwrap();
    assert_eq!(model(&disk, "f").finder_info.file_type(), *b"ttro"); // also before it is absorbed
    disk.streams.absorb(&disk.find("f").unwrap().file()).unwrap();
    assert_eq!(model(&disk, "f").finder_info.file_type(), *b"ttro");
    assert_eq!(&read(&disk, "._f").unwrap()[50..58], b"ttrottxt");
}

/// A client keeps a handle of what it found, over its first write, a rename and a restart of the server.
#[test]
fn a_sidecar_is_found_again_by_its_file_alone() {
    let mut disk = Disk::new();
    let file = disk.make("f");
    store(&disk, "f", text());
    let root = disk.root();
    let owner = || disk.faulty.by_key(&file.object.key()).unwrap();
    assert_eq!(
        disk.streams.sidecar_files().materialize_of(&user(), &*file.object).map(drop),
        Err(Error::Stale)
    );
    let seen = read(&disk, "._f").unwrap();
    let SidecarView::Synthesized(again) = disk.streams.sidecar_files().view_of(owner()).unwrap() else {
        panic!("not on the disk")
    };
    assert_eq!(again.bytes, seen);
    let found = disk.streams.sidecar_files().materialize_of(&user(), &*file.object).unwrap();
    found.object.prepare(&user(), &found.attributes, Access::WRITE, true).unwrap();
    found.object.write_at(&user(), 50, b"APPL", Stability::File).unwrap();
    disk.streams.pairs().rename(&user(), (&*root, b"f"), (&*root, b"g"), RenameMode::Keep).unwrap();
    disk.crash();
    let owner = disk.faulty.by_key(&file.object.key()).unwrap();
    let SidecarView::OnDisk(again) = disk.streams.sidecar_files().view_of(owner).unwrap() else {
        panic!("on the disk")
    };
    assert_eq!(&content(&*again.object)[50..54], b"APPL");
    assert_eq!(model(&disk, "g").finder_info.file_type(), *b"APPL");
    disk.streams.sidecar_files().remove_view(&user(), &*root, b"._g").unwrap();
    let owner = disk.faulty.by_key(&file.object.key()).unwrap();
    assert!(matches!(disk.streams.sidecar_files().view_of(owner), Ok(SidecarView::Absent)));
}

#[test]
fn attributes_that_a_mac_removes_are_gone_and_others_stay() {
    let disk = Disk::new();
    let file = disk.make("f");
    let (one, two): (NewAttr<'_>, NewAttr<'_>) = ((b"one", b"1"), (b"two", b"2"));
    write(&disk, "._f", &sidecar_of(&text(), &[one, two], b""));
    set_xattr(&*file.object, b"user.late", b"not in the sidecar");
    write(&disk, "._f", &sidecar_of(&FinderInfo::NONE, &[two], b""));
    assert_eq!(stream(&disk, "f", b"one"), Err(Error::NoSuchAttribute));
    assert_eq!(stream(&disk, "f", b"two").unwrap(), b"2");
    assert_eq!(stream(&disk, "f", b"late").unwrap(), b"not in the sidecar");
    assert!(model(&disk, "f").finder_info.is_none());
}

#[test]
fn an_attribute_too_large_for_the_host_goes_to_the_store() {
    let disk = Disk::with_limits(Limits { xattr: 1000, ..LIMITS });
    disk.make("f");
    let large = vec![5; 200_000];
    write(&disk, "._f", &sidecar_of(&text(), &[(b"large", &large)], b"fork"));
    assert_eq!(stream(&disk, "f", b"large").unwrap(), large);
    assert_eq!(disk.fork(&disk.find("f").unwrap()), b"fork");
}

#[test]
fn finder_info_changed_elsewhere_is_changed_in_the_sidecar() {
    let disk = Disk::new();
    disk.make("f");
    let mut written = sidecar_of(&text(), &[(b"x", b"y")], b"fork");
    write(&disk, "._f", &written);
    let mut info = text();
    info.set_label(6);
    store(&disk, "f", info);
    written[50..82].copy_from_slice(info.as_bytes());
    assert_eq!(read(&disk, "._f").unwrap(), written);
    assert_eq!(model(&disk, "f").finder_info, info);
    assert_eq!(stream(&disk, "f", b"x").unwrap(), b"y");
}

#[test]
fn a_sidecar_made_elsewhere_gets_the_models_finder_info_when_a_mac_looks() {
    let disk = Disk::new();
    let file = disk.make("f");
    store(&disk, "f", text());
    disk.put_fork(&file, b"fork");
    let seen = read(&disk, "._f").unwrap();
    assert_eq!(&seen[50..58], b"TEXTttxt");
    assert_eq!(&seen[82..], b"fork");
}

#[test]
fn attributes_changed_elsewhere_are_changed_in_the_sidecar_when_a_mac_looks() {
    for fork in [&b""[..], b"a fork"] {
        let disk = Disk::new();
        let file = disk.make("f");
        let private: NewAttr<'_> = (b"com.apple.decmpfs", b"only in sidecars");
        write(&disk, "._f", &sidecar_of(&text(), &[(b"a", b"1"), (b"b", b"2"), private], fork));
        disk.streams.remove_stream(&user(), &file.file(), b"a").unwrap();
        disk.streams.write_stream(&user(), &file.file(), b"b", 0, b"22", Stability::File).unwrap();
        disk.streams.write_stream(&user(), &file.file(), b"c", 0, b"3", Stability::File).unwrap();
        let expected = sidecar_of(&text(), &[(b"b", b"22"), (b"c", b"3"), private], fork);
        assert_eq!(read(&disk, "._f").unwrap(), expected);
        assert_eq!(disk.fork(&file), fork);
        let sidecar = disk.find("._f").unwrap().object;
        assert_eq!(read(&disk, "._f").unwrap(), expected);
        assert_eq!(disk.find("._f").unwrap().object.key(), sidecar.key()); // once
    }
}

#[test]
fn a_fork_written_elsewhere_does_not_hide_the_attributes_from_macs() {
    let disk = Disk::new();
    let file = disk.make("f");
    set_xattr(&*file.object, b"user.com.apple.quarantine", b"0083;");
    disk.put_fork(&file, b"fork");
    let quarantine: NewAttr<'_> = (b"com.apple.quarantine", b"0083;");
    let seen = read(&disk, "._f").unwrap();
    assert_eq!(&seen[50..], &sidecar_of(&FinderInfo::NONE, &[quarantine], b"fork")[50..]);
}

#[test]
fn a_head_that_a_client_is_writing_is_left_alone() {
    let disk = Disk::new();
    let file = disk.make("f");
    write(&disk, "._f", &sidecar_of(&text(), &[(b"a", b"1")], b""));
    set_xattr(&*file.object, b"user.late", b"2");
    let sidecar = disk.find("._f").unwrap().object;
    sidecar.write_at(&user(), 50, b"APPL", Stability::File).unwrap();
    let written = content(&*sidecar);
    assert_eq!(read(&disk, "._f").unwrap(), written);
}

#[test]
fn a_sidecar_just_made_is_empty_hidden_and_says_nothing() {
    let disk = Disk::new();
    let file = disk.make("f");
    let made = disk.streams.sidecar_files().materialize(&user(), &*disk.root(), b"._f").unwrap().unwrap();
    assert_eq!(made.attributes.size, 0);
    assert!(hidden(&disk, "._f"));
    assert_eq!(read(&disk, "._f").unwrap(), b"");
    assert!(model(&disk, "f").is_empty());
    assert_eq!(disk.fork(&file), b"");
    disk.put_fork(&file, b"fork"); // a header is made for it
    assert_eq!(disk.fork(&file), b"fork");
}

#[test]
fn only_sidecars_of_files_that_are_there_are_hidden() {
    let disk = Disk::new();
    disk.make("f");
    disk.put("._f", b"plain text");
    disk.put("._orphan", &sidecar_of(&text(), &[], b""));
    disk.put("._g", &sidecar_of(&text(), &[], b""));
    disk.put("._", b"");
    assert!(!hidden(&disk, "._f") && !hidden(&disk, "._orphan") && !hidden(&disk, "._g"));
    assert!(!hidden(&disk, "f") && !hidden(&disk, "._"));
    disk.make("g");
    assert!(hidden(&disk, "._g"));
    let view = disk.streams.sidecar_files().view(&user(), &*disk.root(), b"._f").unwrap();
    assert!(matches!(view, SidecarView::Plain));
    assert!(disk.streams.sidecar_files().materialize(&user(), &*disk.root(), b"._f").unwrap().is_none());
}

#[test]
fn removing_the_sidecar_clears_what_it_showed() {
    let disk = Disk::new();
    let file = disk.make("f");
    write(&disk, "._f", &sidecar_of(&text(), &[(b"shown", b"1")], b"fork"));
    set_xattr(&*file.object, b"user.late", b"2");
    assert_eq!(disk.streams.sidecar_files().remove_view(&user(), &*disk.root(), b"._f"), Ok(true));
    assert!(!disk.has("._f") && disk.has("f"));
    assert_eq!(disk.fork(&file), b"");
    assert!(model(&disk, "f").finder_info.is_none());
    assert_eq!(stream(&disk, "f", b"shown"), Err(Error::NoSuchAttribute));
    assert_eq!(stream(&disk, "f", b"late").unwrap(), b"2");
    // What is left is seen again, and can be removed too.
    assert_eq!(disk.streams.sidecar_files().remove_view(&user(), &*disk.root(), b"._f"), Ok(true));
    assert_eq!(
        disk.streams.sidecar_files().remove_view(&user(), &*disk.root(), b"._f"),
        Err(Error::NotFound)
    );
    assert_eq!(disk.streams.sidecar_files().remove_view(&user(), &*disk.root(), b"f"), Ok(false));
}

#[test]
fn another_files_sidecar_is_not_seen() {
    let disk = Disk::new();
    disk.make("f");
    write(&disk, "._f", &sidecar_of(&text(), &[], b"old fork"));
    disk.root().remove(&user(), b"f").unwrap();
    disk.make("f");
    assert_eq!(read(&disk, "._f"), None);
    write(&disk, "._f", &sidecar_of(&FinderInfo::NONE, &[], b"new fork"));
    assert_eq!(disk.fork(&disk.find("f").unwrap()), b"new fork");
}

#[test]
fn a_mac_that_renames_the_sidecar_after_the_file_finds_it_done() {
    let disk = Disk::new();
    disk.make("a");
    write(&disk, "._a", &sidecar_of(&text(), &[], b"fork"));
    let root = disk.root();
    disk.streams.pairs().rename(&user(), (&*root, b"a"), (&*root, b"b"), RenameMode::Replace).unwrap();
    assert!(read(&disk, "._a").is_some()); // or the Mac would remove ._b as stale
    assert_eq!(disk.streams.sidecar_files().has_followed((&*root, b"._a"), (&*root, b"._b")), Ok(true));
    assert_eq!(disk.streams.sidecar_files().has_followed((&*root, b"._a"), (&*root, b"._c")), Ok(false));
    disk.make("a");
    assert_eq!(read(&disk, "._a"), None);
    assert_eq!(&read(&disk, "._b").unwrap()[82..], b"fork");
}

#[test]
fn a_sidecar_renamed_into_place_counts() {
    let disk = Disk::new();
    let file = disk.make("f");
    store(&disk, "f", text());
    let mut other = FinderInfo::NONE;
    other.set_type(*b"APPL", *b"????");
    disk.put(".._f.x1y2", &sidecar_of(&other, &[(b"a", b"b")], b"fork")); // as rsync does
    let root = disk.root();
    root.rename(&user(), b".._f.x1y2", &*root, b"._f", RenameMode::Replace).unwrap();
    disk.streams.pairs().placed(&*root, b"._f").unwrap();
    assert_eq!(model(&disk, "f").finder_info, other);
    assert_eq!(disk.fork(&file), b"fork");
    assert_eq!(stream(&disk, "f", b"a").unwrap(), b"b");
}

#[test]
fn those_who_may_not_write_the_file_may_not_write_its_sidecar() {
    let disk = Disk::new();
    disk.make("f");
    store(&disk, "f", text());
    let (other, root) = (Caller::new(11, 21, &[]), disk.root());
    assert_eq!(
        disk.streams.sidecar_files().materialize(&other, &*root, b"._f").map(drop),
        Err(Error::AccessDenied)
    );
    assert_eq!(disk.streams.sidecar_files().remove_view(&other, &*root, b"._f"), Err(Error::AccessDenied));
    assert!(matches!(
        disk.streams.sidecar_files().view(&other, &*root, b"._f"),
        Ok(SidecarView::Synthesized(_))
    ));
}

/// Whatever call fails while a written sidecar is absorbed, absorbing it again gives the same.
#[test]
fn absorbing_can_be_cut_off_anywhere() {
    let mut through = false;
    for nth in 1..200 {
        let mut disk = Disk::new();
        let file = disk.make("f");
        write(&disk, "._f", &sidecar_of(&FinderInfo::NONE, &[(b"old", b"0")], b""));
        let found =
            disk.streams.sidecar_files().materialize(&user(), &*disk.root(), b"._f").unwrap().unwrap();
        let written = sidecar_of(&text(), &[(b"new", b"1")], b"fork");
        found.object.write_at(&user(), 0, &written, Stability::File).unwrap();
        disk.faulty.plan().fail_from(nth, None, Error::Io);
        through = disk.streams.absorb(&file.file()).is_ok();
        disk.crash();
        assert_eq!(model(&disk, "f").finder_info, text(), "call {nth}");
        assert_eq!(stream(&disk, "f", b"new").unwrap(), b"1", "call {nth}");
        assert_eq!(stream(&disk, "f", b"old"), Err(Error::NoSuchAttribute), "call {nth}");
        assert_eq!(read(&disk, "._f").unwrap(), written);
        if through {
            break;
        }
    }
    assert!(through);
}

#[test]
fn what_was_set_before_a_fork_and_finder_info_is_in_the_head_too() {
    let disk = Disk::new();
    let file = disk.make("f");
    disk.streams.write_stream(&user(), &file.file(), b"note", 0, b"a note", Stability::File).unwrap();
    disk.put_fork(&file, b"fork");
    store(&disk, "f", text());
    disk.put_fork(&file, b"FORK");
    let note: NewAttr<'_> = (b"note", b"a note");
    let seen = read(&disk, "._f").unwrap();
    assert_eq!(&seen[50..], &sidecar_of(&text(), &[note], b"FORK")[50..]);
}
