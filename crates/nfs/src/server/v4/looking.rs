//! LOOKUP, ACCESS, READLINK, SECINFO and SECINFO_NO_NAME.

use std::sync::Arc;

use vfs::{Access, Kind, LookupResult};
use wire::Writer;

use super::compound::Compound;
use super::named;
use super::place::{HandleTarget, below, checked, enter};
use crate::server::call::Call;
use crate::server::export::Export;
use crate::server::gss::Flavor;
use crate::server::handle::HandleView;
use crate::server::v3::look;
use crate::wire::gss::KERBEROS;
use crate::wire::rpc::AuthFlavor;
use crate::wire::v3::access as bits;
use crate::wire::v4::types::{LinkText, Status};
use crate::wire::xdr::{Encode, put_opaque, put_words};

/// Every right that ACCESS can ask for.
const KNOWN: u32 = 0x3f;
/// ACCESS4_XAREAD, ACCESS4_XAWRITE and ACCESS4_XALIST: rights to extended attributes, RFC 8276 8.5. From minor version 2.
const READ_XATTR: u32 = 0x40;
const WRITE_XATTR: u32 = 0x80;
const LIST_XATTRS: u32 = 0x100;
const XATTRS: u32 = READ_XATTR | WRITE_XATTR | LIST_XATTRS;
/// secinfo_style4.
const CURRENT: u32 = 0;
const PARENT: u32 = 1;

/// The entry of this name, LOOKUP: RFC 7530 16.13.
pub(super) fn child(call: &Call<'_>, of: &HandleTarget, name: &[u8]) -> Result<HandleTarget, Status> {
    if let HandleTarget::File(target) = of {
        match target.found.attributes.kind {
            _ if target.sidecar.is_some() => return Err(Status::NOTDIR),
            Kind::Folder => {}
            Kind::Link => return Err(Status::SYMLINK),
            _ => return Err(Status::NOTDIR),
        }
    }
    let name = checked(name)?;
    match of {
        HandleTarget::Pseudo(path) => enter(call, path, name),
        HandleTarget::File(target) => {
            let child = match look(target, name)? {
                LookupResult::File(found) => target.sibling(found), // the same checks as for its folder
                LookupResult::Sidecar(sidecar) => {
                    let key = sidecar.owner.key();
                    call.target(call.seal_view(target, HandleView::Sidecar, key).as_bytes())?
                }
            };
            if child.found.attributes.kind == Kind::Link && child.export.options.links.is_some() {
                // Where a link of a namespace is, its clients are told.
                child.export.volume.saw(child.found.object.id(), &target.found.object, name);
            }
            Ok(HandleTarget::File(Box::new(child)))
        }
        HandleTarget::Attributes(target) => named::look_up(target, name),
        HandleTarget::Attribute(_) => Err(Status::NOTDIR),
    }
}

/// ACCESS, RFC 7530 16.1: which of the asked rights are checked, and which the caller has. The bits
/// are those of NFSv3.
pub(super) fn access(minor: u32, place: &HandleTarget, asked: u32, w: &mut Writer) -> Result<(), Status> {
    if let HandleTarget::Attributes(target) | HandleTarget::Attribute(target) = place {
        let granted = named::access(target)?;
        let meaningful = match place {
            HandleTarget::Attribute(_) => bits::READ | bits::MODIFY | bits::EXTEND,
            _ => bits::READ | bits::MODIFY | bits::EXTEND | bits::LOOKUP | bits::DELETE,
        };
        put_words(w, &[asked & meaningful, granted & asked & meaningful]);
        return Ok(());
    }
    let xattrs = if minor > 1 && super::xattrs::described(place).is_ok() { XATTRS } else { 0 };
    if asked & !(KNOWN | if minor > 1 { XATTRS } else { 0 }) != 0 {
        return Err(Status::INVAL);
    }
    let meaningful = match place {
        HandleTarget::File(target)
            if target.sidecar.is_some() || target.found.attributes.kind != Kind::Folder =>
        {
            bits::READ | bits::MODIFY | bits::EXTEND | bits::EXECUTE
        }
        _ => bits::READ | bits::MODIFY | bits::EXTEND | bits::LOOKUP | bits::DELETE,
    };
    let granted = match place {
        HandleTarget::Pseudo(_) | HandleTarget::Attributes(_) | HandleTarget::Attribute(_) => {
            bits::READ | bits::LOOKUP
        }
        HandleTarget::File(target) => {
            let all = Access::READ.union(Access::WRITE).union(Access::EXECUTE);
            let granted = target.export.volume.access(&target.actor.caller, &target.found, all)?;
            let folder = target.found.attributes.kind == Kind::Folder && target.sidecar.is_none();
            let mut access = 0;
            if granted.contains(Access::READ) {
                access |= bits::READ | xattrs & (READ_XATTR | LIST_XATTRS);
            }
            if granted.contains(Access::WRITE) && target.writable && !target.is_locked()? {
                access |= bits::MODIFY | bits::EXTEND | if folder { bits::DELETE } else { 0 };
                access |= xattrs & WRITE_XATTR;
            }
            if granted.contains(Access::EXECUTE) {
                access |= if folder { bits::LOOKUP } else { bits::EXECUTE };
            }
            access
        }
    };
    let meaningful = meaningful | xattrs;
    put_words(w, &[asked & meaningful, granted & asked & meaningful]);
    Ok(())
}

