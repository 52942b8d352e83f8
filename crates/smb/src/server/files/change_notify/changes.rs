//! What happened in a folder, as clients are told it: MS-FSCC 2.7.1.

use vfs::Kind;
use vfs::events::{ChangeKind, Name, ScopedChange};

use crate::server::config::Share;
use crate::wire::change_notify::CompletionFilter;
use crate::wire::fscc::notify::{Action, Change};

/// Adds the records of one change. A move within a folder has two records: the old name and the new
/// name. A move to another folder is a removal here and an addition there, as far as either folder
/// is watched. A client that watches attributes but not names is told that a moved file is
/// modified, as Windows does.
pub(super) fn of(seen: &ScopedChange, wanted: CompletionFilter, share: &Share, all: &mut Vec<Change>) {
    let change = &seen.change;
    let now = || seen.at.as_ref().map(|folders| path(share, folders, &change.name));
    let is_folder = change.of == Kind::Folder;
    let name = if is_folder { CompletionFilter::DIR_NAME } else { CompletionFilter::FILE_NAME };
    if !matches!(change.what, ChangeKind::Modified(_)) && !wanted.contains(name) {
        // It came for the sake of attributes only.
        if !is_folder && is_moved(&change.what) && tells_of_moves(wanted) {
            all.extend(now().map(|name| Change { action: Action::MODIFIED, name }));
        }
        return;
    }
    let mut add = |action, name: Option<Vec<u16>>| all.extend(name.map(|name| Change { action, name }));
    match &change.what {
        ChangeKind::Created => add(Action::ADDED, now()),
        ChangeKind::Removed => add(Action::REMOVED, now()),
        ChangeKind::Modified(_) => add(Action::MODIFIED, now()),
        ChangeKind::Renamed { old_folder, old_name } => {
            let before = seen.was.as_ref().map(|folders| path(share, folders, old_name));
            let stays = *old_folder == change.folder;
            add(if stays { Action::RENAMED_OLD_NAME } else { Action::REMOVED }, before);
            add(if stays { Action::RENAMED_NEW_NAME } else { Action::ADDED }, now());
        }
    }
}

fn is_moved(what: &ChangeKind) -> bool {
    matches!(what, ChangeKind::Renamed { .. })
}

/// Whether a file that moves counts as modified.
pub(super) fn tells_of_moves(wanted: CompletionFilter) -> bool {
    wanted.contains(CompletionFilter::ATTRIBUTES) || wanted.contains(CompletionFilter::CREATION)
}

/// The path from the watched folder on.
fn path(share: &Share, folders: &[Name], name: &Name) -> Vec<u16> {
    let names: Vec<Vec<u16>> = folders.iter().chain([name]).map(|name| share.shown(name)).collect();
    names.join(&u16::from(b'\\'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::FileId;
    use vfs::events::Change as Happening;

    use super::*;

    fn told(what: ChangeKind, at: Option<&[&str]>, was: Option<&[&str]>) -> Vec<(Action, String)> {
        told_to(CompletionFilter::FILE_NAME, what, at, was)
    }

    fn told_to(
        wanted: CompletionFilter,
        what: ChangeKind,
        at: Option<&[&str]>,
        was: Option<&[&str]>,
    ) -> Vec<(Action, String)> {
        let names = |names: &[&str]| names.iter().map(|name| Name::from(name.as_bytes())).collect();
        let change = Happening {
            folder: FileId::new(0, 2),
            name: Name::from(b"new:".as_slice()),
            file: None,
            of: Kind::File,
            what,
            by: None,
        };
        let seen = ScopedChange { change: Arc::new(change), at: at.map(names), was: was.map(names) };
        let mut all = Vec::new();
        of(&seen, wanted, &Share::pipes(), &mut all);
        all.into_iter().map(|change| (change.action, String::from_utf16_lossy(&change.name))).collect()
    }

    fn renamed(old_folder: u64) -> ChangeKind {
        ChangeKind::Renamed {
            old_folder: FileId::new(0, old_folder),
            old_name: Name::from(b"old".as_slice()),
        }
    }

    #[test]
    fn names_are_as_clients_have_them_from_the_watched_folder_on() {
        let expected = vec![(Action::ADDED, "a\\b\\new\u{F022}".to_owned())];
        assert_eq!(told(ChangeKind::Created, Some(&["a", "b"]), None), expected);
    }

    #[test]
    fn a_rename_has_an_old_and_a_new_name() {
        let expected = vec![
            (Action::RENAMED_OLD_NAME, "a\\old".into()),
            (Action::RENAMED_NEW_NAME, "a\\new\u{F022}".into()),
        ];
        assert_eq!(told(renamed(2), Some(&["a"]), Some(&["a"])), expected);
    }

    /// What Windows does, by smbtorture's smb2.notify.mask-change.
    #[test]
    fn a_watch_of_attributes_reports_moved_files() {
        let modified = vec![(Action::MODIFIED, "new\u{F022}".to_owned())];
        let attributes = CompletionFilter::ATTRIBUTES;
        assert_eq!(told_to(attributes, renamed(2), Some(&[]), Some(&[])), modified);
        assert_eq!(told_to(attributes, ChangeKind::Created, Some(&[]), None), []);
        let both = CompletionFilter(attributes.0 | CompletionFilter::FILE_NAME.0);
        let actions: Vec<_> =
            told_to(both, renamed(2), Some(&[]), Some(&[])).iter().map(|(a, _)| *a).collect();
        assert_eq!(actions, [Action::RENAMED_OLD_NAME, Action::RENAMED_NEW_NAME]); // smb2.notify.rec
    }

    #[test]
    fn a_move_to_another_folder_is_a_removal_and_an_addition() {
        let both = vec![(Action::REMOVED, "b\\old".into()), (Action::ADDED, "new\u{F022}".into())];
        assert_eq!(told(renamed(3), Some(&[]), Some(&["b"])), both);
        assert_eq!(told(renamed(3), None, Some(&["b"])), both[..1]);
        assert_eq!(told(renamed(3), Some(&[]), None), both[1..]);
    }
}
