//! Owners, groups, modes and access control lists: read from one side, with the accounts of the other, written, and compared.
//!
//! Nobody may do more with a copy than with the original. What cannot be kept is cut, never filled up, and named in the report.
//! If the source does not show who may use a file, the umask and the folder of the destination decide, as for any new file.

use client::security::{FileSecurity, PosixAcls, entries_of, within};
use client::tree::{Extra, Kind, MetadataLoss};
use client::{Error as ClientError, Protocol, Result, stranger_name};
use vfs::acl::samba::text_of_sid;
use vfs::acl::{Entries, Entry, Inherit, Rights, Who, entries_of_posix};

use crate::copying::NO_WAY;
use crate::walk::CopyContext;
use crate::worker::Sides;

/// The name of the whole list in reports.
const LIST: &str = "access control list";
/// The name of entries in reports that no account here has.
const UNKNOWN: &str = "entries of an access control list for unknown accounts";
/// Why such entries have no effect.
const UNKNOWN_WHY: &str =
    "they are kept, but no user of this machine has such an account; --accounts says who it is";
/// The SIDs of accounts of Macs, behind which the UUID follows: docs/afp.md.
const MAC: &str = "S-1-22-3-";

/// What is a right, in the words of reports.
const OWNER: &str = "owner";
const GROUP: &str = "group";
const MODE: &str = "mode";
const DEFAULT: &str = "default ACL";
/// The bits of a mode by which a program acts as its owner or its group.
const PROGRAM: u32 = 0o6000;
/// Why a mode is not that of the source.
const CUT: &str = "owner or group are others, so it gives them less: nobody gets more than before";
const UNSHOWN: &str =
    "the source does not show who may use it: the umask and the folder of the destination decide";
const HIDDEN: &str = "access control lists: the source does not show them this way. If its files have such lists, their modes may give \
     more than the lists, to the group above all; copy over SMB or NFS version 4, or from the folder itself";
const FOREIGN_PROGRAM: &str = "a program of another machine does not act as its owner or group here";

/// The rights to a file of the source, with the accounts of the destination.
#[derive(Debug, Default)]
pub(crate) struct TranslatedRights {
    owner: CopiedOwner,
    group: CopiedOwner,
    mode: Option<u32>,
    list: Option<Entries>,
    posix: PosixAcls,
    /// The source says it in another form than a mode.
    is_mapped: bool,
    is_program: bool,
}

/// An owner or a group.
#[derive(Debug, Default)]
struct CopiedOwner {
    /// As the source says.
    who: Option<Who>,
    /// The number that it has in the destination.
    number: Option<u32>,
    is_mapped: bool,
}

/// Whether a part that was not written is a right.
pub(crate) fn is_right(what: &str) -> bool {
    [OWNER, GROUP, MODE].contains(&what)
}

impl TranslatedRights {
    /// The rights that arrive, with the accounts of this machine.
    pub(crate) fn arriving(security: FileSecurity, (user, group): (Option<u32>, Option<u32>)) -> Self {
        let owner = |who, number| CopiedOwner { who, number, is_mapped: false };
        Self {
            owner: owner(security.owner, user),
            group: owner(security.group, group),
            mode: security.mode,
            list: security.list,
            posix: security.posix,
            ..Self::default()
        }
    }

    /// The list of a copy that has the owner and the group, or others. `Some(None)`: it is about a group that has no identity here.
    pub(crate) fn list_of_copy(&self, keeps: (bool, bool)) -> Option<Option<Entries>> {
        let cut = within(self.mode.unwrap_or_default(), keeps.0, keeps.1);
        self.with_default(cut).map(|list| with_former(list, self, keeps))
    }

    /// Whether the source says who may use it.
    pub(crate) fn is_known(&self) -> bool {
        self.mode.is_some()
    }

    /// What is written of a file, with these rights.
    pub(crate) fn dress(&self, extra: Extra) -> Extra {
        Extra { owner: self.owner.number, group: self.group.number, mode: self.mode, ..extra }
    }
}

