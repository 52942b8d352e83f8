//! Other names: FileRenameInformation and FileLinkInformation, MS-FSA 2.1.5.15.11 and 2.1.5.15.6.

use vfs::acl::Rights;
use vfs::backend::{Found, RenameMode};
use vfs::names::{Folding, folds_alike};
use vfs::state::{Modes, OpenInfo, Stream};
use vfs::{Beside, Error, FileId, Kind, Plan, ResolvedPath, Volume};

use crate::server::clients::open::{File, Open};
use crate::server::context::{Context, Failure};
use crate::server::dfs;
use crate::server::files::create::{Path, RENAMES, named as stream_named, place, stream_name};
use crate::wire::Status;
use crate::wire::fscc::file_name::{RenameFlags, Target, TargetEx};
use crate::wire::security::AccessMask;

const COLON: u16 = b':' as u16;
/// Names that differ in their normal form only are the same.
const EXACT_CASE: Folding = Folding { case_sensitive: true, normalisation_sensitive: false };

/// The target of a move, and how to move.
pub(super) struct RenameTarget {
    name: Vec<u16>,
    root: u64,
    /// An existing file at the target is replaced.
    replaces: bool,
    /// The target is replaced also while other clients have it open.
    posix: bool,
    /// The target is replaced also if it is read-only.
    even_read_only: bool,
}

impl From<Target> for RenameTarget {
    fn from(target: Target) -> Self {
        let Target { replace_if_exists, root_directory, name } = target;
        Self { name, root: root_directory, replaces: replace_if_exists, posix: false, even_read_only: false }
    }
}

impl From<TargetEx> for RenameTarget {
    fn from(target: TargetEx) -> Self {
        Self {
            name: target.name,
            root: target.root_directory,
            replaces: target.flags.contains(RenameFlags::REPLACE_IF_EXISTS),
            posix: target.flags.contains(RenameFlags::POSIX_SEMANTICS),
            even_read_only: target.flags.contains(RenameFlags::IGNORE_READONLY_ATTRIBUTE),
        }
    }
}

/// Moves the file to another name or folder.
pub(super) async fn rename(
    context: &Context,
    open: &Open,
    file: &File,
    wanted: RenameTarget,
) -> Result<(), Failure> {
    open.require(AccessMask::DELETE | RENAMES)?;
    if let Some(stream) = stream_of(context, file, &wanted)? {
        return Ok(file.open.rename_stream(&stream, wanted.replaces).await?);
    }
    let named = file.named();
    if named.place().is_none() {
        return Err(Status::ACCESS_DENIED.into()); // it is the share's own folder
    }
    let (volume, place) = (context.tree().volume()?, resolve(context, file, &wanted.name)?);
    let (caller, folder) = (context.caller(), &place.0.parent);
    may_add(volume, &caller, folder, named.node().kind())?;
    let _still = context.wait(may_move(context, named, folder)).await??;
    let (mut mode, mut name) = (RenameMode::Keep, &place.1);
    if let Some(there) = &place.0.found {
        if there.object.key() == named.node().key() {
            if is_same_entry(named, folder, &place.0.name) && place.1 == place.0.name {
                return Ok(()); // the file already has this name
            }
        } else {
            context.wait(may_replace(context, file, (folder, &place), there, &wanted)).await??;
            if !folds_alike(name, &place.0.name, EXACT_CASE) {
                name = &place.0.name; // the name differs in case only, and is replaced in one step
            }
        }
        mode = RenameMode::Replace;
    }
    let moved = named.rename_to(folder, name, mode);
    context.wait(moved).await?.map_err(|error| rename_status(file, error))?;
    file.moved_to(without_root(&wanted.name));
    Ok(())
}