/// READLINK, RFC 7530 16.25.
pub(super) fn read_link(place: &HandleTarget, w: &mut Writer) -> Result<(), Status> {
    match place {
        HandleTarget::File(target) if target.found.attributes.kind == Kind::Link => {
            let text = target.found.object.read_link()?;
            LinkText::new(&text).encode(w);
            Ok(())
        }
        _ => Err(Status::WRONG_TYPE),
    }
}

/// SECINFO, RFC 7530 16.31: the flavours that the entry of this name can be used with. From minor version 1 on there is no
/// current handle after it, RFC 8881 2.6.3.1.1.8.
pub(super) fn security(compound: &mut Compound<'_>, name: &[u8], w: &mut Writer) -> Result<(), Status> {
    match child(compound.call, compound.current()?, name) {
        Ok(_) | Err(Status::WRONGSEC) => {} // the answer to that is here
        Err(status) => return Err(status),
    }
    let place = compound.current()?.clone();
    if compound.minor > 0 {
        compound.current = None;
    }
    put_flavors(compound.call, &flavors(compound.call, &place, Some(name)), w);
    Ok(())
}

/// SECINFO_NO_NAME, RFC 8881 18.45: of the current file, or of the folder that it is in.
pub(super) fn security_of_place(
    compound: &mut Compound<'_>,
    style: u32,
    w: &mut Writer,
) -> Result<(), Status> {
    let place = match style {
        CURRENT => compound.current()?.clone(),
        PARENT => Arc::new(compound.current()?.parent()?),
        _ => return Err(Status::BADXDR),
    };
    compound.current = None;
    put_flavors(compound.call, &flavors(compound.call, &place, None), w);
    Ok(())
}

/// The flavours that a client may use for a place, or for the entry of this name in it. Above the shares, these are all flavours
/// of the shares that it may enter.
fn flavors(call: &Call<'_>, place: &HandleTarget, name: Option<&[u8]>) -> Vec<Flavor> {
    let of = |export: &Export| export.rule(call.origin).map_or(Vec::new(), |rule| rule.sec.clone());
    let path = match (place, name) {
        (
            HandleTarget::File(target) | HandleTarget::Attributes(target) | HandleTarget::Attribute(target),
            _,
        ) => {
            return of(&target.export);
        }
        (HandleTarget::Pseudo(path), None) => path.clone(),
        (HandleTarget::Pseudo(path), Some(name)) => below(path, &String::from_utf8_lossy(name)),
    };
    if name.is_some()
        && let Some(export) = call.service.export_named(path.as_bytes())
    {
        return of(&export);
    }
    let exports = call.service.exports();
    let all: Vec<Flavor> = exports.iter().flat_map(|export| of(export)).collect();
    Flavor::ALL.into_iter().filter(|flavor| all.contains(flavor)).collect()
}

/// SECINFO4resok, RFC 7530 16.31.4. Without a login, AUTH_NONE is as good as AUTH_SYS.
fn put_flavors(call: &Call<'_>, flavors: &[Flavor], w: &mut Writer) {
    let usable: Vec<Flavor> = call.service.gss.usable(flavors).collect();
    let has_none = usable.contains(&Flavor::Sys);
    w.u32_be((usable.len() + usize::from(has_none)) as u32);
    for flavor in usable {
        match flavor.protection() {
            None => w.u32_be(AuthFlavor::AUTH_SYS.0),
            Some(protection) => {
                w.u32_be(AuthFlavor::RPCSEC_GSS.0);
                put_opaque(w, KERBEROS);
                put_words(w, &[0, protection.0]); // the default quality of protection
            }
        }
    }
    if has_none {
        w.u32_be(AuthFlavor::AUTH_NONE.0);
    }
}
