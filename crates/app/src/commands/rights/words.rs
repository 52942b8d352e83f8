//! Rights in words.

use vfs::acl::{Deviation, Rights, Who};

use super::names::RightsNames;

/// What can be done with a file or folder: see [`admin::control::OperationAnswer`].
pub(super) const OPERATIONS: [RightsOperation; 4] =
    [RightsOperation::Read, RightsOperation::Write, RightsOperation::Remove, RightsOperation::Rights];

/// Something that can be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RightsOperation {
    Read,
    Write,
    Remove,
    Rights,
}

impl RightsOperation {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Remove => "remove",
            Self::Rights => "rights",
        }
    }

    /// In words, for `may …`.
    pub(super) fn words(self, is_folder: bool) -> &'static str {
        match (self, is_folder) {
            (Self::Read, true) => "list it",
            (Self::Read, false) => "open it",
            (Self::Write, true) => "add to it",
            (Self::Write, false) => "change it",
            (Self::Remove, _) => "remove or rename it",
            (Self::Rights, _) => "say who may do what",
        }
    }

    /// Whether these rights suffice.
    pub(super) fn is_in(self, rights: Rights) -> bool {
        rights.contains(match self {
            Self::Read => Rights::READ_DATA,
            Self::Write => Rights::WRITE_DATA,
            Self::Remove => Rights::DELETE,
            Self::Rights => Rights::WRITE_ACL,
        })
    }
}

/// The operations that rights allow.
pub(super) fn operations(rights: Rights) -> Vec<String> {
    let allowed = OPERATIONS.into_iter().filter(|operation| operation.is_in(rights));
    allowed.map(|operation| operation.word().to_owned()).collect()
}

/// What somebody may do: "list it, add to it", or nothing.
pub(super) fn summary(rights: Rights, is_folder: bool) -> String {
    let allowed = OPERATIONS.into_iter().filter(|operation| operation.is_in(rights));
    let words: Vec<&str> = allowed.map(|operation| operation.words(is_folder)).collect();
    match words.split_last() {
        None => "nothing".into(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// What a deviation is: a word, what it means, and what mends it.
pub(super) fn deviation(
    deviation: &Deviation,
    is_folder: bool,
    owner: u32,
    names: &RightsNames<'_>,
) -> (&'static str, String, &'static str) {
    const RESET: &str = "`fourfold rights reset`";
    match deviation {
        Deviation::Lacks { who, bits, passed_on } => {
            let what = format!("local programs of {} cannot {}", people(who, names), done(*bits, is_folder, *passed_on));
            ("lacks", what, RESET)
        }
        Deviation::Exceeds { who: Who::Everyone, bits, passed_on } if bits & 2 != 0 => {
            let what = format!("all users of this machine can {}", done(*bits, is_folder, *passed_on));
            ("world-writable", what, RESET)
        }
        Deviation::Exceeds { who, bits, passed_on } => {
            let what = format!("local programs of {} can {}", people(who, names), done(*bits, is_folder, *passed_on));
            ("exceeds", what, RESET)
        }
        Deviation::NoSetgid => {
            ("no-setgid", "what local programs make in it gets another group: the setgid bit is missing".into(), RESET)
        }
        Deviation::Sticky => {
            ("sticky", "local programs of editors cannot remove what others have made: the sticky bit is set".into(), RESET)
        }
        Deviation::NoDefault => {
            ("no-default-acl", "what local programs make in it does not get the rights of the roles: it has no default ACL".into(), RESET)
        }
        Deviation::UnsealedList => {
            ("unsealed-list", "its list does not count: this server has not sealed it, or it was changed since".into(), RESET)
        }
        Deviation::StaleList => {
            ("stale-list", "its list is not what its folder passes on: it was moved, or copied by a local program".into(), RESET)
        }
        Deviation::ForeignOwner => {
            let what = format!("it belongs to {}, who has no role and can change its mode locally", names.user(owner));
            ("foreign-owner", what, "`chown` it to somebody with a role")
        }
        Deviation::GroupsLeftOut => (
            "groups-left-out",
            "something is taken from a group, which POSIX ACLs cannot say: local programs of groups have less than their roles".into(),
            "use a group that has fewer members, or take it from accounts",
        ),
        Deviation::NoPosixAcls => (
            "no-posix-acls",
            "its file system keeps no POSIX ACLs: local programs have only what the mode can say".into(),
            "mount it with ACLs",
        ),
    }
}

fn people(who: &Who, names: &RightsNames<'_>) -> String {
    match who {
        Who::Owner => "its owner".into(),
        Who::OwningGroup => "its group".into(),
        Who::Everyone => "all other users".into(),
        other => names.who(other),
    }
}

/// The bits of a mode as what somebody can do.
fn done(bits: u32, is_folder: bool, passed_on: bool) -> String {
    let all = match (is_folder && !passed_on, passed_on) {
        (true, _) => [(4, "list it"), (2, "add to it and remove from it"), (1, "pass through it")],
        (false, true) => [(4, "read"), (2, "write"), (1, "execute")],
        (false, false) => [(4, "read it"), (2, "write to it"), (1, "execute it")],
    };
    let words: Vec<&str> = all.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, word)| word).collect();
    let text = words.join(", ");
    if passed_on { format!("{text} what is made in it") } else { text }
}
