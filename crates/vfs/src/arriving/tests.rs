use std::sync::atomic::AtomicUsize;

use super::*;
use crate::backend::memory::Memory;
use crate::backend::{NewKind, RenameMode, Stability, Wait};
use crate::{Caller, Error, SetAttributes};

/// A server in memory with `letter`, `empty`, `film` (3 MiB and a byte) and `folder/inner`, whose answers can be counted and stopped.
#[derive(Default)]
struct Old {
    is_away: AtomicBool,
    reads: AtomicUsize,
}

const FILM: u64 = (3 << 20) + 1;
const DATE: Time = Time { secs: 1_000_000_000, nanos: 5 };

impl Old {
    fn answer<T>(&self, answer: T) -> Result<T> {
        if self.is_away.load(Ordering::Relaxed) { Err(Error::Away) } else { Ok(answer) }
    }
}

fn byte(offset: u64) -> u8 {
    (offset % 251) as u8 + 1
}

impl Source for Old {
    fn entries(&self, folder: &str) -> Result<Listing> {
        let coming = |name: &str, kind, length| Coming {
            name: name.into(),
            kind,
            length,
            modified: Some(DATE),
            owner: Some((1000, 100)),
            target: b"letter".to_vec(),
        };
        self.answer(listing(match folder {
            "" => vec![
                coming("letter", Kind::File, 5),
                coming("empty", Kind::File, 0),
                coming("film", Kind::File, FILM),
                coming("folder", Kind::Folder, 0),
                coming("link", Kind::Link, 6),
            ],
            "folder" => vec![coming("inner", Kind::File, 5)],
            _ => return Err(Error::NotFound),
        }))
    }

    fn describe(&self, path: &str, _: Kind, file: &File<'_>, _: &Streams) -> Result<ArrivedMetadata> {
        file.object.set_xattr(server(), b"user.path", path.as_bytes(), crate::backend::XattrMode::Set)?;
        let rights = ArrivingRights {
            mode: Some(0o640),
            user: Some(1000),
            group: Some(100),
            ..ArrivingRights::default()
        };
        self.answer(ArrivedMetadata { rights, lost: None })
    }

    fn read(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let size = if path == "film" { FILM } else { 5 };
        let end = size.min(offset + length as u64);
        self.answer((offset..end).map(byte).collect())
    }
}

fn listing(entries: Vec<Coming>) -> Listing {
    Listing { entries, unreadable: Vec::new() }
}

struct Scene {
    disk: Memory,
    old: Arc<Old>,
    here: Arriving,
}

impl Scene {
    fn new() -> Self {
        let (disk, old) = (Memory::ticking(), Arc::new(Old::default()));
        let here =
            Arriving::over(Arc::new(disk.clone()), old.clone(), Style::default(), Arc::default()).unwrap();
        Self { disk, old, here }
    }

    /// The server is killed and starts again.
    fn restart(&mut self) {
        let disk = Arc::new(self.disk.clone());
        self.here = Arriving::over(disk, self.old.clone(), Style::default(), Arc::default()).unwrap();
    }

    fn root(&self) -> Arc<dyn Object> {
        self.here.root().unwrap().object
    }

    fn at(&self, path: &str) -> Found {
        let names: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
        self.root().lookup_path(&Caller::root(), &names).unwrap()
    }

    fn reads(&self) -> usize {
        self.old.reads.load(Ordering::Relaxed)
    }
}

fn content(object: &dyn Object, offset: u64, length: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    object.read_at(offset, length, &mut bytes, Wait::Allowed)?;
    Ok(bytes)
}

fn expected(from: u64, to: u64) -> Vec<u8> {
    (from..to).map(byte).collect()
}

#[test]
fn entries_are_here_with_dates_and_modes_before_any_data() {
    let scene = Scene::new();
    let film = scene.at("film");
    let attributes = film.attributes;
    assert_eq!((attributes.size, attributes.mode, attributes.modified), (FILM, 0o640, DATE));
    assert_eq!((attributes.uid, attributes.gid), (1000, 100));
    assert_eq!(film.object.xattr(b"user.path").unwrap(), b"film");
    assert_eq!(scene.at("link").object.read_link().unwrap(), b"letter");
    assert_eq!(scene.at("folder/inner").attributes.size, 5);
    assert_eq!(scene.reads(), 0);
    // What a listing shows is what was made, under the same numbers.
    let mut names = Vec::new();
    scene
        .root()
        .list(0, &mut |entry| {
            names.push((entry.name.to_vec(), entry.id));
            true
        })
        .unwrap();
    assert!(names.contains(&(b"film".to_vec(), attributes.id)));
    assert!(names.iter().all(|(name, _)| !name.starts_with(b".fourfold")));
}

