//! The tables are compared with each other and with the files.

use super::super::check::{CatalogFinding, CatalogFlaw, Mend, check};
use super::super::ledger::{IDS, KEYS};
use super::super::places::PLACES;
use super::*;

fn look(index: &Index, gone: &[u64], mend: Mend) -> Vec<(u32, CatalogFlaw)> {
    let (mut found, mut rows) = (Vec::new(), 0);
    let whole = check(
        index,
        &mut |file| gone.iter().any(|number| key(*number) == *file),
        &mut |CatalogFinding { id, flaw }| {
            found.push((id.0, flaw));
            mend
        },
        &mut |count| {
            rows += count;
            true
        },
    );
    assert!(whole.unwrap());
    found
}

#[test]
fn an_index_without_ids_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(look(&open(folder.path(), quiet()), &[], Mend::Leave), []);
}

#[test]
fn rows_that_differ_and_ids_of_files_that_are_gone_are_found_and_mended() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let ids = catalogue(&index);
    (0..5_000).for_each(|number| _ = id(&ids, number));
    assert_eq!(look(&index, &[], Mend::Leave), []);
    drop(ids);
    index.flush().unwrap();
    drop(index);

    let index = open(folder.path(), quiet());
    index
        .store()
        .write(|transaction| {
            let mut ids = transaction.open_table(IDS)?;
            ids.remove((ALL, &key(0).to_bytes()[..]))?; // 17 leads to a file without an id
            ids.insert((ALL, &key(1).to_bytes()[..]), 4_000)?; // 18 leads to a file that has 4000
            transaction.open_table(KEYS)?.insert((ALL, 19), &b"short"[..])?;
            transaction.open_table(PLACES)?.insert((ALL, 16), (2, &b"name"[..]))?;
            Ok(())
        })
        .unwrap();
    let expected = [
        (17, CatalogFlaw::Differs),
        (18, CatalogFlaw::Differs),
        (19, CatalogFlaw::Damaged),
        (4_999 + 17, CatalogFlaw::Gone),
        (16, CatalogFlaw::PlaceAlone),
    ];
    for mend in [Mend::Leave, Mend::Repair] {
        assert_eq!(look(&index, &[4_999], mend), expected);
    }
    index.flush().unwrap();
    assert_eq!(look(&index, &[4_999], Mend::Leave), []);
    let ids = catalogue(&index);
    assert_eq!(id(&ids, 0), 17, "the id of a file is not lost");
    assert_eq!(ids.resolve(CatalogId(18)).unwrap(), None, "an id leads to its own file or to none");
    assert!(id(&ids, 4_999) > 4_999 + 17, "an id is not given twice");
}
