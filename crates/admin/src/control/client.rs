//! The client of the control socket. It blocks, because commands have nothing else to do.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};

use super::{
    BackupsAnswer, BackupsRequest, BrowseAnswer, BrowseRequest, CachesAnswer, CachesRequest, Disconnect,
    FindAnswer, FindRequest, LunAnswer, LunRequest, Progress, Request, Response, RestoreReport,
    RestoreRequest, RightsAnswer, RightsRequest, Schedules, ScrubReport, ScrubRequest, SlowOperation,
    StartedWith, Status, StreamsAnswer, StreamsRequest, at_socket, people,
};

/// How long the server may be silent. During long operations it sends a sign of life every second.
const PATIENCE: Duration = Duration::from_secs(10);
/// The longest response in bytes: a server with ten thousand clients fits.
const LONGEST_RESPONSE: u64 = 64 << 20;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// No server listens there.
    #[error(
        "no server runs with the state folder {}; start one with `fourfold serve`, or name its folder with --state DIR",
        .0.display()
    )]
    NoServer(PathBuf),
    /// The socket belongs to another user.
    #[error("the server of the state folder {} belongs to another user; ask as that user, or as root", .0.display())]
    Forbidden(PathBuf),
    /// The server refused the request; the lines have the reasons.
    #[error("{}", .0.join("\n"))]
    Refused(Vec<String>),
    /// The server exists but does not answer.
    #[error(
        "the server{} of the state folder {} has not answered for {} s; its log may say why, and a server that hangs must be \
         killed",
        pid.map(|pid| format!(" (process {pid})")).unwrap_or_default(), state.display(), PATIENCE.as_secs()
    )]
    Silent {
        /// Its state folder.
        state: PathBuf,
        /// Its process id.
        pid: Option<u32>,
    },
    /// The connection broke.
    #[error("the server did not answer: {0}; see its log")]
    Broken(io::Error),
}

/// The cause is not the error's `source`: it is part of the line, and would be reported twice.
impl From<io::Error> for AskError {
    fn from(error: io::Error) -> Self {
        Self::Broken(error)
    }
}