#[test]
fn a_read_brings_its_piece_and_keeps_it_and_the_date() {
    let scene = Scene::new();
    let film = scene.at("film").object;
    assert_eq!(film.read_at(0, 10, &mut Vec::new(), Wait::Never), Err(Error::WouldBlock));
    assert_eq!(content(&*film, FILM - 5, 10).unwrap(), expected(FILM - 5, FILM));
    assert_eq!(content(&*film, 7, 9).unwrap(), expected(7, 16));
    let reads = scene.reads();
    assert_eq!(content(&*film, 1 << 19, 9).unwrap(), expected(1 << 19, (1 << 19) + 9));
    // Another object of the file, as a stateless protocol gets one for each request.
    let again = scene.here.by_key(&film.key()).unwrap().object;
    assert_eq!(content(&*again, 0, 4).unwrap(), expected(0, 4));
    assert_eq!(scene.reads(), reads);
    assert_eq!(film.attributes().unwrap().modified, DATE);
    // Across pieces, to the end: then the file is here, and its mark is gone.
    assert_eq!(content(&*film, 0, FILM as usize).unwrap(), expected(0, FILM));
    assert_eq!(mark::read(&*film).unwrap(), None);
    assert_eq!(film.attributes().unwrap().modified, DATE);
}

#[test]
fn a_change_waits_for_the_whole_file_and_a_cut_to_nothing_does_not() {
    let scene = Scene::new();
    let letter = scene.at("letter").object;
    letter.write_at(&Caller::root(), 1, b"X", Stability::Unstable).unwrap();
    assert_eq!(content(&*letter, 0, 9).unwrap(), [1, b'X', 3, 4, 5]);
    let reads = scene.reads();
    let film = scene.at("film").object;
    let cut = SetAttributes { size: Some(0), ..SetAttributes::default() };
    film.set_attributes(&Caller::root(), &cut).unwrap();
    film.write_at(&Caller::root(), 0, b"new", Stability::Unstable).unwrap();
    assert_eq!(content(&*film, 0, 9).unwrap(), b"new");
    let inner = scene.at("folder/inner").object;
    inner.truncate(&Caller::root(), 0).unwrap();
    inner.truncate(&Caller::root(), 3).unwrap();
    assert_eq!(content(&*inner, 0, 9).unwrap(), [0; 3]);
    assert_eq!(scene.reads(), reads);
}

#[test]
fn what_clients_have_changed_stays_after_a_restart_and_renamed_files_still_arrive() {
    let mut scene = Scene::new();
    let (root, owner) = (scene.root(), Caller::root());
    root.remove(&owner, b"letter").unwrap();
    root.create(&owner, b"own", NewKind::File, 0o644).unwrap();
    let folder = scene.at("folder").object;
    root.rename(&owner, b"film", &*folder, b"movie", RenameMode::Replace).unwrap();
    root.rename(&owner, b"folder", &*root, b"box", RenameMode::Replace).unwrap();
    assert_eq!(content(&*scene.at("box/movie").object, 0, 3).unwrap(), expected(0, 3));
    scene.restart();
    assert_eq!(scene.root().lookup(&owner, b"letter").map(drop), Err(Error::NotFound));
    assert_eq!(scene.root().lookup(&owner, b"folder").map(drop), Err(Error::NotFound));
    assert_eq!(
        content(&*scene.at("box/movie").object, 1 << 20, 3).unwrap(),
        expected(1 << 20, (1 << 20) + 3)
    );
    assert_eq!(content(&*scene.at("box/inner").object, 0, 9).unwrap(), expected(0, 5));
}

#[test]
fn a_folder_is_not_empty_before_its_entries_are_here() {
    let scene = Scene::new();
    let removed = scene.root().remove_folder(&Caller::root(), b"folder");
    assert_eq!(removed, Err(Error::NotEmpty));
}

#[test]
fn without_the_other_server_what_is_here_goes_on() {
    let scene = Scene::new();
    let (letter, film) = (scene.at("letter").object, scene.at("film").object);
    content(&*letter, 0, 9).unwrap();
    scene.old.is_away.store(true, Ordering::Relaxed);
    assert_eq!(content(&*letter, 0, 9).unwrap(), expected(0, 5));
    assert_eq!(content(&*film, 0, 9), Err(Error::Away));
    assert_eq!(film.write_at(&Caller::root(), 0, b"x", Stability::Unstable), Err(Error::Away));
    let folder = scene.at("folder").object;
    assert_eq!(folder.lookup(&Caller::root(), b"inner").map(drop), Err(Error::Away));
    assert!(scene.here.progress().is_away);
    scene.root().create(&Caller::root(), b"new", NewKind::File, 0o644).unwrap();
    assert_eq!(scene.here.pass(&|| false), Err(Error::Away));
    scene.old.is_away.store(false, Ordering::Relaxed);
    assert_eq!(content(&*film, 0, 3).unwrap(), expected(0, 3));
    assert!(!scene.here.progress().is_away);
}

