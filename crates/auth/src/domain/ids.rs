//! Which Unix ids SIDs have, by rule. Users and groups of a domain have their numbers (RIDs) from one sequence, so one range of
//! ids serves both.

use std::path::PathBuf;

use lock::RwLock;
use serde::{Deserialize, Serialize};
use wire::Sid;

use super::entries::DirectoryEntry;
use super::numbers::SidNumbers;
use crate::durable;
use crate::ranks;
use crate::reason::reason;

/// The file of the state folder with the SID of the domain and the slices that were given away.
const FILE: &str = "domain-ids.toml";
/// How many numbers of a domain a slice has.
const SLICE: u32 = 100_000;
/// The most slices: the list is searched for every id.
const MOST_SLICES: usize = 1_000;

/// A range of ids, with both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IdRange {
    /// The first one.
    pub low: u32,
    /// The last one.
    pub high: u32,
}

/// How SIDs get ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IdRule {
    /// The start of the domain's range and the number in the SID.
    #[default]
    Rid,
    /// Domains get slices of one range, in the order in which their users come.
    Auto,
    /// The numbers of the directory (RFC 2307). Users without one have no id.
    Rfc2307,
    /// The numbers of the directory; SIDs without one have ids as by [`IdRule::Rid`].
    Rfc2307OrRid,
}

/// Why ids cannot be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The domain has another SID than before.
    #[error(
        "the domain has the SID {now}, but files have ids of {before}; if the domain is a new one, remove {FILE} from the state folder"
    )]
    OtherDomain {
        /// The one that is remembered.
        before: Sid,
        /// The one that a ticket has.
        now: Sid,
    },
    /// The file cannot be read or written.
    #[error("{}: {why}", path.display())]
    File {
        /// Its path.
        path: PathBuf,
        /// The reason.
        why: String,
    },
}

/// The ids of all SIDs.
#[derive(Debug)]
pub(super) struct IdMap {
    rule: IdRule,
    range: IdRange,
    trusted: Vec<(Sid, IdRange)>,
    path: PathBuf,
    table: RwLock<IdTable, ranks::DomainIds>,
}

/// What the file has.
#[derive(Debug, Default, Clone)]
struct IdTable {
    /// The SID of the own domain.
    own: Option<Sid>,
    /// The domain and the number of its slice, in the order of the range.
    slices: Vec<(Sid, u32)>,
    /// The numbers that the directory has; not in the file.
    numbers: SidNumbers,
}

#[derive(Serialize, Deserialize, Default)]
struct StoredIds {
    domain: Option<String>,
    #[serde(default)]
    slices: Vec<(String, u32)>,
}

impl std::str::FromStr for IdRange {
    type Err = String;

    /// `1000000-1999999`.
    fn from_str(text: &str) -> Result<Self, String> {
        let ends = text
            .split_once('-')
            .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
        match ends {
            // The last id means "no id" to the kernel.
            Some((low, high)) if low > 0 && low < high && high < u32::MAX => Ok(Self { low, high }),
            _ => Err("write the first and the last id, such as 1000000-1999999".into()),
        }
    }
}

impl IdRange {
    fn at(self, offset: u32) -> Option<u32> {
        self.low.checked_add(offset).filter(|id| *id <= self.high)
    }

    fn offset_of(self, id: u32) -> Option<u32> {
        id.checked_sub(self.low).filter(|_| id <= self.high)
    }
}

impl IdMap {
    /// Reads the file of the state folder. `trusted`: the ranges of other domains, for [`IdRule::Rid`].
    pub(super) fn new(
        rule: IdRule,
        range: IdRange,
        trusted: Vec<(Sid, IdRange)>,
        state: &std::path::Path,
    ) -> Result<Self, Failure> {
        let path = state.join(FILE);
        let failure = |why: String| Failure::File { path: path.clone(), why };
        let table = match std::fs::read_to_string(&path) {
            Ok(text) => IdTable::of(&text).map_err(failure)?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => IdTable::default(),
            Err(error) => return Err(failure(error.to_string())),
        };
        Ok(Self { rule, range, trusted, path, table: RwLock::new(table) })
    }

