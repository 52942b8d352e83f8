use std::sync::Mutex;

use super::super::{LunOptions, NewLun};
use super::*;

/// The table of two servers, and changes that come between reading and writing it.
#[derive(Default)]
struct InMemory(Mutex<(Option<(String, u64)>, usize)>);

impl CommonText for InMemory {
    fn cluster(&self) -> &'static str {
        "home"
    }

    fn read(&self) -> Result<Option<(String, u64)>, String> {
        Ok(self.0.lock().unwrap().0.clone())
    }

    fn swap(&self, revision: u64, text: &str) -> Result<bool, String> {
        let (table, collisions) = &mut *self.0.lock().unwrap();
        let is_same = table.as_ref().map_or(0, |(_, revision)| *revision) == revision;
        if !is_same || *collisions > 0 {
            *collisions = collisions.saturating_sub(1);
            return Ok(false);
        }
        *table = Some((text.to_owned(), revision + 1));
        Ok(true)
    }
}

fn add(table: &LunTable, name: &str) -> Result<u64, LunError> {
    table.edit_again(|file| {
        let options = LunOptions::default();
        let (file_of, target, number, snapshot_of) = (None, None, None, None);
        let new = NewLun {
            share: "a",
            name,
            file: file_of,
            target,
            number,
            options,
            from_settings: false,
            snapshot_of,
            created: 7,
        };
        Ok(file.add(new)?.naa)
    })
}

#[test]
fn the_servers_of_a_cluster_have_one_table_which_the_first_one_gives() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let alone = LunTable::alone(folders[0].path());
    let naa = add(&alone, "before").unwrap();
    let common = Arc::new(InMemory::default());
    let [first, second] = [0, 1].map(|at| LunTable::in_common(folders[at].path(), common.clone()));
    assert_eq!(first.read().unwrap().luns[0].naa, naa);
    add(&first, "one").unwrap();
    common.0.lock().unwrap().1 = 3; // others are faster three times
    add(&second, "two").unwrap();
    let names = |table: &LunTable| {
        let luns = table.read().unwrap().luns;
        luns.into_iter().map(|lun| (lun.name, lun.naa)).collect::<Vec<_>>()
    };
    assert_eq!(names(&first), names(&second));
    assert_eq!(names(&second).len(), 3);
    assert_eq!(names(&second)[0], ("before".to_owned(), naa));
    // A copy is in the state folder, and what was there before.
    assert_eq!(names(&LunTable::alone(folders[1].path())), names(&second));
    let joins = tempfile::tempdir().unwrap();
    add(&LunTable::alone(joins.path()), "own").unwrap();
    add(&LunTable::in_common(joins.path(), common.clone()), "three").unwrap();
    let apart = std::fs::read_to_string(joins.path().join("luns.toml.before-cluster")).unwrap();
    assert!(apart.contains("own"), "{apart}");
    common.0.lock().unwrap().1 = TRIES;
    assert!(matches!(add(&first, "four"), Err(LunError::Busy)));
}