#[test]
fn the_pass_brings_all_and_then_the_other_server_is_not_asked_any_more() {
    let mut scene = Scene::new();
    let progress = scene.here.pass(&|| false).unwrap();
    assert!(progress.is_done);
    assert_eq!((progress.files, progress.files_left, progress.bytes, progress.failed), (3, 0, FILM + 10, 0));
    scene.old.is_away.store(true, Ordering::Relaxed);
    assert_eq!(content(&*scene.at("film").object, 0, FILM as usize).unwrap(), expected(0, FILM));
    scene.restart();
    assert!(scene.here.progress().is_done);
    assert_eq!(content(&*scene.at("folder/inner").object, 0, 9).unwrap(), expected(0, 5));
    assert_eq!(scene.at("film").attributes.modified, DATE);
    assert_eq!(scene.at("folder").attributes.modified, DATE);
}

#[test]
fn a_stop_in_the_middle_of_a_folder_is_made_good() {
    // Each number of calls of the disk after which it fails, as a kill does.
    use crate::backend::faulty::Faulty;
    for calls in 1.. {
        let (disk, old) = (Memory::ticking(), Arc::new(Old::default()));
        let faulty = Arc::new(Faulty::new(disk.clone()));
        let here = Arriving::over(faulty.clone(), old.clone(), Style::default(), Arc::default()).unwrap();
        faulty.plan().fail_from(calls, None, Error::NoSpace);
        let listed = here.root().map(|root| root.object).and_then(|root| root.lookup(server(), b"film"));
        let is_whole = listed.is_ok();
        drop((here, faulty));
        let here =
            Arriving::over(Arc::new(disk.clone()), old.clone(), Style::default(), Arc::default()).unwrap();
        for (name, size) in [(&b"letter"[..], 5), (b"empty", 0), (b"film", FILM)] {
            let found = here.root().unwrap().object.lookup(server(), name).unwrap();
            assert_eq!((found.attributes.size, found.attributes.mode), (size, 0o640), "{calls}");
            assert_eq!(found.attributes.modified, DATE, "{calls}");
            let path = found.object.xattr(b"user.path").unwrap();
            assert_eq!(path, name, "{calls}");
        }
        let film = here.root().unwrap().object.lookup(server(), b"film").unwrap().object;
        assert_eq!(content(&*film, FILM - 9, 9).unwrap(), expected(FILM - 9, FILM));
        if is_whole {
            return;
        }
    }
}

/// A server with one file at the end of a path of 21 long names, and one beside the first of them.
struct Deep;

impl Deep {
    fn name() -> String {
        "n".repeat(240)
    }

    fn folders(path: &str) -> usize {
        if path.is_empty() { 0 } else { path.split('/').count() }
    }
}

impl Source for Deep {
    fn entries(&self, folder: &str) -> Result<Listing> {
        let coming = |name: &str, kind, length| Coming {
            name: name.into(),
            kind,
            length,
            modified: Some(DATE),
            owner: None,
            target: Vec::new(),
        };
        Ok(listing(match Self::folders(folder) {
            0 => vec![coming(&Self::name(), Kind::Folder, 0), coming("beside", Kind::File, 5)],
            1..20 => vec![coming(&Self::name(), Kind::Folder, 0)],
            _ => vec![coming("end", Kind::File, 5)],
        }))
    }

    fn describe(&self, _: &str, _: Kind, _: &File<'_>, _: &Streams) -> Result<ArrivedMetadata> {
        let rights = ArrivingRights { mode: Some(0o750), ..ArrivingRights::default() };
        Ok(ArrivedMetadata { rights, lost: None })
    }

    fn read(&self, path: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        let is_known = path == "beside" || path.ends_with("/end") && Self::folders(path) == 21;
        let end = if is_known { 5.min(offset + length as u64) } else { return Err(Error::NotFound) };
        Ok((offset..end).map(byte).collect())
    }
}

