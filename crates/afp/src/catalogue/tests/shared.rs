//! Several servers of one tree, each with an index of its own, over one folder in memory.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use tempfile::TempDir;
use tokio::runtime::Runtime;
use vfs::backend::memory::Memory;
use vfs::backend::{NewKind, Stability};
use vfs::{Access, Caller, OwnFolder, Site, VolumeOptions};

use super::*;
use crate::catalogue::shared::{Servers, SharedIds};

const BLOCK: u64 = 16;

/// What etcd has.
#[derive(Default)]
struct Common {
    ids: Mutex<Option<([u8; 16], u64)>>,
    lost: Mutex<Vec<u16>>,
}

struct Gateway {
    number: u16,
    common: Arc<Common>,
}

impl Servers for Gateway {
    fn number(&self) -> u16 {
        self.number
    }

    fn name(&self) -> String {
        format!("gate{}", self.number)
    }

    fn is_alive(&self, server: u16) -> bool {
        !self.common.lost.lock().unwrap().contains(&server)
    }

    fn lineage(&self) -> Result<Option<[u8; 16]>, String> {
        Ok(self.common.ids.lock().unwrap().map(|(lineage, _)| lineage))
    }

    fn begin(&self, own: [u8; 16], next: u64) -> Result<[u8; 16], String> {
        Ok(self.common.ids.lock().unwrap().get_or_insert((own, next.next_multiple_of(BLOCK))).0)
    }

    fn block(&self) -> Result<Option<Range<u64>>, String> {
        let mut ids = self.common.ids.lock().unwrap();
        let (_, next) = ids.as_mut().unwrap();
        *next += BLOCK;
        Ok(Some(*next - BLOCK..*next))
    }

    fn file_system(&self, _: u32) -> Option<u32> {
        Some(1)
    }
}

struct Scene {
    runtime: Runtime,
    common: Arc<Common>,
    disk: Arc<Memory>,
    site: Arc<Site>,
}

/// A running server.
struct Server {
    ids: Catalogue,
    shared: Arc<SharedIds>,
    _index: Index,
}

impl Scene {
    fn new() -> Self {
        let (common, disk, site) = (Arc::default(), Arc::new(Memory::ticking()), Arc::default());
        Self { runtime: Runtime::new().unwrap(), common, disk, site }
    }

    fn volume(&self, read_only: bool) -> Arc<vfs::Volume> {
        let options = VolumeOptions { read_only, shared: true, ..VolumeOptions::default() };
        Arc::new(vfs::Volume::in_site(self.disk.clone(), options, self.site.clone()))
    }

    fn start(&self, number: u16, state: &TempDir) -> Server {
        self.start_with(number, state, vec![("Share".to_owned(), self.volume(false))])
    }

    fn start_with(&self, number: u16, state: &TempDir, shares: Vec<(String, Arc<vfs::Volume>)>) -> Server {
        let index = open(state.path(), quiet());
        let servers = Arc::new(Gateway { number, common: self.common.clone() });
        let shared = SharedIds::new(&index, servers, self.runtime.handle().clone());
        shared.set_shares(shares).unwrap();
        shared.catch_up().unwrap();
        Server { ids: catalogue(&index).shared(Some(shared.clone())), shared, _index: index }
    }

    fn folder(&self) -> vfs::Node {
        self.volume(false).own_folders().find(OwnFolder::IDS).unwrap()
    }

    /// The names of the logs, and what is in them.
    fn logs(&self) -> Vec<(String, u64)> {
        let (folder, mut names) = (self.folder(), Vec::new());
        folder
            .list(0, &mut |entry| {
                names
                    .extend(str::from_utf8(entry.name).ok().filter(|name| name.len() > 4).map(str::to_owned));
                true
            })
            .unwrap();
        let size = |name: &str| folder.lookup(&Caller::root(), name.as_bytes()).unwrap().attributes.size;
        names.into_iter().map(|name| (name.clone(), size(&name))).collect()
    }
}

fn state() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn resolved(server: &Server, id: u32) -> Option<LastingKey> {
    server.ids.resolve(CatalogId(id)).unwrap()
}

