mod check;
mod crash;
mod damage;
mod desktop;
mod earlier;
mod shared;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use vfs::index::{Index, IndexError, Options};

use super::ledger::RESERVED;
use super::*;

/// No batch is written but by `flush`, a full queue or the end.
const QUIET: Duration = Duration::from_secs(3600);

fn quiet() -> Options {
    Options { interval: QUIET, ..Options::default() }
}

fn open(folder: &Path, options: Options) -> Index {
    Index::open_with(folder, options).unwrap()
}

fn catalogue(index: &Index) -> Catalogue {
    with_limits(index, Limits::default())
}

fn with_limits(index: &Index, limits: Limits) -> Catalogue {
    Catalogue::open_with(index, index.volume("Share").unwrap(), root(), limits).unwrap()
}

fn root() -> HostKey {
    HostKey::new(b"the root").unwrap()
}

fn key(number: u64) -> LastingKey {
    LastingKey { file_system: 1, key: host_key(number) }
}

fn host_key(number: u64) -> HostKey {
    HostKey::new(&number.to_be_bytes()).unwrap()
}

fn id(catalogue: &Catalogue, number: u64) -> u32 {
    catalogue.catalog_id(&key(number)).unwrap().0
}

#[test]
fn ids_start_at_17() {
    let folder = tempfile::tempdir().unwrap();
    let ids = catalogue(&open(folder.path(), quiet()));
    assert_eq!((id(&ids, 5), id(&ids, 6), id(&ids, 5)), (17, 18, 17));
    assert_eq!(ids.resolve(CatalogId(18)).unwrap(), Some(key(6)));
    for nobody in [0, 1, 2, 3, 16, 19, u32::MAX] {
        assert_eq!(ids.resolve(CatalogId(nobody)).unwrap(), None, "{nobody}");
    }
}

#[test]
fn files_keep_their_ids_over_a_restart_and_new_ones_continue_without_a_gap() {
    let folder = tempfile::tempdir().unwrap();
    let first: Vec<_> = {
        let ids = catalogue(&open(folder.path(), quiet()));
        (0..1000).map(|number| id(&ids, number)).collect()
    };
    let ids = catalogue(&open(folder.path(), quiet()));
    let again: Vec<_> = (0..1000).map(|number| id(&ids, number)).collect();
    assert_eq!(again, first);
    assert_eq!(ids.resolve(CatalogId(first[999])).unwrap(), Some(key(999)));
    assert_eq!(id(&ids, 1000), 17 + 1000);
}

#[test]
fn a_forgotten_id_resolves_to_nothing_and_is_never_given_again() {
    let folder = tempfile::tempdir().unwrap();
    for flush_between in [false, true] {
        let index = open(folder.path(), quiet());
        let ids = catalogue(&index);
        let old = id(&ids, 1);
        if flush_between {
            index.flush().unwrap();
        }
        ids.forget(&key(1)).unwrap();
        ids.forget(&key(404)).unwrap(); // never seen: nothing to do
        assert_eq!(ids.resolve(CatalogId(old)).unwrap(), None);
        let new = id(&ids, 1);
        assert!(new > old, "the same host key counts as a new file");
        index.flush().unwrap();
        assert_eq!(ids.resolve(CatalogId(old)).unwrap(), None);
        assert_eq!(ids.resolve(CatalogId(new)).unwrap(), Some(key(1)));
        ids.forget(&key(1)).unwrap();
        drop((ids, index));
        let ids = catalogue(&open(folder.path(), quiet()));
        assert_eq!(ids.resolve(CatalogId(new)).unwrap(), None);
    }
}

#[test]
fn exchanged_ids_are_on_the_disk_when_it_is_done() {
    let (folder, copy) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = open(folder.path(), quiet());
    let ids = catalogue(&index);
    let (one, other) = (id(&ids, 1), id(&ids, 2));
    ids.exchange(&key(1), &key(2)).unwrap();
    ids.exchange(&key(1), &key(1)).unwrap();
    let check = |ids: &Catalogue| {
        assert_eq!((id(ids, 1), id(ids, 2)), (other, one));
        assert_eq!(ids.resolve(CatalogId(one)).unwrap(), Some(key(2)));
        assert_eq!(ids.resolve(CatalogId(other)).unwrap(), Some(key(1)));
    };
    check(&ids);
    // As after a crash: what the disk has while the index is still open.
    std::fs::copy(folder.path().join("index.redb"), copy.path().join("index.redb")).unwrap();
    check(&catalogue(&open(copy.path(), quiet())));
    ids.exchange(&key(2), &key(3)).unwrap(); // one that had no id yet
    assert_eq!(id(&ids, 3), one);
}

