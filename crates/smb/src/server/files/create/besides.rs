//! What a client gives a new file in addition to its name and attributes: ACL, extended attributes,
//! space.

use vfs::acl::{AclChange, CreateAcl, Who};
use vfs::{Caller, Error};
use wire::Reader;

use super::RequestedOpen;
use crate::server::config::Config;
use crate::server::files::extended_attributes;
use crate::server::files::mac::aces::{self, MacAclChange};
use crate::server::files::posix;
use crate::server::files::security;
use crate::server::files::sids;
use crate::wire::Status;
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::fscc::ea::{self, FullEa};
use crate::wire::security::{Control, SecurityDescriptor, SecurityInformation};

/// What a new file gets in addition to its name.
#[derive(Default)]
pub(super) struct InitialAttributes {
    acl: AclChange,
    eas: Vec<FullEa>,
    allocation: u64,
    /// The mode from the create context POSIX, or from a list of entries.
    mode: Option<u32>,
}

impl InitialAttributes {
    /// The values from these create contexts, MS-SMB2 2.2.13.2.
    pub(super) fn of(wanted: &RequestedOpen<'_>, is_mac: bool, config: &Config) -> Result<Self, Status> {
        let mut asked = Self::default();
        for context in &wanted.asked {
            match context {
                CreateContext::SecurityDescriptor(bytes) => {
                    let mut descriptor =
                        SecurityDescriptor::decode(bytes).map_err(|_| Status::INVALID_SECURITY_DESCR)?;
                    let said = (is_mac || wanted.is_posix).then(|| aces::take(&mut descriptor));
                    sids::take(&mut descriptor, config);
                    asked.acl = security::change(&descriptor, parts(&descriptor), None)?;
                    if let Some(MacAclChange { mode, is_list }) = said {
                        asked.mode = asked.mode.or(mode.map(|mode| if is_mac { mode & 0o777 } else { mode }));
                        // Beside a mode Linux gives signed-in users all rights, and expects the server to take the mode.
                        let is_list = is_list && !(wanted.is_posix && mode.is_some());
                        asked.acl.entries = asked.acl.entries.filter(|_| is_list);
                    }
                }
                CreateContext::EaBuffer(bytes) => {
                    asked.eas =
                        ea::decode(&mut Reader::new(bytes)).map_err(|_| Status::EA_LIST_INCONSISTENT)?;
                }
                CreateContext::AllocationSize(length) => asked.allocation = *length,
                CreateContext::Posix(mode) if wanted.is_posix => {
                    asked.mode = posix::mode_asked(*mode).or(asked.mode);
                }
                _ => {}
            }
        }
        Ok(asked)
    }

    /// The ACL that the file is made with, if it does not inherit one.
    pub(super) fn entries(&self) -> Option<CreateAcl> {
        self.acl.entries.clone().map(|entries| CreateAcl { entries })
    }

    /// The mode that the file is made with, if it is not the usual one.
    pub(super) fn mode(&self) -> Option<u32> {
        self.mode
    }

    /// Refuses an owner other than the caller, and a group that the caller is not in.
    pub(super) fn may_own(&self, caller: &Caller) -> Result<(), Status> {
        match self.acl.owner {
            _ if caller.uid == 0 => Ok(()),
            Some(Who::User(uid)) if uid != caller.uid => Err(Status::INVALID_OWNER),
            _ => match self.acl.group {
                Some(Who::Group(gid)) if !caller.in_group(gid) => Err(Status::INVALID_OWNER),
                _ => Ok(()),
            },
        }
    }

    /// Whether the new file gets nothing that changes it after it was made.
    pub(super) fn is_nothing(&self) -> bool {
        self.acl == AclChange::default() && self.eas.is_empty() && self.allocation == 0
    }

    /// Applies it to the new file. The ACL's entries are not applied: the file was made with them.
    pub(super) async fn give(&self, open: &vfs::Open) -> Result<(), Status> {
        let owners = AclChange { entries: None, ..self.acl.clone() };
        // In a team folder what a descriptor says of a new file does not count.
        if owners != AclChange::default() && open.volume().roles_at(&open.found()?)?.is_none() {
            open.set_acl(&owners).await?;
        }
        if !self.eas.is_empty() {
            extended_attributes::set(open, &self.eas).await?;
        }
        if self.allocation > 0 {
            // Other errors are ignored: the allocation is only a wish, and the caller may lack the
            // right to write.
            if let Err(Error::NoSpace | Error::QuotaExceeded) = open.allocate(self.allocation).await {
                return Err(Status::DISK_FULL);
            }
        }
        Ok(())
    }
}

/// The parts that a descriptor has.
fn parts(descriptor: &SecurityDescriptor) -> SecurityInformation {
    let has = |part: bool, flag| if part { flag } else { SecurityInformation::NONE };
    has(descriptor.owner.is_some(), SecurityInformation::OWNER)
        | has(descriptor.group.is_some(), SecurityInformation::GROUP)
        | has(descriptor.control.contains(Control::DACL_PRESENT), SecurityInformation::DACL)
}