#[test]
fn a_file_has_the_same_id_at_all_servers_and_an_id_leads_to_it_where_it_was_never_seen() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let first: Vec<u32> = (0..40).map(|number| id(&one.ids, number)).collect();
    assert_eq!(resolved(&two, first[7]), Some(key(7)), "before the file was seen there");
    let again: Vec<u32> = (0..40).map(|number| id(&two.ids, number)).collect();
    assert_eq!(again, first);
    let other = id(&two.ids, 99);
    assert_eq!((id(&one.ids, 99), resolved(&one, other)), (other, Some(key(99))));
    assert_eq!((resolved(&one, 5_000), resolved(&two, 5_000)), (None, None));
    drop((one, two));
    // A server that joins later has seen nothing, and the first ones are gone.
    let late = state();
    let three = scene.start(3, &late);
    assert_eq!((resolved(&three, first[3]), id(&three.ids, 99)), (Some(key(3)), other));
    let new = id(&three.ids, 100);
    assert!(new > first[39] && new > other);
}

#[test]
fn many_files_get_their_ids_together() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let known = id(&two.ids, 3);
    let keys: Vec<LastingKey> = (0..50).chain(0..50).map(key).collect();
    one.ids.learn(&keys).unwrap();
    let all: Vec<u32> = (0..50).map(|number| id(&one.ids, number)).collect();
    assert_eq!((all[3], all.iter().collect::<HashSet<_>>().len()), (known, 50));
    assert_eq!((0..50).map(|number| id(&two.ids, number)).collect::<Vec<_>>(), all);
    let records: u64 = scene.logs().iter().map(|(_, size)| size / 64 - 1).sum();
    assert_eq!(records, 50);
}

#[test]
fn threads_of_two_servers_that_see_files_first_at_the_same_time_agree() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let servers = [scene.start(1, &states[0]), scene.start(2, &states[1])];
    let found: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let run = |at: usize| {
            let ids = &servers[at % 2].ids;
            scope.spawn(move || (0..200).map(|number| id(ids, number)).collect())
        };
        let threads: Vec<_> = (0..4).map(run).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(found.iter().all(|ids| *ids == found[0]));
    assert_eq!(found[0].iter().collect::<HashSet<_>>().len(), 200);
}

#[test]
fn the_first_server_keeps_what_it_gave_alone_and_another_one_does_not() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let alone = |state: &TempDir, numbers: [u64; 2]| -> [u32; 2] {
        let index = open(state.path(), quiet());
        let ids = catalogue(&index);
        numbers.map(|number| id(&ids, number))
    };
    assert_eq!((alone(&states[0], [1, 2]), alone(&states[1], [2, 3])), ([17, 18], [17, 18]));
    let one = scene.start(1, &states[0]);
    assert_eq!((id(&one.ids, 1), id(&one.ids, 2)), (17, 18));
    assert_eq!(id(&one.ids, 4), 32, "above all that it gave alone");
    let two = scene.start(2, &states[1]);
    assert_eq!((id(&two.ids, 2), resolved(&two, 17)), (18, Some(key(1))));
    let third = id(&two.ids, 3);
    assert_eq!((id(&one.ids, 3), third), (third, 48));
    drop((one, two));
    // The second one leaves its cluster, and gives ids alone that others have given to other files meanwhile.
    {
        let index = open(states[1].path(), quiet());
        SharedIds::leave(&index).unwrap();
        let ids = catalogue(&index);
        assert_eq!((id(&ids, 3), id(&ids, 70)), (48, 49));
    }
    let one = scene.start(3, &states[0]);
    let two = scene.start(4, &states[1]);
    assert_eq!((id(&two.ids, 3), resolved(&two, 49)), (48, None), "what it gave alone is forgotten");
    assert_eq!(id(&two.ids, 70), id(&one.ids, 70));
}