#[test]
fn a_file_whose_path_fits_no_attribute_arrives_too() {
    // As on ext4: https://docs.kernel.org/filesystems/ext4/attributes.html, one block for all.
    let disk = Memory::ticking();
    disk.set_xattr_room(4_000);
    let again =
        || Arriving::over(Arc::new(disk.clone()), Arc::new(Deep), Style::default(), Arc::default()).unwrap();
    let names = vec![Deep::name(); 20];
    let mut path: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    path.push(b"end");
    let here = again();
    let end = here.root().unwrap().object.lookup_path(&Caller::root(), &path).unwrap();
    assert_eq!((end.attributes.size, end.attributes.modified), (5, DATE));
    let streams = Streams::new(Arc::new(disk.clone()));
    assert!(streams.own_store.folder(&end.object.key()).unwrap().is_some(), "its path is in the store");
    // After a restart its mark is found there.
    let here = again();
    let progress = here.pass(&|| false).unwrap();
    assert_eq!((progress.is_done, progress.failed, progress.files), (true, 0, 2));
    let end = here.root().unwrap().object.lookup_path(&Caller::root(), &path).unwrap();
    assert_eq!(content(&*end.object, 0, 9).unwrap(), expected(0, 5));
    let streams = Streams::new(Arc::new(disk.clone()));
    assert!(streams.own_store.folder(&end.object.key()).unwrap().is_none(), "nothing of it is left there");
}

#[test]
fn one_file_without_room_stops_no_others() {
    use crate::backend::faulty::{Call as Of, Faulty};
    // Neither the path nor a short mark fits one of the files, at any place in the queue.
    for nth in 1..8 {
        let disk = Memory::ticking();
        let faulty = Arc::new(Faulty::new(disk.clone()));
        let old = Arc::new(Old::default());
        let here = Arriving::over(faulty.clone(), old, Style::default(), Arc::default()).unwrap();
        faulty.plan().fail(nth, Some(Of::SetXattr), Error::NoRoomForAttribute);
        here.pass(&|| false).unwrap();
        let names = ["letter", "empty", "film", "folder"];
        let root = disk.root().unwrap().object;
        let missing = names.iter().filter(|name| root.lookup(server(), name.as_bytes()).is_err()).count();
        assert!(missing <= 1, "{nth}: {missing}");
        // It is told, and tried again.
        let progress = here.progress();
        assert_eq!(progress.missing, missing as u64, "{nth}: {progress:?}");
        assert_eq!(progress.is_done, missing == 0 && progress.failed == 0, "{nth}: {progress:?}");
        let progress = here.pass(&|| false).unwrap();
        assert!(progress.is_done && progress.named.is_empty(), "{nth}: {progress:?}");
        assert!(names.iter().all(|name| root.lookup(server(), name.as_bytes()).is_ok()), "{nth}");
    }
}

/// A server with a folder in which something cannot be made here: a name that is too long, a socket, a name that is not text, and a file
/// with an attribute that no disk takes.
#[derive(Default)]
struct Odd {
    is_mended: AtomicBool,
    has_file: AtomicBool,
    is_away: AtomicBool,
}

impl Odd {
    fn long() -> String {
        "l".repeat(300)
    }
}

impl Source for Odd {
    fn entries(&self, folder: &str) -> Result<Listing> {
        if self.is_away.load(Ordering::Relaxed) {
            return Err(Error::Away);
        }
        let coming = |name: &str, kind, length| Coming {
            name: name.into(),
            kind,
            length,
            modified: Some(DATE),
            owner: None,
            target: Vec::new(),
        };
        if folder.is_empty() {
            return Ok(listing(vec![coming("folder", Kind::Folder, 0), coming("beside", Kind::File, 5)]));
        }
        let plain = vec![coming("plain", Kind::File, 5), coming("rich", Kind::File, 5)];
        if self.is_mended.load(Ordering::Relaxed) {
            return Ok(listing(plain));
        }
        let (kind, length) =
            if self.has_file.load(Ordering::Relaxed) { (Kind::File, 5) } else { (Kind::Socket, 0) };
        let odd = [coming(&Self::long(), Kind::File, 5), coming("socket", kind, length)];
        Ok(Listing { entries: [plain, odd.to_vec()].concat(), unreadable: vec!["caf\u{fffd}".into()] })
    }

    fn describe(&self, path: &str, _: Kind, _: &File<'_>, _: &Streams) -> Result<ArrivedMetadata> {
        let lost = path.ends_with("rich").then(|| "an attribute cannot be kept".to_owned());
        Ok(ArrivedMetadata {
            rights: ArrivingRights { mode: Some(0o750), ..ArrivingRights::default() },
            lost,
        })
    }

    fn read(&self, _: &str, offset: u64, length: usize) -> Result<Vec<u8>> {
        Ok((offset..5.min(offset + length as u64)).map(byte).collect())
    }
}

