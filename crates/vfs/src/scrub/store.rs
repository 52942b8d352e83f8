//! The store of streams at the root of a share, or of a mount inside it.

use super::living::Living;
use super::walk::page;
use super::{Flaw, Outcome, Scrub, Why, place};
use crate::access::KEY_FILE;
use crate::backend::Node;
use crate::backend::trust;
use crate::backend::{Found, Object};
use crate::caller::server;
use crate::mac::layout::sidecar_name;
use crate::restoring::STAGING;
use crate::streams::{MOVING, STORE, pair, sidecar, store};
use crate::{Error, HostKey, Kind, Result};

/// The length of the key of ACLs in bytes.
const KEY_LEN: u64 = 16;

/// The folder of a file in the store.
struct StoreFolder<'a> {
    folder: &'a dyn Object,
    key: HostKey,
    alive: &'a Found,
    /// The path of the file, if it is known.
    at: Option<&'a [Vec<u8>]>,
}

impl Scrub<'_> {
    /// Looks at the store in a folder, if there is one.
    pub(super) fn store(&self, home: &Node, path: &[Vec<u8>]) -> Result<()> {
        let found = match home.lookup(server(), STORE) {
            Err(Error::NotFound) => return Ok(()),
            other => other?,
        };
        let path = place(path, STORE);
        if let Err(why) = trust(self.volume.backend.as_ref(), &found) {
            self.leave(&path, Flaw::FolderUntrusted(why), Why::Undecided);
            return Ok(());
        }
        let store = found.object;
        self.pages(&*store, |name| {
            let at = [&path, &b"/"[..], name].concat();
            let looked = match store::folder_key(name) {
                Some(key) => self.stored(&*store, name, &at, &key.beside(&home.key())),
                None if name == KEY_FILE => self.acl_key(&*store, name, &at),
                None if name == STAGING => self.restore(&*store, name, &at),
                None => self.stray(&*store, name, &at),
            };
            self.checked(&at, looked);
        })
    }

    /// Calls `look` with each name in a folder, as long as the scrub goes on.
    fn pages(&self, folder: &dyn Object, mut look: impl FnMut(&[u8])) -> Result<()> {
        let mut next = Some(0);
        while let Some(cookie) = next.filter(|_| self.goes_on.get()) {
            let (names, after) = page(folder, cookie)?;
            next = after;
            for name in names {
                let goes_on = self.goes_on.get() && self.observer.borrow_mut().looked(1);
                self.goes_on.set(goes_on);
                if goes_on {
                    look(&name);
                }
            }
        }
        Ok(())
    }

    fn stray(&self, folder: &dyn Object, name: &[u8], path: &[u8]) -> Result<()> {
        self.settle(path, Flaw::StoreStray, || self.keep(folder, name, path));
        Ok(())
    }

    fn acl_key(&self, store: &dyn Object, name: &[u8], path: &[u8]) -> Result<()> {
        let found = store.lookup(server(), name)?.attributes;
        let is_own = found.uid == 0 || found.uid == self.volume.backend.own_user();
        if found.kind != Kind::File || !is_own || found.mode & 0o077 != 0 || found.size != KEY_LEN {
            self.leave(path, Flaw::AclKey, Why::Undecided);
        }
        Ok(())
    }

    /// Files of a restore that has ended early. The next restore removes them.
    fn restore(&self, store: &dyn Object, name: &[u8], path: &[u8]) -> Result<()> {
        let staging = store.lookup(server(), name)?;
        if staging.attributes.kind != Kind::Folder {
            return self.stray(store, name, path);
        }
        if page(&*staging.object, 0)?.0.is_empty() {
            return Ok(());
        }
        if !self.is_settled(&staging.attributes) {
            self.leave(path, Flaw::RestoreUnfinished, Why::Recent);
            return Ok(());
        }
        self.settle(path, Flaw::RestoreUnfinished, || self.keep(store, name, path));
        Ok(())
    }

    /// The folder of one file.
    fn stored(&self, store: &dyn Object, name: &[u8], path: &[u8], key: &HostKey) -> Result<()> {
        let folder = store.lookup(server(), name)?;
        if folder.attributes.kind != Kind::Folder {
            return self.stray(store, name, path);
        }
        let (alive, at) = match self.find(key)? {
            Living::Alive(alive, at) => (alive, at),
            Living::Unknown => {
                self.leave(path, Flaw::StreamsOfGone, Why::Unknown);
                return Ok(());
            }
            Living::Gone => {
                self.settle(path, Flaw::StreamsOfGone, || {
                    self.streams.own_store.note_change();
                    match page(&*folder.object, 0)?.0.is_empty() {
                        true => store.remove_folder(server(), name).map(|()| Outcome::Mended),
                        false => self.keep(store, name, path),
                    }
                });
                return Ok(());
            }
        };
        let stored = StoreFolder { folder: &*folder.object, key: *key, alive: &alive, at: at.as_deref() };
        self.pages(&*folder.object, |name| {
            let at = [path, &b"/"[..], name].concat();
            self.checked(&at, self.part(&stored, name, &at));
        })
    }

    /// What is in the folder of a file that exists.
    fn part(&self, stored: &StoreFolder<'_>, name: &[u8], path: &[u8]) -> Result<()> {
        let found = stored.folder.lookup(server(), name)?;
        let is_stream = store::is_stream_file(name);
        if found.attributes.kind != Kind::File
            || !(is_stream
                || [store::SIDECAR, store::UNFINISHED, store::ARRIVING, store::MISSING].contains(&name))
        {
            return self.stray(stored.folder, name, path);
        }
        if [store::ARRIVING, store::MISSING].contains(&name) {
            return Ok(()); // of what has not arrived yet
        }
        if name == store::UNFINISHED {
            if self.is_settled(&found.attributes) {
                self.settle(path, Flaw::Unfinished, || {
                    stored.folder.remove(server(), name).map(|()| Outcome::Mended)
                });
            } else {
                self.leave(path, Flaw::Unfinished, Why::Recent);
            }
            return Ok(());
        }
        if name == store::SIDECAR {
            return self.stored_sidecar(stored, &found, path);
        }
        let Some(stream) = store::name_of_stream(name, &*found.object)? else {
            self.settle(path, Flaw::StreamNameless, || {
                self.streams.own_store.note_change();
                self.keep(stored.folder, name, path)
            });
            return Ok(());
        };
        if self.streams.has_attribute(&*stored.alive.object, &stream)? {
            self.settle(path, Flaw::StreamTwice, || {
                let file = stored.alive.object.id();
                let pins = self.volume.site.pin_and_wait(&[file])?;
                let _claimed = self.volume.site.busy.change_pinned(&[(file, b"")], pins);
                if !self.streams.has_attribute(&*stored.alive.object, &stream)? {
                    return Ok(Outcome::Left(Why::Recent));
                }
                self.keep(stored.folder, name, path)
            });
        }
        Ok(())
    }

    fn stored_sidecar(&self, stored: &StoreFolder<'_>, found: &Found, path: &[u8]) -> Result<()> {
        let (folder, object) = (stored.folder, &*stored.alive.object);
        let is_own = sidecar::owner(&*found.object)?.is_some_and(|owner| owner.local() == stored.key.local());
        if !is_own {
            return self.stray(folder, store::SIDECAR, path);
        }
        let place = self.at(stored.alive, stored.at)?;
        if let Some((to, of)) = &place
            && self.beside(to, of, &stored.key)? == Some(true)
        {
            self.settle(path, Flaw::SidecarTwice, || self.keep(folder, store::SIDECAR, path));
            return Ok(());
        }
        if object.xattr(MOVING).is_ok() {
            return Ok(()); // its file finds it
        }
        self.settle(path, Flaw::SidecarUnmarked, || {
            // Any place: a file with a mark looks in the store, too.
            let at = place.as_ref().map_or((folder, b"x".to_vec()), |(to, of)| (&**to, of.clone()));
            pair::mark(object, at.0, &sidecar_name(&at.1))?;
            if let Some((to, of)) = &place {
                self.streams.pairs().mend(&crate::streams::File { folder: &**to, name: of, object })?;
            }
            Ok(Outcome::Mended)
        });
        Ok(())
    }
}
