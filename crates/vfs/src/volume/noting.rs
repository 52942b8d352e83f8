//! What an operation notes of the files that it concerns, for `noted`.

use std::sync::Arc;

use crate::backend::{Backend, Node};
use crate::finding::whereabouts::Whereabouts;
use crate::noted::{Act, FileNote, LaterPath, NotedPath, add, wanted, wants_paths_at_once};
use crate::open::Places;
use crate::state::Cause;
use crate::{FileId, Volume};

/// The notes on the files of a volume.
pub(crate) struct FileNotes<'a> {
    backend: &'a Arc<dyn Backend>,
    opens: &'a Places,
    whereabouts: &'a Whereabouts,
}

impl Volume {
    /// The notes on what operations do to files, for observers.
    pub(crate) fn notes(&self) -> FileNotes<'_> {
        FileNotes { backend: &self.backend, opens: &self.site.places, whereabouts: &self.whereabouts }
    }
}

impl FileNotes<'_> {
    /// Notes what is done to a file.
    pub(crate) fn file(&self, act: Act, of: &Node) {
        if let Some(notes) = wanted() {
            let inode = Some(of.id().inode);
            add(&notes, FileNote { act, path: self.path(of, None), to: None, inode });
        }
    }

    /// Notes a change of a file with this cause.
    pub(crate) fn change(&self, cause: Cause, of: &Node) {
        match cause {
            Cause::Write | Cause::Truncate | Cause::Overwrite => self.file(Act::Write, of),
            Cause::Attributes => self.file(Act::Attributes, of),
            Cause::Remove => self.file(Act::Remove, of),
            _ => {}
        }
    }

    /// Notes what is done to an entry of a folder.
    pub(crate) fn entry(&self, act: Act, folder: &Node, name: &[u8], file: Option<FileId>) {
        if let Some(notes) = wanted() {
            let path = self.path(folder, Some(name));
            add(&notes, FileNote { act, path, to: None, inode: file.map(|file| file.inode) });
        }
    }

    /// Notes a move.
    pub(crate) fn rename(&self, from: (&Node, &[u8]), to: (&Node, &[u8])) {
        if let Some(notes) = wanted() {
            let path = self.path(from.0, Some(from.1));
            let to = Some(self.path(to.0, Some(to.1)));
            add(&notes, FileNote { act: Act::Rename, path, to, inode: None });
        }
    }

    /// Notes a further name of a file.
    pub(crate) fn link(&self, file: &Node, folder: &Node, name: &[u8]) {
        if let Some(notes) = wanted() {
            let (path, to) = (self.path(file, None), Some(self.path(folder, Some(name))));
            add(&notes, FileNote { act: Act::Link, path, to, inode: Some(file.id().inode) });
        }
    }

    /// The path of a file, or of an entry of a folder.
    fn path(&self, of: &Node, entry: Option<&[u8]>) -> NotedPath {
        if !wants_paths_at_once() {
            let (backend, of, entry) = (self.backend.clone(), of.clone(), entry.map(Into::into));
            return NotedPath::later(Arc::new(PathHint { backend, of, entry }));
        }
        let mut path = self.path_now(of);
        if let Some(name) = entry {
            if !path.is_empty() {
                path.push(b'/');
            }
            path.extend_from_slice(name);
        }
        NotedPath::found(&path)
    }

    /// The path, by what the host has in memory, or by where the file was seen last; empty if neither knows it.
    fn path_now(&self, of: &Node) -> Vec<u8> {
        if let Some(parts) = self.backend.path_hint(&**of) {
            return parts.join(&b'/');
        }
        let opened = self.opens.place_of(of.id()).map(|(folder, name)| (folder, name.to_vec()));
        let place = opened.or_else(|| {
            let (folder, name) = self.whereabouts.of(of.id())?;
            Some((self.backend.by_key(&folder).ok()?.object, name.to_vec()))
        });
        let Some((folder, name)) = place.filter(|(folder, _)| folder.id() != of.id()) else {
            return Vec::new();
        };
        let above = self.backend.path_hint(&*folder).map(|parts| parts.join(&b'/')).unwrap_or_default();
        if above.is_empty() { name } else { [above, name].join(&b'/') }
    }
}