/// The state of the server.
///
/// # Errors
/// See [`AskError`].
pub fn status(state: &Path) -> Result<Status, AskError> {
    match ask(state, Request::Status)? {
        Response::Status(status) => Ok(*status),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// The slowest operations since the last such request. The server begins to keep them with the first one.
///
/// # Errors
/// See [`AskError`].
pub fn slowest(state: &Path) -> Result<Vec<SlowOperation>, AskError> {
    match ask(state, Request::Slowest)? {
        Response::Slowest(operations) => Ok(operations),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// The arguments that the server was started with.
///
/// # Errors
/// See [`AskError`].
pub fn started_with(state: &Path) -> Result<StartedWith, AskError> {
    match ask(state, Request::Arguments)? {
        Response::Arguments(with) => Ok(*with),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Makes the server reload its settings and accounts; returns the server's lines about it.
///
/// # Errors
/// See [`AskError`].
pub fn reload(state: &Path) -> Result<Vec<String>, AskError> {
    done(ask(state, Request::Reload)?)
}

/// Shows a message to the users of the sessions that match; returns the users that were told.
///
/// # Errors
/// See [`AskError`].
pub fn say(state: &Path, text: &str, to: &Disconnect) -> Result<Vec<String>, AskError> {
    done(ask(state, Request::Say { text: text.into(), to: to.clone() })?)
}

/// Ends sessions, or closes files that they have open; returns what was done.
///
/// # Errors
/// See [`AskError`]. `Refused` also if no session matches.
pub fn disconnect(state: &Path, what: &Disconnect) -> Result<Vec<String>, AskError> {
    done(ask(state, Request::Disconnect(what.clone()))?)
}

/// Executes a request about LUNs; `progress` is called with the progress of long ones.
///
/// # Errors
/// See [`AskError`].
pub fn lun(
    state: &Path,
    request: LunRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<LunAnswer, AskError> {
    match ask_for(state, Request::Lun(request), progress)? {
        Response::Luns(luns) => Ok(LunAnswer::Luns(luns)),
        Response::Done(lines) => Ok(LunAnswer::Done(lines)),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Restores files of a snapshot; `progress` is called with the bytes that were compared or copied.
///
/// # Errors
/// See [`AskError`].
pub fn restore(
    state: &Path,
    request: RestoreRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<RestoreReport, AskError> {
    match ask_for(state, Request::Restore(request), progress)? {
        Response::Restored(report) => Ok(*report),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Executes a request about the contents of disk images; `heard` is called when the server gives a sign of life.
///
/// # Errors
/// See [`AskError`].
pub fn browse(
    state: &Path,
    request: BrowseRequest,
    heard: &mut dyn FnMut(Progress),
) -> Result<BrowseAnswer, AskError> {
    match ask_for(state, Request::Browse(request), heard)? {
        Response::Browsed(all) => Ok(BrowseAnswer::Shown(all)),
        Response::Done(lines) => Ok(BrowseAnswer::Done(lines)),
        Response::Locked => Ok(BrowseAnswer::NeedsPassphrase),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Scrubs a share; `progress` is called with the number of files that were looked at.
///
/// # Errors
/// See [`AskError`].
pub fn scrub(
    state: &Path,
    request: ScrubRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<ScrubReport, AskError> {
    match ask_for(state, Request::Scrub(request), progress)? {
        Response::Scrubbed(report) => Ok(*report),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Executes a request about reserved streams; `progress` is called with the bytes that were read to measure a disk.
///
/// # Errors
/// See [`AskError`]. `Refused` also if so many streams cannot be reserved; the lines say what is missing.
pub fn streams(
    state: &Path,
    request: StreamsRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<StreamsAnswer, AskError> {
    match ask_for(state, Request::Streams(request), progress)? {
        Response::Streams(answer) => Ok(answer),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Finds files.
///
/// # Errors
/// See [`AskError`]. `Refused` also if the query is no query; the lines say where.
pub fn find(state: &Path, request: FindRequest) -> Result<FindAnswer, AskError> {
    let found = match ask_for(state, Request::Find(request.clone()), &mut |_| {}) {
        Err(AskError::Forbidden(_)) => ask_as_person(state, Request::Find(request))?,
        other => other?,
    };
    match found {
        Response::Found(answer) => Ok(*answer),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Executes a request about backups of Macs; `progress` is called with the bytes that were read or copied.
///
/// # Errors
/// See [`AskError`].
pub fn backups(
    state: &Path,
    request: BackupsRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<BackupsAnswer, AskError> {
    match ask_for(state, Request::Backups(request), progress)? {
        Response::Backups(answer) => Ok(answer),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Executes a request about rights; `progress` is called with the number of files that were looked at.
///
/// # Errors
/// See [`AskError`].
pub fn rights(
    state: &Path,
    request: RightsRequest,
    progress: &mut dyn FnMut(Progress),
) -> Result<RightsAnswer, AskError> {
    match ask_for(state, Request::Rights(request), progress)? {
        Response::Rights(answer) => Ok(answer),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Tells the server that another process has taken, renamed or removed snapshots. Clients see it when this returns.
///
/// # Errors
/// See [`AskError`].
pub fn snapshots(state: &Path) -> Result<Vec<String>, AskError> {
    done(ask(state, Request::Snapshots)?)
}

/// Whether the server keeps the schedules of its shares. It is asked with this time limit.
///
/// # Errors
/// See [`AskError`].
pub fn schedules(state: &Path, within: Duration) -> Result<Schedules, AskError> {
    match exchange(state, Request::Schedules, within, &mut |_| {})? {
        Response::Schedules(schedules) => Ok(schedules),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Executes a request about caches.
///
/// # Errors
/// See [`AskError`]. `Refused` also if a limit makes no sense.
pub fn caches(state: &Path, request: CachesRequest) -> Result<CachesAnswer, AskError> {
    match ask(state, Request::Caches(request))? {
        Response::Caches(status) => Ok(CachesAnswer::Shown(status)),
        Response::Mounts(mounts) => Ok(CachesAnswer::Mounts(mounts)),
        Response::Advice(advice) => Ok(CachesAnswer::Advice(advice)),
        Response::Done(lines) => Ok(CachesAnswer::Done(lines)),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

fn strange() -> AskError {
    io::Error::from(io::ErrorKind::InvalidData).into()
}

fn done(response: Response) -> Result<Vec<String>, AskError> {
    match response {
        Response::Done(lines) => Ok(lines),
        Response::Refused(lines) => Err(AskError::Refused(lines)),
        _ => Err(strange()),
    }
}

/// Sends one request and returns its response.
///
/// # Errors
/// See [`AskError`].
pub fn ask(state: &Path, request: Request) -> Result<Response, AskError> {
    ask_for(state, request, &mut |_| {})
}

fn ask_for(state: &Path, request: Request, progress: &mut dyn FnMut(Progress)) -> Result<Response, AskError> {
    exchange(state, request, PATIENCE, progress).map_err(|error| match error {
        AskError::Broken(error)
            if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) =>
        {
            let lock = std::fs::read_to_string(state.join("lock")).unwrap_or_default();
            AskError::Silent { state: state.into(), pid: lock.trim().parse().ok() }
        }
        other => other,
    })
}

/// Asks a server of root as a user of its host.
fn ask_as_person(state: &Path, request: Request) -> Result<Response, AskError> {
    let stream = people::connect(state, |path| connect_in_time(path, PATIENCE));
    let stream = stream.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::PermissionDenied => {
            AskError::Forbidden(state.into())
        }
        _ => AskError::Broken(error),
    })?;
    converse(stream, &request, PATIENCE, &mut |_| {})
}

fn exchange(
    state: &Path,
    request: Request,
    within: Duration,
    progress: &mut dyn FnMut(Progress),
) -> Result<Response, AskError> {
    converse(connect(state, within)?, &request, within, progress)
}

fn converse(
    mut stream: UnixStream,
    request: &Request,
    within: Duration,
    progress: &mut dyn FnMut(Progress),
) -> Result<Response, AskError> {
    stream.set_read_timeout(Some(within))?;
    let mut line = serde_json::to_vec(request).map_err(io::Error::from)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut stream = BufReader::new(stream);
    loop {
        let mut response = Vec::new();
        (&mut stream).take(LONGEST_RESPONSE).read_until(b'\n', &mut response)?;
        match serde_json::from_slice(&response).map_err(io::Error::from)? {
            Response::Progress(now) => progress(now),
            last => return Ok(last),
        }
    }
}

fn connect(state: &Path, within: Duration) -> Result<UnixStream, AskError> {
    at_socket(state, |path| connect_in_time(path, within)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => AskError::NoServer(state.into()),
        io::ErrorKind::PermissionDenied => AskError::Forbidden(state.into()),
        _ => AskError::Broken(error),
    })
}

/// A hanging server does not accept connections, and a connection waits forever once too many wait:
/// the time limit for writing applies to connecting, too, unix(7).
fn connect_in_time(path: &Path, within: Duration) -> io::Result<UnixStream> {
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(within))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(UnixStream::from(socket))
}
