//! What the server does for Macs beyond the specification: the create context AAPL, and its effects
//! on the rest of the session. A session is a Mac's from its first AAPL request on, for all shares.

pub(in crate::server) mod aces;

use std::sync::atomic::{AtomicU8, Ordering};

use vfs::{Attributes, Kind as FileKind};

use crate::server::clients::tree::Tree;
use crate::server::context::{Context, Failure};
use crate::wire::Status;
use crate::wire::aapl::{Caps, Fields, Request, Response, ServerQuery, VolumeCaps};
use crate::wire::text;
use wire::Writer;

/// What the client of a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) enum Kind {
    /// A client that has not sent AAPL.
    Other,
    /// A Mac that knows the first form of richer listings.
    Mac,
    /// A Mac that knows the second (macOS since about 2023).
    NewMac,
}

/// The kind of a session's client.
#[derive(Default)]
pub(in crate::server) struct Mac(AtomicU8);

impl Mac {
    pub(in crate::server) fn kind(&self) -> Kind {
        match self.0.load(Ordering::Relaxed) {
            0 => Kind::Other,
            1 => Kind::Mac,
            _ => Kind::NewMac,
        }
    }

    fn asked(&self, client: Caps) {
        let kind = if client.contains(Caps::READ_DIR_ATTR_V2) { Kind::NewMac } else { Kind::Mac };
        self.0.store(kind as u8, Ordering::Relaxed);
    }
}

/// The answer to a Mac's AAPL request with an open. The server answers each one: a Mac that has
/// been answered once takes a missing answer for a different server.
pub(in crate::server) fn answer(context: &Context, asked: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let response = match Request::decode(asked)? {
        Request::ServerQuery { fields, client_caps } => {
            let mac = &context.session().mac;
            mac.asked(client_caps);
            let service = context.service().config();
            Response::ServerQuery(describe(context.tree(), mac.kind(), fields, &service.model)?)
        }
        Request::ResolveId { file } => resolve(context, file)?,
        Request::Unknown { .. } => return Ok(None),
    };
    let mut w = Writer::new();
    response.encode(&mut w);
    Ok(Some(w.into_bytes()))
}

fn describe(tree: &Tree, kind: Kind, fields: Fields, model: &str) -> Result<ServerQuery, Status> {
    let wanted = |field| fields.contains(field).then_some(());
    let server_caps = server_caps(tree, kind)?;
    Ok(ServerQuery {
        server_caps: wanted(Fields::SERVER_CAPS).map(|()| server_caps),
        volume_caps: wanted(Fields::VOLUME_CAPS).map(|()| volume_caps(tree, kind)),
        model: wanted(Fields::MODEL).map(|()| text::of(model)),
    })
}

fn server_caps(tree: &Tree, kind: Kind) -> Result<Caps, Status> {
    let listings = if kind == Kind::NewMac { Caps::READ_DIR_ATTR_V2 } else { Caps::READ_DIR_ATTR };
    let listings = if tree.volume()?.keeps_streams() { listings } else { Caps::NONE };
    Ok(listings | Caps::OSX_COPYFILE | Caps::NFS_ACE | Caps::UNIX_BASED)
}

/// Without `RESOLVE_ID`: Macs get no file numbers, as the host uses its numbers again.
fn volume_caps(tree: &Tree, kind: Kind) -> VolumeCaps {
    let options = &tree.share.options;
    let mut caps = VolumeCaps::NONE;
    if options.case_sensitive {
        caps |= VolumeCaps::CASE_SENSITIVE;
    }
    // Older Macs expect it only of shares for backups. Every FLUSH here is a full one.
    if options.time_machine || kind == Kind::NewMac {
        caps |= VolumeCaps::FULL_SYNC;
    }
    caps
}

/// The mode with the bits of the file's type, as UNIX has them.
pub(in crate::server) fn posix_mode(of: &Attributes) -> u16 {
    let kind = match of.kind {
        FileKind::File => 0o100_000,
        FileKind::Folder => 0o040_000,
        FileKind::Link => 0o120_000,
        FileKind::Fifo => 0o010_000,
        FileKind::Socket => 0o140_000,
        FileKind::BlockDevice => 0o060_000,
        FileKind::CharDevice => 0o020_000,
    };
    kind | (of.mode & 0o7777) as u16
}

/// The path of a file that the client has open.
fn resolve(context: &Context, file: u64) -> Result<Response, Failure> {
    let opens = context.session().opens.all();
    let tree = context.tree();
    let known = opens.iter().filter(|open| std::sync::Arc::ptr_eq(&open.tree, tree)).find_map(|open| {
        let known = open.file().ok()?;
        (known.open.volume().number(known.open.node().id()) == file).then(|| tree.path_of(&known.open))
    });
    Ok(match known {
        Some(Ok(path)) => {
            Response::ResolveId { status: Status::SUCCESS, path: path.get(1..).unwrap_or_default().to_vec() }
        }
        _ => Response::ResolveId { status: Status::OBJECT_NAME_NOT_FOUND, path: Vec::new() },
    })
}

#[cfg(test)]
mod tests;