    /// Takes the numbers of the directory. Returns how many are left out, as they are not for users of a directory.
    pub(super) fn number<'a>(&self, entries: impl Iterator<Item = &'a DirectoryEntry>) -> usize {
        let numbered = match self.rule {
            IdRule::Rid | IdRule::Auto => return 0,
            IdRule::Rfc2307 => SidNumbers::of(entries, |_| true),
            // A number of the range would be that of another SID.
            IdRule::Rfc2307OrRid => {
                let ranges = [self.range].into_iter().chain(self.trusted.iter().map(|(_, range)| *range));
                let ranges: Vec<IdRange> = ranges.collect();
                SidNumbers::of(entries, |id| ranges.iter().all(|range| range.offset_of(id).is_none()))
            }
        };
        let left_out = numbered.left_out;
        self.table.write().numbers = numbered;
        left_out
    }

    /// Whether the id of a SID is a number of the directory, where users and groups have numbers of their own.
    pub(super) fn is_numbered(&self, sid: &Sid) -> bool {
        self.table.read().numbers.ids.contains_key(sid)
    }

    /// The SID of the own domain, if it is known.
    pub(super) fn own(&self) -> Option<Sid> {
        self.table.read().own
    }

    /// Remembers the SID of the own domain.
    pub(super) fn learn(&self, domain: Sid) -> Result<(), Failure> {
        match self.own() {
            Some(before) if before == domain => return Ok(()),
            Some(before) => return Err(Failure::OtherDomain { before, now: domain }),
            None => {}
        }
        let mut table = self.table.write();
        table.own = Some(domain);
        self.store(&table)
    }

    /// The id of a SID; `None` if its domain has no range, or the range has ended.
    pub(super) fn id(&self, sid: &Sid) -> Option<u32> {
        let (domain, rid) = sid.split()?;
        let table = self.table.read();
        if let Some(number) = table.numbers.ids.get(sid) {
            return Some(*number);
        }
        match self.rule {
            IdRule::Rfc2307 => None,
            IdRule::Rid | IdRule::Rfc2307OrRid if table.own == Some(domain) => self.range.at(rid),
            IdRule::Rid | IdRule::Rfc2307OrRid => {
                self.trusted.iter().find(|(of, _)| *of == domain)?.1.at(rid)
            }
            IdRule::Auto => {
                let slice = table.slices.iter().position(|slice| *slice == (domain, rid / SLICE))?;
                self.range.at((slice as u32).checked_mul(SLICE)?.checked_add(rid % SLICE)?)
            }
        }
    }

    /// The same; a SID of a domain of users (S-1-5-21-…) gets a slice if it has none.
    pub(super) fn id_or_new(&self, sid: &Sid) -> Option<u32> {
        let (domain, rid) = sid.split()?;
        if self.rule != IdRule::Auto || self.id(sid).is_some() {
            return self.id(sid);
        }
        let is_of_users =
            sid.authority() == 5 && domain.subs().len() == 4 && domain.subs().first() == Some(&21);
        let mut table = self.table.write();
        let fits = self.range.at((table.slices.len() as u32).checked_mul(SLICE)?.checked_add(SLICE - 1)?);
        if !is_of_users || table.slices.len() >= MOST_SLICES || fits.is_none() {
            return None;
        }
        table.slices.push((domain, rid / SLICE));
        if let Err(error) = self.store(&table) {
            // An id that could become another user's after a restart is not given away.
            tracing::error!(%error, "a slice of ids cannot be kept");
            table.slices.pop();
            return None;
        }
        drop(table);
        self.id(sid)
    }

    /// The SID of a user's id.
    pub(super) fn user(&self, uid: u32) -> Option<Sid> {
        let numbered = self.table.read().numbers.users.get(&uid).copied();
        numbered.or_else(|| self.by_range(uid))
    }

    /// The SID of a group's id, or of a user's own id as a group.
    pub(super) fn group(&self, gid: u32) -> Option<Sid> {
        let numbered = self.table.read().numbers.groups.get(&gid).copied();
        numbered.or_else(|| self.by_range(gid))
    }

    fn by_range(&self, id: u32) -> Option<Sid> {
        let table = self.table.read();
        if self.rule == IdRule::Rfc2307 {
            return None;
        }
        if self.rule == IdRule::Auto {
            let offset = self.range.offset_of(id)?;
            let (domain, slice) = table.slices.get((offset / SLICE) as usize)?;
            return domain.with_rid(slice.checked_mul(SLICE)?.checked_add(offset % SLICE)?);
        }
        if let (Some(own), Some(rid)) = (table.own, self.range.offset_of(id)) {
            return own.with_rid(rid);
        }
        let of = |(domain, range): &(Sid, IdRange)| domain.with_rid(range.offset_of(id)?);
        self.trusted.iter().find_map(of)
    }

    fn store(&self, table: &IdTable) -> Result<(), Failure> {
        let failure = |why: String| Failure::File { path: self.path.clone(), why };
        let slices = table.slices.iter().map(|(domain, slice)| (domain.to_string(), *slice)).collect();
        let stored = StoredIds { domain: table.own.map(|own| own.to_string()), slices };
        let text = toml_edit::ser::to_string(&stored).map_err(|error| failure(error.to_string()))?;
        durable::replace(&self.path, text.as_bytes()).map_err(|error| failure(error.to_string()))
    }
}

