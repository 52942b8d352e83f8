//! Restores on the memory backend, which fails where a test says so.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::*;
use crate::backend::faulty::Faulty;
use crate::backend::memory::{LIMITS, Memory};
use crate::backend::{Backend, Limits, RenameMode, Stability, Wait, XattrMode};
use crate::described::metadata::file_at;
use crate::mac::{FileBits, FinderInfo};
use crate::state::{Modes, Stream};
use crate::streams::File;
use crate::{Access, Beside, OpenOptions, SetAttributes, SetTime, VolumeOptions};

const LONG: usize = 10_000;

/// A share with small attributes, so that longer streams are in the store.
fn share() -> (Arc<Faulty>, Arc<Volume>) {
    let at = AtomicI64::new(1_600_000_000);
    let clock = move || Time { secs: at.fetch_add(1, Ordering::Relaxed), nanos: 0 };
    let disk = Faulty::losing_writes(Memory::with_limits(Limits { xattr: 1_000, ..LIMITS }, clock));
    let disk = Arc::new(disk);
    let volume = Arc::new(Volume::new(disk.clone(), VolumeOptions::default()));
    (disk, volume)
}

fn folder(volume: &Volume, path: &str) -> Found {
    let mut at = volume.root().unwrap();
    for name in path.split('/').filter(|name| !name.is_empty()) {
        at = match at.object.lookup(server(), name.as_bytes()) {
            Ok(found) => found,
            Err(_) => at.object.create(server(), name.as_bytes(), NewKind::Folder, 0o750).unwrap(),
        };
    }
    at
}

/// Makes a file with data, a fork, a small and a large stream, Finder information, an extended
/// attribute and a time.
fn plant(volume: &Volume, path: &str, name: &str, word: &str) {
    let folder = folder(volume, path);
    let made = folder.object.create(server(), name.as_bytes(), NewKind::File, 0o640).unwrap();
    made.object.prepare(server(), &made.attributes, Access::WRITE, true).unwrap();
    made.object.write_at(server(), 0, word.as_bytes(), Stability::File).unwrap();
    let file = File { folder: &*folder.object, name: name.as_bytes(), object: &*made.object };
    let streams = volume.streams.as_ref().unwrap();
    let fork = word.repeat(LONG);
    streams.fork_to_write(server(), &file).unwrap().write_at(0, fork.as_bytes(), Stability::File).unwrap();
    for (stream, bytes) in [(&b"tag"[..], word.to_owned()), (b"large", word.repeat(LONG))] {
        streams.write_stream(server(), &file, stream, 0, bytes.as_bytes(), Stability::File).unwrap();
    }
    let mut metadata = streams.load(&file).unwrap().0;
    metadata.finder_info = FinderInfo::from_prefix(&word.as_bytes()[..4]);
    metadata.bits |= FileBits::RENAME_INHIBIT & if word == "then" { FileBits::LOCKED } else { FileBits(0) };
    streams.store(server(), &file, &metadata).unwrap();
    made.object.set_xattr(server(), b"user.fourfold.ea.x", word.as_bytes(), XattrMode::Set).unwrap();
    let at = SetTime::To(Time { secs: 1_000_000, nanos: word.len() as u32 });
    let times = SetAttributes { modified: at, mode: Some(0o604), ..SetAttributes::default() };
    made.object.set_attributes(server(), &times).unwrap();
}