#[test]
fn what_cannot_be_made_is_counted_and_named_until_it_is_gone() {
    let (disk, old) = (Memory::ticking(), Arc::new(Odd::default()));
    let start =
        || Arriving::over(Arc::new(disk.clone()), old.clone(), Style::default(), Arc::default()).unwrap();
    let here = start();
    let progress = here.pass(&|| false).unwrap();
    assert_eq!((progress.is_done, progress.failed, progress.missing), (false, 0, 4), "{progress:?}");
    let mut paths: Vec<&str> = progress.named.iter().map(|one| &*one.path).collect();
    paths.sort_unstable();
    let long = format!("folder/{}", Odd::long());
    assert_eq!(paths, ["folder/caf\u{fffd}", &long, "folder/rich", "folder/socket"]);
    let why = |path: &str| &*progress.named.iter().find(|one| one.path == path).unwrap().why;
    assert_eq!((why(&long), why("folder/rich")), ("the name is too long", "an attribute cannot be kept"));
    // All else is here: the share may be served without the other server.
    let root = disk.root().unwrap().object;
    assert!(!is_incomplete(&root.xattr(MARK).unwrap()));
    // After a restart it is known from the disk, whether the other server answers or not; also in a folder that was renamed.
    root.rename(server(), b"folder", &*root, b"box", RenameMode::Keep).unwrap();
    drop(here);
    let here = start();
    assert!(!here.progress().is_done);
    old.is_away.store(true, Ordering::Relaxed);
    let progress = here.pass(&|| false).unwrap();
    assert_eq!((progress.is_done, progress.is_away, progress.missing), (false, true, 4), "{progress:?}");
    // A client removes a file that has arrived: it does not come back.
    let folder = here.root().unwrap().object.lookup(server(), b"box").unwrap().object;
    folder.remove(server(), b"plain").unwrap();
    old.is_away.store(false, Ordering::Relaxed);
    here.pass(&|| false).unwrap();
    assert_eq!(folder.lookup(server(), b"plain").map(drop), Err(Error::NotFound));
    assert_eq!(folder.attributes().unwrap().mode & 0o777, 0o750);
    // What is gone there is not missing any more, but for what a file here lacks.
    old.is_mended.store(true, Ordering::Relaxed);
    let progress = here.pass(&|| false).unwrap();
    assert_eq!((progress.is_done, progress.missing), (false, 1), "{progress:?}");
    assert_eq!(progress.named[0].path, "folder/rich");
}

#[test]
fn what_is_made_late_needs_the_other_server_again() {
    let (disk, old) = (Memory::ticking(), Arc::new(Odd::default()));
    let here = Arriving::over(Arc::new(disk.clone()), old.clone(), Style::default(), Arc::default()).unwrap();
    here.pass(&|| false).unwrap();
    let root = disk.root().unwrap().object;
    let lacks_files = || is_incomplete(&root.xattr(MARK).unwrap());
    assert!(!lacks_files());
    // It is a file there now. Its name comes, its data do not: the next pass is stopped in between.
    old.has_file.store(true, Ordering::Relaxed);
    let folder = root.lookup(server(), b"folder").unwrap().object;
    here.pass(&|| folder.lookup(server(), b"socket").is_ok()).unwrap();
    assert!(
        lacks_files() && mark::read(&*folder.lookup(server(), b"socket").unwrap().object).unwrap().is_some()
    );
    assert_eq!(here.pass(&|| false).unwrap().missing, 3);
    assert!(!lacks_files());
    assert_eq!(content(&*folder.lookup(server(), b"socket").unwrap().object, 0, 9).unwrap(), expected(0, 5));
}

#[test]
fn a_mark_is_read_as_it_was_written_and_others_are_damage() {
    let mark = Mark { stage: ArrivalStage::Data, here: 77, path: "a/b".into(), is_far: false };
    let disk = Memory::ticking();
    let root = disk.root().unwrap().object;
    mark::write(&*root, &mark).unwrap();
    assert_eq!(root.xattr(MARK).unwrap(), b"\x01D\x4d\0\0\0\0\0\0\0a/b");
    assert_eq!(mark::read(&*root).unwrap(), Some(mark));
    for other in [
        &b""[..],
        b"\x02D\0\0\0\0\0\0\0\0a",
        b"\x01X\0\0\0\0\0\0\0\0a",
        b"\x01D\0",
        b"\x01D\0\0\0\0\0\0\0\0\xff",
    ] {
        root.set_xattr(server(), MARK, other, crate::backend::XattrMode::Set).unwrap();
        assert_eq!(mark::read(&*root), Err(Error::Io), "{other:?}");
    }
}
