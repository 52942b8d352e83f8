//! The settings of smb.conf, a row for each: its names, its kind, whether it limits access, and what it becomes.
//!
//! The names, synonyms and defaults are those that `testparm -sv` of Samba 4.17 prints.

mod irrelevant;

use super::values::Kind;

/// Where a setting stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SettingScope {
    /// In `[global]` only.
    Global,
    /// In shares; in `[global]` it is their default.
    Share,
}

/// What a setting becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handling {
    /// Code translates it.
    Translated,
    /// It changes nothing about who may do what, for this reason.
    NoEffect(&'static str),
    /// It is not kept unless it has one of these values, the first of which is smbd's default.
    Lost { limit: &'static str, unless: &'static [&'static str], why: &'static str },
}

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) synonyms: &'static [&'static str],
    /// Names with the opposite meaning.
    pub(super) inverse: &'static [&'static str],
    pub(super) kind: Kind,
    pub(super) scope: SettingScope,
    /// Whether it can keep somebody from something.
    pub(super) limits: bool,
    pub(super) handling: Handling,
}

const fn row(name: &'static str, scope: SettingScope, kind: Kind) -> Row {
    Row { name, synonyms: &[], inverse: &[], kind, scope, limits: false, handling: Handling::Translated }
}

impl Row {
    const fn or(self, synonyms: &'static [&'static str]) -> Self {
        Self { synonyms, ..self }
    }

    const fn not(self, inverse: &'static [&'static str]) -> Self {
        Self { inverse, ..self }
    }

    const fn limits(self) -> Self {
        Self { limits: true, ..self }
    }

    const fn lost(self, limit: &'static str, unless: &'static [&'static str], why: &'static str) -> Self {
        Self { limits: true, handling: Handling::Lost { limit, unless, why }, ..self }
    }

    const fn no_effect(self, why: &'static str) -> Self {
        Self { handling: Handling::NoEffect(why), ..self }
    }
}

use Kind::{Bool, List, Mode, Text};
use SettingScope::{Global, Share};

/// Values that are no limit.
const NO: &[&str] = &["no"];
const YES: &[&str] = &["yes"];
const NONE: &[&str] = &[""];
const ZERO: &[&str] = &["0"];