/// All that is known of a file, as text.
fn described(volume: &Volume, at: &Found, name: &[u8], object: &Found) -> String {
    let place = Beside { folder: &at.object, name };
    let (file, streams) = (file_at(object, place), volume.streams.as_ref().unwrap());
    let mut text = format!("{:o}", object.attributes.mode);
    if object.attributes.kind == Kind::Folder {
        return text;
    }
    if object.attributes.kind == Kind::Link {
        return format!("-> {}", object.object.read_link().unwrap().escape_ascii());
    }
    let mut bytes = Vec::new();
    object.object.prepare(server(), &object.attributes, Access::READ, true).unwrap();
    object.object.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
    text += &format!(" {:?} {}", object.attributes.modified, bytes.escape_ascii());
    bytes.clear();
    if let Some(fork) = streams.fork(server(), &file).unwrap() {
        fork.read_at(0, 1 << 20, &mut bytes, Wait::Allowed).unwrap();
    }
    text += &format!(" fork {} {:?}", bytes.len(), bytes.get(..4));
    let mut all = streams.streams(server(), &file).unwrap();
    all.sort_by(|a, b| a.name.cmp(&b.name));
    for stream in all {
        bytes.clear();
        streams.read_stream(server(), &file, &stream.name, (0, 1 << 20), &mut bytes).unwrap();
        text += &format!(" {} {} {:?}", stream.name.escape_ascii(), bytes.len(), bytes.get(..4));
    }
    let metadata = streams.load(&file).unwrap().0;
    text += &format!(" {:?} {:?} {:?}", metadata.finder_info, metadata.bits, volume.xattrs(object).unwrap());
    text
}

fn tree(volume: &Volume) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut folders = vec![(String::new(), volume.root().unwrap())];
    while let Some((path, at)) = folders.pop() {
        for name in entries(volume, &at).unwrap() {
            let found = at.object.lookup(server(), &name).unwrap();
            let inner = format!("{path}/{}", name.escape_ascii());
            all.insert(inner.clone(), described(volume, &at, &name, &found));
            if found.attributes.kind == Kind::Folder {
                folders.push((inner, found));
            }
        }
    }
    all
}

#[derive(Default)]
struct Told(BTreeMap<String, RestoreOutcome>);

impl RestoreObserver for Told {
    fn done(&mut self, path: &[u8], what: RestoreOutcome) {
        self.0.insert(String::from_utf8(path.to_vec()).unwrap(), what);
    }

    fn bytes(&mut self, _: u64) -> bool {
        true
    }
}

/// Restores a path to the same path.
fn restore(from: &Volume, to: &Volume, path: &str, options: RestoreOptions) -> Result<Told> {
    restore_to(from, to, (path, path), options)
}

fn restore_to(
    from: &Volume,
    to: &Volume,
    (source, target): (&str, &str),
    options: RestoreOptions,
) -> Result<Told> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _entered = runtime.enter();
    let mut told = Told::default();
    let parts = |path: &'_ str| -> Vec<Vec<u8>> {
        path.split('/').filter(|name| !name.is_empty()).map(|name| name.as_bytes().to_vec()).collect()
    };
    let (source, target) = (parts(source), parts(target));
    let slices = |path: &'static [Vec<u8>]| path.iter().map(Vec::as_slice).collect::<Vec<&[u8]>>();
    let (source, target) = (slices(source.leak()), slices(target.leak()));
    assert!(Restore::new(from, to, options, &mut told).run(&source, &target)?);
    Ok(told)
}

/// What the snapshot shows.
fn snapshot() -> Arc<Volume> {
    let (_, volume) = share();
    plant(&volume, "docs", "report", "then");
    plant(&volume, "docs/deep", "gone", "then");
    let docs = folder(&volume, "docs");
    docs.object.create(server(), b"link", NewKind::Link(b"report"), 0o777).unwrap();
    docs.object
        .set_attributes(server(), &SetAttributes { mode: Some(0o2750), ..Default::default() })
        .unwrap();
    volume
}

/// What the share has become since.
fn live() -> (Arc<Faulty>, Arc<Volume>) {
    let (disk, volume) = share();
    plant(&volume, "docs", "report", "later");
    plant(&volume, "docs", "added", "later");
    plant(&volume, "other", "file", "later");
    disk.sync().unwrap();
    (disk, volume)
}