impl IdTable {
    fn of(text: &str) -> Result<Self, String> {
        let stored: StoredIds = toml_edit::de::from_str(text).map_err(|error| reason(text, &error))?;
        let sid = |text: &String| text.parse::<Sid>().map_err(|error| format!("{text}: {error}"));
        let slices = stored.slices.iter().map(|(domain, slice)| Ok((sid(domain)?, *slice)));
        let slices = slices.take(MOST_SLICES).collect::<Result<_, String>>()?;
        Ok(Self { own: stored.domain.as_ref().map(sid).transpose()?, slices, numbers: SidNumbers::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RANGE: IdRange = IdRange { low: 1_000_000, high: 1_999_999 };

    fn sid(text: &str) -> Sid {
        text.parse().unwrap()
    }

    fn map(rule: IdRule, state: &std::path::Path) -> IdMap {
        let trusted = vec![(sid("S-1-5-21-7-8-9"), IdRange { low: 3_000_000, high: 3_000_999 })];
        IdMap::new(rule, RANGE, trusted, state).unwrap()
    }

    #[test]
    fn by_rid_an_id_is_the_start_of_the_range_and_the_number() {
        let state = tempfile::tempdir().unwrap();
        let map = map(IdRule::Rid, state.path());
        let own = |rid| sid("S-1-5-21-1-2-3").with_rid(rid).unwrap();
        assert_eq!((map.id(&own(1103)), map.user(1_001_103)), (None, None), "the domain is not known yet");
        map.learn(sid("S-1-5-21-1-2-3")).unwrap();
        assert_eq!(map.id(&own(1103)), Some(1_001_103));
        assert_eq!(map.user(1_001_103), Some(own(1103)));
        assert_eq!(
            (map.id(&own(999_999)), map.id(&own(1_000_000))),
            (Some(1_999_999), None),
            "the range ends"
        );
        assert_eq!(map.id(&sid("S-1-5-21-7-8-9-500")), Some(3_000_500));
        assert_eq!(map.user(3_000_500), Some(sid("S-1-5-21-7-8-9-500")));
        for other in ["S-1-5-21-7-8-9-1000", "S-1-5-21-6-6-6-500", "S-1-5-32-544", "S-1-1-0", "S-1-5"] {
            assert_eq!(map.id_or_new(&sid(other)), None, "{other}");
        }
        assert_eq!((map.user(999_999), map.user(0)), (None, None));
    }

    #[test]
    fn the_domains_sid_stays_and_another_one_is_refused() {
        let state = tempfile::tempdir().unwrap();
        map(IdRule::Rid, state.path()).learn(sid("S-1-5-21-1-2-3")).unwrap();
        let again = map(IdRule::Rid, state.path());
        assert_eq!(again.own(), Some(sid("S-1-5-21-1-2-3")));
        let refused = again.learn(sid("S-1-5-21-4-5-6"));
        assert!(matches!(refused, Err(Failure::OtherDomain { .. })), "{refused:?}");
        std::fs::write(state.path().join(FILE), "domain = \"S-1-x\"").unwrap();
        assert!(matches!(
            IdMap::new(IdRule::Rid, RANGE, Vec::new(), state.path()),
            Err(Failure::File { .. })
        ));
    }

    #[test]
    fn by_slices_domains_get_ids_in_the_order_of_their_users_and_keep_them() {
        let state = tempfile::tempdir().unwrap();
        let all =
            ["S-1-5-21-1-2-3-1103", "S-1-5-21-4-5-6-500", "S-1-5-21-1-2-3-234567", "S-1-5-21-1-2-3-1104"];
        let expected = [1_001_103, 1_100_500, 1_234_567, 1_001_104].map(Some);
        let first = map(IdRule::Auto, state.path());
        assert_eq!(first.id(&sid(all[0])), None);
        assert_eq!(all.map(|text| first.id_or_new(&sid(text))), expected);
        let again = map(IdRule::Auto, state.path());
        assert_eq!(all.map(|text| again.id(&sid(text))), expected);
        assert_eq!(expected.map(|id| again.user(id.unwrap()).unwrap().to_string()), all);
        assert_eq!((again.id_or_new(&sid("S-1-5-32-544")), again.user(1_300_000)), (None, None));
        let slices: Vec<_> = (0..20).map(|at| again.id_or_new(&Sid::new(5, &[21, 9, 9, at, 1]))).collect();
        assert_eq!(slices.iter().flatten().count(), 7, "the range has ten slices");
    }

    #[test]
    fn ranges_are_written_with_both_ends() {
        assert_eq!("1000000-1999999".parse(), Ok(RANGE));
        for wrong in ["", "5", "9-5", "0-9", "1-4294967295", "a-b", "1-2-3"] {
            assert!(wrong.parse::<IdRange>().is_err(), "{wrong}");
        }
    }
}