/// Adds another name to the file.
pub(super) async fn link(
    context: &Context,
    open: &Open,
    file: &File,
    wanted: RenameTarget,
) -> Result<(), Failure> {
    if open.tree.read_only {
        return Err(Status::MEDIA_WRITE_PROTECTED.into());
    }
    if file.open.node().kind() == Kind::Folder {
        return Err(Status::FILE_IS_A_DIRECTORY.into());
    }
    if !file.open.is_data() || file.open.is_being_removed() {
        return Err(Status::ACCESS_DENIED.into());
    }
    if wanted.root != 0 || (wanted.name.first() == Some(&COLON) && !file.is_posix) {
        return Err(Status::INVALID_PARAMETER.into());
    }
    let (volume, place) = (context.tree().volume()?, resolve(context, file, &wanted.name)?);
    let (caller, folder) = (context.caller(), &place.0.parent);
    may_add(volume, &caller, folder, Kind::File)?;
    // The open needs no access for that, but a user that may not change the file may not add names
    // to it.
    if !volume.rights(&caller, &file.open.found()?, None)?.contains(Rights::WRITE_ATTRIBUTES) {
        return Err(Status::ACCESS_DENIED.into());
    }
    if let Some(there) = &place.0.found {
        if there.object.key() == file.open.node().key() && place.1 == place.0.name {
            return Ok(());
        }
        context.wait(may_replace(context, file, (folder, &place), there, &wanted)).await??;
        let actor = context.actor();
        let remove = || volume.remove(&actor, folder, &place.0.name, Kind::File);
        context.wait(volume.settled(remove)).await?.map_err(|error| rename_status(file, error))?;
    }
    Ok(context.wait(file.open.link_to(folder, &place.1)).await??)
}

/// The new name of a stream: it begins with a colon.
fn stream_of(context: &Context, file: &File, wanted: &RenameTarget) -> Result<Option<String>, Status> {
    if wanted.root != 0 || wanted.name.is_empty() {
        return Err(Status::INVALID_PARAMETER);
    }
    let Some((&COLON, name)) = wanted.name.split_first().filter(|_| !file.is_posix) else {
        // For Windows this renames the file that the stream belongs to, which is open.
        return if file.open.is_data() { Ok(None) } else { Err(Status::SHARING_VIOLATION) };
    };
    if file.open.is_data() {
        return Err(Status::INVALID_PARAMETER);
    }
    let mut parts = name.split(|unit| *unit == COLON);
    let (stream, kind) = (parts.next().unwrap_or_default(), parts.next());
    let is_data = |kind: &[u16]| String::from_utf16_lossy(kind).eq_ignore_ascii_case("$DATA");
    if parts.next().is_some() || !kind.is_none_or(is_data) {
        return Err(Status::OBJECT_NAME_INVALID);
    }
    match stream.is_empty() {
        true => Err(Status::INVALID_PARAMETER), // the file's data can only be copied into a stream
        false => match stream_named(&stream_name(context.is_mac(), stream)?)? {
            Stream::Named(name) => Ok(Some(name.to_string())),
            // A fork or the Finder info cannot become an ordinary stream.
            _ => Err(Status::ACCESS_DENIED),
        },
    }
}

/// The target of a name, and the stored form of its last part as the client gave it.
struct MoveTarget(ResolvedPath, Vec<u8>);

/// Removes a leading backslash. Some clients begin the name with one (Samba's, for links), and
/// Windows accepts it.
fn without_root(name: &[u16]) -> &[u16] {
    name.strip_prefix(&[u16::from(b'\\')]).unwrap_or(name)
}

fn resolve(context: &Context, file: &File, name: &[u16]) -> Result<MoveTarget, Failure> {
    let tree = context.tree();
    let name = dfs::below_share(context, &tree.share, name).unwrap_or(name);
    let path = match file.is_posix {
        true => Path::parse_posix(&tree.share, without_root(name))?,
        false => Path::parse_from(context.is_mac(), &tree.share, without_root(name))?,
    };
    if path.stream.is_some() || path.data || path.folder {
        return Err(Status::OBJECT_NAME_INVALID.into());
    }
    let Some(last) = path.components.last() else { return Err(Status::OBJECT_NAME_INVALID.into()) };
    let volume = tree.volume()?;
    let caller = context.caller();
    let resolved = place(context, volume, &caller, file.folding, &path.components)?;
    Ok(MoveTarget(resolved, last.clone()))
}

/// Whether the user may put something of this kind into a folder.
fn may_add(volume: &Volume, caller: &vfs::Caller, folder: &Found, kind: Kind) -> Result<(), Status> {
    let need = if kind == Kind::Folder { Rights::APPEND } else { Rights::WRITE_DATA };
    match volume.rights(caller, folder, None)?.contains(need) {
        true => Ok(()),
        false => Err(Status::ACCESS_DENIED),
    }
}