/// Reads the rights to a file or folder of the source.
pub(crate) fn read(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    (path, from, kind): (&str, &str, Kind),
    extra: &Extra,
) -> Result<TranslatedRights> {
    let security = match sides.from.security(from, kind, extra) {
        Err(error) if !error.ends_session() => {
            shared.tally.replace(path, LIST, &error.to_string());
            FileSecurity {
                owner: extra.owner.map(Who::User),
                group: extra.group.map(Who::Group),
                ..FileSecurity::default()
            }
        }
        other => other?,
    };
    if sides.from.hides_lists() && security.mode.is_some() {
        shared.tally.count(|report| report.rights.unseen = Some(HIDDEN.into()));
    }
    let is_program = kind == Kind::File
        && shared.plan.from.protocol != Protocol::File
        && security.mode.is_some_and(|mode| mode & PROGRAM != 0);
    let mut wanted = TranslatedRights {
        mode: security.mode.map(|mode| if is_program { mode & !PROGRAM } else { mode }),
        is_mapped: [&shared.plan.from, &shared.plan.to].iter().any(|side| side.protocol.has_windows_lists()),
        is_program,
        posix: security.posix,
        ..TranslatedRights::default()
    };
    wanted.owner = account(shared, sides, security.owner)?;
    wanted.group = account(shared, sides, security.group)?;
    if let Some(mut entries) = security.list {
        let mut list = Vec::with_capacity(entries.list.len());
        for entry in entries.list {
            if let Some((who, _)) = here(shared, sides, entry.who.clone())? {
                list.push(Entry { who, ..entry });
            }
        }
        entries.list = list;
        wanted.list = Some(entries);
    }
    Ok(wanted)
}

/// Which account is meant, and whether it is another one than the source says. `None`: `--accounts` drops it.
fn here(shared: &CopyContext<'_>, sides: &mut Sides, who: Who) -> Result<Option<(Who, bool)>> {
    if let Some(mapped) = shared.plan.accounts.0.get(&who) {
        return Ok(mapped.clone().map(|who| (who, true)));
    }
    Ok(match who {
        Who::Foreign(_) => match sides.from.account(&who)? {
            Some(named) => Some((named, true)),
            None => Some((who, false)),
        },
        who => Some((who, false)),
    })
}

fn account(shared: &CopyContext<'_>, sides: &mut Sides, who: Option<Who>) -> Result<CopiedOwner> {
    let Some(who) = who else { return Ok(CopiedOwner::default()) };
    let (number, is_mapped) = match here(shared, sides, who.clone())? {
        Some((Who::User(number) | Who::Group(number), is_mapped)) => (Some(number), is_mapped),
        _ => (None, false),
    };
    Ok(CopiedOwner { who: Some(who), number, is_mapped })
}

/// A new folder lets nobody in that the source keeps out, while it is filled. The copy itself writes in it.
pub(crate) fn begin(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    (path, from, to): (&str, &str, &str),
) -> Result<()> {
    const FOR_THE_COPY: u32 = 0o700;
    let extra = sides.from.extra(from, Kind::Folder)?;
    let wanted = read(shared, sides, (path, from, Kind::Folder), &extra)?;
    if let Some(mode) = wanted.mode {
        let open = TranslatedRights { mode: Some(mode | FOR_THE_COPY), ..wanted };
        sides.to.set_extra(to, Kind::Folder, &open.dress(Extra::default()))?;
    }
    Ok(())
}

/// Gives a copy its list, and says what became of its rights. `lost` could not be written. Returns what is not as in the source.
pub(crate) fn finish(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    (path, to, kind): (&str, &str, Kind),
    wanted: &TranslatedRights,
    lost: &[MetadataLoss],
) -> Result<Vec<String>> {
    let mut copy = RightsWriter { shared, path, to, kind, others: Vec::new() };
    let keeps_owner = copy.owner(OWNER, &wanted.owner, lost);
    let keeps_group = copy.owner(GROUP, &wanted.group, lost);
    let Some(mode) = wanted.mode else {
        copy.replace(MODE, UNSHOWN);
        return Ok(copy.others);
    };
    if wanted.is_program {
        copy.replace("set-user-ID and set-group-ID", FOREIGN_PROGRAM);
    }
    let cut = within(mode, keeps_owner, keeps_group);
    if copy.posix(sides, wanted, keeps_owner && keeps_group)? {
        return Ok(copy.others);
    }
    match wanted.list_of_copy((keeps_owner, keeps_group)) {
        Some(Some(list)) if copy.list(sides, &list, wanted.posix != PosixAcls::default())? => {}
        Some(_) => {
            copy.mode(lost, false, "its list is not there: the mode gives nobody more than the list");
            copy.without_inherited(sides, cut)?;
        }
        None => {
            copy.mode(lost, wanted.is_mapped, if cut == mode { "" } else { CUT });
            copy.without_inherited(sides, cut)?;
        }
    }
    Ok(copy.others)
}

