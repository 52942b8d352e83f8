//! Permission, which comes before everything else: whether an actor may do what it wants is judged before the opens, ranges
//! and leases of other clients are asked. An actor that is refused changes nothing of others, and learns nothing of them.
//!
//! All that asks others is a method of a [`PermittedActor`], and only the judgement makes one, so that the order cannot be
//! written otherwise. A change goes on from it by the steps of [`pipeline`](super::pipeline). A change that the host judges is
//! judged here as the host will do it. The host has the last word.

use std::ops::Deref;

use crate::access::MovingRight;
use crate::acl::{AclChange, Rights};
use crate::backend::host::links_are_protected;
use crate::backend::{Found, RenameMode};
use crate::caller::server;
use crate::permission::{may_link, may_set, sticks};
use crate::volume::Actor;
use crate::{Access, Caller, Error, Kind, Result, SetAttributes, Volume};

/// What an actor wants to do, as far as its permission depends on it. Names are as they are stored.
#[derive(Clone, Copy)]
pub enum Plan<'a> {
    /// To learn attributes, which each actor may that can name the file.
    Look,
    /// To make an entry, or to finish one that the actor has just made. The host judges that when it is done.
    Make,
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
    /// To remove the entry of a folder that is behind this name.
    Remove(&'a Found, &'a [u8], &'a Found),
    /// To move an entry of a folder to another name, or to exchange the two.
    Move((&'a Found, &'a [u8]), (&'a Found, &'a [u8]), RenameMode),
    /// To give a file another name in a folder.
    Link(&'a Found, &'a Found),
}

/// An actor that may do what it wants.
pub struct PermittedActor<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
    /// The identity under which the change is made.
    by: &'a Caller,
    /// What it moves may take the place of something else.
    replaces: bool,
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

    pub(crate) fn volume(&self) -> &'a Volume {
        self.volume
    }

    /// The identity under which entries, Mac metadata and streams are changed.
    pub(crate) fn identity(&self) -> &'a Caller {
        self.by
    }

    /// Whether what it moves may take the place of something else. Otherwise it may only get a free name.
    pub(crate) fn may_replace(&self) -> bool {
        self.replaces
    }

    fn new(volume: &'a Volume, actor: &'a Actor) -> Self {
        Self { volume, actor, by: &actor.caller, replaces: true }
    }

    /// An actor with an open, which has decided what it may do.
    pub fn by_open(volume: &'a Volume, actor: &'a Actor) -> Self {
        debug_assert!(actor.open.is_some(), "the permission is the open");
        Self::new(volume, actor)
    }

    /// The server itself, which may do everything.
    pub fn by_server(volume: &'a Volume, actor: &'a Actor) -> Self {
        debug_assert_eq!(actor.caller.uid, 0, "it is a client");
        Self::new(volume, actor)
    }
}

