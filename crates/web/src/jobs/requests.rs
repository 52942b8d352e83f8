//! The requests about jobs and benchmarks.

use std::path::PathBuf;

use admin::control::Advice;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{JobDetail, JobStatus};
use crate::Api;
use crate::admitted::Actor;
use crate::api::{Body, Done, Failure, blocking, body, done};
use crate::author::{Author, Peer};
use crate::console::{answered, check_inside};

/// The longest name or path in a request in bytes.
const LONGEST_TEXT: usize = 4096;
/// Reports have their styles in themselves, and nothing else: no scripts, no requests.
const REPORT_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A job to start.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum JobRequest {
    /// Finds names that hurt some client, as `fourfold names`, and renames them if that is wanted.
    Names {
        /// The share.
        share: String,
        /// Rename them, and keep a journal for `names-undo`.
        #[serde(default)]
        fix: bool,
        /// Also replace characters that Windows forbids, by `_`.
        #[serde(default)]
        windows: bool,
    },
    /// Takes the changes of a `names` job back.
    NamesUndo {
        /// The journal: `journal` in the result of that job.
        journal: String,
    },
    /// Looks for damage in a share and in what the server keeps beside it, as `fourfold scrub`.
    Scrub {
        /// The share. Without one, the ids and tables in the state folder are looked at.
        share: Option<String>,
        /// A file or folder in the share. Without one, all of the share is looked at.
        #[serde(default)]
        path: String,
        /// Mend what can be mended without losing data. Else nothing is changed.
        #[serde(default)]
        repair: bool,
    },
    /// Tells what other servers have left in a share, as `fourfold adopt`.
    Adopt {
        /// The share.
        share: String,
    },
    /// Gives everything in a share one layout, as `fourfold adopt --convert`, beside the clients. Files that a client has open
    /// stay as they are.
    Convert {
        /// The share.
        share: String,
        /// The layout: `netatalk`, `samba` or `samba-streams`, as in the setting `mac-layout`.
        #[serde(default = "usual_layout")]
        #[schema(default = "netatalk")]
        to: String,
        /// Of copies that differ, the one that clients see counts, and the others go. Without this such files stay as they are.
        #[serde(default)]
        shown_counts: bool,
        /// Change nothing, and tell how many files would change.
        #[serde(default)]
        dry_run: bool,
    },
    /// Takes the changes of a `convert` job back.
    ConvertUndo {
        /// The journal: `journal` in the result of that job.
        journal: String,
    },
    /// Restores a file or folder of a snapshot, as `POST /v1/snapshots/restore`.
    Restore {
        /// The share.
        share: String,
        /// The name of the snapshot.
        snapshot: String,
        /// The path in the share.
        path: String,
        /// Where to restore it to. Without one, it is restored in place.
        to: Option<String>,
    },
    /// Verifies the backups of a Mac, as `fourfold backups verify`.
    VerifyBackup {
        /// The share.
        share: String,
        /// The name of the bundle.
        bundle: String,
        /// The snapshot. Without one, the bundle is verified as it is now.
        snapshot: Option<String>,
    },
    /// Puts the backups of a Mac back to a restore point, as `fourfold backups rollback`. What was there is kept.
    RollBackBackup {
        /// The share.
        share: String,
        /// The name of the bundle.
        bundle: String,
        /// The snapshot. Without one, it is the newest that verifies.
        snapshot: Option<String>,
    },
    /// Removes what rollbacks and moves have kept, as `fourfold backups discard`.
    DiscardBackup {
        /// The share.
        share: String,
        /// The name of the bundle.
        bundle: String,
    },
    /// Moves the backups of a Mac to another share, as `fourfold backups move`.
    MoveBackup {
        /// The share.
        share: String,
        /// The name of the bundle.
        bundle: String,
        /// The other share.
        to: String,
    },
    /// Makes another LUN with the same contents, as `fourfold lun clone`.
    CloneLun {
        /// The share of the LUN.
        share: String,
        /// The name of the LUN.
        name: String,
        /// The name of the new LUN in that share.
        new: String,
        /// Copy all data, also where the file system could share blocks.
        #[serde(default)]
        copy: bool,
    },
    /// Makes a read-only LUN with the contents of this moment, as `fourfold lun snapshot create`.
    SnapshotLun {
        /// The share of the LUN.
        share: String,
        /// The name of the LUN.
        name: String,
        /// The name of the snapshot.
        new: String,
        /// Copy all data, also where the file system could share blocks.
        #[serde(default)]
        copy: bool,
    },
    /// Sends a share to another one, as `fourfold replicate`.
    Replicate {
        /// The share to send.
        source: String,
        /// The share to send it to, or `ssh://HOST/SHARE`.
        destination: String,
        /// The password of the administrator whose session this is.
        own_password: Option<String>,
    },
    /// Measures a share of this server, as `fourfold bench`.
    Bench(BenchRequest),
}

