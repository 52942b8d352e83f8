//! Entries of a folder, as enumerations and searches return them, from kept listings.

use vfs::backend::Found;
use vfs::{Caller, Description, Entry, Error, Kind, Page};
use wire::Writer;

use super::params::{ParameterFacts, RequestedParameters, put};
use super::rights::{access_rights, listed_access_rights};
use crate::catalogue::CatalogId;
use crate::server::config::Version;
use crate::server::volumes::open_volume::OpenVolume;
use crate::wire::ResultCode;
use crate::wire::bitmap::{DirBitmap, FileBitmap};
use crate::wire::enumerate::Framing;

/// Parameters that contain or need an entry's number: names may be derived from it.
const NUMBERED_FILE: FileBitmap =
    FileBitmap(FileBitmap::FILE_NUMBER.0 | FileBitmap::LONG_NAME.0 | FileBitmap::SHORT_NAME.0);
/// The same for a folder. A client that sees a folder by any name may use its number.
const NUMBERED_DIR: DirBitmap =
    DirBitmap(DirBitmap::DIR_ID.0 | DirBitmap::LONG_NAME.0 | DirBitmap::SHORT_NAME.0);

/// A folder whose entries are returned.
pub(in crate::server) struct EnumeratedFolder<'a> {
    pub(in crate::server) volume: &'a OpenVolume,
    pub(in crate::server) caller: &'a Caller,
    pub(in crate::server) version: Version,
    pub(in crate::server) wanted: RequestedParameters,
    pub(in crate::server) found: &'a Found,
    /// Its number.
    pub(in crate::server) id: CatalogId,
}

/// The facts of an entry that are needed in addition to the returned parameters.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct Needs {
    /// Facts that are neither attributes of the host nor names or numbers.
    pub(in crate::server) metadata: bool,
    pub(in crate::server) offspring: bool,
}

impl EnumeratedFolder<'_> {
    /// Whether clients see an entry at all.
    pub(in crate::server) fn shows(&self, entry: &Entry) -> bool {
        match self.volume.share.volume.hidden(&self.found.object) {
            Some(inner) => !inner.hiding.hides(entry.name()),
            None => !self.volume.share.hiding.hides(entry.name()),
        }
    }

    /// Whether an entry is a folder; `None` if it has gone meanwhile, or cannot be shown.
    pub(in crate::server) fn is_folder(&self, page: &Page, entry: &Entry) -> Option<bool> {
        let kind = match entry.kind {
            Some(kind) => kind,
            None => page.details(self.caller, entry).ok()?.attributes.kind,
        };
        Some(kind == Kind::Folder)
    }

    /// All requested or needed facts of an entry except its number; `None` if it has gone
    /// meanwhile, or is no part of the share.
    pub(in crate::server) fn facts<'e>(
        &self,
        page: &Page,
        entry: &'e Entry,
        needs: Needs,
    ) -> Result<Option<ParameterFacts<'e>>, ResultCode> {
        match self.described(page, entry, needs) {
            Ok(facts) => Ok(Some(facts)),
            Err(Error::AccessDenied) => Err(ResultCode::ACCESS_DENIED),
            Err(error) => {
                tracing::debug!(%error, "an entry is left out");
                Ok(None)
            }
        }
    }

    fn described<'e>(&self, page: &Page, entry: &'e Entry, needs: Needs) -> vfs::Result<ParameterFacts<'e>> {
        let wanted = self.wanted;
        // ProDOS file types are derived from the Finder information.
        let wants_prodos = !self.version.is_3() && wanted.file.intersects(FileBitmap::UTF8_NAME);
        let is_rich = needs.metadata
            || wants_prodos
            || wanted.needs_metadata(false)
            || wanted.needs_metadata(true)
            || wanted.needs_fork_len()
            || wanted.needs_rights(false)
            || wanted.needs_rights(true);
        let mut facts = if is_rich {
            let rich = page.rich_details(self.caller, entry)?;
            let rights = self.rights(entry, &rich)?;
            ParameterFacts { rights, ..ParameterFacts::new(&rich, self.id, entry.name()) }
        } else {
            let plain = Description::plain(page.details(self.caller, entry)?);
            ParameterFacts::new(&plain, self.id, entry.name())
        };
        let counts = needs.offspring || wanted.dir.contains(DirBitmap::OFFSPRING_COUNT);
        if counts && facts.attributes.kind == Kind::Folder {
            // The count is unknown for a folder that the server itself may not list.
            facts.offspring =
                self.volume.tree().mac_tree().offspring_of(page, entry, &facts.attributes).unwrap_or(0);
        }
        if facts.attributes.kind == Kind::Link
            && self.volume.share.options.links.is_some()
            && let Some(document) = self.volume.document(&self.volume.tree().lookup(
                self.caller,
                &self.found.object,
                entry.name(),
            )?)
        {
            facts.show(&document);
        }
        Ok(facts)
    }

    fn rights(&self, entry: &Entry, rich: &Description) -> vfs::Result<u32> {
        if !self.wanted.needs_rights(rich.details.attributes.kind == Kind::Folder) {
            return Ok(0);
        }
        let (tree, caller) = (self.volume.tree(), self.caller);
        if let Some(rights) = listed_access_rights(tree, caller, self.found, rich)? {
            return Ok(rights);
        }
        let found = tree.lookup(caller, &self.found.object, entry.name())?;
        Ok(access_rights(tree, caller, &found).unwrap_or(0))
    }

    /// Gives numbers to those of these entries that have none, if they are requested.
    pub(in crate::server) fn number(&self, entries: &[(u64, ParameterFacts<'_>)]) -> Result<(), ResultCode> {
        if entries.len() < 2 {
            return Ok(());
        }
        let tree = self.volume.tree();
        let needed = entries.iter().filter(|(_, facts)| self.wants_number(facts));
        let keys: Vec<_> = needed.filter_map(|(_, facts)| tree.lasting_key(&facts.key).ok()).collect();
        Ok(self.volume.share.catalogue.learn(&keys)?)
    }

    fn wants_number(&self, facts: &ParameterFacts<'_>) -> bool {
        match facts.attributes.kind {
            Kind::Folder => self.wanted.dir.intersects(NUMBERED_DIR),
            _ => self.wanted.file.intersects(NUMBERED_FILE),
        }
    }

    /// Adds the number, if it is requested. An entry without a number gets one.
    pub(in crate::server) fn add_number(&self, facts: &mut ParameterFacts<'_>) -> Result<(), ResultCode> {
        if self.wants_number(facts) {
            facts.id = self.volume.id_of(&facts.key)?;
            if facts.attributes.kind == Kind::Folder {
                self.volume.tree().saw(facts.attributes.id, &self.found.object, facts.name);
            }
        }
        Ok(())
    }

    /// Appends an entry. False: it is too long for its length field, and nothing was appended.
    pub(in crate::server) fn put(
        &self,
        framing: Framing,
        facts: &ParameterFacts<'_>,
        w: &mut Writer,
    ) -> bool {
        let is_folder = facts.attributes.kind == Kind::Folder;
        framing.put(w, is_folder, |w| put(self.volume, self.version, facts, self.wanted, w))
    }
}