impl TranslatedRights {
    /// The list, with what a default ACL passes on: for destinations that have no default ACLs.
    fn with_default(&self, mode: u32) -> Option<Entries> {
        let passed_on = self.posix.default.as_deref().and_then(|value| entries_of_posix(value, false));
        let passed_on = passed_on
            .into_iter()
            .flatten()
            .map(|entry| entry.inherited_by(Inherit::FILES.union(Inherit::FOLDERS).union(Inherit::ONLY)));
        let passed_on: Vec<Entry> = passed_on.collect();
        let mut list = match &self.list {
            None if passed_on.is_empty() => return None,
            None => Entries { list: entries_of(mode, true), ..Entries::default() },
            Some(list) => list.clone(),
        };
        list.list.extend(passed_on);
        Some(list)
    }
}

/// A list for a copy that has another owner or another group: the former ones keep what they had, and the new group gets nothing by it.
/// `None`: it is about a group that has no identity here.
fn with_former(
    entries: Entries,
    wanted: &TranslatedRights,
    (keeps_owner, keeps_group): (bool, bool),
) -> Option<Entries> {
    let former = |owner: &CopiedOwner, is_group: bool| match (owner.number, &owner.who) {
        (Some(number), _) if is_group => Some(Who::Group(number)),
        (Some(number), _) => Some(Who::User(number)),
        (None, Some(who @ Who::Foreign(_))) => Some(who.clone()),
        _ => None,
    };
    let mut list = Vec::new();
    for entry in entries.list {
        // An entry that is passed on is about the owner and the group of the new file.
        let counts_here = !entry.inherit.contains(Inherit::ONLY);
        match entry.who {
            Who::OwningGroup if !keeps_group && counts_here => {
                list.push(Entry { who: former(&wanted.group, true)?, ..entry });
            }
            Who::Owner if !keeps_owner && counts_here => {
                if let Some(who) = former(&wanted.owner, false) {
                    list.push(Entry { who, ..entry.clone() });
                }
                list.push(entry);
            }
            _ => list.push(entry),
        }
    }
    Some(Entries { list, ..entries })
}

/// A copy that gets its rights.
struct RightsWriter<'a, 'b> {
    shared: &'a CopyContext<'b>,
    path: &'a str,
    to: &'a str,
    kind: Kind,
    /// What is not as in the source.
    others: Vec<String>,
}

impl RightsWriter<'_, '_> {
    fn replace(&mut self, what: &str, why: &str) {
        self.shared.tally.replace(self.path, what, why);
        self.others.push(what.to_owned());
    }

    /// Whether the copy has the owner or the group.
    fn owner(&mut self, what: &str, owner: &CopiedOwner, lost: &[MetadataLoss]) -> bool {
        let lost = lost.iter().find(|lost| lost.what == what);
        match (owner.number, lost, &owner.who) {
            (Some(_), None, _) => {
                self.shared.tally.keep(what, owner.is_mapped);
                return true;
            }
            (Some(_), Some(lost), _) => self.replace(what, lost.why.as_deref().unwrap_or(NO_WAY)),
            (None, _, Some(Who::Foreign(sid))) => {
                let name = stranger_name(sid).map_or_else(|| text_of_sid(sid), |(name, _)| name.to_owned());
                self.replace(what, &format!("no account here is {name}; --accounts says who it is"));
            }
            (None, _, _) => self.replace(what, "the source does not tell it"),
        }
        false
    }

    fn mode(&mut self, lost: &[MetadataLoss], is_mapped: bool, cut: &str) {
        match lost.iter().find(|lost| lost.what == MODE) {
            Some(lost) => self.replace(MODE, lost.why.as_deref().unwrap_or(NO_WAY)),
            None if cut.is_empty() => self.shared.tally.keep(MODE, is_mapped),
            None => self.replace(MODE, cut),
        }
    }

    /// POSIX ACLs, as they are. `false`: a list says the same, or there are none.
    fn posix(&mut self, sides: &mut Sides, wanted: &TranslatedRights, keeps_owners: bool) -> Result<bool> {
        let none = PosixAcls::default();
        if wanted.posix == none || !keeps_owners || !self.shared.plan.accounts.0.is_empty() {
            return Ok(false);
        }
        match sides.to.set_posix(self.to, &wanted.posix) {
            Ok(true) => {}
            Err(error) if error.ends_session() => return Err(error),
            _ => return Ok(false),
        }
        let acls = [(LIST, &wanted.posix.access), (DEFAULT, &wanted.posix.default)];
        acls.iter()
            .filter(|(_, acl)| acl.is_some())
            .for_each(|(what, _)| self.shared.tally.keep(what, false));
        self.shared.tally.keep(MODE, false);
        Ok(true)
    }

