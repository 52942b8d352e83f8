//! Where a named stream is, and what attributes of the host are to clients.

use std::borrow::Cow;
use std::sync::Arc;

use super::{File, Streams, found};
use crate::backend::{Object, XattrMode};
use crate::mac::layout::{PLAIN_INFO, XattrRole, classify_xattr, may_be_stream, stored_xattr};
use crate::mac::{info_stream, plist, samba};
use crate::names::Map;
use crate::{Caller, Result};

/// All plain attributes of the file that end in a zero byte have it from another server, or for it. On the file.
pub(super) const TERMINATED: &[u8] = b"user.fourfold.terminated";
/// The longest name of an attribute, on any host.
const LONGEST_XATTR: usize = 255;

/// Where a stream is.
pub(super) enum Home {
    /// An attribute of this name, and its value.
    Xattr(Vec<u8>, Vec<u8>),
    /// The same, with another server's zero byte at the end of what is on the disk.
    Samba(Vec<u8>, Vec<u8>),
    /// A file of the store.
    Store(Arc<dyn Object>),
    /// A file of Samba's depot, used where it is.
    Depot(Arc<dyn Object>),
    /// An attribute of this name in Netatalk's list, and its value.
    Listed(Vec<u8>, Vec<u8>),
    /// An attribute of this name in DSM's file of a file, and its value.
    Synology(Vec<u8>, Vec<u8>),
}

/// Which of several attributes for one stream counts: the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AttributeRank {
    /// An attribute of exactly this name.
    Exact,
    /// One whose name has private code points, as Macs send them to a server that keeps them.
    Private,
    /// One of Samba or ksmbd.
    Samba,
}

/// What an attribute of the host is to clients.
pub(super) struct Place<'a> {
    pub(super) rank: AttributeRank,
    pub(super) name: Cow<'a, [u8]>,
}

impl<'a> Place<'a> {
    pub(super) fn of(xattr: &'a [u8]) -> Option<Self> {
        let (name, from_samba) = match classify_xattr(xattr) {
            XattrRole::Client(name) => (name, false),
            XattrRole::SambaStream(name) => (name, true),
            XattrRole::Internal | XattrRole::System => return None,
        };
        let shown = Map::Sfm.decode(name);
        if !may_be_stream(&shown) {
            return None;
        }
        let rank = match (from_samba, *shown == *name) {
            (true, _) => AttributeRank::Samba,
            (false, true) => AttributeRank::Exact,
            (false, false) => AttributeRank::Private,
        };
        Some(Self { rank, name: shown })
    }
}

/// The stream in a plain attribute, which may have a byte at the end that is not its own.
pub(super) fn plain_home(object: &dyn Object, stored: Vec<u8>, mut value: Vec<u8>) -> Result<Home> {
    if value.last() != Some(&0) {
        return Ok(Home::Xattr(stored, value));
    }
    let mut values = Vec::new();
    for xattr in found(object.list_xattrs())?.unwrap_or_default() {
        if let Some(place) = Place::of(&xattr).filter(|place| place.rank != AttributeRank::Samba) {
            values.extend(found(object.xattr(&xattr))?.map(|value| (place.name.into_owned(), value)));
        }
    }
    if !is_terminated(&stored, &value)
        && !samba::are_terminated(values.iter().map(|(name, value)| (&name[..], &value[..])))
        && !is_marked(object)?
    {
        return Ok(Home::Xattr(stored, value));
    }
    value.pop();
    Ok(Home::Samba(stored, value))
}

/// Whether the byte follows all plain attributes of a file: Samba has the prefix `user.` where it wrote a file if its byte is
/// behind `user.AFP_AfpInfo`, and this server notes it.
pub(super) fn is_marked(object: &dyn Object) -> Result<bool> {
    let has_byte = |info: Vec<u8>| info.len() == info_stream::LEN + 1;
    Ok(found(object.xattr(PLAIN_INFO))?.is_some_and(has_byte) || found(object.xattr(TERMINATED))?.is_some())
}

/// Before another server's zero byte comes to a plain attribute, or the attribute goes: what remains may not tell that the byte
/// is there.
pub(super) fn mark_terminated(object: &dyn Object, stored: &[u8]) -> Result<()> {
    if stored.starts_with(samba::STREAM_PREFIX) || found(object.xattr(TERMINATED))?.is_some() {
        return Ok(());
    }
    object.set_xattr(&Caller::root(), TERMINATED, b"1", XattrMode::Set)
}

/// Whether the zero byte at the end of a plain attribute is Samba's: of those who keep plain attributes, only Samba stores names
/// with private code points.
pub(super) fn is_terminated(stored: &[u8], value: &[u8]) -> bool {
    let is_private = || Place::of(stored).is_some_and(|place| place.rank == AttributeRank::Private);
    value.last() == Some(&0) && is_private() && !plist::is_list(value)
}

/// Samba's place of a new stream. A Mac sends characters that Windows forbids in names as private
/// code points, and Samba stores what it is sent, unless `fruit:encoding` is `native`.
pub(super) fn samba_home(name: &[u8], is_private: bool) -> Home {
    let shown = if is_private { Map::Sfm.encode(name) } else { Cow::Borrowed(name) };
    Home::Samba(samba::stream_attribute(&shown), Vec::new())
}

/// The place of a new stream with `streams_xattr:prefix = user.`, without types, or with Netatalk's `ea = samba`, which has no
/// private code points.
pub(super) fn terminated_home(name: &[u8], is_private: bool) -> Home {
    let shown = if is_private { Map::Sfm.encode(name) } else { Cow::Borrowed(name) };
    Home::Samba([b"user.", &*shown].concat(), Vec::new())
}

/// The attribute of a stream, unless its name is too long for one or means something else there.
pub(super) fn attribute_of(name: &[u8]) -> Option<Vec<u8>> {
    stored_xattr(name).filter(|stored| stored.len() <= LONGEST_XATTR)
}

impl Streams {
    /// After a stream has moved to the store.
    pub(super) fn clear_home(&self, file: &File<'_>, home: &Home) -> Result<()> {
        match home {
            Home::Xattr(stored, _) | Home::Samba(stored, _) => {
                found(file.object.remove_xattr(&Caller::root(), stored)).map(drop)
            }
            Home::Listed(name, _) => self.server_files().drop_listed(file, name),
            Home::Synology(name, _) => self.server_files().put_synology(file, name, None),
            Home::Store(_) | Home::Depot(_) => Ok(()),
        }
    }
}