#[test]
fn a_file_has_the_same_id_in_each_volume() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let one = catalogue(&index);
    let other = Catalogue::open(&index, index.volume("Other").unwrap(), root()).unwrap();
    assert_eq!((id(&one, 1), id(&one, 2), id(&other, 2), id(&other, 3)), (17, 18, 18, 19));
    assert_eq!(other.resolve(CatalogId(17)).unwrap(), Some(key(1)));
    one.exchange(&key(1), &key(2)).unwrap();
    assert_eq!((id(&other, 1), id(&other, 2)), (18, 17));
    other.forget(&key(1)).unwrap();
    assert_eq!(one.resolve(CatalogId(18)).unwrap(), None);
}

#[test]
fn equal_keys_on_two_file_systems_are_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let ids = catalogue(&open(folder.path(), quiet()));
    let elsewhere = LastingKey { file_system: 2, ..key(1) };
    assert_eq!((id(&ids, 1), ids.catalog_id(&elsewhere).unwrap()), (17, CatalogId(18)));
    assert_eq!(ids.resolve(CatalogId(18)).unwrap(), Some(elsewhere));
}

#[test]
fn an_exhausted_block_is_followed_by_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let ids = with_limits(&open(folder.path(), quiet()), Limits { block: 4, ..Limits::default() });
    let given: Vec<_> = (0..1000).map(|number| id(&ids, number)).collect();
    assert_eq!(given, (17..1017).collect::<Vec<u32>>());
}

#[test]
fn the_disk_knows_of_a_block_before_the_first_of_its_ids_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let ids = with_limits(&index, Limits { block: 8, ..Limits::default() });
    for number in 0..100 {
        let given = u64::from(id(&ids, number));
        let reserved = |transaction: &redb::ReadTransaction| {
            Ok(transaction.open_table(RESERVED)?.get(ALL)?.map(|reserved| reserved.value()))
        };
        let reserved = index.store().read(reserved).unwrap().unwrap();
        assert!(given < reserved, "{given} was given, {reserved} is on the disk");
    }
}

#[test]
fn running_out_of_ids_is_an_error_and_what_is_known_stays() {
    let folder = tempfile::tempdir().unwrap();
    {
        let index = open(folder.path(), quiet());
        let near_the_end = |transaction: &redb::WriteTransaction| {
            transaction.open_table(RESERVED)?.insert(ALL, u64::from(u32::MAX - 2))?;
            Ok(())
        };
        index.store().write(near_the_end).unwrap();
        let ids = catalogue(&index);
        let last: Vec<_> = (0..3).map(|number| id(&ids, number)).collect();
        assert_eq!(last, [u32::MAX - 2, u32::MAX - 1, u32::MAX]);
        assert!(matches!(ids.catalog_id(&key(3)), Err(IndexError::Exhausted)));
    }
    let ids = catalogue(&open(folder.path(), quiet()));
    assert_eq!(id(&ids, 1), u32::MAX - 1);
    assert!(matches!(ids.catalog_id(&key(3)), Err(IndexError::Exhausted)));
}

#[test]
fn places_outlive_a_restart_until_they_are_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let place = |folder, name: &[u8]| KeptPlace { folder: CatalogId(folder), name: name.into() };
    let kept = |ids: &Catalogue, id| ids.kept_place(CatalogId(id)).unwrap();
    {
        let index = open(folder.path(), quiet());
        let ids = catalogue(&index);
        assert_eq!(kept(&ids, 17), None, "none yet");
        assert_eq!((id(&ids, 1), id(&ids, 2), id(&ids, 3)), (17, 18, 19));
        for (file, name) in [(17, b"one"), (18, b"two"), (19, b"six")] {
            ids.keep_place(CatalogId(file), CatalogId::ROOT, name).unwrap();
        }
        assert_eq!(kept(&ids, 17), Some(place(2, b"one")));
        index.flush().unwrap();
        ids.keep_place(CatalogId(17), CatalogId(30), b"moved").unwrap();
        ids.forget(&key(2)).unwrap();
        assert_eq!(kept(&ids, 18), None, "with its file");
        assert!(matches!(
            ids.keep_place(CatalogId(19), CatalogId(2), &[b'x'; 2000]),
            Err(IndexError::TooLong)
        ));
    }
    let index = open(folder.path(), quiet());
    let ids = catalogue(&index);
    assert_eq!((kept(&ids, 17), kept(&ids, 18)), (Some(place(30, b"moved")), None));
    ids.forget_place(CatalogId(19)).unwrap();
    assert_eq!((kept(&ids, 19), ids.resolve(CatalogId(19)).unwrap()), (None, Some(key(3))));
    index.flush().unwrap();
    assert_eq!(index.rows_waiting(), 0);
    ids.keep_place(CatalogId(17), CatalogId(30), b"moved").unwrap();
    assert_eq!(index.rows_waiting(), 0, "known already: nothing to write");
}

