//! The server of the control socket.

use std::collections::HashMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use super::people::MOST_OF_USER;
use super::{
    BackupsAnswer, BackupsRequest, BrowseAnswer, BrowseRequest, CachesAnswer, CachesRequest, Disconnect,
    FindAnswer, FindRequest, LunAnswer, LunRequest, Progress, Request, Response, RestoreReport,
    RestoreRequest, RightsAnswer, RightsRequest, SOCKET, Schedules, ScrubReport, ScrubRequest, SlowOperation,
    StartedWith, Status, StreamsAnswer, StreamsRequest, at_socket,
};

/// The longest request in bytes: one with two of the longest paths as lists of numbers.
const LONGEST_REQUEST: u64 = 65536;
/// Lines of progress that may wait for a client.
const PROGRESS_AHEAD: usize = 8;
/// How often a client gets a sign of life during a long operation.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Clients at the same time; more clients wait to be accepted.
const MOST_ASKERS: usize = 16;
/// How long a client may take for its next request or for reading a response.
const PATIENCE: Duration = Duration::from_secs(30);

/// The interface of the running server.
pub trait Report: Send + Sync + 'static {
    /// The state of the server.
    fn status(&self) -> Status;

    /// Reloads the settings and accounts, and applies what is possible without disconnecting
    /// clients.
    ///
    /// # Errors
    /// The settings are refused, and the old ones stay; the lines have the reasons.
    fn reload(&self) -> Result<Vec<String>, Vec<String>>;

    /// Shows a message to the users of the sessions that match; returns lines about the users that were told.
    ///
    /// # Errors
    /// No session matches that can show a message; the lines say so.
    fn say(&self, text: &str, to: &Disconnect) -> Result<Vec<String>, Vec<String>>;

    /// Ends sessions, or closes files that they have open; returns lines about what was done.
    ///
    /// # Errors
    /// No session or no file matches; the lines say so.
    fn disconnect(&self, what: &Disconnect) -> Result<Vec<String>, Vec<String>>;

    /// Executes a request about LUNs. `progress` is called with the progress, and answers whether
    /// the client still waits.
    ///
    /// # Errors
    /// The request was not executed; the lines have the reasons.
    fn lun(&self, request: LunRequest, progress: &dyn Fn(Progress) -> bool)
    -> Result<LunAnswer, Vec<String>>;

    /// Restores files of a snapshot. `progress` as for LUNs; the restore ends early if the client has gone.
    ///
    /// # Errors
    /// Nothing was restored, or the disk failed; the lines have the reasons.
    fn restore(
        &self,
        request: RestoreRequest,
        progress: &dyn Fn(Progress) -> bool,
    ) -> Result<RestoreReport, Vec<String>>;

    /// Scrubs a share. `progress` is called with the number of files that were looked at, and answers whether the client
    /// still waits.
    ///
    /// # Errors
    /// There is no such share, or it cannot be looked at; the lines have the reasons.
    fn scrub(
        &self,
        _request: ScrubRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Result<ScrubReport, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Finds files; `uid` is the user of the host that asks.
    ///
    /// # Errors
    /// The query is no query, or there is no such share or account; the lines have the reasons.
    fn find(&self, _request: FindRequest, _uid: u32) -> Result<FindAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Finds files by the rights of the account that a user of the host has at this server.
    ///
    /// # Errors
    /// As above, or the user has no account.
    fn find_as_person(&self, _request: FindRequest, _uid: u32) -> Result<FindAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Executes a request about rights. `progress` as for a scrub.
    ///
    /// # Errors
    /// It was not executed; the lines have the reasons.
    fn rights(
        &self,
        _request: RightsRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Result<RightsAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Executes a request about backups of Macs. `progress` is called with the bytes that were read or copied, and answers
    /// whether the client still waits.
    ///
    /// # Errors
    /// It was not executed; the lines have the reasons.
    fn backups(
        &self,
        _request: BackupsRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Result<BackupsAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Executes a request about the contents of disk images.
    ///
    /// # Errors
    /// It was not executed; the lines have the reasons.
    fn browse(&self, _request: BrowseRequest) -> Result<BrowseAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Executes a request about reserved streams. `progress` is called with the bytes that were read to measure a disk, and
    /// answers whether the client still waits.
    ///
    /// # Errors
    /// It was not executed; the lines have the reasons.
    fn streams(
        &self,
        _request: StreamsRequest,
        _progress: &dyn Fn(Progress) -> bool,
    ) -> Result<StreamsAnswer, Vec<String>> {
        Err(vec!["this server has no shares".into()])
    }

    /// Shows clients the snapshots that the shares have now.
    ///
    /// # Errors
    /// The lines have the reasons.
    fn look_at_snapshots(&self) -> Result<Vec<String>, Vec<String>>;

    /// Whether this server keeps the schedules of its shares.
    fn schedules(&self) -> Schedules {
        Schedules::default()
    }

    /// The arguments that the server was started with.
    fn started_with(&self) -> StartedWith {
        StartedWith::default()
    }

    /// Shows or limits the caches.
    ///
    /// # Errors
    /// Nothing was changed; the lines have the reasons.
    fn caches(&self, request: CachesRequest) -> Result<CachesAnswer, Vec<String>>;

    /// The slowest operations since the last call, which also turns their recording on for some seconds.
    fn slowest(&self) -> Vec<SlowOperation> {
        Vec::new()
    }
}

/// Opens the socket in the state folder. The socket of a killed server is replaced: the caller
/// holds the folder's lock, so no other server can be listening. Needs a tokio runtime.
///
/// # Errors
/// It cannot be made.
pub fn listen(state: &Path) -> io::Result<UnixListener> {
    let path = state.join(SOCKET);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let listener = at_socket(state, |short| UnixListener::bind(short))?;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes the socket of a server that stops. A remaining socket does no harm.
pub fn remove(state: &Path) {
    if let Err(error) = std::fs::remove_file(state.join(SOCKET)) {
        tracing::debug!(%error, "the control socket stays behind");
    }
}

/// Who asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Audience {
    /// The owner of the state folder, who may ask everything.
    Owner,
    /// A user of the host, who may search.
    People,
}

/// Answers until the task is dropped.
pub async fn serve(listener: UnixListener, report: Arc<dyn Report>) {
    accept(listener, report, Audience::Owner).await;
}

/// Answers the users of the host until the task is dropped.
pub async fn serve_people(listener: UnixListener, report: Arc<dyn Report>) {
    accept(listener, report, Audience::People).await;
}

async fn accept(listener: UnixListener, report: Arc<dyn Report>, audience: Audience) {
    let places = Arc::new(Semaphore::new(MOST_ASKERS));
    let mut users = UserPlaces::default();
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "the control socket cannot accept");
                tokio::time::sleep(Duration::from_millis(100)).await; // out of descriptors
                continue;
            }
        };
        let Ok(uid) = stream.peer_cred().map(|of| of.uid()) else { continue };
        let own = if audience == Audience::People { users.take(uid) } else { None };
        if audience == Audience::People && own.is_none() {
            continue; // other users have places, too
        }
        let report = Arc::clone(&report);
        tokio::spawn(async move {
            if let Err(error) = converse(stream, report, (audience, uid)).await {
                tracing::debug!(%error, "an asker on the control socket went away");
            }
            drop((place, own));
        });
    }
}