fn usual_layout() -> String {
    "netatalk".into()
}

/// A measurement.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BenchRequest {
    /// The share.
    pub share: String,
    /// `smb`, `afp`, `nfs`: one after the other.
    pub protocols: Vec<String>,
    /// As in `fourfold bench --list`. Empty: those that answer most questions.
    #[serde(default)]
    pub workloads: Vec<String>,
    /// The account; needed for SMB and AFP.
    #[serde(default)]
    pub user: String,
    /// Its password. It is not kept.
    #[serde(default)]
    pub password: String,
    /// Repeats of each measurement: 1 to 10.
    #[serde(default = "BenchRequest::usual_repeats")]
    #[schema(default = 3)]
    pub repeats: usize,
    /// Clients at the same time: 1 to 8.
    #[serde(default = "BenchRequest::usual_clients")]
    #[schema(default = 1)]
    pub clients: usize,
    /// Measure also with fewer clients (1, 2, 4): the load curve, by which `GET /v1/advice` tells how many users it carries.
    #[serde(default)]
    pub curve: bool,
    /// The longest time of a repeat in seconds: 1 to 60.
    #[serde(default = "BenchRequest::usual_seconds")]
    #[schema(default = 10)]
    pub seconds: u64,
    /// The factor for the sizes of files and their number: 0.01 to 1.
    #[serde(default = "BenchRequest::usual_scale")]
    #[schema(default = 0.2)]
    pub scale: f64,
}

impl BenchRequest {
    fn usual_repeats() -> usize {
        3
    }

    fn usual_clients() -> usize {
        1
    }

    fn usual_seconds() -> u64 {
        10
    }

    fn usual_scale() -> f64 {
        0.2
    }
}

/// A benchmark that is kept.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct BenchmarkStatus {
    /// Its name.
    pub name: String,
    /// When it ended, in seconds since 1970.
    pub at: u64,
    /// Bytes of its raw data.
    pub size: u64,
    /// What was measured.
    pub targets: Vec<String>,
}

/// A conversion that can be taken back.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConversionStatus {
    /// Its journal, for a job `convert-undo`.
    pub journal: String,
    /// The share that has the folder now; `None`: no share has it.
    pub share: Option<String>,
    /// The folder.
    #[schema(value_type = String)]
    pub folder: PathBuf,
    /// The layout.
    pub to: String,
    /// When it was written last, in seconds since 1970.
    pub at: u64,
    /// Bytes of the journal.
    pub size: u64,
    /// It has looked at all files. Otherwise a job `convert` of the share goes on with it.
    pub ended: bool,
}

/// The jobs that run, and those that have ended, the newest first. At most 50 are remembered, until the server stops.
#[utoipa::path(get, path = "/v1/jobs", security(("token" = ["read"])), responses((status = 200, description = "The jobs", body = Vec<JobStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn jobs(State(api): State<Api>) -> Response {
    Json(api.jobs.all()).into_response()
}

