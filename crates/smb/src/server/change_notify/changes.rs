//! What happened in a folder, as clients are told it: MS-FSCC 2.7.1.

use vfs::events::{Happened, Name, Seen};
use vfs::names::windows_view;

use crate::wire::fscc::notify::{Action, Change};

/// Adds the records of one change. What moves within a folder has two, an old name and a new; what moves to another folder
/// goes here and comes there, as far as either is watched.
pub(super) fn of(seen: &Seen, all: &mut Vec<Change>) {
    let change = &seen.change;
    let now = || seen.at.as_ref().map(|folders| path(folders, &change.name));
    let mut add = |action, name: Option<Vec<u16>>| all.extend(name.map(|name| Change { action, name }));
    match &change.what {
        Happened::Created => add(Action::ADDED, now()),
        Happened::Removed => add(Action::REMOVED, now()),
        Happened::Modified(_) => add(Action::MODIFIED, now()),
        Happened::Renamed { old_folder, old_name } => {
            let before = seen.was.as_ref().map(|folders| path(folders, old_name));
            let stays = *old_folder == change.folder;
            add(if stays { Action::RENAMED_OLD_NAME } else { Action::REMOVED }, before);
            add(if stays { Action::RENAMED_NEW_NAME } else { Action::ADDED }, now());
        }
    }
}

/// From the watched folder on.
fn path(folders: &[Name], name: &Name) -> Vec<u16> {
    let names: Vec<Vec<u16>> = folders.iter().chain([name]).map(|name| windows_view(name)).collect();
    names.join(&u16::from(b'\\'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::events::Change as Happening;
    use vfs::{FileId, Kind};

    use super::*;

    fn told(what: Happened, at: Option<&[&str]>, was: Option<&[&str]>) -> Vec<(Action, String)> {
        let names = |names: &[&str]| names.iter().map(|name| Name::from(name.as_bytes())).collect();
        let change = Happening {
            folder: FileId(2),
            name: Name::from(b"new:".as_slice()),
            file: None,
            of: Kind::File,
            what,
            by: None,
        };
        let seen = Seen { change: Arc::new(change), at: at.map(names), was: was.map(names) };
        let mut all = Vec::new();
        of(&seen, &mut all);
        all.into_iter().map(|change| (change.action, String::from_utf16_lossy(&change.name))).collect()
    }

    fn renamed(old_folder: u64) -> Happened {
        Happened::Renamed { old_folder: FileId(old_folder), old_name: Name::from(b"old".as_slice()) }
    }

    #[test]
    fn names_are_as_clients_have_them_from_the_watched_folder_on() {
        let expected = vec![(Action::ADDED, "a\\b\\new\u{F022}".to_owned())];
        assert_eq!(told(Happened::Created, Some(&["a", "b"]), None), expected);
    }

    #[test]
    fn a_rename_has_an_old_and_a_new_name() {
        let expected = vec![
            (Action::RENAMED_OLD_NAME, "a\\old".into()),
            (Action::RENAMED_NEW_NAME, "a\\new\u{F022}".into()),
        ];
        assert_eq!(told(renamed(2), Some(&["a"]), Some(&["a"])), expected);
    }

    #[test]
    fn a_move_to_another_folder_is_a_removal_and_an_addition() {
        let both = vec![(Action::REMOVED, "b\\old".into()), (Action::ADDED, "new\u{F022}".into())];
        assert_eq!(told(renamed(3), Some(&[]), Some(&["b"])), both);
        assert_eq!(told(renamed(3), None, Some(&["b"])), both[..1]);
        assert_eq!(told(renamed(3), Some(&[]), None), both[1..]);
    }
}