/// The path of a file, or of an entry of a folder, by what the host has in memory when it is asked for.
struct PathHint {
    backend: Arc<dyn Backend>,
    of: Node,
    entry: Option<Box<[u8]>>,
}

impl LaterPath for PathHint {
    fn parts(&self) -> Vec<Vec<u8>> {
        let mut parts = self.backend.path_hint(&*self.of).unwrap_or_default();
        parts.extend(self.entry.iter().map(|name| name.to_vec()));
        parts
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::backend::host::{Host, HostOptions};
    use crate::backend::{NewKind, RenameMode, Stability};
    use crate::noted::{Notes, Paths, during, want};
    use crate::state::{ClientId, Party};
    use crate::{Actor, Caller, Kind, SetAttributes, VolumeOptions};

    /// One test, because whether notes are wanted is one fact of the process.
    #[tokio::test]
    async fn an_operation_notes_its_files_while_an_observer_wants_them() {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
        let volume = Volume::new(Arc::new(host), VolumeOptions::default());
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let root = volume.root().unwrap();
        assert!(Notes::begin().is_none(), "no observer wants notes");
        want(3, Some(Paths::AtOnce), true);
        let of = |part: &dyn Fn()| {
            let notes = Notes::begin();
            during(notes.as_ref(), part);
            let files = notes.unwrap().taken().files;
            let shown = |note: FileNote| {
                (note.act, note.path.text().into_owned(), note.to.map(|to| to.text().into_owned()))
            };
            files.into_iter().map(shown).collect::<Vec<_>>()
        };
        let made = of(&|| _ = volume.create(&actor, &root, b"plans", NewKind::Folder, 0o755));
        assert_eq!(made, [(Act::Create, "plans".into(), None)]);
        let plans = volume.lookup(&actor.caller, &root.object, b"plans").unwrap();
        let made = of(&|| _ = volume.create(&actor, &plans, b"a", NewKind::File, 0o644));
        assert_eq!(made, [(Act::Create, "plans/a".into(), None)]);
        let file = volume.lookup(&actor.caller, &plans.object, b"a").unwrap();
        let changes = SetAttributes { mode: Some(0o600), ..SetAttributes::default() };
        let set = of(&|| _ = volume.set_attributes(&actor, &file, &changes));
        assert_eq!(set, [(Act::Attributes, "plans/a".into(), None)]);
        let notes = Notes::begin();
        let written = volume.write(&actor, &file, 0, bytes::Bytes::from_static(b"x"), Stability::File);
        let mut written = std::pin::pin!(written);
        std::future::poll_fn(|cx| during(notes.as_ref(), || written.as_mut().poll(cx))).await.unwrap();
        let noted = notes.unwrap().taken();
        assert_eq!(noted.files.len(), 1, "{noted:?}");
        assert_eq!((noted.files[0].act, &*noted.files[0].path.text()), (Act::Write, "plans/a"));
        assert!(noted.disk > Duration::ZERO, "{noted:?}");
        let moved = of(&|| {
            volume.rename(&actor, (&plans, b"a"), (&root, b"b"), RenameMode::Replace).unwrap();
        });
        assert_eq!(moved, [(Act::Rename, "plans/a".into(), Some("b".into()))]);
        let gone = of(&|| _ = volume.remove(&actor, &root, b"b", Kind::File));
        assert_eq!(gone, [(Act::Remove, "b".into(), None)]);
        let refused = of(&|| _ = volume.remove(&actor, &root, b"absent", Kind::File));
        assert_eq!(refused, [(Act::Remove, "absent".into(), None)], "it is tried");
        want(3, Some(Paths::Later), false);
        let plans = volume.lookup(&actor.caller, &root.object, b"plans").unwrap();
        let made = of(&|| _ = volume.create(&actor, &plans, b"c", NewKind::File, 0o644));
        assert_eq!(made, [(Act::Create, "plans/c".into(), None)]);
        let file = volume.lookup(&actor.caller, &plans.object, b"c").unwrap();
        let set = of(&|| {
            volume.set_attributes(&actor, &file, &changes).unwrap();
            volume.rename(&actor, (&plans, b"c"), (&root, b"d"), RenameMode::Replace).unwrap();
        });
        assert_eq!(set, [(Act::Attributes, "d".into(), None)], "only the first, where it is now");
        want(3, None, false);
        assert!(Notes::begin().is_none());
    }
}
