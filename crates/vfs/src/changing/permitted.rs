//! Permission, which comes before everything else: whether an actor may do what it wants is judged before the opens, ranges
//! and leases of other clients are asked. An actor that is refused changes nothing of others, and learns nothing of them.
//!
//! ```text
//! Plan ─► permit ─► PermittedActor ─► others' deny modes, ranges, leases ─► the change itself
//! ```
//!
//! All that asks others takes a [`PermittedActor`], and only the judgement makes one, so that the order cannot be written
//! otherwise. A change that the host judges is judged here as the host will do it. The host has the last word.

use std::ops::Deref;

use crate::acl::{AclChange, Rights};
use crate::backend::host::links_are_protected;
use crate::backend::{Found, RenameMode};
use crate::permission::{may_link, may_set, sticks};
use crate::volume::Actor;
use crate::{Access, Caller, Error, Kind, Result, SetAttributes, Volume};

/// What an actor wants to do, as far as its permission depends on it. Names are as they are stored.
#[derive(Clone, Copy)]
pub enum Plan<'a> {
    /// To learn attributes, which each actor may that can name the file.
    Look,
    /// To open a file or to lock ranges in it, for a client whose protocol has granted no open yet. The owner always may.
    Use(&'a Found, Access),
    /// To ask for a locked range, of a file that one may read or write.
    Test(&'a Found),
    /// To read data.
    Read(&'a Found),
    /// To write data.
    Write(&'a Found),
    /// To set attributes.
    Attributes(&'a Found, &'a SetAttributes),
    /// To set an ACL, an owner, or a group.
    Acl(&'a Found, &'a AclChange),
    /// To set Mac metadata, extended attributes, or named streams.
    Describe(&'a Found, Rights),
    /// To take a file out of a folder, for a client whose protocol asks for rights and not for the host's mode.
    Leave(&'a Found, &'a Found),
    /// To remove an entry of a folder.
    Remove(&'a Found, &'a [u8]),
    /// To move an entry of a folder to another name, or to exchange the two.
    Move((&'a Found, &'a [u8]), (&'a Found, &'a [u8]), RenameMode),
    /// To give a file another name in a folder.
    Link(&'a Found, &'a Found),
}

/// An actor that may do what it wants.
pub struct PermittedActor<'a> {
    actor: &'a Actor,
    /// The identity under which the change of Mac metadata or streams is made.
    by: &'a Caller,
    /// What is behind the names of the plan, if any client may be concerned by them.
    pub(crate) moving: Option<Found>,
    pub(crate) replaced: Option<Found>,
}

impl Deref for PermittedActor<'_> {
    type Target = Actor;

    fn deref(&self) -> &Actor {
        self.actor
    }
}

impl<'a> PermittedActor<'a> {
    pub(crate) fn actor(&self) -> &'a Actor {
        self.actor
    }

    /// The identity under which Mac metadata and streams are changed.
    pub(crate) fn identity(&self) -> &'a Caller {
        self.by
    }

    fn new(actor: &'a Actor) -> Self {
        Self { actor, by: &actor.caller, moving: None, replaced: None }
    }

    /// An actor with an open, which has decided what it may do.
    pub fn by_open(actor: &'a Actor) -> Self {
        debug_assert!(actor.open.is_some(), "the permission is the open");
        Self::new(actor)
    }

    /// The server itself, which may do everything.
    pub fn by_server(actor: &'a Actor) -> Self {
        debug_assert_eq!(actor.caller.uid, 0, "it is a client");
        Self::new(actor)
    }
}

impl Volume {
    /// Judges a plan.
    ///
    /// # Errors
    /// `AccessDenied`, `NotPermitted` or `ReadOnly`, as the change itself would fail.
    pub fn permit<'a>(&self, actor: &'a Actor, plan: Plan<'_>) -> Result<PermittedActor<'a>> {
        let mut permitted = PermittedActor::new(actor);
        match plan {
            Plan::Look => {}
            Plan::Use(of, want) => self.judge_use(actor, of, want)?,
            Plan::Test(of) => match self.judge_use(actor, of, Access::READ) {
                Err(Error::AccessDenied) => self.judge_use(actor, of, Access::WRITE)?,
                other => other?,
            },
            Plan::Read(of) => self.prepare_to_read(actor, of)?,
            Plan::Write(of) => {
                let by = self.permissions().acting_on_data(actor, of, Rights::WRITE_DATA)?;
                of.object.prepare(by, &of.attributes, Access::WRITE, true)?;
            }
            Plan::Attributes(of, changes) => self.judge_attributes(actor, of, changes)?,
            Plan::Acl(of, change) => self.permissions().may_set_acl(&actor.caller, of, change).map(drop)?,
            Plan::Describe(of, right) => permitted.by = self.judge_description(actor, of, right)?,
            Plan::Leave(of, folder) => {
                let has = self.rights(&actor.caller, of, Some(folder))?;
                has.contains(Rights::DELETE).then_some(()).ok_or(Error::AccessDenied)?;
            }
            Plan::Remove(folder, name) => {
                permitted.moving = self.entry_of_others(actor, folder, name)?;
                self.judge_removal(actor, (folder, name), permitted.moving.as_ref())?;
            }
            Plan::Move(from, to, mode) => {
                permitted.moving = self.entry_of_others(actor, from.0, from.1)?;
                permitted.replaced = self.entry_of_others(actor, to.0, to.1)?;
                let entries = (permitted.moving.as_ref(), permitted.replaced.as_ref());
                self.judge_move(actor, from, to, mode, entries)?;
            }
            Plan::Link(target, folder) => self.judge_link(actor, target, folder)?,
        }
        Ok(permitted)
    }

