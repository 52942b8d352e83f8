mod damage;
mod full;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use lock::Mutex;
use redb::{ReadableTable, TableDefinition, WriteTransaction};

use super::*;

/// No batch is written but by `flush`, a full queue or the end.
fn quiet() -> Options {
    Options { interval: Duration::from_secs(3600), ..Options::default() }
}

fn open(folder: &Path, options: Options) -> Index {
    Index::open_with(folder, options).unwrap()
}

lock::ranks! {
    Band::Tenants, from 512;

    /// The rows of a tenant that are not written yet.
    TestRows,
}

/// A tenant whose rows are numbers.
struct Rows {
    volume: VolumeTag,
    waiting: Mutex<BTreeSet<u64>, TestRows>,
}

const ROWS: TableDefinition<'_, (u32, u64), ()> = TableDefinition::new("rows");
/// The row that the last write adds.
const LAST: u64 = u64::MAX;

fn rows(index: &Index, volume: &str) -> Arc<Rows> {
    let volume = index.volume(volume).unwrap().tag;
    index.tenant(volume, |_| Ok(Rows { volume, waiting: Mutex::default() })).unwrap()
}

fn is_stored(index: &Index, volume: &str, row: u64) -> bool {
    let key = (index.volume(volume).unwrap().tag.0, row);
    index.store().write(|transaction| Ok(transaction.open_table(ROWS)?.get(key)?.is_some())).unwrap()
}

impl Rows {
    fn set(&self, index: &Index, row: u64) {
        index.make_room().unwrap();
        let is_new = self.waiting.lock().insert(row);
        index.added(usize::from(is_new));
    }
}

impl Tenant for Rows {
    fn batch(&self) -> Option<Box<dyn Batch + '_>> {
        let rows = self.waiting.lock().clone();
        (!rows.is_empty()).then(|| Box::new((self, rows)) as Box<dyn Batch>)
    }

    fn close(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        transaction.open_table(ROWS)?.insert((self.volume.0, LAST), ())?;
        Ok(())
    }
}

impl Batch for (&Rows, BTreeSet<u64>) {
    fn write(&self, transaction: &WriteTransaction) -> Result<(), redb::Error> {
        let mut table = transaction.open_table(ROWS)?;
        self.1.iter().try_for_each(|row| table.insert((self.0.volume.0, *row), ()).map(drop))?;
        Ok(())
    }

    fn written(&self) -> usize {
        let mut waiting = self.0.waiting.lock();
        self.1.iter().filter(|row| waiting.remove(row)).count()
    }
}

#[test]
fn a_volume_has_one_tenant_of_a_type() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let (one, other) = (rows(&index, "One"), rows(&index, "Two"));
    assert!(Arc::ptr_eq(&one, &rows(&index, "One")) && !Arc::ptr_eq(&one, &other));
    let failed = index.tenant(VolumeTag(7), |_| Err::<Rows, _>(IndexError::TooMany));
    assert!(matches!(failed, Err(IndexError::TooMany)));
}

#[test]
fn rows_wait_until_they_are_too_many_or_flushed_or_the_index_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { queue: 10, ..quiet() };
    let index = open(folder.path(), options);
    let (one, other) = (rows(&index, "One"), rows(&index, "Two"));
    (0..5).for_each(|row| one.set(&index, row));
    (0..5).for_each(|row| other.set(&index, row));
    assert_eq!((index.rows_waiting(), is_stored(&index, "One", 0)), (10, false));
    one.set(&index, 5);
    assert_eq!((index.rows_waiting(), is_stored(&index, "Two", 4)), (1, true), "the queue was full");
    index.write_if(|| false).unwrap();
    assert_eq!(index.rows_waiting(), 1);
    index.flush().unwrap();
    assert_eq!((index.rows_waiting(), is_stored(&index, "One", 5)), (0, true));
    one.set(&index, 6);
    drop(index);
    let index = open(folder.path(), options);
    assert!(is_stored(&index, "One", 6) && is_stored(&index, "One", LAST));
}

#[test]
fn the_writer_writes_at_its_time_and_when_it_is_asked() {
    for options in [Options { interval: Duration::from_millis(1), ..quiet() }, quiet()] {
        let folder = tempfile::tempdir().unwrap();
        let index = open(folder.path(), options);
        rows(&index, "Share").set(&index, 1);
        let deadline = Instant::now() + Duration::from_secs(60);
        while index.rows_waiting() > 0 {
            assert!(Instant::now() < deadline, "nothing was written within a minute");
            if options.interval > Duration::from_secs(1) {
                index.write_soon();
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn volumes_that_are_known_and_new_ones_are_told_in_one_call() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), Options { random: || [7; 16], ..quiet() });
    let two = index.volume("Two").unwrap();
    let all = index.volumes(&["One", "Two", "Three", "One"]).unwrap();
    assert_eq!((all[1], all[3]), (two, all[0]));
    let tags = [&all[0], &all[1], &all[2]].map(|volume| volume.tag.0);
    assert_eq!(tags, [0x0707_0708, 0x0707_0707, 0x0707_0709], "each is unique, although the ids are random");
    assert_eq!(["One", "Two", "Three"].map(|name| index.volume(name).unwrap()), [all[0], all[1], all[2]]);
    assert_eq!(index.volumes(&[]).unwrap(), []);
    let long = "x".repeat(VOLUME_NAME_MAX + 1);
    assert!(matches!(index.volumes(&["Four", &long]), Err(IndexError::TooLong)));
}

#[test]
fn a_volume_keeps_its_identity_and_each_has_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = {
        let index = open(folder.path(), quiet());
        (index.volume("One").unwrap(), index.volume("Two").unwrap())
    };
    assert_ne!(one.id, two.id);
    assert_ne!(one.tag, two.tag);
    let index = open(folder.path(), quiet());
    assert_eq!(index.volume("Two").unwrap(), two);
    assert_eq!(index.volume("One").unwrap(), one);
    assert!(matches!(index.volume(&"x".repeat(VOLUME_NAME_MAX + 1)), Err(IndexError::TooLong)));
}

#[test]
fn tags_are_never_zero_and_never_shared_even_when_chance_repeats() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), Options { random: || [0; 16], ..quiet() });
    let tags = ["a", "b", "c"].map(|name| index.volume(name).unwrap().tag);
    assert_eq!(tags, [VolumeTag(1), VolumeTag(2), VolumeTag(3)]);
}

#[test]
fn the_boot_epoch_grows_with_each_open() {
    let folder = tempfile::tempdir().unwrap();
    let epochs: Vec<_> = (0..3).map(|_| open(folder.path(), quiet()).boot_epoch()).collect();
    assert_eq!(epochs, [1, 2, 3]);
}
