//! The roles that a share gives to people. A share with roles is a team folder: each of these people may do there what the role
//! says, over every protocol, and others may not enter.

use std::fmt::{self, Display};

use auth::Role;

use super::diagnostic::{Findings, Place};
use super::section::Section;

/// The settings that give roles.
const LISTS: [(&str, Role); 5] = [
    ("owners", Role::Owner),
    ("editors", Role::Editor),
    ("contributors", Role::Contributor),
    ("readers", Role::Reader),
    ("drop", Role::Drop),
];

/// The settings that say who may enter a share without roles.
const WITHOUT_ROLES: [&str; 3] = ["users", "groups", "guests"];

/// The longest name that a list may have, in characters.
const LONGEST: usize = 256;

/// The users that an entry of a list means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// An account.
    Account(String),
    /// The members of a group: of the host, of the server's own, of the domain, or a SID.
    Group(String),
    /// All with an account.
    Everyone,
    /// All, with and without an account.
    Guests,
}

/// One who has a role.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamEntry {
    /// The role.
    pub role: Role,
    /// Who has it.
    pub who: Who,
}

/// The roles that a share gives, in the order of the roles.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TeamFolder {
    /// Each with its role.
    pub entries: Vec<TeamEntry>,
}

/// The setting whose list gives a role.
#[must_use]
pub fn list_of(role: Role) -> &'static str {
    LISTS.iter().find(|(_, other)| *other == role).map_or("", |(key, _)| key)
}

impl Who {
    /// What a word of a list means. `Err`: nothing, with a better word if one is likely.
    ///
    /// # Errors
    /// It means nobody.
    pub fn parse(text: &str) -> Result<Self, Option<String>> {
        let is_name = |name: &str| {
            let length = name.chars().count();
            (1..=LONGEST).contains(&length) && name.trim() == name && !name.chars().any(char::is_control)
        };
        if let Some(group) = text.strip_prefix('@') {
            return if is_name(group) { Ok(Self::Group(group.into())) } else { Err(None) };
        }
        match text {
            "everyone" => Ok(Self::Everyone),
            "guests" => Ok(Self::Guests),
            "*" => Err(Some("\"everyone\"".into())),
            _ if ["everyone", "guests"].iter().any(|word| word.eq_ignore_ascii_case(text)) => {
                Err(Some(format!("{:?}", text.to_ascii_lowercase())))
            }
            // As Samba and sudo write groups.
            _ if text.starts_with(['+', '&', '%']) => {
                let group = text.trim_start_matches(['+', '&', '%', '@']);
                Err(is_name(group).then(|| format!("{:?}", format!("@{group}"))))
            }
            _ if is_name(text) => Ok(Self::Account(text.into())),
            _ => Err(None),
        }
    }

    /// Whether two entries mean the same. Names of accounts differ in more than the case of letters.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Account(one), Self::Account(other)) => auth::is_same_name(one, other),
            (one, other) => one == other,
        }
    }
}

/// As in a list.
impl Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Account(name) => f.write_str(name),
            Self::Group(name) => write!(f, "@{name}"),
            Self::Everyone => f.write_str("everyone"),
            Self::Guests => f.write_str("guests"),
        }
    }
}

impl TeamFolder {
    /// Whether somebody without an account has a role.
    #[must_use]
    pub fn admits_guests(&self) -> bool {
        self.entries.iter().any(|entry| entry.who == Who::Guests)
    }

    /// Those who have a role.
    pub fn having(&self, role: Role) -> impl Iterator<Item = &Who> {
        self.entries.iter().filter(move |entry| entry.role == role).map(|entry| &entry.who)
    }
}

/// The roles of a share; `None`: it is no team folder.
pub(super) fn of(section: &Section) -> Option<TeamFolder> {
    let is_team = LISTS.iter().any(|(key, _)| section.is_set(key));
    let entries = LISTS.iter().flat_map(|(key, role)| {
        let words = section.texts(key).into_iter();
        words.filter_map(|word| Some(TeamEntry { role: *role, who: Who::parse(&word).ok()? }))
    });
    is_team.then(|| TeamFolder { entries: entries.collect() })
}

/// Those who have a role by a list of the share itself, with their places.
pub(super) fn named(section: &Section) -> impl Iterator<Item = (Who, Place)> {
    let own = LISTS.iter().filter(|(key, _)| section.inherited_from(key).is_none());
    let words = own.flat_map(|(key, _)| section.texts_with_places(key));
    words.filter_map(|(word, place)| Some((Who::parse(&word).ok()?, place)))
}

