//! The rights of a whole tree in a team folder: what does not say what the roles and lists say, and how it is brought to that.
//!
//! Each entry is looked at by itself, the folder before what is in it, so that a list that was just changed is passed on. Nothing but
//! a page of each folder on the way is kept, and clients may change everything meanwhile.

use std::cell::Cell;

use super::team_changes::PassedOn;
use crate::acl::stored::ATTRIBUTE;
use crate::acl::team::TeamPlace;
use crate::acl::{Deviation, posix};
use crate::backend::{Found, Node, XattrMode};
use crate::caller::server;
use crate::names::own::is_own_name;
use crate::scrub::walk::{self, Visitor};
use crate::{Attributes, Error, FileId, HostKey, Kind, Result, SetAttributes, StoredRights, Volume};

/// What is done with the rights of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RightsWork {
    /// All that is below is looked at, too.
    pub recursive: bool,
    /// What deviates is brought to what the roles and lists say. Else nothing is changed.
    pub reset: bool,
    /// What was set on files and folders themselves goes, too.
    pub all: bool,
}

/// The rights of a file as they are stored on the disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RightsRecord {
    /// Which file it is.
    pub file: HostKey,
    /// The permission bits and what else the mode has.
    pub mode: u32,
    /// The values of the attributes: the POSIX ACL of the file, that which a folder passes on, and the sealed list.
    pub attributes: [Option<Vec<u8>>; 3],
}

/// The attributes of a [`RightsRecord`].
const RECORDED: [&[u8]; 3] = [posix::ACCESS, posix::DEFAULT, ATTRIBUTE];

/// A caller that is told of the rights of a tree.
pub trait RightsObserver {
    /// Whether a user who owns files has no role.
    fn is_foreign(&mut self, uid: u32) -> bool;

    /// This is not as it should be. The path is that of the share.
    fn deviates(&mut self, path: &[u8], of: &Attributes, deviations: &[Deviation]);

    /// The file or folder is about to be changed, or would be. It is not changed if this fails.
    ///
    /// # Errors
    /// The record cannot be kept.
    fn changes(&mut self, path: &[u8], before: &RightsRecord) -> Result<()>;

    /// It could not be looked at, or not be changed.
    fn failed(&mut self, path: &[u8], error: Error);

    /// So many were looked at since the last call. The walk ends if the answer is false.
    fn looked(&mut self, count: u64) -> bool;
}

impl StoredRights<'_> {
    /// Looks at the rights of the file or folder at this path of stored names, and changes what is to be changed. Returns whether
    /// all was looked at: the observer may end it early.
    ///
    /// # Errors
    /// There is no such file, or the share's folder cannot be read. `ReadOnly`: a reset of a volume that cannot be changed.
    pub fn walk(&self, path: &[&[u8]], work: RightsWork, observer: &mut dyn RightsObserver) -> Result<bool> {
        if work.reset && self.volume.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let root = self.volume.root()?;
        let (above, start) = match path {
            [] => (None, root),
            [_] => (Some(root.clone()), root.object.lookup(server(), path[0])?),
            [folders @ .., last] => {
                let folder = root.object.lookup_path(server(), folders)?;
                let start = folder.object.lookup(server(), last)?;
                (Some(folder), start)
            }
        };
        let mut visitor =
            RightsVisitor { volume: self.volume, work, observer, goes_on: Cell::new(true), folder: None };
        if let Some(above) = &above {
            visitor.folder = Some((above.object.id(), self.volume.permissions().passed_on_in_team(above)?));
        }
        visitor.entry(&start, None, &path.join(&b'/'));
        if work.recursive && start.attributes.kind == Kind::Folder {
            let owned = path.iter().map(|name| name.to_vec()).collect();
            walk::tree(start.object, owned, &mut visitor);
        }
        Ok(visitor.goes_on.get())
    }

    /// The rights of a file or folder as they are on the disk now.
    ///
    /// # Errors
    /// Those of the host.
    pub fn record(&self, of: &Found) -> Result<RightsRecord> {
        let mut attributes = [const { None }; 3];
        for (value, name) in attributes.iter_mut().zip(RECORDED) {
            *value = match of.object.xattr(name) {
                Ok(value) => Some(value),
                Err(Error::NoSuchAttribute | Error::NotSupported) => None,
                Err(other) => return Err(other),
            };
        }
        Ok(RightsRecord { file: of.object.key(), mode: of.attributes.mode & 0o7777, attributes })
    }

    /// Gives the file or folder at this path the rights that it had.
    ///
    /// # Errors
    /// Those of the host. `NotFound`: it is not there any more. `Stale`: another file has its place. `ReadOnly`: the volume cannot be
    /// changed.
    pub fn put_record(&self, path: &[&[u8]], record: &RightsRecord) -> Result<()> {
        if self.volume.is_read_only() {
            return Err(Error::ReadOnly);
        }
        let root = self.volume.root()?;
        let of = if path.is_empty() { root } else { root.object.lookup_path(server(), path)? };
        if of.object.key() != record.file {
            return Err(Error::Stale);
        }
        for (value, name) in record.attributes.iter().zip(RECORDED) {
            match value {
                Some(value) => of.object.set_xattr(server(), name, value, XattrMode::Set)?,
                None => match of.object.remove_xattr(server(), name) {
                    Ok(()) | Err(Error::NoSuchAttribute | Error::NotSupported) => {}
                    Err(other) => return Err(other),
                },
            }
        }
        self.volume.homes.site.acls.forget(&*of.object);
        let mode = SetAttributes { mode: Some(record.mode), ..SetAttributes::default() };
        of.object.set_attributes(server(), &mode)?;
        self.volume.acl_storage().give_list_to_sidecar(&of)
    }
}

