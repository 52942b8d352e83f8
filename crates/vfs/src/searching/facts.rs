//! What is known of a file without reading its contents.

use query::{Attribute, Facts, Query, Value};

use super::Searches;
use crate::backend::Found;
use crate::mac::{Metadata, tags};
use crate::names::{decode_mac_roman, text_view};
use crate::{Beside, Kind, Result, Time};

/// Which facts are asked for. Those of the host's attributes always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FactParts {
    /// Mac metadata: type, creator, label, dates.
    pub(super) metadata: bool,
    /// Tags.
    pub(super) tags: bool,
    /// The comment.
    pub(super) comment: bool,
    /// Where it was fetched from.
    pub(super) origin: bool,
    /// The owner's name.
    pub(super) owner: bool,
    /// What the contents say.
    pub(super) contents: bool,
}

impl FactParts {
    pub(super) const ALL: Self =
        Self { metadata: true, tags: true, comment: true, origin: true, owner: true, contents: true };
    pub(super) const NONE: Self =
        Self { metadata: false, tags: false, comment: false, origin: false, owner: false, contents: false };

    pub(super) fn of(query: &Query) -> Self {
        let asks = |of: &[Attribute]| {
            query.asks_for(|attribute| attribute == Attribute::Any || of.contains(&attribute))
        };
        Self {
            metadata: asks(&[
                Attribute::Kind,
                Attribute::ContentType,
                Attribute::TypeCode,
                Attribute::CreatorCode,
                Attribute::Label,
                Attribute::Created,
                Attribute::Added,
            ]),
            tags: asks(&[Attribute::Tag]),
            comment: asks(&[Attribute::Comment]),
            origin: asks(&[Attribute::Origin]),
            owner: asks(&[Attribute::Owner]),
            contents: query.asks_for(|attribute| attribute == Attribute::Any || attribute.is_of_contents()),
        }
    }

    fn any_metadata(self) -> bool {
        self.metadata || self.tags || self.comment || self.origin
    }
}

impl Searches<'_> {
    /// The facts of a file as it is now.
    pub(super) fn facts(self, of: &Found, place: Beside<'_>, parts: FactParts) -> Result<Facts> {
        let mac = if parts.any_metadata() { self.mac_facts(of, place, parts)? } else { MacFacts::default() };
        Ok(facts(of, place.name, &mac))
    }

    fn mac_facts(self, of: &Found, place: Beside<'_>, parts: FactParts) -> Result<MacFacts> {
        let (tree, reader) = (self.volume.mac_tree(), self.volume.metadata_reader());
        let metadata = tree.stored_metadata(of, Some(place))?;
        let Some(metadata) = metadata else { return Ok(MacFacts::default()) };
        Ok(MacFacts {
            tags: if parts.tags { tree.tags(of, Some(place))? } else { Vec::new() },
            comment: if parts.comment { tree.comment(of, Some(place))? } else { Vec::new() },
            origin: if parts.origin { reader.origins(of, Some(place))? } else { Vec::new() },
            metadata,
        })
    }
}

/// What a Mac has said of a file.
#[derive(Default)]
struct MacFacts {
    metadata: Metadata,
    tags: Vec<String>,
    comment: Vec<u8>,
    origin: Vec<String>,
}

fn facts(of: &Found, name: &[u8], mac: &MacFacts) -> Facts {
    let (attributes, info) = (&of.attributes, mac.metadata.finder_info_with_date());
    let is_file = attributes.kind == Kind::File;
    let type_code = if is_file { info.file_type() } else { [0; 4] };
    let mut facts = Facts::of_name(&text_view(name), attributes.kind, type_code);
    let date = |at: Time| Value::Date(at.secs);
    facts.add(Attribute::Modified, date(attributes.modified));
    facts.add(Attribute::Used, date(attributes.accessed));
    facts.add(Attribute::Created, date(mac.metadata.created(attributes)));
    facts.extend(mac.metadata.times.added.map(|at| (Attribute::Added, date(at))));
    if is_file {
        facts.add(Attribute::Size, Value::Number(attributes.size as f64));
        for (attribute, code) in [(Attribute::TypeCode, type_code), (Attribute::CreatorCode, info.creator())]
        {
            if code != [0; 4] {
                facts.add_text(attribute, decode_mac_roman(&code));
            }
        }
    }
    if info.label() > 0 {
        facts.add(Attribute::Label, Value::Number(f64::from(info.label())));
    }
    for tag in &mac.tags {
        facts.add_text(Attribute::Tag, tags::name(tag));
    }
    if !mac.comment.is_empty() {
        facts.add_text(Attribute::Comment, decode_mac_roman(&mac.comment));
    }
    mac.origin.iter().for_each(|origin| facts.add_text(Attribute::Origin, origin.as_str()));
    facts
}