/// The places of each user.
#[derive(Default)]
struct UserPlaces(HashMap<u32, Arc<Semaphore>>);

impl UserPlaces {
    /// A place for a user, unless the user has taken all of them.
    fn take(&mut self, uid: u32) -> Option<OwnedSemaphorePermit> {
        self.0.retain(|_, places| places.available_permits() < MOST_OF_USER);
        let places = self.0.entry(uid).or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_USER)));
        Arc::clone(places).try_acquire_owned().ok()
    }
}

async fn converse(stream: UnixStream, report: Arc<dyn Report>, who: (Audience, u32)) -> io::Result<()> {
    let (read, mut write) = stream.into_split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        let mut limited = (&mut read).take(LONGEST_REQUEST);
        timeout(PATIENCE, limited.read_until(b'\n', &mut line)).await??;
        if line.is_empty() {
            return Ok(());
        }
        let whole = line.ends_with(b"\n");
        let (mut responses, mut progress) =
            if whole { answer(&line, Arc::clone(&report), who) } else { just(too_long()) };
        line.fill(0); // it may have a passphrase
        loop {
            let response = match timeout(HEARTBEAT, responses.recv()).await {
                Ok(Some(response)) => response,
                Ok(None) => break,
                Err(_) => match progress {
                    Some(progress) => Response::Progress(progress),
                    None => continue,
                },
            };
            if let Response::Progress(now) = &response {
                progress = Some(*now);
            }
            let mut text = serde_json::to_vec(&response)?;
            text.push(b'\n');
            timeout(PATIENCE, write.write_all(&text)).await??;
        }
        if !whole {
            return Ok(());
        }
    }
}

/// The responses to one request, of which the last is not progress; and the progress that is
/// repeated as a sign of life.
type Responses = (mpsc::Receiver<Response>, Option<Progress>);

