//! Changes in a folder of a share, for listeners of the API.

use admin::ShareSettings;
use vfs::events::{Aspects, Change, ChangeKind, Depth, Filter, Name, ScopedChange};
use vfs::names::{from_text_view, text_view};
use vfs::{Caller, Kind};
use web::watching::{FileChange, FolderWatch, Next};

use super::files::{FileLocation, explained};
use crate::serve::running::Running;

/// Changes that wait for a listener.
const AHEAD: usize = 1024;
/// What listeners are told of. Times of access would be all reading.
const TOLD: Aspects = Aspects::ALL.difference(Aspects::ACCESSED);

/// Watches the folder at SHARE/PATH, with all below it if that is wanted.
pub(super) fn watch(running: &Running, folder: &str, below: bool) -> Result<FolderWatch, Vec<String>> {
    let current = running.current();
    let folder = folder.trim_matches('/');
    // A share may be in another one: the longest name counts.
    let rest = |share: &ShareSettings| {
        let rest = folder.strip_prefix(share.name.as_str())?;
        (rest.is_empty() || rest.starts_with('/')).then(|| rest.trim_matches('/').to_owned())
    };
    let shares = current.settings.shares.iter().filter_map(|share| Some((share, rest(share)?)));
    let Some((share, path)) = shares.max_by_key(|(share, _)| share.name.len()) else {
        let first = folder.split('/').next().unwrap_or_default();
        return Err(vec![format!(
            "there is no share {first:?}; write SHARE/PATH, and `GET /v1/shares` lists the shares"
        )]);
    };
    let path = &*from_text_view(&path);
    let volume = running.volume(share).map_err(|error| vec![format!("{error:#}")])?;
    let found = FileLocation::find(&volume, path).map_err(|error| explained(error, share, path))?.found;
    let depth = if below { Depth::Below } else { Depth::Entries };
    let filter = Filter { aspects: TOLD, except: None, identifies_removed: false };
    let watching = volume
        .watch(&Caller::root(), &found, depth, filter, AHEAD)
        .map_err(|error| explained(error, share, path))?;
    Ok(FolderWatch::new(watching, next))
}

/// An event in words.
fn next(event: vfs::events::Event) -> Next {
    match event {
        vfs::events::Event::Changed(seen) => Next::Changed(change(&seen)),
        vfs::events::Event::Overflowed => Next::Missed,
        vfs::events::Event::Going => Next::Gone,
    }
}

fn path(folders: &[Name], name: &Name) -> String {
    let names = folders.iter().chain([name]).map(|name| text_view(name).to_string());
    names.collect::<Vec<_>>().join("/")
}

fn change(seen: &ScopedChange) -> FileChange {
    let Change { name, of, what, by, .. } = &*seen.change;
    let (what, old, aspects) = match (what, &seen.at, &seen.was) {
        (ChangeKind::Renamed { old_name, .. }, Some(_), Some(was)) => {
            ("renamed", Some(path(was, old_name)), Vec::new())
        }
        (ChangeKind::Created | ChangeKind::Renamed { .. }, Some(_), _) => ("created", None, Vec::new()),
        (ChangeKind::Renamed { .. } | ChangeKind::Removed, ..) => ("removed", None, Vec::new()),
        (ChangeKind::Created, ..) => ("created", None, Vec::new()),
        (ChangeKind::Modified(aspects), ..) => {
            let names = aspects.iter_names().map(|(name, _)| name.to_lowercase().replace('_', "-"));
            ("modified", None, names.collect())
        }
    };
    let place = match (&seen.at, &seen.was, &seen.change.what) {
        (Some(at), ..) => path(at, name),
        (None, Some(was), ChangeKind::Renamed { old_name, .. }) => path(was, old_name),
        (None, Some(was), _) => path(was, name),
        (None, None, _) => text_view(name).to_string(),
    };
    let kind = match of {
        Kind::Folder => "folder",
        Kind::File => "file",
        Kind::Link => "link",
        _ => "other",
    };
    FileChange { what, path: place, old_path: old, kind, aspects, by_client: by.is_some() }
}
