use super::*;
use crate::catalogue::desktop::{Application, Icon, IconKey};

fn desktop(index: &Index, volume: &str) -> Desktop {
    Catalogue::open(index, index.volume(volume).unwrap(), root()).unwrap().desktop().unwrap()
}

const KEY: IconKey = IconKey { creator: *b"ttxt", kind: *b"TEXT", icon: 1 };

fn icon(key: IconKey, bitmap: &[u8]) -> Icon {
    Icon { key, tag: 9, bitmap: bitmap.to_vec() }
}

fn application(folder: u32, name: &[u8], tag: u32) -> Application {
    Application { creator: *b"ttxt", folder: CatalogId(folder), name: name.to_vec(), tag }
}

/// What must hold while rows wait and once they are written: `check` is done before, after, and in another life.
fn whether_written_or_not(make: impl Fn(&Desktop), check: impl Fn(&Desktop)) {
    for flush in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let index = open(folder.path(), quiet());
        let desktop = desktop(&index, "Share");
        make(&desktop);
        check(&desktop);
        if flush {
            index.flush().unwrap();
            check(&desktop);
        }
        drop((index, desktop));
        let index = open(folder.path(), quiet());
        check(&self::desktop(&index, "Share"));
    }
}

#[test]
fn an_icon_is_found_by_creator_type_and_kind_of_icon() {
    whether_written_or_not(
        |desktop| {
            desktop.add_icon(&icon(KEY, b"old")).unwrap();
            desktop.add_icon(&icon(KEY, b"bitmap")).unwrap();
        },
        |desktop| {
            assert_eq!(desktop.icon(KEY).unwrap(), Some(icon(KEY, b"bitmap")));
            assert_eq!(desktop.icon(IconKey { icon: 2, ..KEY }).unwrap(), None);
            assert_eq!(desktop.icon(IconKey { kind: *b"PICT", ..KEY }).unwrap(), None);
        },
    );
}

#[test]
fn all_icons_of_a_creator_are_found_by_counting() {
    let other = IconKey { creator: *b"ttxu", ..KEY };
    let (second, third) = (IconKey { icon: 4, ..KEY }, IconKey { kind: *b"ttro", ..KEY });
    whether_written_or_not(
        |desktop| {
            for key in [third, KEY, other, second] {
                desktop.add_icon(&icon(key, &[0; 64])).unwrap();
            }
        },
        |desktop| {
            let all = (0..5).map(|index| desktop.icon_at(*b"ttxt", index).unwrap());
            let keys: Vec<_> = all.map(|info| info.map(|info| (info.key, info.tag, info.size))).collect();
            let found = |key| Some((key, 9, 64));
            assert_eq!(keys, [found(KEY), found(second), found(third), None, None]);
        },
    );
}

#[test]
fn the_newest_application_of_a_creator_comes_first() {
    whether_written_or_not(
        |desktop| {
            desktop.add_application(&application(17, b"TeachText", 1)).unwrap();
            desktop.add_application(&application(18, b"TeachText", 2)).unwrap();
            desktop.add_application(&application(17, b"SimpleText", 3)).unwrap();
            desktop.add_application(&application(17, b"TeachText", 4)).unwrap();
            assert!(desktop.remove_application(*b"ttxt", CatalogId(18), b"TeachText").unwrap());
            assert!(!desktop.remove_application(*b"ttxt", CatalogId(18), b"TeachText").unwrap());
        },
        |desktop| {
            let expected = [application(17, b"TeachText", 4), application(17, b"SimpleText", 3)];
            assert_eq!(desktop.applications(*b"ttxt").unwrap(), expected);
            assert_eq!(desktop.applications(*b"MSWD").unwrap(), []);
        },
    );
}

#[test]
fn volumes_have_desktops_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let (one, other) = (desktop(&index, "Share"), desktop(&index, "Other"));
    one.add_icon(&icon(KEY, b"bitmap")).unwrap();
    assert_eq!(other.icon(KEY).unwrap(), None);
    assert_eq!(desktop(&index, "Share").icon(KEY).unwrap(), Some(icon(KEY, b"bitmap")));
}

#[test]
fn a_desktop_is_bounded_and_what_is_there_may_still_be_changed() {
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), quiet());
    let desktop = desktop(&index, "Share");
    assert!(matches!(desktop.add_icon(&icon(KEY, &[0; Desktop::BITMAP_MAX + 1])), Err(IndexError::TooLong)));
    let large = vec![0; Desktop::BITMAP_MAX];
    let key = |number: u32| IconKey { kind: number.to_be_bytes(), ..KEY };
    let added = (0..).take_while(|number| desktop.add_icon(&icon(key(*number), &large)).is_ok()).count();
    let row = 10 + 4 + large.len();
    assert_eq!(added, Desktop::MAX_BYTES / row);
    assert!(matches!(desktop.add_icon(&icon(key(u32::MAX), &large)), Err(IndexError::TooMany)));
    desktop.add_icon(&icon(key(0), &[1; 64])).unwrap();
    index.flush().unwrap();
    assert_eq!(desktop.icon(key(0)).unwrap().unwrap().bitmap, [1; 64]);
}

#[test]
fn an_index_of_a_program_that_knew_no_desktops_gets_one() {
    let folder = tempfile::tempdir().unwrap();
    drop(desktop(&open(folder.path(), quiet()), "Share"));
    let database = redb::Database::open(folder.path().join("index.redb")).unwrap();
    let transaction = database.begin_write().unwrap();
    assert!(transaction.delete_table(crate::catalogue::desktop::DESKTOP).unwrap());
    transaction.commit().unwrap();
    drop(database);
    let index = open(folder.path(), quiet());
    assert_eq!(desktop(&index, "Share").icon(KEY).unwrap(), None);
}