/// Reading settings and listing tables may block, so it runs on a blocking thread.
fn answer(line: &[u8], report: Arc<dyn Report>, (audience, uid): (Audience, u32)) -> Responses {
    let request: Request = match serde_json::from_slice(line) {
        Ok(request) => request,
        Err(error) => {
            let hint = r#"write {"ask":"status"}, {"ask":"reload"} or {"ask":"say","text":"…"}"#;
            return just(Response::Refused(vec![format!("the request was not understood: {error}; {hint}")]));
        }
    };
    let (say, responses) = mpsc::channel(PROGRESS_AHEAD);
    let long = !matches!(
        request,
        Request::Status
            | Request::Schedules
            | Request::Slowest
            | Request::Arguments
            | Request::Say { .. }
            | Request::Disconnect(_)
    );
    let progress = long.then_some(Progress { done: 0, total: 0 });
    tokio::spawn(async move {
        let meanwhile = say.clone();
        let work = move || match audience {
            Audience::Owner => work(request, &*report, uid, &meanwhile),
            Audience::People => find_as_person(request, &*report, uid),
        };
        let failed = |_| Response::Refused(vec!["the server failed at it; its log says why".into()]);
        let last = tokio::task::spawn_blocking(work).await.unwrap_or_else(failed);
        let _ = say.send(last).await; // unless the client has gone
    });
    (responses, progress)
}

fn find_as_person(request: Request, report: &dyn Report, uid: u32) -> Response {
    match request {
        Request::Find(request) if request.account.is_none() => match report.find_as_person(request, uid) {
            Ok(answer) => Response::Found(Box::new(answer)),
            Err(lines) => Response::Refused(lines),
        },
        _ => Response::Refused(vec!["users of the host may only search, and as themselves".into()]),
    }
}

fn work(request: Request, report: &dyn Report, uid: u32, say: &mpsc::Sender<Response>) -> Response {
    // A client that reads slowly misses some progress.
    let progress = |now| {
        let _ = say.try_send(Response::Progress(now));
        !say.is_closed()
    };
    match request {
        Request::Status => Response::Status(Box::new(report.status())),
        Request::Reload => report.reload().map_or_else(Response::Refused, Response::Done),
        Request::Say { text, to } => report.say(&text, &to).map_or_else(Response::Refused, Response::Done),
        Request::Disconnect(what) => report.disconnect(&what).map_or_else(Response::Refused, Response::Done),
        Request::Lun(request) => match report.lun(request, &progress) {
            Ok(LunAnswer::Luns(luns)) => Response::Luns(luns),
            Ok(LunAnswer::Done(lines)) => Response::Done(lines),
            Err(lines) => Response::Refused(lines),
        },
        Request::Restore(request) => match report.restore(request, &progress) {
            Ok(report) => Response::Restored(Box::new(report)),
            Err(lines) => Response::Refused(lines),
        },
        Request::Scrub(request) => match report.scrub(request, &progress) {
            Ok(report) => Response::Scrubbed(Box::new(report)),
            Err(lines) => Response::Refused(lines),
        },
        Request::Find(request) => match report.find(request, uid) {
            Ok(answer) => Response::Found(Box::new(answer)),
            Err(lines) => Response::Refused(lines),
        },
        Request::Rights(request) => {
            report.rights(request, &progress).map_or_else(Response::Refused, Response::Rights)
        }
        Request::Backups(request) => {
            report.backups(request, &progress).map_or_else(Response::Refused, Response::Backups)
        }
        Request::Browse(request) => match report.browse(request) {
            Ok(BrowseAnswer::Shown(all)) => Response::Browsed(all),
            Ok(BrowseAnswer::Done(lines)) => Response::Done(lines),
            Ok(BrowseAnswer::NeedsPassphrase) => Response::Locked,
            Err(lines) => Response::Refused(lines),
        },
        Request::Streams(request) => {
            report.streams(request, &progress).map_or_else(Response::Refused, Response::Streams)
        }
        Request::Slowest => Response::Slowest(report.slowest()),
        Request::Arguments => Response::Arguments(Box::new(report.started_with())),
        Request::Schedules => Response::Schedules(report.schedules()),
        Request::Snapshots => report.look_at_snapshots().map_or_else(Response::Refused, Response::Done),
        Request::Caches(request) => match report.caches(request) {
            Ok(CachesAnswer::Shown(status)) => Response::Caches(status),
            Ok(CachesAnswer::Mounts(mounts)) => Response::Mounts(mounts),
            Ok(CachesAnswer::Advice(advice)) => Response::Advice(advice),
            Ok(CachesAnswer::Done(lines)) => Response::Done(lines),
            Err(lines) => Response::Refused(lines),
        },
    }
}

fn just(response: Response) -> Responses {
    let (say, responses) = mpsc::channel(1);
    let _ = say.try_send(response); // there is room for one
    (responses, None)
}

fn too_long() -> Response {
    Response::Refused(vec![format!("a request is one line of at most {LONGEST_REQUEST} bytes")])
}
