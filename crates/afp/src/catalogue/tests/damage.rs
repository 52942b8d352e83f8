use std::fs;

use super::*;

/// A state folder whose index has given some ids, closed well.
fn used() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let ids = catalogue(&open(folder.path(), quiet()));
    (0..2_000).for_each(|number| assert!(id(&ids, number) >= 17));
    folder
}

#[test]
fn a_count_that_is_lost_or_behind_gives_no_ids() {
    let folder = used();
    for behind in [Some(17), Some(2_016), None] {
        let index = open(folder.path(), quiet());
        let volume = index.volume("Share").unwrap();
        let set = |transaction: &redb::WriteTransaction| {
            let mut reserved = transaction.open_table(RESERVED)?;
            match behind {
                Some(next) => reserved.insert(ALL, next)?.is_some(),
                None => reserved.remove(ALL)?.is_some(),
            };
            Ok(())
        };
        index.store().write(set).unwrap();
        let refused = Catalogue::open(&index, volume, root()).map(|_| ());
        assert!(matches!(refused, Err(IndexError::Damaged { .. })), "{behind:?}");
    }
}

#[test]
fn a_wrecked_page_is_reported_or_was_unused_but_never_makes_a_wrong_id() {
    let folder = used();
    let path = folder.path().join("index.redb");
    let whole = fs::read(&path).unwrap();
    let mut damaged = 0;
    for page in (0..whole.len() / 4096).step_by(5) {
        let mut bad = whole.clone();
        bad[page * 4096..][..4096].fill(if page % 2 == 0 { 0 } else { 0xa5 });
        fs::write(&path, &bad).unwrap();
        match Index::open_with(folder.path(), quiet()) {
            Ok(index) => {
                let ids = catalogue(&index);
                assert!((0..2_000).all(|number| u64::from(id(&ids, number)) == 17 + number), "page {page}");
            }
            Err(IndexError::Damaged { .. }) => damaged += 1,
            Err(other) => panic!("page {page}: {other}"),
        }
    }
    assert!(damaged > 0, "no page in use was wrecked");
}
