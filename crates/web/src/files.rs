//! The files of the shares, as every protocol sees them.

use admin::control::{LeaseStatus, LockStatus, OpenStatus};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use vfs::names::from_text_view;

use crate::Api;
use crate::api::{Failure, blocking};
use crate::console::{answered, check_inside};

/// The rows of a part of a folder, unless the client wants fewer or more,
const USUAL_ROWS: usize = 1000;
/// and the most of them: each takes some calls to the host.
const MOST_ROWS: usize = 1000;

/// The wanted part of a folder.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct InFolder {
    /// The share.
    share: String,
    /// The folder's path in the share; empty: the share's own folder. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    #[serde(default)]
    path: String,
    /// The first row.
    #[serde(default)]
    offset: usize,
    /// The most rows: at most 1000.
    #[serde(default = "InFolder::usual")]
    #[param(default = 1000)]
    limit: usize,
    /// Only names that have this in them, in any case of letters.
    #[serde(default)]
    search: String,
}

impl InFolder {
    fn usual() -> usize {
        USUAL_ROWS
    }
}

/// The wanted file.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneFile {
    /// The share.
    share: String,
    /// Its path in the share; empty: the share's own folder. Bytes that are no UTF-8 are U+EF80 to U+EFFF.
    #[serde(default)]
    path: String,
}

/// The part of a folder that is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The first row.
    pub offset: usize,
    /// The most rows.
    pub limit: usize,
    /// In lower case: only names with this in them.
    pub search: String,
}

/// A part of a folder, sorted by name.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct FolderStatus {
    /// The entries of the whole folder, or those that were searched.
    pub total: usize,
    /// There are more entries than the server sorts: only the first ones are counted.
    pub more: bool,
    /// The part that was asked for.
    pub rows: Vec<EntryStatus>,
    /// So many seconds stays in the bin of the share what is removed; null: it has none.
    pub bin: Option<u64>,
}

/// An entry of a folder.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct EntryStatus {
    /// Its name.
    pub name: String,
    /// `file`, `folder`, `link` or `other`.
    pub kind: &'static str,
    /// Bytes of its data.
    pub size: u64,
    /// When its data was changed, in seconds since 1970.
    pub modified: i64,
}

/// A file or folder as every protocol sees it.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct FileStatus {
    /// Its share.
    pub share: String,
    /// Its path in the share.
    pub path: String,
    /// Its path on the server.
    pub host_path: String,
    /// `file`, `folder`, `link` or `other`.
    pub kind: &'static str,
    /// Its name by protocol.
    pub names: Vec<NameStatus>,
    /// The inode number.
    pub inode: u64,
    /// Bytes of its data,
    pub size: u64,
    /// of its resource fork,
    pub fork: u64,
    /// and on the disk.
    pub allocated: u64,
    /// Hard links.
    pub links: u32,
    /// The permission bits in octal digits.
    pub mode: String,
    /// The owner's number, and the name if it has one.
    pub owner: String,
    /// The group's number, and the name if it has one.
    pub group: String,
    /// Dates in seconds since 1970.
    pub dates: DateStatus,
    /// DOS attributes, as Windows sees them.
    pub dos: Vec<String>,
    /// Attributes of AFP, as Macs see them.
    pub mac: Vec<String>,
    /// What the Finder keeps.
    pub finder: FinderStatus,
    /// Named streams.
    pub streams: Vec<SizedName>,
    /// Extended attributes of SMB.
    pub attributes: Vec<SizedName>,
    /// Who may do what.
    pub acl: AclStatus,
    /// Who has it open.
    pub opens: Vec<OpenStatus>,
    /// Locked ranges.
    pub locks: Vec<LockStatus>,
    /// Leases.
    pub leases: Vec<LeaseStatus>,
    /// The snapshots that have a file at this path, the newest first.
    pub snapshots: Vec<InSnapshot>,
}

/// The name that clients of a protocol see.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct NameStatus {
    /// `nfs`, `smb`, `afp`, or `afp-short` for Macs before Mac OS X.
    pub protocol: &'static str,
    /// The name; `None`: it is shortened with a number that the server gives when a client asks.
    pub name: Option<String>,
    /// It differs from the stored name.
    pub differs: bool,
}

/// The dates of a file in seconds since 1970.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct DateStatus {
    /// It was made.
    pub created: i64,
    /// Its data was changed.
    pub modified: i64,
    /// Its data or attributes were changed.
    pub changed: i64,
    /// A Mac says that it has backed it up.
    pub backed_up: Option<i64>,
}

/// What the Finder keeps of a file.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct FinderStatus {
    /// The type, four characters; empty: none.
    pub file_type: String,
    /// The creator, four characters; empty: none.
    pub creator: String,
    /// The Finder's flags.
    pub flags: Vec<String>,
    /// The number of the colour label; 0: none.
    pub label: u8,
    /// Tags.
    pub tags: Vec<String>,
    /// The comment.
    pub comment: String,
}

/// Something with a name and a length.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct SizedName {
    /// The name.
    pub name: String,
    /// Bytes.
    pub size: u64,
}

/// The permissions of a file.
#[derive(Debug, Clone, Default, Serialize, ToSchema)]
pub struct AclStatus {
    /// A client has set them. Otherwise they express the mode.
    pub stored: bool,
    /// The entries, in the order in which they apply.
    pub entries: Vec<AclEntry>,
}

/// An entry of an ACL.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct AclEntry {
    /// It gives the rights; otherwise it takes them.
    pub allows: bool,
    /// The users.
    pub who: String,
    /// The rights.
    pub rights: Vec<String>,
    /// It was inherited from the folder.
    pub inherited: bool,
}

/// A file in a snapshot.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct InSnapshot {
    /// The snapshot.
    pub name: String,
    /// When the snapshot was taken, in seconds since 1970.
    pub taken: i64,
    /// Bytes of its data then.
    pub size: u64,
    /// When its data had been changed.
    pub modified: i64,
    /// Its size and its date are those that it has now.
    pub same: bool,
}

fn refused(error: &QueryRejection) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, error.body_text())
}

/// A part of a folder of a share, sorted by name.
#[utoipa::path(get, path = "/v1/files", params(InFolder), security(("token" = ["read"])), responses((status = 200, description = "A part of the folder", body = FolderStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn folder(
    State(api): State<Api>,
    asked: Result<Query<InFolder>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(InFolder { share, path, offset, limit, search }) = asked.map_err(|error| refused(&error))?;
    check_inside(&path)?;
    let part = Part { offset, limit: limit.min(MOST_ROWS), search: search.to_lowercase() };
    answered(blocking(move || api.manage.folder(&share, &from_text_view(&path), &part)).await?)
}

/// A file or folder as every protocol sees it: names, forks, Finder info, tags, ACL, who has it open, its snapshots.
#[utoipa::path(get, path = "/v1/file", params(OneFile), security(("token" = ["read"])), responses((status = 200, description = "The file", body = FileStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn file(
    State(api): State<Api>,
    asked: Result<Query<OneFile>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(OneFile { share, path }) = asked.map_err(|error| refused(&error))?;
    check_inside(&path)?;
    answered(blocking(move || api.manage.file(&share, &from_text_view(&path))).await?)
}