struct RightsVisitor<'a> {
    volume: &'a Volume,
    work: RightsWork,
    observer: &'a mut dyn RightsObserver,
    goes_on: Cell<bool>,
    /// The folder that is being walked, and what it passes on besides the roles.
    folder: Option<(FileId, Option<PassedOn>)>,
}

impl RightsVisitor<'_> {
    /// `file`: that whose sidecar it is.
    fn entry(&mut self, of: &Found, file: Option<&Found>, path: &[u8]) {
        match self.look_at(of, file, path) {
            Ok(()) | Err(Error::NotFound | Error::Stale) => {}
            Err(error) => self.observer.failed(path, error),
        }
        self.goes_on.set(self.observer.looked(1));
    }

    fn look_at(&mut self, of: &Found, file: Option<&Found>, path: &[u8]) -> Result<()> {
        if !matches!(of.attributes.kind, Kind::File | Kind::Folder) || self.volume.roles_at(of)?.is_none() {
            return Ok(());
        }
        let storage = self.volume.acl_storage();
        let mut deviations = storage.deviations(of, file)?;
        let is_top = matches!(self.volume.permissions().team_of(&*of.object)?, Some((_, TeamPlace::Root)));
        let above = self.folder.as_ref().filter(|_| !is_top).and_then(|(_, passed)| passed.as_ref());
        let renewed = if file.is_none() { storage.renewed(above, of, self.work.all)? } else { None };
        if renewed.is_some() {
            deviations.push(Deviation::StaleList);
        }
        if self.observer.is_foreign(of.attributes.uid) {
            deviations.push(Deviation::ForeignOwner);
        }
        if !deviations.is_empty() {
            self.observer.deviates(path, &of.attributes, &deviations);
        }
        if !deviations.iter().any(Deviation::is_mendable) {
            return Ok(());
        }
        self.observer.changes(path, &self.volume.stored_rights().record(of)?)?;
        if !self.work.reset {
            return Ok(());
        }
        if let Some(file) = file {
            return storage.settle_sidecar(of, file);
        }
        let mut of = of.clone();
        if deviations.contains(&Deviation::UnsealedList) {
            of.object.remove_xattr(server(), ATTRIBUTE)?;
            self.volume.homes.site.acls.forget(&*of.object);
        }
        if let Some(list) = renewed {
            storage.store_team_acl(&of, list)?;
        }
        of.attributes = of.object.attributes()?;
        self.volume.acl_storage().settle(&of).map(drop)
    }
}