    /// Whether the copy has the list.
    fn list(&mut self, sides: &mut Sides, entries: &Entries, is_mapped: bool) -> Result<bool> {
        match sides.to.set_rights(self.to, entries) {
            Ok(true) => {}
            Ok(false) | Err(ClientError::Unsupported(_)) => {
                self.replace(LIST, NO_WAY);
                return Ok(false);
            }
            Err(error) if error.ends_session() => return Err(error),
            Err(error) => {
                self.replace(LIST, &error.to_string());
                return Ok(false);
            }
        }
        self.shared.tally.keep(LIST, is_mapped);
        if let Some(who) = entries.list.iter().find_map(unknown) {
            self.shared.tally.lose(self.path, UNKNOWN, &format!("{who}: {UNKNOWN_WHY}"));
        }
        Ok(true)
    }

    /// What a folder passes on to a copy would let others in, beside its mode. Over SMB the mode was written as the whole list.
    fn without_inherited(&mut self, sides: &mut Sides, mode: u32) -> Result<()> {
        if self.kind == Kind::Link || self.shared.plan.to.protocol.has_windows_lists() {
            return Ok(());
        }
        let is_plain = match sides.to.rights(self.to) {
            Ok(list) => list.is_none(),
            Err(error) if error.ends_session() => return Err(error),
            Err(_) => return Ok(()),
        };
        if is_plain {
            return Ok(());
        }
        let list = entries_of(mode, self.kind == Kind::Folder);
        match sides.to.set_rights(self.to, &Entries { list, ..Entries::default() }) {
            Ok(true) => {}
            Err(error) if error.ends_session() => return Err(error),
            Ok(false) => self.replace(LIST, "the folder passes on entries, which cannot be removed"),
            Err(error) => self.replace(LIST, &format!("the folder passes on entries: {error}")),
        }
        Ok(())
    }
}

/// Compares the rights to both. `known` are those that the copy could not get.
pub(crate) fn compare(
    shared: &CopyContext<'_>,
    sides: &mut Sides,
    (path, kind): (&str, Kind),
    ((from, from_extra), (to, to_extra)): ((&str, &Extra), (&str, &Extra)),
    known: &[String],
) -> Result<()> {
    let wanted = read(shared, sides, (path, from, kind), from_extra)?;
    let there = sides.to.security(to, kind, to_extra)?;
    let differs = |what: &str, why: &str| {
        if !known.iter().any(|known| known == what) {
            shared.tally.replace(path, what, why);
        }
    };
    for (what, wanted, there) in [(OWNER, &wanted.owner, &there.owner), (GROUP, &wanted.group, &there.group)]
    {
        if let (Some(wanted), Some(Who::User(there) | Who::Group(there))) = (wanted.number, there)
            && wanted != *there
        {
            differs(what, &format!("it is {there}"));
        }
    }
    if wanted.posix != PosixAcls::default() && wanted.posix == there.posix {
        return Ok(());
    }
    let is_there = |wanted: &CopiedOwner, there: &Option<Who>| match there {
        Some(Who::User(number) | Who::Group(number)) => wanted.number == Some(*number),
        _ => false,
    };
    let kept = (is_there(&wanted.owner, &there.owner), is_there(&wanted.group, &there.group));
    let list = wanted.with_default(wanted.mode.unwrap_or_default());
    let list = list.and_then(|list| with_former(list, &wanted, kept));
    match (&list, &there.list) {
        (None, None) => {}
        (Some(_), None) => differs(LIST, "the destination has none"),
        (Some(wanted), Some(there)) if is_same(wanted, there) => {}
        (Some(wanted), Some(there)) => {
            let counts = (there.list.len(), wanted.list.len());
            differs(LIST, &format!("it has other entries there: {} instead of {}", counts.0, counts.1));
        }
        (None, Some(_)) => shared.tally.replace(path, LIST, "the source has none"),
    }
    if let (Some(from), Some(to), None, None) = (wanted.mode, there.mode, &list, &there.list) {
        let said = if wanted.is_mapped { 0o777 } else { 0o7777 };
        match (to & 0o777 & !from, (from ^ to) & said) {
            (0, 0) => {}
            (0, _) => differs(MODE, &format!("it is {to:o}")),
            _ => shared.tally.replace(path, MODE, &format!("it is wider: {to:o} instead of {from:o}")),
        }
    }
    Ok(())
}

