//! The socket for the users of the host: each may search there, and finds what the own account of the server may list.
//!
//! The state folder is closed to them, so the socket is in a folder that all can enter, under the identity of the state folder. Only
//! a server of root has one: others act as one user, whose processes may open the control socket itself.

use std::fs::Metadata;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use tokio::net::UnixListener;

/// The folder of these sockets.
const FOLDER: &str = "/run/fourfold";
/// A younger socket may be one that a server is making: it refuses connections for a moment, too.
const YOUNG: Duration = Duration::from_secs(60);
/// The most sockets that a start looks at.
const MOST_SOCKETS: usize = 1_000;
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
    remove_dead(Path::new(FOLDER), SystemTime::now());
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

/// Removes the sockets that killed servers have left behind.
fn remove_dead(folder: &Path, now: SystemTime) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_SOCKETS) {
        let path = entry.path();
        let is_old = || path.symlink_metadata().is_ok_and(|of| is_old_socket(&of, now));
        if is_name(entry.file_name().as_encoded_bytes()) && is_old() && is_refused(&path) && is_old() {
            let removed = remove(&path);
            tracing::debug!(path = %path.display(), ?removed, "a socket of a server that was killed");
        }
    }
}

/// Whether this is how [`path`] names sockets.
fn is_name(name: &[u8]) -> bool {
    let is_number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_hexdigit);
    let mut numbers =
        name.strip_prefix(b"find-").into_iter().flat_map(|rest| rest.split(|byte| *byte == b'-'));
    numbers.next().is_some_and(is_number) && numbers.next().is_some_and(is_number) && numbers.next().is_none()
}

/// Whether it is a socket of this user that no server is making now.
fn is_old_socket(of: &Metadata, now: SystemTime) -> bool {
    let is_ours = of.uid() == rustix::process::geteuid().as_raw();
    let age = of.modified().ok().and_then(|made| now.duration_since(made).ok());
    of.file_type().is_socket() && is_ours && age.is_some_and(|age| age >= YOUNG)
}

/// Whether no process listens. It does not wait for a server that has too much to do.
fn is_refused(path: &Path) -> bool {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let Ok(socket) = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None) else {
        return false;
    };
    let address = SocketAddrUnix::new(path);
    address
        .is_ok_and(|address| rustix::net::connect(&socket, &address) == Err(rustix::io::Errno::CONNREFUSED))
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

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn sockets_of_killed_servers_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let live = UnixListener::bind(at("find-1-a")).unwrap();
        drop(UnixListener::bind(at("find-1-b")).unwrap());
        for name in ["other-1-b", "find-1", "find-1-b-2", "find-1-xyz"] {
            drop(UnixListener::bind(at(name)).unwrap());
        }
        std::fs::write(at("find-2-1"), b"a file").unwrap();
        std::os::unix::fs::symlink(at("find-1-b"), at("find-2-2")).unwrap();
        remove_dead(folder.path(), SystemTime::now());
        assert!(at("find-1-b").exists(), "a young socket may be one that is being made");
        remove_dead(folder.path(), SystemTime::now() + YOUNG * 2);
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let mut left: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        left.sort();
        let others = ["find-1", "find-1-a", "find-1-b-2", "find-1-xyz", "find-2-1", "find-2-2", "other-1-b"];
        assert_eq!(left, others);
        drop(live);
    }
}
