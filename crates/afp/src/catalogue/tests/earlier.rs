use super::*;
use crate::catalogue::ledger::{IDS, KEYS};
use crate::catalogue::places::PLACES;

/// Writes an index as earlier versions left it: ids by volume and host key.
fn written_earlier(index: &Index, volume: &str, ids: &[(u32, u64)]) {
    let tag = index.volume(volume).unwrap().tag.0;
    let write = |transaction: &redb::WriteTransaction| {
        transaction.open_table(RESERVED)?.insert(tag, 1_000)?;
        for (id, number) in ids {
            let key = host_key(*number);
            transaction.open_table(IDS)?.insert((tag, key.as_bytes()), id)?;
            transaction.open_table(KEYS)?.insert((tag, *id), key.as_bytes())?;
            transaction.open_table(PLACES)?.insert((tag, *id), (*id + 1, &b"name"[..]))?;
        }
        Ok(())
    };
    index.store().write(write).unwrap();
}

fn take(index: &Index, volume: &str) -> Catalogue {
    let ids = Catalogue::open(index, index.volume(volume).unwrap(), root()).unwrap();
    let absent = host_key(666);
    ids.take_earlier_ids(|key| (*key != absent).then_some(LastingKey { file_system: 1, key: *key })).unwrap();
    ids
}

#[test]
fn files_keep_the_ids_of_the_first_volume_and_no_id_gets_a_second_file() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    written_earlier(&index, "One", &[(17, 1), (18, 2), (900, 3), (901, 666)]);
    // Two files of the first volume, one whose number is taken there, and one of its own.
    written_earlier(&index, "Two", &[(18, 2), (40, 1), (17, 7), (50, 8)]);
    let one = take(&index, "One");
    assert_eq!(id(&one, 7), 1_000, "new ids are above all earlier ones");
    let two = take(&index, "Two");
    let check = |ids: &Catalogue| {
        assert_eq!((id(ids, 1), id(ids, 2), id(ids, 3)), (17, 18, 900));
        assert_eq!((id(ids, 7), id(ids, 8)), (1_000, 50));
        assert_eq!(ids.resolve(CatalogId(17)).unwrap(), Some(key(1)));
        assert_eq!(ids.resolve(CatalogId(40)).unwrap(), None, "file 1 has another id");
        assert_eq!(ids.resolve(CatalogId(901)).unwrap(), None, "its file system is not there");
        let place = KeptPlace { folder: CatalogId(19), name: (*b"name").into() };
        assert_eq!(ids.kept_place(CatalogId(18)).unwrap(), Some(place));
    };
    check(&one);
    check(&two);
    drop((one, two, index));
    let index = open(folder.path(), quiet());
    check(&take(&index, "Two"));
    check(&take(&index, "One"));
}

/// The program may be killed after any commit: each state of the disk is one in which the next life can start.
#[test]
fn a_kill_between_two_volumes_gives_no_id_to_two_files() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    written_earlier(&index, "One", &[(17, 1), (18, 2)]);
    written_earlier(&index, "Two", &[(17, 3), (20, 4)]);
    let killed = || {
        let copy = tempfile::tempdir().unwrap();
        std::fs::copy(folder.path().join("index.redb"), copy.path().join("index.redb")).unwrap();
        copy
    };
    let mut lives = vec![killed()];
    let one = take(&index, "One");
    lives.push(killed());
    let fresh = id(&one, 3); // this life's, written or not
    lives.push(killed());
    take(&index, "Two");
    lives.push(killed());
    index.flush().unwrap();
    lives.push(killed());
    for (at, life) in lives.iter().enumerate() {
        let index = open(life.path(), quiet());
        // In the other order, as after a change of the settings.
        let (two, one) = (take(&index, "Two"), take(&index, "One"));
        let given: HashSet<u32> = (1..6).flat_map(|number| [id(&one, number), id(&two, number)]).collect();
        assert_eq!(given.len(), 5, "life {at}");
        assert_eq!(id(&two, 4), 20, "life {at}");
        let owner = one.resolve(CatalogId(17)).unwrap();
        assert_eq!(owner, Some(if at == 0 { key(3) } else { key(1) }), "life {at}");
        assert!(at == 0 || id(&two, 3) >= fresh, "life {at}");
    }
}
