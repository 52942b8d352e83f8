//! The files of the shares for a person: sent, received, moved and removed.
//!
//! A person does with them what the account may do over SMB or AFP, and no more: being an administrator adds nothing. A token
//! has no account, so it does nothing here.

mod body;

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use admin::control::{FindAnswer, FindRequest};
use axum::Extension;
use axum::body::Body;
pub use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{ConnectInfo, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use vfs::names::from_text_view;

use self::body::{Range, SentFile, next_data};
use crate::Api;
use crate::admitted::{Actor, Standing};
use crate::api::{self, Done, Failure, blocking, done};
use crate::author::Peer;
use crate::console::check_inside;

/// Files that are sent and received at the same time. Each takes two megabytes.
pub(crate) const MOST_TRANSFERS: usize = 8;
/// How much of a file is read or written at once, in bytes.
const PART: usize = 1 << 20;
/// How long a client may send nothing of a file.
const PATIENCE: Duration = Duration::from_secs(60);
/// The pictures that a browser may show in the page, by the ends of their names. None of them is a program.
const PICTURES: [(&str, &str); 6] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
];

/// Who does something with files: an account in a session of the console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePerson {
    /// The account.
    pub account: String,
    /// The browser.
    pub peer: SocketAddr,
}

/// Why nothing was done with a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreRefusal {
    /// There is something of that name already.
    Exists,
    /// The lines have the reasons.
    Refused(Vec<String>),
}

/// A file that is sent.
pub trait StoredFile: Send + Sync {
    /// Bytes of its data.
    fn size(&self) -> u64;

    /// When its data was changed, in nanoseconds since 1970.
    fn changed_ns(&self) -> i128;

    /// So many bytes from here, fewer at its end.
    ///
    /// # Errors
    /// They cannot be read; the lines have the reasons.
    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, Vec<String>>;
}

/// A file that is received. If it is dropped before its end, nothing of it stays.
pub trait ReceivedFile: Send {
    /// Appends these bytes.
    ///
    /// # Errors
    /// They cannot be written; the lines have the reasons.
    fn append(&mut self, data: Bytes) -> Result<(), Vec<String>>;

    /// It is whole.
    ///
    /// # Errors
    /// It cannot get its name; the lines have the reasons.
    fn end(self: Box<Self>) -> Result<Vec<String>, Vec<String>>;
}

/// The files of the shares, with the rights of a person. Paths have no `.` and `..`.
pub trait FileStore {
    /// A file, to send it.
    ///
    /// # Errors
    /// The person may not read it, or it is none; the lines have the reasons.
    fn stored(&self, by: &FilePerson, share: &str, path: &[u8]) -> Result<Arc<dyn StoredFile>, Vec<String>>;

    /// A file to receive. `replaces`: one that is there is replaced at the end.
    ///
    /// # Errors
    /// The person may not make it, or there is one.
    fn received(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        replaces: bool,
    ) -> Result<Box<dyn ReceivedFile>, StoreRefusal>;

    /// Makes a folder.
    ///
    /// # Errors
    /// The person may not make it, or there is something of that name.
    fn make_folder(&self, by: &FilePerson, share: &str, path: &[u8]) -> Result<Vec<String>, StoreRefusal>;

    /// The files of all shares that match and that the person may list.
    ///
    /// # Errors
    /// The query is no query, or there is no such share; the lines have the reasons.
    fn find(&self, by: &FilePerson, request: &FindRequest) -> Result<FindAnswer, Vec<String>>;

    /// Gives a file or folder another path in the same share.
    ///
    /// # Errors
    /// The person may not move it, or there is something of the new name.
    fn move_entry(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        to: &[u8],
    ) -> Result<Vec<String>, StoreRefusal>;

    /// Removes a file or a folder, or moves it into the bin of its share.
    ///
    /// # Errors
    /// The person may not remove it, or a folder is not empty; the lines have the reasons.
    fn remove_entry(
        &self,
        by: &FilePerson,
        share: &str,
        path: &[u8],
        how: Removal,
    ) -> Result<Vec<String>, Vec<String>>;
}

/// How something is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Removal {
    /// Also what is in a folder.
    pub recursive: bool,
    /// Not into the bin.
    pub for_good: bool,
}

/// The person who sends a request.
pub(crate) fn person(actor: &Actor, peer: Peer) -> Result<FilePerson, Failure> {
    actor.check_person("work with files")?;
    let peer = peer.map_or_else(|| (Ipv4Addr::UNSPECIFIED, 0).into(), |Extension(ConnectInfo(peer))| peer);
    Ok(FilePerson { account: actor.name.clone(), peer })
}

/// A path of something in a share, but the share's own folder.
fn entry(path: &str) -> Result<Vec<u8>, Failure> {
    check_inside(path)?;
    if path.split('/').any(str::is_empty) {
        let hint = format!("{path:?}: give the path of a file or folder in the share");
        return Err(Failure::new(StatusCode::BAD_REQUEST, hint));
    }
    Ok(from_text_view(path).to_vec())
}

