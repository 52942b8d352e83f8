//! Namespaces, MS-DFSC: links of a share that lead clients to other servers.
//!
//! A link is a symbolic link on the host whose text names its targets: the crate `namespace` has the form, and the order of
//! the targets. Clients do not follow it as a link: they ask where the path is (DFS_GET_REFERRALS), as soon as a CREATE is
//! refused with PATH_NOT_COVERED.

use ::namespace::{Client, Protocol, Referral};
use vfs::backend::Found;
use vfs::{Caller, Error, Kind, Volume};

use super::clients::grants::grant;
use super::clients::session::User;
use super::config::{Share, ShareKind};
use super::context::Context;
use super::files::create::Path;
use crate::wire::Status;
use crate::wire::fsctl::dfs::{ReferralFlags, Referrals, Target};
use crate::wire::header::Flags;
use crate::wire::text;

/// How long clients keep the referral of a share itself, in seconds.
const ROOT_TIME_TO_LIVE_S: u32 = 300;

/// Whether an entry of a share with a namespace is one of its links.
pub(super) fn is_link(share: &Share, found: &Found) -> bool {
    share.options.dfs
        && found.attributes.kind == Kind::Link
        && found.object.read_link().is_ok_and(|link| ::namespace::text::leads(&link, Protocol::Smb))
}

/// The path below the share in a name of a request: clients of a namespace send `server\share\path`, MS-SMB2 3.3.5.9.
pub(super) fn below_share<'a>(
    context: &Context,
    share: &Share,
    name: &'a [u16],
) -> Result<&'a [u16], Status> {
    if !is_of_namespace(context, share) {
        return Ok(name);
    }
    let name = if name.first().copied().is_some_and(is_separator) { &name[1..] } else { name };
    let mut parts = name.splitn(3, |unit| is_separator(*unit));
    let (_server, named) = (parts.next(), parts.next().ok_or(Status::OBJECT_PATH_NOT_FOUND)?);
    match String::from_utf16_lossy(named).to_lowercase() == share.name.to_lowercase() {
        true => Ok(parts.next().unwrap_or_default()),
        false => Err(Status::OBJECT_PATH_NOT_FOUND),
    }
}

/// Whether a request is about a path of a namespace.
pub(super) fn is_of_namespace(context: &Context, share: &Share) -> bool {
    share.options.dfs && context.header.flags.contains(Flags::DFS)
}

/// Where a path is, MS-DFSC 3.2.5.4 and 3.2.5.5: the targets of the first link in it, else this share.
pub(super) fn referrals(
    context: &Context,
    user: &User,
    path: &[u16],
    site: Option<&str>,
) -> Result<Referrals, Status> {
    let below = if path.first().copied().is_some_and(is_separator) { &path[1..] } else { path };
    let mut parts = below.splitn(3, |unit| is_separator(*unit));
    let (_server, name) = (parts.next(), parts.next().ok_or(Status::NOT_FOUND)?);
    let rest = parts.next().unwrap_or_default();
    let share = context.service().share(&String::from_utf16_lossy(name)).ok_or(Status::NOT_FOUND)?;
    let may_enter = grant(&share, user, context.connection.peer.address.ip()).is_some();
    let ShareKind::Disk { volume, .. } = &share.kind else { return Err(Status::NOT_FOUND) };
    if !may_enter || !share.options.dfs {
        return Err(Status::NOT_FOUND);
    }
    // The path in its first `parts` after the server.
    let up_to = |parts: usize| {
        let mut ends = below.iter().enumerate().filter(|(_, unit)| is_separator(**unit)).map(|(at, _)| at);
        let end = ends.nth(parts).unwrap_or(below.len());
        [&text::of("\\")[..], &below[..end]].concat()
    };
    let components = Path::parse_from(context.is_mac(), &share, rest)?.components;
    let referral = link_in(volume, &context.caller(), &share, &components)?.and_then(|(at, link)| {
        let client = Client { address: context.connection.peer.address.ip(), site };
        Some((at, context.service().config().namespace.refer(&link, Protocol::Smb, client)?))
    });
    match referral {
        Some((at, referral)) => Ok(of_link(up_to(at + 2), &referral)),
        None => Ok(Referrals {
            consumed: up_to(1),
            flags: ReferralFlags::REFERRAL_SERVERS | ReferralFlags::STORAGE_SERVERS,
            is_root: true,
            time_to_live_s: ROOT_TIME_TO_LIVE_S,
            targets: vec![Target { path: up_to(1), begins_set: true }],
        }),
    }
}

/// The referral of a link, for the part of the path that it stands for.
fn of_link(consumed: Vec<u16>, referral: &Referral) -> Referrals {
    let flags = ReferralFlags::STORAGE_SERVERS;
    Referrals {
        consumed,
        flags: if referral.failback { flags | ReferralFlags::TARGET_FAILBACK } else { flags },
        is_root: false,
        time_to_live_s: u32::try_from(referral.ttl.as_secs()).unwrap_or(u32::MAX).max(1),
        targets: referral
            .targets
            .iter()
            .map(|choice| Target { path: text::of(&choice.target.unc()), begins_set: choice.begins_set })
            .collect(),
    }
}

/// A symbolic link, by the number of its component in the path, and its text.
type LinkAt = (usize, Vec<u8>);

/// The first symbolic link in a path. What is not there has none.
fn link_in(
    volume: &Volume,
    caller: &Caller,
    share: &Share,
    components: &[Vec<u8>],
) -> Result<Option<LinkAt>, Status> {
    let path: Vec<&[u8]> = components.iter().map(Vec::as_slice).collect();
    let root = volume.root()?;
    let at = match volume.lookup_path(caller, &root, &path, share.folding()) {
        Ok(resolved) => match &resolved.found {
            Some(found) if found.attributes.kind == Kind::Link => path.len() - 1,
            _ => return Ok(None),
        },
        Err(error) if error.why == Error::IsLink => error.at,
        Err(error) if matches!(error.why, Error::NotFound | Error::NotFolder) => return Ok(None),
        Err(error) => return Err(error.why.into()),
    };
    let link = volume.lookup_path(caller, &root, &path[..=at], share.folding()).map_err(|error| error.why)?;
    Ok(Some((at, link.found.ok_or(Status::NOT_FOUND)?.object.read_link()?)))
}

fn is_separator(unit: u16) -> bool {
    unit == u16::from(b'\\') || unit == u16::from(b'/')
}
