//! The criteria of a search.

use std::ops::RangeInclusive;

use vfs::names::{FoldedKey, Folding, decode_mac_roman, parse_mangled};

use crate::server::files::entries::Needs;
use crate::server::files::params::{ParameterFacts, attributes, date, finder_info};
use crate::server::volumes::open_volume::OpenVolume;
use crate::wire::search::{RequestBitmap, SearchRequest, Specification};
use crate::wire::{Path, ResultCode};

/// The criteria of a request.
pub(super) struct Criteria<'a> {
    bitmap: RequestBitmap,
    lower: Specification<'a>,
    upper: Specification<'a>,
    name: Option<NameCriterion>,
    only_folders: bool,
}

/// The requested name.
struct NameCriterion {
    /// The folded form, for comparison.
    key: FoldedKey,
    is_partial: bool,
    /// The number in it, if it is a long name derived from one.
    id: Option<u32>,
}

impl<'a> Criteria<'a> {
    pub(super) fn new(asked: &SearchRequest<'a>) -> Result<Self, ResultCode> {
        let is_partial = asked.bitmap.contains(RequestBitmap::PARTIAL_NAME);
        let name = match asked.lower.name(asked.bitmap) {
            Some(path) => Some(NameCriterion::new(path, is_partial)?),
            None => None,
        };
        let only_folders = asked.files.is_empty();
        Ok(Self { bitmap: asked.bitmap, lower: asked.lower, upper: asked.upper, name, only_folders })
    }

    /// The facts of an entry that are needed in addition to the host's attributes.
    pub(super) fn needs(&self) -> Needs {
        let of_metadata = RequestBitmap::ATTRIBUTES.0
            | RequestBitmap::CREATED.0
            | RequestBitmap::BACKUP.0
            | RequestBitmap::FINDER_INFO.0
            | RequestBitmap::RESOURCE_LENGTH.0
            | RequestBitmap::EXTENDED_RESOURCE_LENGTH.0;
        let offspring = self.only_folders && self.bitmap.contains(RequestBitmap::OFFSPRING_COUNT);
        Needs { metadata: self.bitmap.0 & of_metadata != 0, offspring }
    }

    /// The requested name as it is compared, and whether a part of a name is enough; `None` if the criteria have no name that an
    /// index knows.
    pub(super) fn plain_name(&self) -> Option<(&str, bool)> {
        let name = self.name.as_ref().filter(|name| name.id.is_none())?;
        let text = std::str::from_utf8(name.key.as_bytes()).ok().filter(|text| !text.is_empty())?;
        Some((text, name.is_partial))
    }

    /// Whether an entry with this stored name may match. Checked first, because the name is known.
    pub(super) fn may_be_named(&self, stored: &[u8]) -> bool {
        self.name.as_ref().is_none_or(|name| name.id.is_some() || name.is(stored))
    }

    /// Whether an entry matches.
    pub(super) fn matches(
        &self,
        volume: &OpenVolume,
        facts: &ParameterFacts<'_>,
    ) -> Result<bool, ResultCode> {
        Ok(self.is_named(volume, facts)?
            && self.dates_match(facts)
            && self.masks_match(volume, facts)
            && self.numbers_match(facts))
    }

    fn is_named(&self, volume: &OpenVolume, facts: &ParameterFacts<'_>) -> Result<bool, ResultCode> {
        let Some(name) = &self.name else { return Ok(true) };
        if name.is(facts.name) {
            return Ok(true);
        }
        match name.id {
            Some(id) => Ok(volume.id_of(&facts.key)?.0 == id),
            None => Ok(false),
        }
    }

    fn has(&self, bit: RequestBitmap) -> bool {
        self.bitmap.contains(bit)
    }