/// Whether the file may leave its folder. Windows does not move a folder in which a file is open, at any server: until the answer
/// is dropped, nothing is opened in it.
/// Windows also opens the target folder for writing, which other opens of it may deny. Macs expect
/// that the move is allowed.
async fn may_move(context: &Context, named: &vfs::Open, to: &Found) -> Result<Option<vfs::Still>, Status> {
    let volume = context.tree().volume()?;
    let node = named.node();
    let opens = opens_of(volume, node.id()).await?;
    if opens.iter().any(|open| open.stream != Stream::Data) {
        return Err(Status::ACCESS_DENIED); // not even for a Mac: smbtorture's "read open rsrc after rename"
    }
    if context.renames_like_posix() {
        return Ok(None);
    }
    let still = match node.kind() {
        Kind::Folder => {
            Some(volume.caching_tree().hold_below(named.actor(), node).await?.ok_or(Status::ACCESS_DENIED)?)
        }
        _ => None,
    };
    let open = opens_of(volume, to.object.id()).await?;
    let held =
        open.iter().any(|open| open.access.intersects(Modes::DELETE) || open.deny.intersects(Modes::WRITE));
    if held { Err(Status::SHARING_VIOLATION) } else { Ok(still) }
}

/// The opens of a file, of the clients of all servers.
async fn opens_of(volume: &Volume, file: FileId) -> Result<Vec<OpenInfo>, Status> {
    Ok(volume.settled(|| volume.state().opens_of(file)).await?)
}

/// Whether the target may be replaced. Its other opens keep the file without a name, unless they
/// deny removal. Windows refuses this to a client that does not ask for POSIX semantics. Linux does
/// not ask for them: if refused, it would remove the target before it renames the file, and in
/// between the name would not exist.
async fn may_replace(
    context: &Context,
    file: &File,
    (folder, place): (&Found, &MoveTarget),
    there: &Found,
    wanted: &RenameTarget,
) -> Result<(), Status> {
    if !wanted.replaces {
        return Err(Status::OBJECT_NAME_COLLISION);
    }
    let like_posix = wanted.posix || context.renames_like_posix();
    if there.attributes.kind == Kind::Folder && !like_posix {
        return Err(Status::ACCESS_DENIED);
    }
    let volume = context.tree().volume()?;
    let beside = Beside { folder: &folder.object, name: &place.0.name };
    let is_readonly = volume.metadata(there, Some(beside))?.is_readonly();
    let even_read_only = wanted.even_read_only || file.is_posix;
    if is_readonly && there.attributes.kind != Kind::Folder && !even_read_only {
        return Err(Status::ACCESS_DENIED);
    }
    let actor = context.actor();
    let permitted = volume.permit(&actor, Plan::Leave(there, folder))?;
    if like_posix {
        // The move recalls other clients' caches itself, and fails if an open denies removal.
        return Ok(());
    }
    permitted.recall_handles(&there.object).await;
    let opens = opens_of(volume, there.object.id()).await?;
    let is_denied = opens.iter().any(|open| open.deny.intersects(Modes::REMOVE));
    if is_denied { Err(Status::ACCESS_DENIED) } else { Ok(()) }
}

/// Whether an entry is the one that the file was opened by.
fn is_same_entry(named: &vfs::Open, folder: &Found, name: &[u8]) -> bool {
    named.place().is_some_and(|(at, is)| at.key() == folder.object.key() && *is == *name)
}

/// What a move fails with. With the POSIX extensions the client can tell the reasons apart, as of rename(2).
fn rename_status(file: &File, error: Error) -> Status {
    match error {
        Error::NotEmpty if file.is_posix => Status::DIRECTORY_NOT_EMPTY,
        Error::IsFolder if file.is_posix => Status::FILE_IS_A_DIRECTORY,
        Error::NotFolder if file.is_posix => Status::NOT_A_DIRECTORY,
        Error::NotEmpty | Error::IsFolder | Error::NotFolder => Status::ACCESS_DENIED,
        other => other.into(),
    }
}
