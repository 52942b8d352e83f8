//! Searches by name in a volume that has an index: it proposes entries, and the criteria decide, as for those that are walked.
//!
//! The position is the place of an entry in the order of the index. It stays right while files come, go and move.

use query::{Attribute, Comparison, Pattern, Query, TextTest};
use vfs::{DescriptionParts, FoundEntry, Kind, SearchPlace};

use super::criteria::Criteria;
use super::{ResultCode, SearchPass};
use crate::server::files::entries::EnumeratedFolder;
use crate::server::files::params::ParameterFacts;
use crate::server::files::rights::access_rights;
use crate::server::volumes::open_volume::OpenVolume;
use crate::wire::bitmap::DirBitmap;

/// Results that the index is asked for at once: more than a reply has room for.
const AT_ONCE: usize = 64;

/// The rest of a search in an index.
pub(super) struct IndexedRest {
    query: Query,
    after: Option<SearchPlace>,
}

impl IndexedRest {
    /// A search that the index of the volume can answer: by a name, and while the index is whole.
    pub(super) fn of(volume: &OpenVolume, criteria: &Criteria<'_>) -> Option<Self> {
        let status = volume.tree().searches().finder()?.status();
        if status.building.is_some() || status.problem.is_some() {
            return None; // a walk finds what the index does not have yet
        }
        let (name, is_partial) = criteria.plain_name()?;
        let pattern = if is_partial { Pattern::containing(name) } else { Pattern::literal(name) };
        let test = TextTest { pattern, ignores_case: true, ignores_marks: false, by_words: false };
        Some(Self { query: Comparison::text(Attribute::Name, test), after: None })
    }
}

impl SearchPass<'_> {
    /// Takes results until nothing is left (true), or until enough is found or the time is over (false).
    pub(super) fn ask(
        &mut self,
        rest: &mut IndexedRest,
        criteria: &Criteria<'_>,
    ) -> Result<bool, ResultCode> {
        loop {
            let asked = vfs::Search { query: &rest.query, within: None };
            let tree = self.volume.tree();
            let page = tree.searches().find(self.request.caller(), asked, rest.after.as_ref(), AT_ONCE)?;
            for entry in &page.entries {
                if self.is_enough() {
                    return Ok(false);
                }
                // What has gone meanwhile is no result.
                if let Ok(facts) = self.facts_of(entry, criteria) {
                    self.found(entry, facts, criteria)?;
                }
                rest.after = Some(place_of(self.volume, entry)?);
            }
            match page.next {
                None => return Ok(true),
                next => rest.after = next,
            }
        }
    }

    fn folder_of<'a>(&'a self, entry: &'a FoundEntry) -> Result<EnumeratedFolder<'a>, ResultCode> {
        Ok(EnumeratedFolder {
            volume: self.volume,
            caller: self.request.caller(),
            version: self.request.version(),
            wanted: self.wanted,
            found: &entry.folder,
            id: self.volume.id_of(&entry.folder.object.key())?,
        })
    }

    fn facts_of<'a>(
        &self,
        entry: &'a FoundEntry,
        criteria: &Criteria<'_>,
    ) -> Result<ParameterFacts<'a>, ResultCode> {
        let (tree, found, name) = (self.volume.tree(), &entry.found, last_name(entry));
        let place = vfs::Beside { folder: &entry.folder.object, name };
        let parts = DescriptionParts { metadata: true, fork_len: true, more: false };
        let description = tree.description(found, Some(place), parts)?;
        let mut facts =
            ParameterFacts::new(&description, self.volume.id_of(&entry.folder.object.key())?, name);
        let is_folder = found.attributes.kind == Kind::Folder;
        let counts = criteria.needs().offspring || self.wanted.dir.contains(DirBitmap::OFFSPRING_COUNT);
        if is_folder && counts {
            // The count is unknown for a folder that the server itself may not list.
            facts.offspring = tree.mac_tree().offspring(found).unwrap_or(0);
        }
        if self.wanted.needs_rights(is_folder) {
            facts.rights = access_rights(tree, self.request.caller(), found).unwrap_or(0);
        }
        if let Some(document) = self.volume.document(found) {
            facts.show(&document);
        }
        Ok(facts)
    }

    fn found(
        &mut self,
        entry: &FoundEntry,
        mut facts: ParameterFacts<'_>,
        criteria: &Criteria<'_>,
    ) -> Result<(), ResultCode> {
        let is_wanted = match facts.attributes.kind {
            Kind::Folder => !self.wanted.dir.is_empty(),
            _ => !self.wanted.file.is_empty(),
        };
        let is_hidden = entry.path.iter().any(|name| self.volume.share.hiding.hides(name));
        if !is_wanted || is_hidden || !criteria.matches(self.volume, &facts)? {
            return Ok(());
        }
        let mut w = std::mem::take(&mut self.w);
        let put = self.folder_of(entry).and_then(|folder| {
            folder.add_number(&mut facts)?;
            Ok(folder.put(self.form.framing(), &facts, &mut w))
        });
        self.w = w;
        self.count += u32::from(put?);
        Ok(())
    }
}

fn last_name(entry: &FoundEntry) -> &[u8] {
    entry.path.last().map_or(&[], Vec::as_slice)
}

fn place_of(volume: &OpenVolume, entry: &FoundEntry) -> Result<SearchPlace, ResultCode> {
    let folder = volume.tree().lasting_key(&entry.folder.object.key())?;
    Ok(SearchPlace { folder: folder.to_bytes(), name: last_name(entry).to_vec() })
}