/// The settings that limit access, and those that are translated.
const ROWS: &[Row] = &[
    // Who may enter a share.
    row("path", Share, Text).or(&["directory"]).limits(),
    row("available", Share, Bool).limits(),
    row("read only", Share, Bool).not(&["writable", "writeable", "write ok"]).limits(),
    row("valid users", Share, List).limits(),
    row("invalid users", Share, List).limits(),
    row("read list", Share, List).limits(),
    row("write list", Share, List),
    row("admin users", Share, List).no_effect("it gives rights only: here these users act as themselves"),
    row("guest ok", Share, Bool).or(&["public"]),
    row("guest only", Share, Bool).or(&["only guest"]).limits(),
    row("map to guest", Global, Text).limits(),
    row("guest account", Global, Text).no_effect("guests act as nobody here (uid 65534), who owns nothing"),
    row("restrict anonymous", Global, Text).limits(),
    row("hosts allow", Share, List).or(&["allow hosts"]).limits(),
    row("hosts deny", Share, List).or(&["deny hosts"]).limits(),
    row("max connections", Share, Text).lost(
        "max-connections",
        ZERO,
        "connections to a share are not counted",
    ),
    row("max smbd processes", Global, Text).lost(
        "max-connections",
        ZERO,
        "clients of SMB are not counted so",
    ),
    row("hostname lookups", Global, Bool).limits(),
    row("interfaces", Global, List).limits(),
    row("bind interfaces only", Global, Bool).limits(),
    row("preexec close", Share, Bool).lost("preexec", NO, "no script is run that could refuse a client"),
    row("root preexec close", Share, Bool).lost("preexec", NO, "no script is run that could refuse a client"),
    // How clients prove who they are, and what they must protect.
    row("server signing", Global, Text).limits(),
    row("server smb encrypt", Share, Text).or(&["smb encrypt"]).limits(),
    row("server min protocol", Global, Text).or(&["min protocol"]).limits(),
    row("ntlm auth", Global, Text).limits(),
    row("username map", Global, Text).lost("username-map", NONE, "clients' names are those of accounts"),
    row("username map script", Global, Text).lost(
        "username-map",
        NONE,
        "clients' names are those of accounts",
    ),
    row("obey pam restrictions", Global, Bool).lost(
        "obey-pam-restrictions",
        NO,
        "PAM is not asked whether an account has expired, or may come at this time",
    ),
    row("passdb backend", Global, Text).no_effect("an account that is not made here opens nothing"),
    row("root directory", Global, Text).or(&["root dir", "root"]).lost(
        "root-directory",
        &["", "/"],
        "paths are those of the whole system",
    ),
    row("config file", Global, Text).lost("config-file", NONE, "smbd reads that file instead of this one"),
    row("config backend", Global, Text).lost(
        "config-backend",
        &["file"],
        "the registry of Samba is not read",
    ),
    row("include", Share, Text).limits(),
    row("copy", Share, Text).limits(),
    row("only user", Share, Bool).lost("only-user", NO, "a list of names of clients is not kept"),
    // Who owns what is made, and its mode.
    row("force user", Share, Text).limits(),
    row("force group", Share, Text).or(&["group"]).limits(),
    row("create mask", Share, Mode).or(&["create mode"]).limits(),
    row("directory mask", Share, Mode).or(&["directory mode"]).limits(),
    row("force create mode", Share, Mode),
    row("force directory mode", Share, Mode),
    row("inherit permissions", Share, Bool).limits(),
    row("inherit owner", Share, Text).limits(),
    row("inherit acls", Share, Bool).no_effect("default ACLs of folders count for what is made in them"),
    row("nt acl support", Share, Bool).lost(
        "nt-acl-support",
        YES,
        "owners can change the rights of their files",
    ),
    row("security mask", Share, Mode).lost(
        "security-mask",
        &["0777"],
        "owners can change the modes of their files",
    ),
    row("directory security mask", Share, Mode).lost(
        "security-mask",
        &["0777"],
        "owners can change the modes of their folders",
    ),
    // What is shown.
    row("veto files", Share, Text).limits(),
    row("hide files", Share, Text)
        .no_effect("such names get the attribute hidden there; they stay in listings"),
    row("hide unreadable", Share, Bool).lost(
        "hide-unreadable",
        NO,
        "listings show names that one may not read",
    ),
    row("hide unwriteable files", Share, Bool).or(&["hide unwritable files"]).lost(
        "hide-unwriteable-files",
        NO,
        "listings show names that one may not write",
    ),
    row("hide new files timeout", Share, Text).lost(
        "hide-new-files-timeout",
        ZERO,
        "new files are shown at once",
    ),
    row("dont descend", Share, Text).lost("dont-descend", NONE, "folders are listed with what is in them"),
    row("follow symlinks", Share, Bool).lost("follow-symlinks", YES, "links inside the share are followed"),
    row("msdfs proxy", Share, Text).limits(),
    row("msdfs root", Share, Bool),
    row("vfs objects", Share, List).or(&["vfs object"]).limits(),
    // What is translated and limits nothing.
    row("comment", Share, Text),
    row("case sensitive", Share, Text).or(&["casesignames"]),
    row("map readonly", Share, Text),
    row("fruit:encoding", Share, Text),
    row("fruit:metadata", Share, Text),
    row("fruit:resource", Share, Text),
    row("fruit:time machine", Share, Text),
    row("fruit:time machine max size", Share, Text),
    row("catia:mappings", Share, Text),
    row("acl_xattr:ignore system acls", Share, Text)
        .no_effect("the ACLs that Samba has stored bind, and the modes, too"),
];

/// A name as smbd compares it.
pub(super) fn key(name: &str) -> String {
    name.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect()
}

/// The row of a name, and whether the name says the opposite.
pub(super) fn find(name: &str) -> Option<(Row, bool)> {
    let wanted = key(name);
    let is = |other: &&str| key(other) == wanted;
    let row = ROWS.iter().find(|row| is(&row.name) || row.synonyms.iter().any(is));
    let inverse = || ROWS.iter().find(|row| row.inverse.iter().any(is));
    let row = row.map(|row| (*row, false)).or_else(|| inverse().map(|row| (*row, true)));
    row.or_else(|| irrelevant::find(&wanted).map(|row| (row, false)))
}

/// The names of all settings.
#[cfg(test)]
pub(super) fn has(name: &str) -> bool {
    find(name).is_some()
}