fn refused(why: StoreRefusal) -> Failure {
    match why {
        StoreRefusal::Exists => Failure::new(StatusCode::CONFLICT, "there is something of that name already"),
        StoreRefusal::Refused(lines) => Failure::lines(StatusCode::CONFLICT, lines),
    }
}

fn asked<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, Failure> {
    query.map(|Query(value)| value).map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))
}

/// A file to send.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct WantedFile {
    /// The share.
    share: String,
    /// Its path in the share. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    path: String,
    /// Sends a picture (PNG, JPEG, GIF, WebP, AVIF) as one, to show it in a page.
    #[serde(default)]
    shown: bool,
}

/// The data of a file, with the rights of the account whose session this is. `Range` and `If-Range` are known. Only a session of
/// the console does that.
#[utoipa::path(get, path = "/v1/files/data", params(WantedFile), responses((status = 200, description = "The data", body = Vec<u8>, content_type = "application/octet-stream"), (status = 206, description = "A part"), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn download(
    State(api): State<Api>,
    (Extension(actor), peer, standing): (Extension<Actor>, Peer, Option<Extension<Standing>>),
    headers: HeaderMap,
    wanted: Result<Query<WantedFile>, QueryRejection>,
) -> Result<Response, Failure> {
    let WantedFile { share, path, shown } = asked(wanted)?;
    let (by, stored) = (person(&actor, peer)?, entry(&path)?);
    let permit = permit(&api)?;
    let manage = api.manage.clone();
    let file = blocking(move || manage.stored(&by, &share, &stored)).await?;
    let file = file.map_err(|lines| Failure::lines(StatusCode::CONFLICT, lines))?;
    let (size, tag) = (file.size(), format!("\"{:x}-{:x}\"", file.size(), file.changed_ns()));
    let range = match Range::of(&headers, &tag, size) {
        Ok(range) => range,
        Err(()) => {
            let whole = [(header::CONTENT_RANGE, format!("bytes */{size}"))];
            let why = Failure::new(StatusCode::RANGE_NOT_SATISFIABLE, "the file has no such part");
            return Ok((whole, why).into_response());
        }
    };
    let name = path.rsplit('/').next().unwrap_or_default();
    let picture = picture(name).filter(|_| shown);
    let kind = picture.unwrap_or("application/octet-stream");
    let shown = if picture.is_some() { "inline" } else { "attachment" };
    let goes_on = {
        let (logins, manage, secret) = (api.logins.clone(), api.manage.clone(), actor.session);
        move || {
            let find = |name: &str| manage.administrator(name);
            secret.as_deref().is_some_and(|secret| logins.goes_on(secret, find, std::time::Instant::now()))
        }
    };
    let transfer = standing.map(|Extension(standing)| standing.transfer());
    let sent = SentFile { file, from: range.from, length: range.length, keep: (permit, transfer) };
    let fixed = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_LENGTH, range.length.to_string()),
        (header::ACCEPT_RANGES, "bytes".to_owned()),
        (header::ETAG, tag),
        (header::CONTENT_DISPOSITION, format!("{shown}; filename*=UTF-8''{}", percent(name))),
    ];
    let mut response = (fixed, sent.body(goes_on)).into_response();
    if range.is_part {
        let last = (range.from + range.length).saturating_sub(1);
        let part = format!("bytes {}-{last}/{size}", range.from);
        *response.status_mut() = StatusCode::PARTIAL_CONTENT;
        if let Ok(part) = part.try_into() {
            response.headers_mut().insert(header::CONTENT_RANGE, part);
        }
    }
    Ok(response)
}

fn permit(api: &Api) -> Result<tokio::sync::OwnedSemaphorePermit, Failure> {
    let busy = |_| {
        let hint =
            format!("{MOST_TRANSFERS} files are sent and received already; try again when one has ended");
        Failure::new(StatusCode::CONFLICT, hint)
    };
    api.transfers.clone().try_acquire_owned().map_err(busy)
}

/// The media type of a picture, by the end of its name.
fn picture(name: &str) -> Option<&'static str> {
    let (_, end) = name.rsplit_once('.')?;
    PICTURES.iter().find(|(known, _)| known.eq_ignore_ascii_case(end)).map(|(_, kind)| *kind)
}

/// A name as a parameter of a header, RFC 8187 3.2.
fn percent(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte);
    let letter = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    from_text_view(name).iter().map(|byte| letter(*byte)).collect()
}

/// A file to receive.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct SentPlace {
    /// The share.
    share: String,
    /// Its path in the share. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    path: String,
    /// Replaces the file that is there, when all has arrived.
    #[serde(default)]
    replace: bool,
}