    fn judge_use(&self, actor: &Actor, of: &Found, want: Access) -> Result<()> {
        let owns = actor.caller.uid == of.attributes.uid;
        if owns || self.access(&actor.caller, of, want)?.contains(want) {
            return Ok(());
        }
        if want == Access::READ && self.may_run(actor, of)? { Ok(()) } else { Err(Error::AccessDenied) }
    }

    /// The owner may describe a file, and a caller that may write it. If an ACL applies, it decides. Returns the identity under
    /// which the change is made.
    fn judge_description<'a>(&self, actor: &'a Actor, of: &Found, right: Rights) -> Result<&'a Caller> {
        let attributes = self.may_change(of)?;
        let by = self.permissions().acting(&actor.caller, of, right)?;
        let granted = || of.object.access(by, &attributes, Access::WRITE);
        let may = attributes.uid == by.uid || granted()?.contains(Access::WRITE);
        if may { Ok(by) } else { Err(Error::AccessDenied) }
    }

    fn judge_attributes(&self, actor: &Actor, of: &Found, changes: &SetAttributes) -> Result<()> {
        let rest = SetAttributes { size: None, ..*changes };
        let judged = if actor.by_open { &rest } else { changes };
        // Nobody has anything of it: the host judges the change when it is made.
        if *judged == SetAttributes::default() || self.site.state.quiet(of.object.id()) {
            return Ok(());
        }
        if self.permissions().stored_acl(of)?.is_some() {
            return self.permissions().attribute_parts(&actor.caller, of, judged).map(drop);
        }
        let writes = || Ok(of.object.access(&actor.caller, &of.attributes, Access::WRITE)? == Access::WRITE);
        may_set(&of.attributes, self.backend.effective(&actor.caller), judged, writes)
    }

    /// What is behind a name that is about to go. `None` if no client can be concerned by that.
    fn entry_of_others(&self, actor: &Actor, folder: &Found, name: &[u8]) -> Result<Option<Found>> {
        if !self.site.state.is_used() && !self.site.listens() {
            return Ok(None);
        }
        match folder.object.lookup(self.permissions().passing(&actor.caller, folder)?, name) {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn judge_removal(
        &self,
        actor: &Actor,
        (folder, name): (&Found, &[u8]),
        entry: Option<&Found>,
    ) -> Result<()> {
        let Some(entry) = entry else { return Ok(()) };
        let by = self.permissions().removing(&actor.caller, folder, name)?;
        self.judge_entries(by, folder)?;
        self.judge_sticky(by, folder, entry)
    }

    fn judge_move(
        &self,
        actor: &Actor,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
        (moving, replaced): (Option<&Found>, Option<&Found>),
    ) -> Result<()> {
        let Some(moving) = moving else { return Ok(()) };
        let by = self.permissions().moving(&actor.caller, from, to, mode)?;
        for folder in [from.0, to.0] {
            self.judge_entries(by, folder)?;
        }
        self.judge_sticky(by, from.0, moving)?;
        replaced.map_or(Ok(()), |replaced| self.judge_sticky(by, to.0, replaced))?;
        if from.0.object.id() == to.0.object.id() {
            return Ok(());
        }
        // The host changes `..` in a folder that comes to another one.
        let exchanged = replaced.filter(|_| mode == RenameMode::Exchange);
        let mut folders = [Some(moving), exchanged].into_iter().flatten();
        folders.try_for_each(|found| match found.attributes.kind {
            Kind::Folder => self.judge_host(by, found, Access::WRITE),
            _ => Ok(()),
        })
    }

    fn judge_link(&self, actor: &Actor, target: &Found, folder: &Found) -> Result<()> {
        if self.site.state.quiet(target.object.id()) {
            return Ok(());
        }
        let by = self.permissions().linking(&actor.caller, target, folder)?;
        self.judge_entries(by, folder)?;
        let all = Access::READ.union(Access::WRITE);
        let uses = || Ok(target.object.access(by, &target.attributes, all)? == all);
        match links_are_protected() {
            true => may_link(&target.attributes, self.backend.effective(by), uses),
            false => Ok(()),
        }
    }

    /// Whether the host lets this caller change the entries of a folder.
    fn judge_entries(&self, by: &Caller, folder: &Found) -> Result<()> {
        if folder.attributes.kind != Kind::Folder {
            return Err(Error::NotFolder);
        }
        self.judge_host(by, folder, Access::WRITE.union(Access::EXECUTE))
    }

    fn judge_host(&self, by: &Caller, of: &Found, want: Access) -> Result<()> {
        match of.object.access(by, &of.attributes, want)?.contains(want) {
            true => Ok(()),
            false => Err(Error::AccessDenied),
        }
    }

    fn judge_sticky(&self, by: &Caller, folder: &Found, entry: &Found) -> Result<()> {
        let by = self.backend.effective(by);
        let stays = by.uid != 0 && sticks(by, &entry.attributes, &folder.attributes);
        if stays { Err(Error::NotPermitted) } else { Ok(()) }
    }
}