impl Volume {
    /// Judges a plan.
    ///
    /// # Errors
    /// `AccessDenied`, `NotPermitted` or `ReadOnly`, as the change itself would fail.
    pub fn permit<'a>(&'a self, actor: &'a Actor, plan: Plan<'_>) -> Result<PermittedActor<'a>> {
        let (judge, mut permitted) = (Judge { volume: self, actor }, PermittedActor::new(self, actor));
        match plan {
            Plan::Look | Plan::Make => {}
            Plan::Use(of, want) => judge.uses(of, want)?,
            Plan::Test(of) => match judge.uses(of, Access::READ) {
                Err(Error::AccessDenied) => judge.uses(of, Access::WRITE)?,
                other => other?,
            },
            Plan::Read(of) => judge.reads(of)?,
            Plan::Write(of) => {
                let by = self.permissions().acting_on_data(actor, of, Rights::WRITE_DATA)?;
                of.object.prepare(by, &of.attributes, Access::WRITE, true)?;
            }
            Plan::Attributes(of, changes) => judge.attributes(of, changes)?,
            Plan::Acl(of, change) => self.permissions().may_set_acl(&actor.caller, of, change).map(drop)?,
            Plan::Describe(of, right) => permitted.by = judge.describes(of, right)?,
            Plan::Leave(of, folder) => {
                let has = self.rights(&actor.caller, of, Some(folder))?;
                has.contains(Rights::DELETE).then_some(()).ok_or(Error::AccessDenied)?;
            }
            Plan::Remove(folder, name, entry) => {
                permitted.by = judge.removes((folder, name), Some(entry))?;
            }
            Plan::Move(from, to, mode) => return self.permit_move(actor, from, to, mode).map(|(by, _)| by),
            Plan::Link(target, folder) => permitted.by = judge.links(target, folder)?,
        }
        Ok(permitted)
    }

    /// Judges a removal. Also gives what is behind the name, if any client may be concerned by that. `known`: the same request
    /// has found it.
    pub(super) fn permit_removal<'a>(
        &'a self,
        actor: &'a Actor,
        (folder, name): (&Found, &[u8]),
        (kind, known): (Kind, Option<&Found>),
    ) -> Result<(PermittedActor<'a>, Option<Found>)> {
        let judge = Judge { volume: self, actor };
        let going = match known {
            Some(known) => Some(known.clone()),
            None if kind == Kind::Folder => judge.entry_of_others(folder, name, self.site.listens())?,
            None => judge.entry_of_others(folder, name, self.site.identifies_removed())?,
        };
        let by = judge.removes((folder, name), going.as_ref())?;
        Ok((PermittedActor { by, ..PermittedActor::new(self, actor) }, going))
    }

    /// Judges [`Plan::Move`]. Also gives what is behind the two names, if any client may be concerned by that.
    pub(super) fn permit_move<'a>(
        &'a self,
        actor: &'a Actor,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
    ) -> Result<(PermittedActor<'a>, [Option<Found>; 2])> {
        let judge = Judge { volume: self, actor };
        let listens = self.site.listens();
        let entry = |(folder, name)| judge.entry_of_others(folder, name, listens);
        let entries = [entry(from)?, entry(to)?];
        let MovingRight { by, replaces } =
            judge.moves(from, to, mode, (entries[0].as_ref(), entries[1].as_ref()))?;
        Ok((PermittedActor { volume: self, actor, by, replaces }, entries))
    }
}

/// The judgement of one actor's plan.
struct Judge<'a> {
    volume: &'a Volume,
    actor: &'a Actor,
}

impl<'a> Judge<'a> {
    fn uses(&self, of: &Found, want: Access) -> Result<()> {
        let caller = &self.actor.caller;
        let owns = || -> Result<bool> {
            let is_owner = caller.uid == of.attributes.uid;
            Ok(is_owner && self.volume.permissions().team_of(&*of.object)?.is_none())
        };
        if owns()? || self.volume.access(caller, of, want)?.contains(want) {
            return Ok(());
        }
        let may_run = want == Access::READ && self.volume.permissions().may_run(self.actor, of)?;
        if may_run { Ok(()) } else { Err(Error::AccessDenied) }
    }

    /// Opens the host's file for reading, if the actor may read it.
    fn reads(&self, of: &Found) -> Result<()> {
        let prepare = |by| of.object.prepare(by, &of.attributes, Access::READ, true);
        match self.volume.permissions().acting_on_data(self.actor, of, Rights::READ_DATA).and_then(prepare) {
            Err(Error::AccessDenied) if self.volume.permissions().may_run(self.actor, of)? => {
                prepare(server())
            }
            other => other,
        }
    }