    fn dates_match(&self, facts: &ParameterFacts<'_>) -> bool {
        let (lower, upper) = (&self.lower, &self.upper);
        let dates: [(RequestBitmap, RangeInclusive<i32>, _); 3] = [
            (RequestBitmap::CREATED, lower.created..=upper.created, Some(facts.created)),
            (RequestBitmap::MODIFIED, lower.modified..=upper.modified, Some(facts.attributes.modified)),
            (RequestBitmap::BACKUP, lower.backup..=upper.backup, facts.backup),
        ];
        dates.into_iter().all(|(bit, range, time)| !self.has(bit) || range.contains(&(date(time) as i32)))
    }

    fn masks_match(&self, volume: &OpenVolume, facts: &ParameterFacts<'_>) -> bool {
        let (lower, upper) = (&self.lower, &self.upper);
        if self.has(RequestBitmap::ATTRIBUTES)
            && (attributes(volume, facts) ^ lower.attributes) & upper.attributes != 0
        {
            return false;
        }
        if !self.has(RequestBitmap::FINDER_INFO) {
            return true;
        }
        let info = finder_info(facts);
        let wanted = lower.finder_info.iter().zip(&upper.finder_info);
        info.as_bytes().iter().zip(wanted).all(|(byte, (value, mask))| (byte ^ value) & mask == 0)
    }

    fn numbers_match(&self, facts: &ParameterFacts<'_>) -> bool {
        let (lower, upper) = (&self.lower, &self.upper);
        let parent = match upper.parent {
            0 => lower.parent..=lower.parent,
            _ => lower.parent..=upper.parent,
        };
        let size = facts.attributes.size;
        let is_within = |bit, range: RangeInclusive<u64>, number| !self.has(bit) || range.contains(&number);
        let bit_9 = match self.only_folders {
            true => (u64::from(lower.offspring)..=upper.offspring.into(), facts.offspring.into()),
            false => (u64::from(lower.data_length)..=upper.data_length.into(), size),
        };
        let long = lower.extended_data_length..=upper.extended_data_length;
        let fork = u64::from(lower.resource_length)..=upper.resource_length.into();
        let long_fork = lower.extended_resource_length..=upper.extended_resource_length;
        (!self.has(RequestBitmap::PARENT_ID) || parent.contains(&facts.parent.0))
            && is_within(RequestBitmap::DATA_LENGTH, bit_9.0, bit_9.1)
            && is_within(RequestBitmap::EXTENDED_DATA_LENGTH, long, size)
            && is_within(RequestBitmap::RESOURCE_LENGTH, fork, facts.fork_len)
            && is_within(RequestBitmap::EXTENDED_RESOURCE_LENGTH, long_fork, facts.fork_len)
    }
}

impl NameCriterion {
    /// A part of a name may be invalid as a name: a dot, or empty.
    fn new(sent: Path<'_>, is_partial: bool) -> Result<Self, ResultCode> {
        let text = match sent.kind {
            Path::UTF8 => String::from_utf8(sent.bytes.to_vec()).map_err(|_| ResultCode::PARAM_ERROR)?,
            _ => decode_mac_roman(sent.bytes),
        };
        // As stored, a name has `:` where Macs show `/`.
        let key = FoldedKey::new(text.replace('/', ":").as_bytes(), Folding::default());
        let id = if is_partial { None } else { parse_mangled(sent.bytes) };
        Ok(Self { key, is_partial, id })
    }

    fn is(&self, stored: &[u8]) -> bool {
        let wanted = self.key.as_bytes();
        if stored.is_ascii() && !self.is_partial {
            return stored.eq_ignore_ascii_case(wanted);
        }
        if stored.is_ascii() {
            let mut parts = stored.windows(wanted.len().max(1));
            return wanted.is_empty() || parts.any(|part| part.eq_ignore_ascii_case(wanted));
        }
        let key = FoldedKey::new(stored, Folding::default());
        let key = key.as_bytes();
        match self.is_partial {
            false => key == wanted,
            true => wanted.is_empty() || key.windows(wanted.len()).any(|part| part == wanted),
        }
    }
}