/// Starts a job. It goes on after the answer. At most four run at the same time.
#[utoipa::path(post, path = "/v1/jobs", request_body = JobRequest, security(("token" = ["write"])), responses((status = 200, description = "It runs", body = JobStatus), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn start(
    State(api): State<Api>,
    (Extension(actor), peer): (Extension<Actor>, Peer),
    request: Body<JobRequest>,
) -> Result<Response, Failure> {
    let mut request = body(request)?;
    request.check()?;
    if let JobRequest::Replicate { own_password, .. } = &mut request {
        let author = Author::of(&api, (&actor, peer), own_password.take()).await?;
        author.check_verified("sending a share elsewhere")?;
    }
    let start = move || api.jobs.start(api.manage.job(request)?, &actor.name);
    answered(blocking(start).await?)
}

impl JobRequest {
    fn check(&self) -> Result<(), Failure> {
        let texts: Vec<&String> = match self {
            Self::Names { share, .. } => vec![share],
            Self::NamesUndo { journal } | Self::ConvertUndo { journal } => vec![journal],
            Self::Adopt { share } => vec![share],
            Self::Convert { share, to, .. } => vec![share, to],
            Self::Scrub { share, path, .. } => {
                check_inside(path)?;
                share.iter().chain([path]).collect()
            }
            Self::Restore { share, snapshot, path, to } => {
                for given in [Some(path), to.as_ref()].into_iter().flatten() {
                    check_inside(given)?;
                }
                [Some(share), Some(snapshot), Some(path), to.as_ref()].into_iter().flatten().collect()
            }
            Self::VerifyBackup { share, bundle, snapshot }
            | Self::RollBackBackup { share, bundle, snapshot } => {
                [share, bundle].into_iter().chain(snapshot).collect()
            }
            Self::DiscardBackup { share, bundle } => vec![share, bundle],
            Self::MoveBackup { share, bundle, to } => vec![share, bundle, to],
            Self::CloneLun { share, name, new, .. } | Self::SnapshotLun { share, name, new, .. } => {
                vec![share, name, new]
            }
            Self::Replicate { source, destination, .. } => vec![source, destination],
            Self::Bench(bench) => {
                let lists = bench.protocols.iter().chain(&bench.workloads);
                lists.chain([&bench.share, &bench.user, &bench.password]).collect()
            }
        };
        let is_wrong = |text: &&&String| text.len() > LONGEST_TEXT || text.contains(['\0', '\n']);
        match texts.iter().find(is_wrong) {
            None => Ok(()),
            Some(_) => {
                let hint = format!("a text has at most {LONGEST_TEXT} bytes, in one line");
                Err(Failure::new(StatusCode::BAD_REQUEST, hint))
            }
        }
    }
}

/// The wanted lines of a job.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AfterLine {
    /// The number of a line: only later lines are sent.
    #[serde(default)]
    after: u64,
}

fn unknown(id: u64) -> Failure {
    let hint = format!(
        "there is no job {id} since the server started; `GET /v1/jobs` lists those that are remembered"
    );
    Failure::new(StatusCode::NOT_FOUND, hint)
}

fn number(id: Result<Path<u64>, PathRejection>) -> Result<u64, Failure> {
    id.map(|Path(id)| id).map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))
}

/// A job with its lines and its result.
#[utoipa::path(get, path = "/v1/jobs/{id}", params(("id" = u64, Path, description = "The number of the job"), AfterLine), security(("token" = ["read"])), responses((status = 200, description = "The job", body = JobDetail), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn job(
    State(api): State<Api>,
    id: Result<Path<u64>, PathRejection>,
    wanted: Result<Query<AfterLine>, QueryRejection>,
) -> Result<Response, Failure> {
    let id = number(id)?;
    let Query(AfterLine { after }) =
        wanted.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    Ok(Json(api.jobs.find(id, after).ok_or_else(|| unknown(id))?).into_response())
}