/// Whether a share takes this setting over from the share above it. One that gives a role itself takes no other list over, and none
/// of what counts without roles.
pub(super) fn inherits(section: &Section, key: &str) -> bool {
    let is_about_people = WITHOUT_ROLES.contains(&key) || LISTS.iter().any(|(list, _)| *list == key);
    !(is_about_people && LISTS.iter().any(|(list, _)| section.is_set(list)))
}

/// What is wrong with the lists of a share.
pub(super) fn check(section: &Section, is_homes: bool, findings: &mut Findings) {
    let is_own = |key: &str| section.is_set(key) && section.inherited_from(key).is_none();
    let Some((first, _)) = LISTS.iter().find(|(key, _)| section.is_set(key)) else { return };
    let name = section.text("name").unwrap_or_default();
    check_mixed(section, (&name, first), findings);
    if !is_own(first) && !LISTS.iter().any(|(key, _)| is_own(key)) {
        return; // said at the share above
    }
    let place = section.place_of(first);
    if is_homes {
        let what = format!("`{first}` is set, and each folder of {name:?} is one user's own");
        findings.error(place, what, "remove the line, or `%U` at the end of `path`");
    }
    let team = of(section).unwrap_or_default();
    if team.entries.is_empty() && LISTS.iter().all(|(key, _)| section.has_value(key)) {
        let what = format!("no one has a role in the share {name:?}");
        findings.error(place, what, format!("write `{first} = [\"ada\"]`, with an account of yours"));
    }
    if team.having(Role::Owner).any(|who| *who == Who::Guests) {
        let instead = "write `editors = [\"guests\"]`, or the names of accounts as owners";
        findings.error(section.place_of("owners"), "guests cannot be owners of a share", instead);
    }
    check_twice(section, &team, findings);
    if section.bool("read-only") && team.entries.iter().any(|entry| entry.role != Role::Reader) {
        let what = format!("the share {name:?} is `read-only`: all its roles may read at most");
        findings.note(
            section.place_of("read-only"),
            what,
            "remove `read-only` when they may change it again",
        );
    }
}

/// Nobody may wonder which of two ways to admit people counts.
fn check_mixed(section: &Section, (name, first): (&str, &str), findings: &mut Findings) {
    let mut editors = section.texts("editors");
    let users = section.texts("users");
    let groups = section.texts("groups").into_iter().map(|group| format!("@{group}")).collect();
    let of_guests = vec!["guests".to_owned()];
    for (key, words) in [("users", users), ("groups", groups), ("guests", of_guests)] {
        let counts = if key == "guests" { section.bool(key) } else { !words.is_empty() };
        if !counts || section.inherited_from(key).is_some() {
            continue;
        }
        let place = section.place_of(key);
        if let Place::CommandLine(flag) = place {
            let what = format!("`{flag}` does not count in the share {name:?}, which has roles (`{first}`)");
            findings.note(place, what, "write `readers = [\"guests\"]`, or `drop`, if guests may enter it");
            continue;
        }
        let list = if key == "guests" { "readers" } else { "editors" };
        let mut all = if key == "guests" { section.texts(list) } else { std::mem::take(&mut editors) };
        let fresh: Vec<String> = words.into_iter().filter(|word| !all.contains(word)).collect();
        all.extend(fresh);
        let what = format!("`{key}` does not count in the share {name:?}, which has roles (`{first}`)");
        findings.error(place, what, format!("write `{list} = {all:?}` instead"));
        if key == "users" {
            editors = all;
        }
    }
}

/// What puts files in without seeing any is no addition to another role.
fn check_twice(section: &Section, team: &TeamFolder, findings: &mut Findings) {
    for (index, entry) in team.entries.iter().enumerate() {
        let Some(earlier) = team.entries[..index].iter().find(|other| other.who.is_same(&entry.who)) else {
            continue;
        };
        let [list, other] = [entry, earlier].map(|entry| list_of(entry.role));
        let (place, who) = (section.place_of(list), entry.who.to_string());
        match entry.role {
            _ if list == other => findings.note(place, format!("{who:?} is in `{list}` twice"), "remove one"),
            Role::Drop => {
                let what = format!("{who:?} is in `{other}`, and in `drop`, which sees no files");
                findings.error(place, what, "keep one of the two");
            }
            _ => {
                let what = format!("{who:?} is in `{other}` and in `{list}`: the first says more");
                findings.note(place, what, format!("remove it from `{list}`"));
            }
        }
    }
}
