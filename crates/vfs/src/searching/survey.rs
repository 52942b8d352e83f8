//! What an index learns of a folder: all that is in it, as the server itself sees it.

use std::collections::HashSet;

use query::Facts;

use super::Searches;
use super::facts::FactParts;
use super::judging::is_hidden_sidecar;
use crate::backend::Found;
use crate::caller::server;
use crate::mac::layout::{NETATALK2_FOLDER, SYNOLOGY_FOLDER, is_sidecar_name};
use crate::names::own::is_own_name;
use crate::{Attributes, Beside, Error, Kind, LastingKey, Result};

/// Names that are read at once.
const PIECE: usize = 4_096;

/// An entry of a folder.
#[derive(Debug, Clone)]
pub struct Surveyed {
    /// Its stored name.
    pub name: Vec<u8>,
    /// What the host says of it.
    pub attributes: Attributes,
    /// What is known of it, without its contents.
    pub facts: Facts,
    /// If it is a folder: its key.
    pub folder: Option<LastingKey>,
}

/// What the names of a folder say about the files in it.
#[derive(Default)]
struct NameHints {
    /// Something of a file may be in another file.
    has_others: bool,
}

impl Searches<'_> {
    /// Calls `each` with the entries of a folder until it answers false. Left out are the server's own folders, what belongs to another
    /// entry, snapshots, and what went meanwhile.
    pub fn survey(self, folder: &Found, each: &mut dyn FnMut(Surveyed) -> bool) -> Result<()> {
        let snapshots: HashSet<Vec<u8>> =
            self.volume.snapshots().into_iter().map(|snapshot| snapshot.path[0].clone()).collect();
        let is_root = folder.object.key() == self.volume.root()?.object.key();
        let (mut from, mut complete) = (0, false);
        while !complete {
            let (mut names, mut hints) = (Vec::new(), NameHints::default());
            complete = folder.object.list(from, &mut |entry| {
                from = entry.cookie;
                hints.has_others |=
                    is_sidecar_name(entry.name) || [NETATALK2_FOLDER, SYNOLOGY_FOLDER].contains(&entry.name);
                let is_left_out =
                    matches!(entry.name, b"." | b"..") || is_root && snapshots.contains(entry.name);
                if !is_left_out {
                    names.push(entry.name.to_vec());
                }
                names.len() < PIECE
            })?;
            for name in names {
                let surveyed = match self.survey_entry(folder, name, &hints) {
                    Err(Error::NotFound | Error::Stale | Error::AccessDenied) => None,
                    other => other?,
                };
                if surveyed.is_some_and(|surveyed| !each(surveyed)) {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One entry of a folder; `None` if it is left out, or gone.
    pub fn surveyed(self, folder: &Found, name: &[u8]) -> Result<Option<Surveyed>> {
        match self.survey_entry(folder, name.to_vec(), &NameHints { has_others: true }) {
            Err(Error::NotFound | Error::Stale | Error::AccessDenied) => Ok(None),
            other => other,
        }
    }

    fn survey_entry(self, folder: &Found, name: Vec<u8>, hints: &NameHints) -> Result<Option<Surveyed>> {
        let others_folder = [NETATALK2_FOLDER, SYNOLOGY_FOLDER].contains(&&name[..]);
        if is_own_name(&name) || others_folder || is_hidden_sidecar(self.volume, &folder.object, &name) {
            return Ok(None);
        }
        let glance = folder.object.glance(server(), &name)?;
        let is_folder = glance.attributes.kind == Kind::Folder;
        let lasting = if is_folder { Some(self.volume.lasting_key(&glance.key)?) } else { None };
        let is_plain = glance.xattrs.is_empty() && !hints.has_others;
        let parts = if is_plain { FactParts::NONE } else { FactParts::ALL };
        let found = match is_plain {
            // Only its attributes are used.
            true => Found { object: folder.object.clone(), attributes: glance.attributes },
            false => folder.object.lookup(server(), &name)?,
        };
        let place = Beside { folder: &folder.object, name: &name };
        let facts = self.facts(&found, place, parts)?;
        Ok(Some(Surveyed { attributes: found.attributes, facts, folder: lasting, name }))
    }
}
