//! The socket for the users of the host: each may search there, and finds what the own account of the server may list.
//!
//! The state folder is closed to them, so the socket is in a folder that all can enter, under the identity of the state folder. Only
//! a server of root has one: others act as one user, whose processes may open the control socket itself.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

/// The folder of these sockets.
const FOLDER: &str = "/run/fourfold";
/// Connections of one user at the same time.
pub(super) const MOST_OF_USER: usize = 2;

/// The path of the socket of a server.
fn path(state: &Path) -> io::Result<PathBuf> {
    let of = std::fs::metadata(state)?;
    Ok(Path::new(FOLDER).join(format!("find-{:x}-{:x}", of.dev(), of.ino())))
}

/// Opens the socket of the server with this state folder. Needs a tokio runtime.
///
/// # Errors
/// It cannot be made.
pub fn listen_to_people(state: &Path) -> io::Result<UnixListener> {
    let path = path(state)?;
    match std::fs::DirBuilder::new().mode(0o755).create(FOLDER) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    remove(&path)?;
    let listener = UnixListener::bind(&path)?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o666))?;
    Ok(listener)
}

/// Removes the socket of a server that stops.
pub fn leave_people(state: &Path) {
    if let Err(error) = path(state).and_then(|path| remove(&path)) {
        tracing::debug!(%error, "the socket for the users of the host stays behind");
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Connects to the socket of a server of root; `connect` is called with the path.
pub(super) fn connect(
    state: &Path,
    connect: impl FnOnce(&Path) -> io::Result<UnixStream>,
) -> io::Result<UnixStream> {
    let stream = connect(&path(state)?)?;
    let server = rustix::net::sockopt::socket_peercred(&stream)?;
    // Others could have made a socket there.
    if server.uid.is_root() { Ok(stream) } else { Err(io::ErrorKind::PermissionDenied.into()) }
}
