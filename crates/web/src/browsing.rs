//! The files in the backups of Macs and in other disk images, for a person.
//!
//! Only a session of the console sees them, and only what the account itself may read: neither a token nor being an
//! administrator is enough.

use std::fmt;

use admin::control::BrowsedStatus;
use axum::Extension;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};
use vfs::names::from_text_view;

use crate::Api;
use crate::admitted::Actor;
use crate::api::{self, Done, Failure, blocking, done};
use crate::author::Peer;
use crate::console::{answered, check_inside};
use crate::files::{FolderStatus, Part};
use crate::store::{FilePerson, person};

/// The rows of a part of a folder, unless the client wants fewer, and the most of them.
const MOST_ROWS: usize = 1000;
/// How long an image is open, unless the client says so, in minutes.
const USUAL_MINUTES: u32 = 8 * 60;

/// Why an image is not opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowseRefusal {
    /// It is encrypted, and the passphrase is missing or wrong.
    NeedsPassphrase,
    /// The lines have the reasons.
    Refused(Vec<String>),
}

/// The contents of disk images, with the rights of a person.
pub trait ImageBrowser {
    /// Those that are open for the person.
    fn browsed(&self, by: &FilePerson) -> Vec<BrowsedStatus>;

    /// Opens an image for the person, and serves it as a hidden share.
    ///
    /// # Errors
    /// The person may not read it, it needs a passphrase, or it cannot be read.
    fn browse(&self, by: &FilePerson, wanted: &WantedImage) -> Result<BrowsedStatus, BrowseRefusal>;

    /// Closes one of the person's.
    ///
    /// # Errors
    /// There is none of this name.
    fn end_browse(&self, by: &FilePerson, name: &str) -> Result<Vec<String>, Vec<String>>;

    /// A part of a folder in one of the person's, sorted by name.
    ///
    /// # Errors
    /// There is none of this name, or no such folder in it.
    fn browsed_folder(
        &self,
        by: &FilePerson,
        name: &str,
        path: &[u8],
        part: &Part,
    ) -> Result<FolderStatus, Vec<String>>;
}

/// An image to open.
#[derive(Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedImage {
    /// The backups of a Mac or another image, as `MAC`, `SHARE/MAC` or `SHARE/PATH`, with `@SNAPSHOT` for an earlier time.
    pub place: String,
    /// For how many minutes.
    #[serde(default = "WantedImage::usual")]
    pub minutes: u32,
    /// What opens it, if it is encrypted. It is not stored.
    #[serde(default)]
    pub passphrase: Option<String>,
}

impl WantedImage {
    fn usual() -> u32 {
        USUAL_MINUTES
    }
}

impl fmt::Debug for WantedImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let passphrase = self.passphrase.as_ref().map(|_| "…");
        let (place, minutes) = (&self.place, self.minutes);
        f.debug_struct("WantedImage")
            .field("place", place)
            .field("minutes", &minutes)
            .field("passphrase", &passphrase)
            .finish()
    }
}

/// The disk images whose contents are open for the account whose session this is. Only a session of the console does that.
#[utoipa::path(get, path = "/v1/images", responses((status = 200, description = "The images", body = Vec<BrowsedStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn images(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
) -> Result<Response, Failure> {
    let by = person(&actor, peer)?;
    answered(blocking(move || Ok(api.manage.browsed(&by))).await?)
}

/// Opens a disk image with the rights of the account whose session this is, and serves its files to that account alone, as a
/// hidden share. `needs` is `passphrase` if it is encrypted.
#[utoipa::path(post, path = "/v1/images", request_body = WantedImage, responses((status = 200, description = "It is open", body = BrowsedStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn open(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    wanted: api::Body<WantedImage>,
) -> Result<Response, Failure> {
    let (by, wanted) = (person(&actor, peer)?, api::body(wanted)?);
    match blocking(move || api.manage.browse(&by, &wanted)).await? {
        Ok(status) => Ok(axum::Json(status).into_response()),
        Err(BrowseRefusal::Refused(lines)) => Err(Failure::lines(StatusCode::CONFLICT, lines)),
        Err(BrowseRefusal::NeedsPassphrase) => {
            let hint = "the image is encrypted, and the passphrase is missing or wrong";
            Err(Failure::new(StatusCode::CONFLICT, hint).needing("passphrase"))
        }
    }
}

/// An image to close.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct OpenImage {
    /// The hidden share.
    name: String,
}

/// Closes a disk image that is open for the account whose session this is.
#[utoipa::path(post, path = "/v1/images/close", request_body = OpenImage, responses((status = 200, description = "It is closed", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn close(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    image: api::Body<OpenImage>,
) -> Result<Response, Failure> {
    let (by, OpenImage { name }) = (person(&actor, peer)?, api::body(image)?);
    done(blocking(move || api.manage.end_browse(&by, &name)).await?)
}

/// The wanted part of a folder in an image.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InImage {
    /// The hidden share.
    share: String,
    /// The folder's path in it; empty: its top.
    #[serde(default)]
    path: String,
    /// The first row.
    #[serde(default)]
    offset: usize,
    /// The most rows: at most 1000.
    #[serde(default = "InImage::usual")]
    #[param(default = 1000)]
    limit: usize,
    /// Only names that have this in them, in any case of letters.
    #[serde(default)]
    search: String,
}

impl InImage {
    fn usual() -> usize {
        MOST_ROWS
    }
}

/// A part of a folder in a disk image that is open for the account whose session this is, sorted by name. `GET /v1/files/data`
/// has the data of files.
#[utoipa::path(get, path = "/v1/images/files", params(InImage), responses((status = 200, description = "A part of the folder", body = FolderStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn files(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    asked: Result<Query<InImage>, QueryRejection>,
) -> Result<Response, Failure> {
    let by = person(&actor, peer)?;
    let asked = asked.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let Query(InImage { share, path, offset, limit, search }) = asked;
    check_inside(&path)?;
    let part = Part { offset, limit: limit.min(MOST_ROWS), search: search.to_lowercase() };
    answered(blocking(move || api.manage.browsed_folder(&by, &share, &from_text_view(&path), &part)).await?)
}