#[test]
fn a_restart_reads_on_where_it_was() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let ids: Vec<u32> = (0..20).map(|number| id(&one.ids, number)).collect();
    two.shared.catch_up().unwrap();
    drop((one, two));
    scene.common.lost.lock().unwrap().extend([1, 2]);
    let two = scene.start(3, &states[1]);
    let more: Vec<u32> = (20..40).map(|number| id(&two.ids, number)).collect();
    let one = scene.start(4, &states[0]);
    assert_eq!((20..40).map(|number| id(&one.ids, number)).collect::<Vec<_>>(), more);
    assert_eq!((0..20).map(|number| id(&two.ids, number)).collect::<Vec<_>>(), ids);
}

#[test]
fn ids_stay_when_etcd_has_lost_its_data() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let first: Vec<u32> = (0..20).map(|number| id(&one.ids, number)).collect();
    let unread = id(&two.ids, 77);
    drop((one, two));
    *scene.common.ids.lock().unwrap() = None;
    let (one, two) = (scene.start(3, &states[0]), scene.start(4, &states[1]));
    for server in [&one, &two] {
        assert_eq!((0..20).map(|number| id(&server.ids, number)).collect::<Vec<_>>(), first);
        assert_eq!((id(&server.ids, 77), resolved(server, unread)), (unread, Some(key(77))));
    }
    assert!(id(&two.ids, 78) > unread);
}

#[test]
fn no_id_is_given_twice_when_etcd_was_restored_from_a_backup() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let backup = *scene.common.ids.lock().unwrap();
    let mut all: Vec<u32> = (0..20).map(|number| id(&one.ids, number)).collect();
    all.extend((20..40).map(|number| id(&two.ids, number)));
    drop((one, two));
    *scene.common.ids.lock().unwrap() = backup;
    let (one, two) = (scene.start(3, &states[0]), scene.start(4, &states[1]));
    all.extend((40..60).flat_map(|number| [id(&one.ids, number), id(&two.ids, number + 20)]));
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 80);
}

#[test]
fn exchanged_ids_are_exchanged_at_all_servers_in_their_order() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let before: Vec<u32> = (1..4).map(|number| id(&one.ids, number)).collect();
    two.shared.catch_up().unwrap();
    one.ids.exchange(&key(1), &key(2)).unwrap();
    two.ids.exchange(&key(2), &key(3)).unwrap();
    one.ids.exchange(&key(3), &key(9)).unwrap(); // which had no id
    two.shared.catch_up().unwrap();
    let late = state();
    let three = scene.start(3, &late);
    let ninth = id(&one.ids, 3);
    for server in [&one, &two, &three] {
        let now = [1, 2, 3, 9].map(|number| id(&server.ids, number));
        assert_eq!(now, [before[1], before[2], ninth, before[0]]);
        assert_eq!(resolved(server, before[0]), Some(key(9)));
        assert_eq!(resolved(server, before[2]), Some(key(2)));
    }
}

/// A crash, or a full disk: the server has not answered.
#[test]
fn an_exchange_of_which_one_record_was_written_has_not_taken_place() {
    let (scene, states) = (Scene::new(), [state(), state(), state()]);
    let one = scene.start(1, &states[0]);
    let before = [1, 2, 3].map(|number| id(&one.ids, number));
    one.ids.exchange(&key(1), &key(2)).unwrap();
    let (name, size) = scene.logs().remove(0);
    drop(one);
    let log = scene.folder().lookup(&Caller::root(), name.as_bytes()).unwrap();
    log.object.prepare(&Caller::root(), &log.attributes, Access::WRITE, true).unwrap();
    log.object.truncate(&Caller::root(), size - 64).unwrap();
    let two = scene.start(2, &states[1]);
    assert_eq!([1, 2, 3].map(|number| id(&two.ids, number)), before);
    assert_eq!(resolved(&two, before[1]), Some(key(2)));
    two.ids.exchange(&key(2), &key(3)).unwrap();
    let three = scene.start(3, &states[2]);
    for server in [&two, &three] {
        assert_eq!([1, 2, 3].map(|number| id(&server.ids, number)), [before[0], before[2], before[1]]);
    }
}