/// Receives a file, whose data are the body, with the rights of the account whose session this is. If the body is cut off,
/// nothing of it stays. Only a session of the console does that.
#[utoipa::path(post, path = "/v1/files/data", params(SentPlace), request_body(content = Vec<u8>, content_type = "application/octet-stream"), responses((status = 200, description = "It is there", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn upload(
    State(api): State<Api>,
    (Extension(actor), peer, standing): (Extension<Actor>, Peer, Option<Extension<Standing>>),
    place: Result<Query<SentPlace>, QueryRejection>,
    request: Request,
) -> Result<Response, Failure> {
    let SentPlace { share, path, replace } = asked(place)?;
    let (by, path) = (person(&actor, peer)?, entry(&path)?);
    let _permit = permit(&api)?;
    let _transfer = standing.map(|Extension(standing)| standing.transfer());
    let manage = api.manage.clone();
    let received = blocking(move || manage.received(&by, &share, &path, replace)).await?;
    let file = received.map_err(|why| match why {
        StoreRefusal::Exists => refused(why).needing("replace"),
        StoreRefusal::Refused(_) => refused(why),
    })?;
    let (mut arriving, mut body) = (ArrivingFile(Some(file)), request.into_body());
    loop {
        let (data, is_end) = part(&mut body).await?;
        if !data.is_empty() {
            let appended = blocking(move || arriving.append(data.into()).map(|()| arriving)).await?;
            arriving = appended.map_err(|lines| Failure::lines(StatusCode::CONFLICT, lines))?;
        }
        if is_end {
            return done(blocking(move || arriving.end()).await?);
        }
    }
}

/// A file that is received. What is not whole is removed where threads may block: the client can end its request at any time.
struct ArrivingFile(Option<Box<dyn ReceivedFile>>);

impl ArrivingFile {
    fn append(&mut self, data: Bytes) -> Result<(), Vec<String>> {
        self.0.as_mut().map_or(Ok(()), |file| file.append(data))
    }

    fn end(mut self) -> Result<Vec<String>, Vec<String>> {
        self.0.take().map_or_else(|| Ok(Vec::new()), |file| file.end())
    }
}

impl Drop for ArrivingFile {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            tokio::task::spawn_blocking(move || drop(file));
        }
    }
}

/// The next megabyte or more of a body, and whether it was the last.
async fn part(body: &mut Body) -> Result<(Vec<u8>, bool), Failure> {
    let mut data = Vec::new();
    while data.len() < PART {
        match tokio::time::timeout(PATIENCE, next_data(body)).await {
            Ok(Some(Ok(more))) => data.extend_from_slice(&more),
            Ok(None) => return Ok((data, true)),
            Ok(Some(Err(_))) => return Err(Failure::new(StatusCode::BAD_REQUEST, "the file was cut off")),
            Err(_) => {
                return Err(Failure::new(StatusCode::REQUEST_TIMEOUT, "the file did not come in time"));
            }
        }
    }
    Ok((data, false))
}

/// A folder to make.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewFolder {
    /// The share.
    share: String,
    /// Its path in the share.
    path: String,
}

/// Makes a folder, with the rights of the account whose session this is.
#[utoipa::path(post, path = "/v1/files/folder", request_body = NewFolder, responses((status = 200, description = "It is there", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn make_folder(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    new: api::Body<NewFolder>,
) -> Result<Response, Failure> {
    let NewFolder { share, path } = api::body(new)?;
    let (by, path) = (person(&actor, peer)?, entry(&path)?);
    done(Ok(blocking(move || api.manage.make_folder(&by, &share, &path)).await?.map_err(refused)?))
}

/// A file or folder that is to have another path.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MovedEntry {
    /// The share.
    share: String,
    /// Its path in the share.
    path: String,
    /// The new one, in the same share.
    to: String,
}

/// Renames or moves a file or folder in its share, with the rights of the account whose session this is.
#[utoipa::path(post, path = "/v1/files/move", request_body = MovedEntry, responses((status = 200, description = "It has the new path", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn move_entry(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    moved: api::Body<MovedEntry>,
) -> Result<Response, Failure> {
    let MovedEntry { share, path, to } = api::body(moved)?;
    let (by, path, to) = (person(&actor, peer)?, entry(&path)?, entry(&to)?);
    done(Ok(blocking(move || api.manage.move_entry(&by, &share, &path, &to)).await?.map_err(refused)?))
}

/// A file or folder to remove.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RemovedEntry {
    /// The share.
    share: String,
    /// Its path in the share.
    path: String,
    /// Also what is in a folder.
    #[serde(default)]
    recursive: bool,
    /// It does not come into the bin of the share, if there is one.
    #[serde(default)]
    for_good: bool,
}

/// Removes a file or folder, with the rights of the account whose session this is. In a share with `bin` it comes into the bin, unless
/// it is there already, or `for_good` is set. A whole folder comes there also without `recursive`.
#[utoipa::path(post, path = "/v1/files/remove", request_body = RemovedEntry, responses((status = 200, description = "It is gone", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn remove(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    removed: api::Body<RemovedEntry>,
) -> Result<Response, Failure> {
    let RemovedEntry { share, path, recursive, for_good } = api::body(removed)?;
    let (by, path) = (person(&actor, peer)?, entry(&path)?);
    let how = Removal { recursive, for_good };
    done(blocking(move || api.manage.remove_entry(&by, &share, &path, how)).await?)
}
