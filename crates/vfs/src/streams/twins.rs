//! The label's colour and the comment of the model, and the attributes in which later Macs keep
//! tags and comment: a change of one is a change of the other. What was written last counts.

use super::places::Home;
use super::{File, Streams};
use crate::backend::Wait;
use crate::mac::{Metadata, plist, tags};
use crate::{Access, Caller, Result};

/// The values of the two attributes.
#[derive(PartialEq)]
pub(super) struct Twins {
    tags: Option<Vec<u8>>,
    comment: Option<Vec<u8>>,
}

/// Tags, labels and comments, which the model has and the attributes of later Macs.
#[derive(Clone, Copy)]
pub(crate) struct Annotations<'a> {
    pub(super) streams: &'a Streams,
}

impl Annotations<'_> {
    /// Makes the model say what a named stream says that has just been changed. Most streams say
    /// nothing of the model. An empty one is being written, and one that cannot be read says
    /// nothing.
    pub(crate) fn heed_stream(&self, file: &File<'_>, name: &[u8]) -> Result<()> {
        if name != tags::TAGS.as_bytes() && name != tags::COMMENT.as_bytes() {
            return Ok(());
        }
        let value = self.small_value(file, name)?;
        if value.as_ref().is_some_and(Vec::is_empty) {
            return Ok(());
        }
        let (before, _) = self.streams.load(file)?;
        let mut after = before.clone();
        if name == tags::COMMENT.as_bytes() {
            let Some(comment) = value.map_or(Some(Vec::new()), |value| tags::read_comment(&value)) else {
                return Ok(());
            };
            after.comment = comment;
        } else {
            let Some(all) = value.map_or(Some(Vec::new()), |value| tags::read(&value)) else {
                return Ok(());
            };
            after.finder_info.set_label(tags::label(&all));
        }
        if after == before { Ok(()) } else { self.streams.store(&Caller::root(), file, &after) }
    }

    /// The tags of a file; empty if there are none, or if they cannot be read.
    pub(crate) fn tags(&self, file: &File<'_>) -> Result<Vec<String>> {
        let value = self.small_value(file, tags::TAGS.as_bytes())?;
        Ok(value.and_then(|value| tags::read(&value)).unwrap_or_default())
    }

    /// The URLs that a file was fetched from; empty if there are none, or if they cannot be read.
    pub(crate) fn origins(&self, file: &File<'_>) -> Result<Vec<String>> {
        let value = self.small_value(file, tags::ORIGINS.as_bytes())?;
        let texts = value.and_then(|value| plist::read_texts(&value)).unwrap_or_default();
        Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
    }

    /// Makes the attributes say what the model says since it was changed.
    pub(crate) fn heed_model(&self, file: &File<'_>, before: &Metadata, after: &Metadata) -> Result<()> {
        let label = after.finder_info.label();
        if before.finder_info.label() != label {
            self.show_label(file, label)?;
        }
        if before.comment != after.comment {
            self.show_comment(file, &after.comment)?;
        }
        Ok(())
    }

    fn show_label(&self, file: &File<'_>, label: u8) -> Result<()> {
        let value = self.small_value(file, tags::TAGS.as_bytes())?.filter(|value| !value.is_empty());
        let Some(all) = value.map_or(Some(Vec::new()), |value| tags::read(&value)) else {
            return Ok(()); // not for this server to replace
        };
        if tags::label(&all) == label {
            return Ok(());
        }
        let all = tags::with_label(all, label);
        self.put_twin(file, tags::TAGS, (!all.is_empty()).then(|| tags::write(&all)))
    }

    fn show_comment(&self, file: &File<'_>, comment: &[u8]) -> Result<()> {
        let value = self.small_value(file, tags::COMMENT.as_bytes())?;
        // A comment that MacRoman cannot hold stays as it is while the rest of it is the same.
        if value.as_deref().and_then(tags::read_comment).as_deref() == Some(comment) {
            return Ok(());
        }
        self.put_twin(file, tags::COMMENT, (!comment.is_empty()).then(|| tags::write_comment(comment)))
    }

    fn put_twin(&self, file: &File<'_>, name: &str, value: Option<Vec<u8>>) -> Result<()> {
        match value {
            Some(value) => self.streams.absorb_stream(file, name.as_bytes(), &value, true),
            None => self.streams.drop_stream(file, name.as_bytes()),
        }
    }

    /// The comment in the form of the desktop database: that of the model, else that of the
    /// attribute, which another server may have written.
    pub(crate) fn comment(&self, file: &File<'_>) -> Result<Vec<u8>> {
        let comment = self.streams.load(file)?.0.comment;
        if !comment.is_empty() {
            return Ok(comment);
        }
        let value = self.small_value(file, tags::COMMENT.as_bytes())?;
        Ok(value.as_deref().and_then(tags::read_comment).unwrap_or_default())
    }

    /// What the attributes say, to be compared after a change of many things at once.
    pub(super) fn twins(&self, file: &File<'_>) -> Result<Twins> {
        Ok(Twins {
            tags: self.small_value(file, tags::TAGS.as_bytes())?,
            comment: self.small_value(file, tags::COMMENT.as_bytes())?,
        })
    }

    /// After a client has written model and attributes at once: what it changed counts. If it
    /// changed both, the attributes count.
    pub(super) fn heed_both(&self, file: &File<'_>, before: (&Metadata, Twins)) -> Result<()> {
        let (now, (model, twins)) = (self.twins(file)?, before);
        let (mut unchanged, after) = (model.clone(), self.streams.load(file)?.0);
        if now.tags != twins.tags {
            unchanged.finder_info.set_label(after.finder_info.label());
            self.heed_stream(file, tags::TAGS.as_bytes())?;
        }
        if now.comment != twins.comment {
            unchanged.comment.clone_from(&after.comment);
            self.heed_stream(file, tags::COMMENT.as_bytes())?;
        }
        self.heed_model(file, &unchanged, &after)
    }

    /// The value of a stream. One longer than a property list that is read has no bytes.
    fn small_value(&self, file: &File<'_>, name: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(home) = self.streams.home(file, name)? else { return Ok(None) };
        let mut value = match home {
            Home::Xattr(_, value)
            | Home::Samba(_, value)
            | Home::Listed(_, value)
            | Home::Synology(_, value) => value,
            Home::Store(object) | Home::Depot(object) => {
                let mut value = Vec::new();
                object.prepare(&Caller::root(), &object.attributes()?, Access::READ, true)?;
                object.read_at(0, plist::MAX_LEN + 1, &mut value, Wait::Allowed)?;
                value
            }
        };
        if value.len() > plist::MAX_LEN {
            value.clear();
        }
        Ok(Some(value))
    }
}