#[test]
fn a_late_record_of_a_stopped_server_has_all_servers_agree() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let (one, two) = (scene.start(1, &states[0]), scene.start(2, &states[1]));
    let lower = id(&one.ids, 500); // its block has lower ids
    let higher = id(&two.ids, 1);
    // The first server has looked, was stopped, and writes its record of the same file when it wakes.
    let name = scene.logs().into_iter().find(|(name, _)| name.ends_with(".1")).unwrap().0;
    let found = scene.folder().lookup(&Caller::root(), name.as_bytes()).unwrap();
    let (log, mut bytes) = (found.object, Vec::new());
    log.prepare(&Caller::root(), &found.attributes, Access::READ.union(Access::WRITE), true).unwrap();
    log.read_at(64, 64, &mut bytes, vfs::backend::Wait::Allowed).unwrap();
    let late = crate::catalogue::shared::record_bytes(CatalogId(lower + 1), &bytes, &host_key(1));
    log.write_at(&Caller::root(), 128, &late, Stability::File).unwrap();
    log.write_at(&Caller::root(), 192, b"a part of a record", Stability::File).unwrap();
    let third = state();
    let three = scene.start(3, &third);
    for server in [&two, &three] {
        server.shared.catch_up().unwrap();
        assert_eq!(id(&server.ids, 1), lower + 1);
        assert_eq!((resolved(server, higher), resolved(server, lower + 1)), (Some(key(1)), Some(key(1))));
    }
}

#[test]
fn what_is_no_log_is_passed_over() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let one = scene.start(1, &states[0]);
    let known = id(&one.ids, 1);
    let (name, _) = scene.logs().remove(0);
    let lineage = name.split_once('.').unwrap().0;
    let names =
        [format!("{lineage}.70000"), format!("{lineage}.x"), "other.7".to_owned(), format!("{lineage}.9")];
    for name in &names {
        let made = scene.folder().create(&Caller::root(), name.as_bytes(), NewKind::File, 0o600).unwrap();
        made.object.prepare(&Caller::root(), &made.attributes, Access::WRITE, true).unwrap();
        made.object.write_at(&Caller::root(), 0, &[0xa5; 1000], Stability::File).unwrap();
    }
    let two = scene.start(2, &states[1]);
    assert_eq!(id(&two.ids, 1), known);
    // The logs are older copies, or gone: what is known stays.
    let log = scene.folder().lookup(&Caller::root(), name.as_bytes()).unwrap();
    log.object.prepare(&Caller::root(), &log.attributes, Access::WRITE, true).unwrap();
    log.object.truncate(&Caller::root(), 64).unwrap();
    assert_eq!((id(&two.ids, 1), id(&one.ids, 2)), (known, id(&two.ids, 2)));
    scene.folder().remove(&Caller::root(), name.as_bytes()).unwrap();
    assert_eq!((id(&one.ids, 3), id(&two.ids, 1)), (id(&two.ids, 3), known));
}

#[test]
fn without_a_share_that_may_be_changed_ids_differ_but_lead_to_no_other_file() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    let shares = || vec![("Share".to_owned(), scene.volume(true))];
    let (one, two) = (scene.start_with(1, &states[0], shares()), scene.start_with(2, &states[1], shares()));
    let (here, there) = (id(&one.ids, 1), id(&two.ids, 2));
    assert_ne!(here, there);
    assert_eq!((resolved(&two, here), resolved(&one, there)), (None, None));
}

#[test]
fn the_tables_hold_together_after_each_restart() {
    let (scene, states) = (Scene::new(), [state(), state()]);
    for round in 0..3 {
        let (one, two) = (scene.start(round * 2 + 1, &states[0]), scene.start(round * 2 + 2, &states[1]));
        (0..30).for_each(|number| _ = id(&one.ids, number * 2));
        (0..30).for_each(|number| _ = id(&two.ids, number * 3));
    }
    let indexes = [open(states[0].path(), quiet()), open(states[1].path(), quiet())];
    for index in &indexes {
        let mut gone = |_: &LastingKey| false;
        let mut found = |finding: crate::catalogue::check::CatalogFinding| panic!("{finding:?}");
        crate::catalogue::check::check(index, &mut gone, &mut found, &mut |_| true).unwrap();
    }
}