    /// The owner may describe a file, and a caller that may write it. If an ACL applies, it decides. Returns the identity under
    /// which the change is made.
    fn describes(&self, of: &Found, right: Rights) -> Result<&'a Caller> {
        let attributes = self.volume.may_change(of)?;
        let by = self.volume.permissions().acting(&self.actor.caller, of, right)?;
        let granted = || of.object.access(by, &attributes, Access::WRITE);
        let may = attributes.uid == by.uid || granted()?.contains(Access::WRITE);
        if may { Ok(by) } else { Err(Error::AccessDenied) }
    }

    fn attributes(&self, of: &Found, changes: &SetAttributes) -> Result<()> {
        let (volume, caller) = (self.volume, &self.actor.caller);
        let rest = SetAttributes { size: None, ..*changes };
        let judged = if self.actor.by_open { &rest } else { changes };
        // Nobody has anything of it: the host judges the change when it is made.
        if *judged == SetAttributes::default() || volume.site.state.quiet(of.object.id()) {
            return Ok(());
        }
        if volume.permissions().stored_acl(of)?.is_some() {
            return volume.permissions().attribute_parts(caller, of, judged).map(drop);
        }
        let writes = || Ok(of.object.access(caller, &of.attributes, Access::WRITE)? == Access::WRITE);
        may_set(&of.attributes, volume.backend.effective(caller), judged, writes)
    }

    /// What is behind a name that is about to go. `None` if no client can be concerned by that. `is_told`: subscribers are told
    /// what it was.
    fn entry_of_others(&self, folder: &Found, name: &[u8], is_told: bool) -> Result<Option<Found>> {
        if !self.volume.site.state.is_used() && !is_told {
            return Ok(None);
        }
        match folder.object.lookup(self.volume.permissions().passing(&self.actor.caller, folder)?, name) {
            Ok(found) => Ok(Some(found)),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Without an entry that concerns others, the host judges the removal when it is made.
    fn removes(&self, (folder, name): (&Found, &[u8]), entry: Option<&Found>) -> Result<&'a Caller> {
        let by = self.volume.permissions().removing(&self.actor.caller, folder, name)?;
        if let Some(entry) = entry {
            judge_entries(by, folder)?;
            self.sticky(by, folder, entry)?;
        }
        Ok(by)
    }

    fn moves(
        &self,
        from: (&Found, &[u8]),
        to: (&Found, &[u8]),
        mode: RenameMode,
        (moving, replaced): (Option<&Found>, Option<&Found>),
    ) -> Result<MovingRight<'a>> {
        let right = self.volume.permissions().moving(&self.actor.caller, from, to, mode)?;
        let by = right.by;
        let Some(moving) = moving else { return Ok(right) };
        for folder in [from.0, to.0] {
            judge_entries(by, folder)?;
        }
        self.sticky(by, from.0, moving)?;
        replaced.map_or(Ok(()), |replaced| self.sticky(by, to.0, replaced))?;
        if from.0.object.id() == to.0.object.id() {
            return Ok(right);
        }
        // The host changes `..` in a folder that comes to another one.
        let exchanged = replaced.filter(|_| mode == RenameMode::Exchange);
        let mut folders = [Some(moving), exchanged].into_iter().flatten();
        folders.try_for_each(|found| match found.attributes.kind {
            Kind::Folder => judge_host(by, found, Access::WRITE),
            _ => Ok(()),
        })?;
        Ok(right)
    }

    fn links(&self, target: &Found, folder: &Found) -> Result<&'a Caller> {
        let by = self.volume.permissions().linking(&self.actor.caller, target, folder)?;
        if self.volume.site.state.quiet(target.object.id()) {
            return Ok(by);
        }
        judge_entries(by, folder)?;
        let all = Access::READ.union(Access::WRITE);
        let uses = || Ok(target.object.access(by, &target.attributes, all)? == all);
        if links_are_protected() {
            may_link(&target.attributes, self.volume.backend.effective(by), uses)?;
        }
        Ok(by)
    }

    fn sticky(&self, by: &Caller, folder: &Found, entry: &Found) -> Result<()> {
        let by = self.volume.backend.effective(by);
        let stays = by.uid != 0 && sticks(by, &entry.attributes, &folder.attributes);
        if stays { Err(Error::NotPermitted) } else { Ok(()) }
    }
}

/// Whether the host lets this caller change the entries of a folder.
fn judge_entries(by: &Caller, folder: &Found) -> Result<()> {
    if folder.attributes.kind != Kind::Folder {
        return Err(Error::NotFolder);
    }
    judge_host(by, folder, Access::WRITE.union(Access::EXECUTE))
}

fn judge_host(by: &Caller, of: &Found, want: Access) -> Result<()> {
    match of.object.access(by, &of.attributes, want)?.contains(want) {
        true => Ok(()),
        false => Err(Error::AccessDenied),
    }
}