#[test]
fn a_folder_comes_back_with_forks_streams_and_metadata() {
    let (from, (_disk, to)) = (snapshot(), live());
    let dry = RestoreOptions { dry_run: true, delete: true, ..RestoreOptions::default() };
    let before = tree(&to);
    let would = restore(&from, &to, "docs", dry).unwrap().0;
    assert_eq!(tree(&to), before);
    let told = restore(&from, &to, "docs", RestoreOptions::default()).unwrap().0;
    let expected = ["docs", "docs/deep", "docs/deep/gone", "docs/link", "docs/report"];
    assert_eq!(told, expected.map(|path| (path.to_owned(), RestoreOutcome::Restored)).into());
    let mut wanted = tree(&from);
    wanted.extend(before.into_iter().filter(|(path, _)| path.contains("added") || path.contains("other")));
    assert_eq!(tree(&to), wanted);
    // A second time nothing is to do, but for what the snapshot does not have.
    let delete = RestoreOptions { delete: true, ..RestoreOptions::default() };
    let again = restore(&from, &to, "docs", delete).unwrap().0;
    let mut expected: BTreeMap<String, RestoreOutcome> =
        expected.map(|path| (path.to_owned(), RestoreOutcome::Unchanged)).into();
    expected.insert("docs/added".into(), RestoreOutcome::Removed);
    assert_eq!(again, expected);
    assert_eq!(would.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    wanted.remove("/docs/added");
    assert_eq!(tree(&to), wanted);
    // The locked file is locked again.
    let (docs, actor) = (folder(&to, "docs"), Actor::new(Caller::root(), Party::client(ClientId::unused())));
    let moved = to.inhibitions().may_move_away((&docs, b"report"), (&docs, b"x"), RenameMode::Keep, &actor);
    assert_eq!(moved, Err(Error::Locked));
}

#[test]
fn a_file_comes_back_beside_and_what_is_in_the_way_is_kept() {
    let (from, (_disk, to)) = (snapshot(), live());
    let options = RestoreOptions::default();
    restore_to(&from, &to, ("docs/report", "docs/report (then)"), options).unwrap();
    let now = tree(&to);
    assert_eq!(now["/docs/report (then)"], tree(&from)["/docs/report"]);
    assert!(now["/docs/report"].contains("later"));
    let missing = restore(&from, &to, "docs/none", options);
    assert_eq!(missing.err(), Some(Error::NotFound));
    let (_, empty) = share();
    assert_eq!(restore(&from, &empty, "docs/report", options).err(), Some(Error::NotFolder));
    // A folder has the name of a file, and a file that of a folder.
    let (_, other) = share();
    folder(&other, "docs/report");
    plant(&other, "docs", "deep", "later");
    let told = restore(&from, &other, "docs", options).unwrap().0;
    assert_eq!(told["docs/report"], RestoreOutcome::Refused(Error::IsFolder));
    assert_eq!(told["docs/deep"], RestoreOutcome::Refused(Error::NotFolder));
    assert_eq!(told["docs/link"], RestoreOutcome::Restored);
    for own in [".fourfold-streams", "docs/.fourfold-luns"] {
        assert_eq!(restore(&from, &to, own, options).err(), Some(Error::AccessDenied));
    }
}

#[test]
fn an_open_that_denies_it_keeps_its_file_and_the_rest_is_restored() {
    let (from, (_disk, to)) = (snapshot(), live());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let docs = folder(&to, "docs");
    let found = docs.object.lookup(server(), b"report").unwrap();
    let actor = Actor::new(Caller::root(), Party::client(ClientId::unused()));
    let place = Some(Beside { folder: &docs.object, name: b"report" });
    let options = OpenOptions { deny: Modes::DELETE, place, ..OpenOptions::data(Modes::READ) };
    let open = runtime.block_on(to.open(&actor, &found, options.clone())).unwrap();
    for dry_run in [true, false] {
        let options = RestoreOptions { dry_run, ..RestoreOptions::default() };
        let told = restore(&from, &to, "docs", options).unwrap().0;
        assert_eq!(told["docs/report"], RestoreOutcome::Refused(Error::ShareConflict));
        assert_eq!(told["docs/link"], RestoreOutcome::Restored);
    }
    drop(open);
    // An open that shares everything keeps the file that it has.
    let options = OpenOptions { deny: Modes::NONE, stream: Stream::Data, ..options };
    let open = runtime.block_on(to.open(&actor, &found, options)).unwrap();
    restore(&from, &to, "docs", RestoreOptions::default()).unwrap();
    let mut kept = Vec::new();
    runtime.block_on(open.read_at(0, 10)).unwrap().payload.append_to(&mut kept).unwrap();
    assert_eq!(kept, b"later");
    assert_eq!(tree(&to)["/docs/report"], tree(&from)["/docs/report"]);
}

#[test]
fn a_power_cut_at_any_call_leaves_old_or_new_files_and_a_second_restore_finishes() {
    let from = snapshot();
    let (then, before) = (tree(&from), tree(&live().1));
    let (old, new) = (&before["/docs/report"], &then["/docs/report"]);
    let mut nth = 1;
    loop {
        let (disk, to) = live();
        let calls = disk.plan().calls(None);
        disk.plan().fail_from(nth, None, Error::Io);
        let done = restore(&from, &to, "docs", RestoreOptions::default());
        let is_through = disk.plan().calls(None) - calls < nth;
        assert!(is_through == done.is_ok() || is_through, "call {nth}");
        disk.crash();
        let to = Volume::new(disk.clone(), VolumeOptions::default());
        let unlocked = new.replace(&format!("{:?}", FileBits::RENAME_INHIBIT), &format!("{:?}", FileBits(0)));
        let now = &tree(&to)["/docs/report"];
        assert!([old, new, &unlocked].contains(&now), "call {nth}: {now}");
        restore(&from, &to, "docs", RestoreOptions::default()).unwrap();
        let now = tree(&to);
        for (path, wanted) in &then {
            assert_eq!(&now[path], wanted, "call {nth}: {path}");
        }
        let home = to.root().unwrap().object.lookup(server(), crate::streams::STORE).unwrap();
        let staging = home.object.lookup(server(), b"restoring").unwrap();
        assert_eq!(entries(&to, &staging).unwrap(), Vec::<Vec<u8>>::new(), "call {nth}");
        if is_through {
            return;
        }
        nth += 1 + nth / 20; // all calls of the first files, and samples of the later ones
        assert!(nth < 100_000);
    }
}

#[test]
fn names_of_one_file_are_one_file_again() {
    let (_, from) = share();
    let root = from.root().unwrap();
    plant(&from, "", "a", "some");
    let first = root.object.lookup(server(), b"a").unwrap();
    root.object.link(server(), &*first.object, b"b").unwrap();
    let (_, to) = share();
    restore(&from, &to, "", RestoreOptions::default()).unwrap();
    let now = |name: &[u8]| to.root().unwrap().object.lookup(server(), name).unwrap();
    assert_eq!(now(b"a").object.id(), now(b"b").object.id());
    assert_eq!(now(b"a").attributes.links, 2);
    // One of the names was replaced since: it is the same file again.
    to.root().unwrap().object.remove(server(), b"b").unwrap();
    plant(&to, "", "b", "later");
    restore(&from, &to, "", RestoreOptions::default()).unwrap();
    assert_eq!(now(b"a").object.id(), now(b"b").object.id());
}

/// The owner and the list of its own come back; the mode gives nobody more than it did.
#[test]
fn in_a_team_folder_the_roles_decide_about_what_is_restored() {
    use auth::{Grantee, Role, RoleEntry, Roles};

    let ((_, from), (_, to)) = (share(), share());
    plant(&from, "", "plan", "then");
    let root = to.root().unwrap().object;
    let setgid = SetAttributes { mode: Some(0o2770), ..SetAttributes::default() };
    root.set_attributes(server(), &setgid).unwrap();
    let editors = RoleEntry { role: Role::Editor, grantee: Grantee::Group(50) };
    to.set_roles(Some(Arc::new(Roles::new(vec![editors]))));
    restore(&from, &to, "plan", RestoreOptions::default()).unwrap();
    let plan = root.lookup(server(), b"plan").unwrap();
    assert_eq!(plan.attributes.mode & 0o777, 0o600, "0604, and others have no role");
    let may = |gid| to.access(&Caller::new(1000, gid, &[]), &plan, Access::READ.union(Access::WRITE));
    assert_eq!((may(50), may(51)), (Ok(Access::READ.union(Access::WRITE)), Ok(Access::NONE)));
    let again = restore(&from, &to, "plan", RestoreOptions::default()).unwrap();
    assert_eq!(again.0["plan"], RestoreOutcome::Unchanged);
}