impl Visitor for RightsVisitor<'_> {
    fn look(&mut self, folder: &Node, name: &[u8], path: &[Vec<u8>]) -> bool {
        if !self.goes_on.get() || is_own_name(name) {
            return false;
        }
        let mut at = path.join(&b'/');
        if !at.is_empty() {
            at.push(b'/');
        }
        at.extend_from_slice(name);
        let found = match self.in_folder(folder).and_then(|()| folder.lookup(server(), name)) {
            Ok(found) => found,
            Err(Error::NotFound) => return false,
            Err(error) => {
                self.observer.failed(&at, error);
                return false;
            }
        };
        let is_file = found.attributes.kind == Kind::File;
        let file = if is_file { self.volume.file_of_sidecar(folder, name) } else { Ok(None) };
        match file {
            Ok(file) => self.entry(&found, file.as_ref(), &at),
            Err(error) => self.observer.failed(&at, error),
        }
        found.attributes.kind == Kind::Folder
    }

    fn unreadable(&mut self, path: &[Vec<u8>], error: Error) {
        self.observer.failed(&path.join(&b'/'), error);
    }

    fn goes_on(&mut self) -> bool {
        self.goes_on.get()
    }
}

impl RightsVisitor<'_> {
    /// What the folder passes on is asked once, when its first entry is looked at.
    fn in_folder(&mut self, folder: &Node) -> Result<()> {
        if self.folder.as_ref().is_some_and(|(known, _)| *known == folder.id()) {
            return Ok(());
        }
        let found = Found { object: folder.clone(), attributes: folder.attributes()? };
        self.folder = Some((folder.id(), self.volume.permissions().passed_on_in_team(&found)?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use auth::{Grantee, Role, RoleEntry, Roles};

    use super::*;
    use crate::VolumeOptions;
    use crate::backend::faulty::Faulty;
    use crate::backend::memory::Memory;
    use crate::backend::{Backend, Call, NewKind};

    /// Counts, and keeps nothing.
    #[derive(Default)]
    struct Counts {
        looked: u64,
        deviating: u64,
        changed: u64,
    }

    impl RightsObserver for Counts {
        fn is_foreign(&mut self, _: u32) -> bool {
            false
        }

        fn deviates(&mut self, _: &[u8], _: &Attributes, deviations: &[Deviation]) {
            self.deviating += u64::from(deviations.iter().any(Deviation::is_mendable));
        }

        fn changes(&mut self, _: &[u8], _: &RightsRecord) -> Result<()> {
            self.changed += 1;
            Ok(())
        }

        fn failed(&mut self, path: &[u8], error: Error) {
            panic!("{}: {error}", path.escape_ascii());
        }

        fn looked(&mut self, count: u64) -> bool {
            self.looked += count;
            true
        }
    }

    /// A team folder with so many files that all users of the machine may write, and the store that counts its calls.
    fn folder(files: u64) -> (Arc<Faulty>, Volume) {
        let disk = Arc::new(Faulty::new(Memory::ticking()));
        let volume = Volume::new(disk.clone(), VolumeOptions::default());
        let editors = RoleEntry { role: Role::Editor, grantee: Grantee::Group(50) };
        volume.set_roles(Some(Arc::new(Roles::new(vec![editors]))));
        let root = disk.root().unwrap().object;
        for number in 0..files {
            root.create(server(), number.to_string().as_bytes(), NewKind::File, 0o666).unwrap();
        }
        (disk, volume)
    }

    /// Calls of the store: all, and listings.
    fn calls(disk: &Faulty) -> [u64; 2] {
        [None, Some(Call::List)].map(|call| disk.plan().calls(call))
    }

    #[test]
    fn a_reset_takes_as_many_calls_for_each_file_of_a_large_folder_as_of_a_small_one() {
        const SMALL: u64 = 200;
        const LARGE: u64 = 20_000;
        let work = |reset| RightsWork { recursive: true, reset, all: false };
        for reset in [false, true] {
            let [small, large] = [SMALL, LARGE].map(|files| {
                let (disk, volume) = folder(files);
                let (before, mut counts) = (calls(&disk), Counts::default());
                assert_eq!(volume.stored_rights().walk(&[], work(reset), &mut counts), Ok(true));
                assert_eq!((counts.looked, counts.changed), (files + 1, counts.deviating));
                assert!(counts.deviating >= files);
                let after = calls(&disk);
                [after[0] - before[0], after[1] - before[1]]
            });
            assert!(large[0] <= LARGE / SMALL * small[0], "{large:?} {small:?}");
            assert!(large[1] <= LARGE / 1000 + 2, "it is read in pages: {large:?}");
        }
    }
}
