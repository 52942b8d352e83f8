//! What a share makes of its callers and of what they make, whatever the protocol: whom they act as, and the modes and the owner of
//! new files and folders.

use auth::ForcedIdentity;

use crate::acl::NewPermissions;
use crate::backend::{Found, NewKind};
use crate::caller::server;
use crate::{Caller, Error, Result, SetAttributes, Volume};

/// The mode of a new file or folder whose client says none.
const FILE_MODE: u32 = 0o644;
const FOLDER_MODE: u32 = 0o755;
/// The same where a mask says what is taken from it.
const ALL_OF_FILE: u32 = 0o666;
const ALL_OF_FOLDER: u32 = 0o777;

/// The rules of a share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ShareRules {
    /// Whom callers act as.
    pub forced: ForcedIdentity,
    /// The modes of new files, and of new FIFOs, sockets and devices.
    pub files: ModeRule,
    /// The modes of new folders.
    pub folders: ModeRule,
    /// What is new belongs to the owner of its folder.
    pub inherits_owner: bool,
}

/// What becomes of the mode of something new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ModeRule {
    /// Only these bits stay; `None`: all.
    pub mask: Option<u32>,
    /// These are set then.
    pub set: u32,
}

impl ModeRule {
    pub(super) fn apply(self, mode: u32) -> u32 {
        mode & self.mask.unwrap_or(0o7777) | self.set
    }
}

impl ShareRules {
    /// The rule for the mode of a new entry; `None`: it has no mode of its own.
    pub(super) fn of(&self, kind: NewKind<'_>) -> Option<ModeRule> {
        match kind {
            NewKind::Link(_) => None,
            NewKind::Folder => Some(self.folders),
            _ => Some(self.files),
        }
    }

    /// What a new entry gets of what its client has asked for.
    pub(super) fn permissions<'a>(
        &self,
        kind: NewKind<'_>,
        asked: &NewPermissions<'a>,
    ) -> NewPermissions<'a> {
        let mode = self.of(kind).map_or(asked.mode, |rule| rule.apply(asked.mode));
        NewPermissions { mode, ..*asked }
    }
}

/// What the host does not give a new entry by itself.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NewEntryRules {
    /// Its owner, if that is not its maker.
    pub(super) uid: Option<u32>,
    /// Bits of its mode that the host leaves out when it makes a folder: setuid and setgid.
    special: u32,
}

impl ShareRules {
    pub(super) fn settled(&self, caller: &Caller, folder: &Found, kind: NewKind<'_>) -> NewEntryRules {
        let owner = folder.attributes.uid;
        let special = if matches!(kind, NewKind::Folder) { self.folders.set & 0o6000 } else { 0 };
        NewEntryRules { uid: (self.inherits_owner && owner != caller.uid).then_some(owner), special }
    }
}

impl NewEntryRules {
    pub(super) fn is_empty(self) -> bool {
        self.uid.is_none() && self.special == 0
    }

    /// Gives it to the new entry.
    pub(super) fn settle(self, made: &Found) -> Result<()> {
        let mode = made.object.attributes()?.mode;
        let changes = SetAttributes {
            uid: self.uid,
            mode: (self.special & !mode != 0).then_some(mode | self.special),
            ..SetAttributes::default()
        };
        match made.object.set_attributes(server(), &changes) {
            Err(Error::NotPermitted) => Err(Error::AccessDenied),
            other => other,
        }
    }
}

impl Volume {
    /// Whom a caller acts as in the share. Protocols ask once for each request, before anything else is judged.
    #[must_use]
    pub fn acting(&self, caller: Caller) -> Caller {
        self.options.rules.forced.apply(caller)
    }

    /// The mode of a new file or folder whose client says none, before the rules of the share.
    pub fn unsaid_mode(&self, is_folder: bool) -> u32 {
        let rules = &self.options.rules;
        match (is_folder, rules.folders.mask, rules.files.mask) {
            (true, None, _) => FOLDER_MODE,
            (true, Some(_), _) => ALL_OF_FOLDER,
            (false, _, None) => FILE_MODE,
            (false, _, Some(_)) => ALL_OF_FILE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_taken_and_then_set_and_links_have_none() {
        let files = ModeRule { mask: Some(0o640), set: 0o020 };
        let rules =
            ShareRules { files, folders: ModeRule { mask: None, set: 0o2000 }, ..ShareRules::default() };
        let mode = |kind, mode| rules.permissions(kind, &NewPermissions { mode, ..Default::default() }).mode;
        assert_eq!(mode(NewKind::File, 0o4777), 0o660);
        assert_eq!(mode(NewKind::Fifo, 0o666), 0o660);
        assert_eq!(mode(NewKind::Folder, 0o755), 0o2755);
        assert_eq!(mode(NewKind::Link(b"there"), 0o777), 0o777);
    }
}
