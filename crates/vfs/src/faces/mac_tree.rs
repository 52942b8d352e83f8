//! A volume for Macs: names that fold alike, what the Finder shows, and the deny modes of Macs.

use crate::acl::Entry as AclEntry;
use crate::acl::inherit::{Heir, entries_of};
use crate::backend::Found;
use crate::described::metadata::file_at;
use crate::mac::Metadata;
use crate::names::Folding;
use crate::permission::by_mode;
use crate::state::Modes;
use crate::{Access, Attributes, Beside, Caller, Denials, Description, Entry, Kind, Page, Result, Volume};

/// A volume as Macs use it.
#[derive(Clone, Copy)]
pub struct MacTree<'a> {
    pub(crate) volume: &'a Volume,
}

impl Volume {
    /// This volume as Macs use it.
    pub fn mac_tree(&self) -> MacTree<'_> {
        MacTree { volume: self }
    }
}

impl MacTree<'_> {
    /// The entry that a client means by this name, and its stored name: the one of exactly this name, else of
    /// another form of it, else the one that folds alike. So two names that fold alike are both found
    /// by their exact form; by any other form the first of them in the order of bytes is.
    ///
    /// A name that is not there costs a walk through the folder the first time. After that the names of all but small
    /// folders are kept, and kept up with changes.
    pub fn lookup_folded(
        &self,
        caller: &Caller,
        folder: &Found,
        name: &[u8],
        folding: Folding,
    ) -> Result<(Vec<u8>, Found)> {
        self.volume.names().lookup_folded(caller, folder, name, folding)
    }

    /// How many entries of a folder listings show, `.` and `..` not counted. The same for all
    /// callers.
    pub fn offspring(&self, folder: &Found) -> Result<u32> {
        self.volume.current_listings().offspring(self.volume.streams.as_ref(), folder)
    }

    /// The same of an entry of a page, which has these fresh attributes. Remembered as long as it is true.
    pub fn offspring_of(&self, page: &Page, entry: &Entry, now: &Attributes) -> Result<u32> {
        self.volume.current_listings().offspring_of(self.volume.streams.as_ref(), page, entry, now)
    }

    /// Which of `want` the caller may do to an entry of a listing of `folder`, if that is known without asking the host; `None`:
    /// the entry may have an ACL of its own.
    pub fn listed_access(
        &self,
        caller: &Caller,
        folder: &Found,
        listed: &Description,
        want: Access,
    ) -> Result<Option<Access>> {
        let (permissions, attributes) = (self.volume.permissions(), &listed.details.attributes);
        let by_acl = match permissions.team_of(&*folder.object)? {
            Some((team, _)) => permissions.plain_team_acl(&team, listed),
            None if listed.has_acl => None,
            None => return Ok(Some(self.access_by_mode(caller, attributes, want))),
        };
        let granted = by_acl.map(|acl| acl.access(caller, attributes).intersection(want));
        let is_read_only = self.volume.is_read_only();
        Ok(granted.map(|access| if is_read_only { access.difference(Access::WRITE) } else { access }))
    }

    /// By the attributes alone.
    fn access_by_mode(&self, caller: &Caller, attributes: &Attributes, want: Access) -> Access {
        let granted = by_mode(attributes, self.volume.backend.effective(caller)).intersection(want);
        if self.volume.is_read_only() { granted.difference(Access::WRITE) } else { granted }
    }

    /// The entries that a folder's ACL passes on to something in it.
    pub fn passed_on(&self, folder: &Found, to: &Attributes) -> Result<Vec<AclEntry>> {
        let Some(above) = self.volume.permissions().stored_acl(folder)? else { return Ok(Vec::new()) };
        let heir = Heir { is_folder: to.kind == Kind::Folder, uid: to.uid, gid: to.gid };
        Ok(entries_of(None, Some(&above.entries), heir).map_or_else(Vec::new, |entries| entries.list))
    }

    /// What a Mac's open that denies these modes denies to others.
    pub fn denied_by_macs(&self, deny: Modes) -> Modes {
        let binds = self.volume.options.denials != Denials::DataOnly && deny.contains(Modes::WRITE);
        if binds { deny.union(Modes::RENAME) } else { deny }
    }

    /// Whether the mode of a file locks it, and the volume heeds that.
    pub fn is_locked_by_mode(&self, of: &Found) -> Result<bool> {
        self.volume.metadata_reader().is_locked_by_mode(of)
    }

    /// The metadata as they are stored, whatever the mode says. `None`: the file has no metadata, and
    /// no extended attribute either.
    pub fn stored_metadata(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Option<Metadata>> {
        self.volume.metadata_reader().stored(of, place)
    }

    /// The tags of a file, as the Finder shows them; empty if there are none, or if they cannot be read.
    pub fn tags(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<String>> {
        self.volume.metadata_reader().tags(of, place)
    }

    /// The comment of a file as the desktop database has it: in MacRoman.
    pub fn comment(&self, of: &Found, place: Option<Beside<'_>>) -> Result<Vec<u8>> {
        self.volume.metadata_reader().comment(of, place)
    }

    /// After a Mac has made a file or folder: gives it Netatalk's header in `.AppleDouble`, if its folder has that layout. Netatalk
    /// makes one for each file, but can do without.
    pub fn give_header(&self, made: &Found, place: Beside<'_>) {
        if let Some(streams) = &self.volume.streams
            && let Err(error) = streams.give_header(&file_at(made, place))
        {
            let name = place.name.escape_ascii();
            tracing::debug!(target: "metadata", %error, %name, "a new file has no header in .AppleDouble");
        }
    }

    /// Whether there is any subscription to changes of this volume.
    pub fn is_watched(&self) -> bool {
        self.volume.events.listens()
    }
}