/// The folder itself is the share of the destination, whose rights stay. They may let others in than in the source.
pub(crate) fn compare_roots(shared: &CopyContext<'_>, sides: &mut Sides, extra: &Extra) -> Result<()> {
    if !shared.plan.only.is_empty() {
        return Ok(());
    }
    let (from, to) = (sides.from.native(""), sides.to.native(""));
    let Some(from) = sides.from.security(&from, Kind::Folder, extra)?.mode else { return Ok(()) };
    let extra = sides.to.extra(&to, Kind::Folder)?;
    let Some(to) = sides.to.security(&to, Kind::Folder, &extra)?.mode else { return Ok(()) };
    if to & 0o077 & !from != 0 {
        let why = format!("the folder itself stays as it is, {to:o}; in the source it is {from:o}");
        shared.tally.replace("", MODE, &why);
    }
    Ok(())
}

/// Whether two lists say the same. A right that only Windows asks for does not count, nor whether an entry was inherited, or stands for
/// what the mode says.
fn is_same(wanted: &Entries, there: &Entries) -> bool {
    let counting = |entry: &Entry| {
        let inherit = entry.inherit.difference(Inherit::INHERITED);
        (entry.kind, inherit, entry.rights.difference(Rights::SYNCHRONIZE.union(Rights::FROM_MODE)))
    };
    let is_one = |(wanted, there): (&Entry, &Entry)| {
        // SMB names the owner and the group of a file by their SIDs.
        let is_named = matches!(wanted.who, Who::Owner | Who::OwningGroup)
            && matches!(there.who, Who::User(_) | Who::Group(_) | Who::Foreign(_));
        counting(wanted) == counting(there) && (wanted.who == there.who || is_named)
    };
    wanted.list.len() == there.list.len() && wanted.list.iter().zip(&there.list).all(is_one)
}

/// An account of another machine or domain, by its name or its SID. Those of Windows itself, such as Administrators, are the same
/// everywhere.
fn unknown(entry: &Entry) -> Option<String> {
    let Who::Foreign(sid) = &entry.who else { return None };
    let text = text_of_sid(sid);
    match stranger_name(sid) {
        Some((name, _)) => Some(name.to_owned()),
        None => ["S-1-5-21-", MAC].iter().any(|start| text.starts_with(start)).then_some(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_the_same_if_they_say_the_same() {
        let entry = |who, rights| Entry::allow(who, rights);
        let list = |list| Entries { list, ..Entries::default() };
        let wanted =
            list(vec![entry(Who::Owner, Rights::READ_DATA), entry(Who::User(7), Rights::WRITE_DATA)]);
        let named = entry(Who::User(1000), Rights::READ_DATA.union(Rights::SYNCHRONIZE));
        let there = list(vec![named.clone(), wanted.list[1].clone().inherited_by(Inherit::INHERITED)]);
        assert!(is_same(&wanted, &there));
        for other in [
            list(vec![wanted.list[1].clone(), wanted.list[0].clone()]),
            list(vec![named.clone()]),
            list(vec![named.clone(), entry(Who::User(8), Rights::WRITE_DATA)]),
            list(vec![named, entry(Who::User(7), Rights::READ_DATA)]),
        ] {
            assert!(!is_same(&wanted, &other));
        }
    }

    #[test]
    fn a_former_owner_and_group_keep_what_they_had() {
        let entry = |who| Entry::allow(who, Rights::READ_DATA);
        let list = Entries { list: vec![entry(Who::Owner), entry(Who::OwningGroup)], ..Entries::default() };
        let owner = |who, number| CopiedOwner { who, number, is_mapped: false };
        let wanted = TranslatedRights {
            owner: owner(Some(Who::User(7)), Some(7)),
            group: owner(Some(Who::Group(8)), Some(8)),
            ..TranslatedRights::default()
        };
        let whose = |wanted: &TranslatedRights, kept| {
            let list = with_former(list.clone(), wanted, kept)?;
            Some(list.list.into_iter().map(|entry| entry.who).collect::<Vec<_>>())
        };
        assert_eq!(whose(&wanted, (true, true)).unwrap(), [Who::Owner, Who::OwningGroup]);
        assert_eq!(whose(&wanted, (false, false)).unwrap(), [Who::User(7), Who::Owner, Who::Group(8)]);
        // The group of the copy would get what a group had that nobody can name.
        let unknown = TranslatedRights { group: CopiedOwner::default(), ..wanted };
        assert_eq!(whose(&unknown, (true, false)), None);
    }
}