/// Tells a job to end. It ends soon; what it has done stays.
#[utoipa::path(post, path = "/v1/jobs/{id}/cancel", params(("id" = u64, Path, description = "The number of the job")), security(("token" = ["write"])), responses((status = 200, description = "It was told", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn cancel(
    State(api): State<Api>,
    id: Result<Path<u64>, PathRejection>,
) -> Result<Response, Failure> {
    let id = number(id)?;
    match api.jobs.cancel(id).ok_or_else(|| unknown(id))? {
        true => done(Ok(vec![format!("job {id} was told to end")])),
        false => done(Err(vec![format!("job {id} has ended already")])),
    }
}

/// The conversions of shares that can be taken back, the newest first.
#[utoipa::path(get, path = "/v1/conversions", security(("token" = ["read"])), responses((status = 200, description = "The conversions", body = Vec<ConversionStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn conversions(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || api.manage.conversions()).await?)
}

/// The benchmarks that are kept, the newest first: at most 50.
#[utoipa::path(get, path = "/v1/benchmarks", security(("token" = ["read"])), responses((status = 200, description = "The benchmarks", body = Vec<BenchmarkStatus>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn benchmarks(State(api): State<Api>) -> Result<Response, Failure> {
    answered(blocking(move || api.manage.benchmarks()).await?)
}

/// The report of a benchmark with its charts.
#[utoipa::path(get, path = "/v1/benchmarks/{name}", params(("name" = String, Path, description = "The name of the benchmark")), security(("token" = ["read"])), responses((status = 200, description = "The report", body = String, content_type = "text/html"), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn report(
    State(api): State<Api>,
    name: Result<Path<String>, PathRejection>,
) -> Result<Response, Failure> {
    let Path(name) = name.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    let made = blocking(move || api.manage.benchmark(&name)).await?;
    let html = made.map_err(|lines| Failure::lines(StatusCode::NOT_FOUND, lines))?;
    let mut response = html.into_response();
    let headers = [
        (header::CONTENT_TYPE, "text/html; charset=utf-8"),
        (header::CONTENT_SECURITY_POLICY, REPORT_POLICY),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}

/// Two benchmarks.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Two {
    /// The name of the first one.
    before: String,
    /// The name of the second one.
    after: String,
}

/// Compares two benchmarks, as `fourfold bench compare`.
#[utoipa::path(get, path = "/v1/comparison", params(Two), security(("token" = ["read"])), responses((status = 200, description = "The comparison as text", body = Done), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn compare(
    State(api): State<Api>,
    two: Result<Query<Two>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(Two { before, after }) =
        two.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    done(blocking(move || api.manage.compare(&before, &after)).await?)
}

/// What the advice is made for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AdviceFor {
    /// Bytes per second that each active user must have: a size such as `1MB` or `15K`.
    #[param(default = "1MB")]
    floor: Option<String>,
    /// The name of a benchmark that is kept. Without one, the number of users is not known.
    benchmark: Option<String>,
}

/// What would make the server faster, as `fourfold advise`: made of what the server has counted since it began, of the
/// host's memory, and of a benchmark.
#[utoipa::path(get, path = "/v1/advice", params(AdviceFor), security(("token" = ["read"])), responses((status = 200, description = "The advice by topic", body = Vec<Advice>), (status = "4XX", description = "Refused", body = Failure)))]
pub(crate) async fn advice(
    State(api): State<Api>,
    asked: Result<Query<AdviceFor>, QueryRejection>,
) -> Result<Response, Failure> {
    let Query(AdviceFor { floor, benchmark }) =
        asked.map_err(|error| Failure::new(StatusCode::BAD_REQUEST, error.body_text()))?;
    answered(blocking(move || api.manage.advice(floor.as_deref(), benchmark.as_deref())).await?)
}
