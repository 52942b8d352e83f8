//! Which stream of a file a path means. To a client all streams are alike. Two names stand for
//! metadata that Macs keep with every file: `AFP_Resource` for its resource fork, `AFP_AfpInfo` for
//! its Finder info.

use vfs::backend::Found;
use vfs::mac::{DosAttributes, Metadata};
use vfs::names::{Folding, folds_alike};
use vfs::state::Stream;
use vfs::streams::StreamInfo;
use vfs::{Beside, Error, Kind, Volume};

use super::RequestedOpen;
use crate::server::clients::tree::Tree;
use crate::server::context::{Context, Failure};
use crate::server::files::facts;
use crate::wire::Status;
use crate::wire::fscc::FileAttributes;

/// The resource fork.
pub(in crate::server) const RESOURCE: &str = "AFP_Resource";
/// The Finder info.
pub(in crate::server) const INFO: &str = "AFP_AfpInfo";
/// Streams of Services for Macintosh in the share's folder. Clients must not use these names.
const RESERVED: [&str; 2] = ["AFP_DeskTop", "AFP_IdIndex"];

/// The stream that a path means.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) stream: Stream,
    /// There is such a stream.
    pub(super) is_there: bool,
}

impl Target {
    /// The stream of a file that is about to be made.
    pub(super) fn of_new(volume: &Volume, name: Option<&str>) -> Result<Self, Status> {
        let stream = match name {
            None => Stream::Data,
            Some(_) if !volume.keeps_streams() => return Err(Status::OBJECT_NAME_INVALID),
            Some(name) => named(name)?,
        };
        Ok(Self { stream, is_there: false })
    }

    /// Whether a client can have it removed with its last open. A resource fork stays, as on a
    /// Mac's own server.
    pub(super) fn can_go(&self) -> bool {
        self.stream != Stream::Resource
    }
}

/// The stream of a name, whether it exists or not.
pub(in crate::server) fn named(name: &str) -> Result<Stream, Status> {
    if RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved)) {
        return Err(Status::ACCESS_DENIED);
    }
    Ok(match name {
        name if name.eq_ignore_ascii_case(RESOURCE) => Stream::Resource,
        name if name.eq_ignore_ascii_case(INFO) => Stream::Info,
        name => Stream::Named(name.into()),
    })
}

/// A file with its place and its metadata.
pub(super) struct Base<'a> {
    pub(super) found: &'a Found,
    pub(super) place: Option<Beside<'a>>,
    pub(super) metadata: &'a Metadata,
}

/// Finds the stream that a path means, in any case of letters. To a Mac an empty stream does not
/// exist.
pub(super) async fn find(
    context: &Context,
    tree: &Tree,
    wanted: &RequestedOpen<'_>,
    base: &Base<'_>,
) -> Result<Target, Failure> {
    let Some(name) = wanted.path.stream.as_deref() else {
        return Ok(Target { stream: Stream::Data, is_there: true });
    };
    if !tree.volume()?.keeps_streams() {
        return Err(Status::OBJECT_NAME_INVALID.into());
    }
    let stream = named(name)?;
    let is_there = match &stream {
        Stream::Info => !base.metadata.finder_info.is_none(),
        Stream::Resource => match base.place {
            Some(place) if base.found.attributes.kind == Kind::File => {
                tree.volume()?.fork_len(base.found, place)? > 0
            }
            _ => return Err(Status::OBJECT_NAME_NOT_FOUND.into()), // folders have none
        },
        _ => {
            let folding = tree.folding();
            let Some(known) = known(tree, wanted, base, name, folding).await? else {
                return Ok(Target { stream, is_there: false });
            };
            let name = String::from_utf8(known.name).map_err(|_| Status::OBJECT_NAME_INVALID)?;
            let is_there = known.len > 0 || !context.is_mac();
            return Ok(Target { stream: Stream::Named(name.into()), is_there });
        }
    };
    Ok(Target { stream, is_there })
}

/// The named stream with exactly this name, else the one whose name differs only in case.
async fn known(
    tree: &Tree,
    wanted: &RequestedOpen<'_>,
    base: &Base<'_>,
    name: &str,
    folding: Folding,
) -> Result<Option<StreamInfo>, Failure> {
    let all = tree.volume()?.streams(&wanted.actor, base.found, base.place).await?;
    let exact = all.iter().position(|known| known.name == name.as_bytes());
    let at =
        exact.or_else(|| all.iter().position(|known| folds_alike(&known.name, name.as_bytes(), folding)));
    Ok(at.and_then(|at| all.into_iter().nth(at)))
}

/// Resets an overwritten file, MS-FSA 2.1.5.1.2.2: its streams are removed, and it gets the attributes of the request. What only
/// Macs know of stays if the client is none, as when it puts another file in this one's place.
pub(super) async fn forget(
    volume: &std::sync::Arc<Volume>,
    wanted: &RequestedOpen<'_>,
    base: &Base<'_>,
) -> Result<(), Failure> {
    let Base { found, place, metadata } = base;
    if let Some(place) = *place {
        let mut going: Vec<Stream> = Vec::new();
        for known in volume.streams(&wanted.actor, found, Some(place)).await? {
            going.extend(String::from_utf8(known.name).ok().map(|name| Stream::Named(name.into())));
        }
        if found.attributes.kind == Kind::File && volume.fork_len(found, place)? > 0 {
            going.push(Stream::Resource);
        }
        if !metadata.finder_info.is_none() {
            going.push(Stream::Info);
        }
        let count = going.len();
        going.retain(|stream| !volume.caching_tree().keeps_overwritten(&wanted.actor, stream));
        if going.len() < count {
            let name = place.name.escape_ascii();
            tracing::info!(target: "metadata", %name, "a client has overwritten a file, which keeps its Mac metadata");
        }
        for stream in going {
            match volume.remove_stream(&wanted.actor, found, place, &stream).await {
                Ok(()) | Err(Error::NoSuchAttribute) => {}
                Err(other) => return Err(other.into()),
            }
        }
    }
    let asked = FileAttributes(wanted.request.file_attributes) | FileAttributes::ARCHIVE;
    let after = facts::to_keep(asked, metadata.dos);
    let kind = found.attributes.kind;
    if facts::shown(kind, after) != facts::shown(kind, metadata.dos) {
        let take = |metadata: &mut Metadata| metadata.set_dos(DosAttributes(after.0));
        volume.change_metadata(&wanted.actor, found, *place, take)?;
    }
    Ok(())
}