/// `cargo test --release -p afp --lib speed_of_remembered -- --ignored --nocapture`
#[test]
#[ignore = "prints how fast"]
#[allow(clippy::print_stdout, reason = "what it is for")]
fn speed_of_remembered_ids() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let ids = catalogue(&index);
    let keys: Vec<LastingKey> = (0..10_000).map(key).collect();
    let each = |begun: Instant| begun.elapsed() / 10_000;
    let begun = Instant::now();
    assert!(keys.iter().all(|key| ids.catalog_id(key).is_ok()));
    println!("first sight: {:?} each", each(begun));
    for state in ["waiting", "written"] {
        let begun = Instant::now();
        assert!(keys.iter().all(|key| ids.catalog_id(key).is_ok()));
        println!("remembered, {state}: {:?} each", each(begun));
        index.flush().unwrap();
    }
}

#[test]
fn memory_is_bounded_and_what_it_forgot_the_disk_knows() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { queue: 500, batch: 400, ..quiet() };
    let index = open(folder.path(), options);
    let limits = Limits { cached: 640, ..Limits::default() };
    let ids = with_limits(&index, limits);
    let given: Vec<_> = (0..20_000).map(|number| id(&ids, number)).collect();
    assert!(index.rows_waiting() <= options.queue + 2);
    for number in 0..20_000 {
        assert_eq!(id(&ids, number), given[number as usize]);
        assert_eq!(ids.resolve(CatalogId(given[number as usize])).unwrap(), Some(key(number)));
    }
    assert!(ids.rows_remembered() <= 2 * limits.cached);
    index.flush().unwrap();
    assert_eq!(index.rows_waiting(), 0);
}

#[test]
fn the_writer_writes_without_being_asked() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), Options { interval: Duration::from_millis(1), ..quiet() });
    let ids = catalogue(&index);
    id(&ids, 1);
    let deadline = Instant::now() + Duration::from_secs(60);
    while index.rows_waiting() > 0 {
        assert!(Instant::now() < deadline, "nothing was written within a minute");
        std::thread::yield_now();
    }
    assert_eq!(id(&ids, 1), 17);
}

/// Eight threads meet on the same files in different orders, while others are forgotten and batches are written.
#[test]
fn threads_that_see_a_file_first_at_once_agree() {
    const FILES: u64 = 5_000;
    let folder = tempfile::tempdir().unwrap();
    let (options, limits) =
        (Options { queue: 2_000, batch: 500, ..quiet() }, Limits { block: 64, cached: 1_000 });
    let index = open(folder.path(), options);
    let ids = with_limits(&index, limits);
    let views: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let seen = |thread: u64| {
            let ids = ids.clone();
            move || {
                for step in 0..FILES {
                    let own = 1_000_000 * (thread + 1) + step;
                    id(&ids, (step * (2 * thread + 1)) % FILES); // odd steps: another order for each thread
                    id(&ids, own);
                    ids.forget(&key(own)).unwrap();
                }
                (0..FILES).map(|number| id(&ids, number)).collect()
            }
        };
        let threads: Vec<_> = (0..8).map(|thread| scope.spawn(seen(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(views.iter().all(|view| *view == views[0]));
    assert_eq!(views[0].iter().collect::<HashSet<_>>().len(), FILES as usize);
    drop((ids, index));
    let ids = with_limits(&open(folder.path(), options), limits);
    for number in 0..FILES {
        assert_eq!(id(&ids, number), views[0][number as usize]);
        assert_eq!(ids.resolve(CatalogId(id(&ids, number))).unwrap(), Some(key(number)));
    }
}

/// Prints figures; what it checks is that no first sight had to write. Optimised builds should see more than
/// 1,000,000 remembered and 200,000 first sights per second.
#[test]
fn no_first_sight_waits_for_a_write() {
    const FILES: u64 = 60_000;
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), Options { batch: usize::MAX, ..quiet() });
    let ids = with_limits(&index, Limits { block: 1 << 20, ..Limits::default() });
    let per_second = |what: &str, files: u64, run: &dyn Fn(u64)| {
        let start = Instant::now();
        (0..files).for_each(run);
        println!("{what}: {:.0} per second", files as f64 / start.elapsed().as_secs_f64());
    };
    let known = |number| assert_eq!(u64::from(id(&ids, number)), 17 + number);
    per_second("first sight", FILES, &known);
    assert_eq!(index.rows_waiting(), 2 * FILES as usize, "a write happened in between");
    per_second("waiting to be written", FILES, &known);
    let start = Instant::now();
    index.flush().unwrap();
    println!("written: {:.0} per second", FILES as f64 / start.elapsed().as_secs_f64());
    per_second("from the database", FILES / 3, &known);
    per_second("remembered", FILES / 3, &known);
    let resolve = |number| {
        assert_eq!(ids.resolve(CatalogId(number as u32 + 17)).unwrap(), Some(key(number)));
    };
    per_second("id from the database", FILES / 3, &resolve);
    per_second("id remembered", FILES / 3, &resolve);
}
