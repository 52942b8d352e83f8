//! The API in front of a server that is made up: for tests, and for what is fuzzed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use admin::control::{
    Advice, BackupStatus, CachesAnswer, CachesRequest, Disconnect, LunAnswer, LunRequest, OpenStatus,
    PersonAnswer, Progress, Report, RestoreReport, RestoreRequest, RightsRequest, RightsStatus,
    SessionStatus, Status, StreamsAnswer, StreamsRequest, StreamsStatus,
};
use auth::kerberos::{Accepting, Kerberos, SecurityContext, Ticket, TicketRefusal};
use auth::{Account, Identity, LoginGuard, Refusal, Secret, nt_hash};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{Request, StatusCode, header};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::runtime::Runtime;
use tokio::sync::Mutex as Async;
use tower::ServiceExt;

use crate::access::{Entrant, GroupStatus};
use crate::accounts::AccountChange;
use crate::admitted::Standing;
use crate::author::{Author, ChangeRefusal, ChangeResult};
use crate::backups::PolicyChange;
use crate::files::{FileStatus, FolderStatus, Part};
use crate::groups::GroupChange;
use crate::jobs::{BenchmarkStatus, ConversionStatus, JobRequest, NewJob};
use crate::manage::{AccountStatus, Holdings, Overview, SettingChange, SettingsStatus, SnapshotsStatus};
use crate::shares::{HostFolders, NewShare, ShareChange};
use crate::watching::FolderWatch;
use crate::webhooks::{NewWebhook, WebhookStatus};
use crate::{Api, Events, Figures, LogLines, Manage, Metrics};

mod desk;

/// A part of answers that only administrators may read.
pub const CONFIDENTIAL: &str = "<script>";

/// Changes of accounts that are remembered.
const MOST_CHANGES: usize = 8;

type Lines = Result<Vec<String>, Vec<String>>;

/// A server with clients that are made up.
#[derive(Debug, Default)]
pub struct MadeUp {
    /// Connections.
    pub sessions: usize,
    /// Open files.
    pub opens: usize,
    /// How long a password is checked.
    pub check: Duration,
    /// Administrators without a second factor may only set one up.
    pub requires_second_factor: AtomicBool,
    /// Passwords that are being checked, the most at the same time, and all of them.
    pub(crate) checking: AtomicUsize,
    pub(crate) most_checking: AtomicUsize,
    pub(crate) checked: AtomicUsize,
    /// The changes of settings and shares that were made.
    pub(crate) changed_settings: AtomicUsize,
    /// The changes of accounts that were asked for.
    pub(crate) changes: Async<Vec<AccountChange>>,
}

impl MadeUp {
    /// All its settings are such that only a person changes them.
    fn by_person(&self, by: &Author) -> ChangeResult {
        self.changed_settings.fetch_add(usize::from(by.is_verified), Ordering::SeqCst);
        if by.is_verified { Ok(Vec::new()) } else { Err(ChangeRefusal::NeedsPassword("this".into())) }
    }
}

fn account(name: &str) -> Account {
    let secrets = vec![Secret::Nt(nt_hash("secret"))];
    Account { name: name.into(), identity: Identity::anonymous(), disabled: false, secrets }
}

impl Report for MadeUp {
    fn status(&self) -> Status {
        let session = |number: usize| SessionStatus {
            protocol: admin::Protocol::Smb,
            peer: SocketAddr::from(([10, 0, (number >> 8) as u8, number as u8], 445)),
            appletalk: None,
            user: Some(format!("user{number}")),
            since_s: 1,
            requests: 1,
            bytes_in: 1,
            bytes_out: 1,
            tls: false,
            asleep: false,
        };
        let open = |number: usize| OpenStatus {
            share: "studio".into(),
            file: Some(format!("<script>{number}</script>")),
            inode: number as u64,
            owner: "ada".into(),
            access: "rw".into(),
            deny: String::new(),
        };
        let (sessions, opens) =
            ((0..self.sessions).map(session).collect(), (0..self.opens).map(open).collect());
        Status { sessions, opens, ..Status::default() }
    }

    fn streams(
        &self,
        request: StreamsRequest,
        _: &dyn Fn(Progress) -> bool,
    ) -> Result<StreamsAnswer, Vec<String>> {
        Ok(match request {
            StreamsRequest::List => StreamsAnswer::List(StreamsStatus::default()),
            StreamsRequest::Reserve(_) | StreamsRequest::Release { .. } => StreamsAnswer::Done(Vec::new()),
        })
    }

    fn reload(&self) -> Lines {
        Ok(Vec::new())
    }

    fn say(&self, _: &str, _: &Disconnect) -> Lines {
        Ok(Vec::new())
    }

    fn disconnect(&self, _: &Disconnect) -> Lines {
        Ok(Vec::new())
    }

    fn lun(&self, _: LunRequest, _: &dyn Fn(Progress) -> bool) -> Result<LunAnswer, Vec<String>> {
        Ok(LunAnswer::Luns(Vec::new()))
    }

    fn restore(&self, _: RestoreRequest, _: &dyn Fn(Progress) -> bool) -> Result<RestoreReport, Vec<String>> {
        Ok(RestoreReport::default())
    }

    fn look_at_snapshots(&self) -> Lines {
        Ok(Vec::new())
    }

    fn caches(&self, _: CachesRequest) -> Result<CachesAnswer, Vec<String>> {
        Ok(CachesAnswer::Done(Vec::new()))
    }
}

/// Takes the names of users as tickets.
struct Tickets;

struct NoKeys;

impl Kerberos for Tickets {
    fn accept(&self, token: Vec<u8>) -> Accepting {
        let name = String::from_utf8(token).unwrap_or_default();
        let ticket = match name.as_str() {
            "ada" | "ADA" | "grace" => Ok(Ticket {
                principal: format!("{name}@LAB.TEST"),
                account: Some(name),
                is_machine: false,
                session_key: Vec::new(),
                reply: b"welcome".to_vec(),
                expires: None,
                context: Box::new(NoKeys),
            }),
            _ => Err(TicketRefusal::Expired),
        };
        Box::pin(std::future::ready(ticket))
    }
}

impl SecurityContext for NoKeys {
    fn sign(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn verifies(&self, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn seal(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn open(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

impl Manage for MadeUp {
    fn verify(&self, name: &str, password: &str) -> Result<Account, Refusal> {
        let now = self.checking.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_checking.fetch_max(now, Ordering::SeqCst);
        self.checked.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(self.check);
        self.checking.fetch_sub(1, Ordering::SeqCst);
        if !["ada", "grace"].contains(&name) {
            return Err(Refusal::Unknown);
        }
        if password == "secret" { Ok(account(name)) } else { Err(Refusal::WrongPassword) }
    }

    fn administrator(&self, name: &str) -> Option<Account> {
        (name == "ada").then(|| account(name))
    }

    fn kerberos(&self) -> Option<Arc<dyn Kerberos>> {
        Some(Arc::new(Tickets))
    }

    fn may_administer(&self, name: &str) -> bool {
        name == "ada"
    }

    fn change_account(&self, change: &AccountChange) -> Lines {
        if let Ok(mut changes) = self.changes.try_lock() {
            changes.truncate(MOST_CHANGES);
            changes.push(change.clone());
        }
        Ok(vec![format!("{CONFIDENTIAL}{}", change.name)])
    }

    fn change_group(&self, _: &GroupChange) -> Result<Vec<String>, Vec<String>> {
        Ok(Vec::new())
    }

    fn overview(&self) -> Overview {
        Overview::default()
    }

    fn holdings(&self) -> Holdings {
        Holdings::default()
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        Vec::new()
    }

    fn groups(&self) -> Vec<GroupStatus> {
        Vec::new()
    }

    fn access(&self, share: &str) -> Result<Vec<Entrant>, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{share}")])
    }

    fn rights(&self, share: &str, _: &[u8]) -> Result<RightsStatus, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{share}")])
    }

    fn rights_of(&self, person: &str, _: &str, _: &[u8]) -> Result<PersonAnswer, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{person}")])
    }

    fn rights_job(&self, _: RightsRequest) -> Result<NewJob, Vec<String>> {
        let work = Box::new(|_: &crate::JobHandle| Ok(Value::Null));
        Ok(NewJob { kind: "rights", what: CONFIDENTIAL.into(), unit: "files", key: String::new(), work })
    }

    fn settings(&self) -> Result<SettingsStatus, Vec<String>> {
        Ok(SettingsStatus::default())
    }

    fn change(&self, change: &SettingChange) -> ChangeResult {
        self.by_person(&change.by)
    }

    fn undo(&self, by: &Author) -> ChangeResult {
        self.by_person(by)
    }

    fn share(&self, _: &NewShare, by: &Author) -> ChangeResult {
        self.by_person(by)
    }

    fn change_share(&self, _: &ShareChange, by: &Author) -> ChangeResult {
        self.by_person(by)
    }

    fn host_folders(&self, _: Option<&str>) -> Result<HostFolders, Vec<String>> {
        Ok(HostFolders::default())
    }

    fn unshare(&self, _: &str, _: bool, by: &Author) -> ChangeResult {
        self.by_person(by)
    }

    fn rename_share(&self, _: &str, _: &str, by: &Author) -> ChangeResult {
        self.by_person(by)
    }

    fn job(&self, _: JobRequest) -> Result<NewJob, Vec<String>> {
        let work = Box::new(|_: &crate::JobHandle| Ok(Value::Null));
        Ok(NewJob { kind: "names", what: CONFIDENTIAL.into(), unit: "names", key: String::new(), work })
    }

    fn conversions(&self) -> Result<Vec<ConversionStatus>, Vec<String>> {
        Ok(Vec::new())
    }

    fn benchmarks(&self) -> Result<Vec<BenchmarkStatus>, Vec<String>> {
        Ok(Vec::new())
    }

    fn benchmark(&self, _: &str) -> Result<String, Vec<String>> {
        Ok(CONFIDENTIAL.into())
    }

    fn compare(&self, _: &str, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn advice(&self, _: Option<&str>, _: Option<&str>) -> Result<Vec<Advice>, Vec<String>> {
        Ok(vec![Advice { topic: "memory".into(), text: vec![CONFIDENTIAL.into()] }])
    }

    fn folder(&self, _: &str, _: &[u8], _: &Part) -> Result<FolderStatus, Vec<String>> {
        Ok(FolderStatus::default())
    }

    fn file(&self, _: &str, path: &[u8]) -> Result<FileStatus, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{}", path.escape_ascii())])
    }

    fn watch(&self, folder: &str, _: bool) -> Result<FolderWatch, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{folder}")])
    }

    fn webhooks(&self) -> Vec<WebhookStatus> {
        Vec::new()
    }

    fn add_webhook(&self, new: NewWebhook) -> Result<WebhookStatus, Vec<String>> {
        Err(vec![format!("{CONFIDENTIAL}{}", new.url)])
    }

    fn remove_webhook(&self, _: u64) -> Lines {
        Ok(Vec::new())
    }

    fn test_webhook(&self, _: u64) -> Lines {
        Ok(Vec::new())
    }

    fn change_backup_policy(&self, _: &PolicyChange, _: &Author) -> ChangeResult {
        Ok(Vec::new())
    }

    fn backups(&self) -> Result<Vec<BackupStatus>, Vec<String>> {
        Ok(Vec::new())
    }

    fn snapshots(&self, _: Option<&str>) -> Result<SnapshotsStatus, Vec<String>> {
        Ok(SnapshotsStatus::default())
    }

    fn take_snapshot(&self, _: &str, _: Option<&str>) -> Lines {
        Ok(Vec::new())
    }

    fn remove_snapshot(&self, _: &str, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn rename_snapshot(&self, _: &str, _: &str, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn hold_snapshot(&self, _: &str, _: &str, _: &str) -> Lines {
        Ok(Vec::new())
    }

    fn release_snapshot(&self, _: &str, _: &str, _: &str) -> Lines {
        Ok(Vec::new())
    }
}

/// What requests to the made-up server need, with the tokens of this state folder.
pub fn api(state: &Path, server: Arc<MadeUp>, guard: Arc<LoginGuard>) -> Api {
    let metrics = (Metrics::default(), Arc::new(Figures::default) as Arc<dyn Fn() -> Figures + Send + Sync>);
    let more = (Events::default(), LogLines::default());
    Api::new(state.into(), (server.clone(), server), metrics, guard, more)
}

/// Each request of the API's document: its method and its path, with `{…}` for parts that differ.
#[must_use]
pub fn requests() -> Vec<(String, String)> {
    let document = serde_json::to_value(crate::openapi::document()).unwrap_or_default();
    let paths = document["paths"].as_object().cloned().unwrap_or_default();
    let methods = |(path, item): (String, Value)| {
        let methods: Vec<String> =
            item.as_object().into_iter().flat_map(|item| item.keys().cloned()).collect();
        methods.into_iter().map(move |method| (method.to_uppercase(), path.clone()))
    };
    paths.into_iter().flat_map(methods).collect()
}

/// The kinds of jobs in the API's document.
#[must_use]
pub fn job_kinds() -> Vec<String> {
    let document = serde_json::to_value(crate::openapi::document()).unwrap_or_default();
    let mut found = Vec::new();
    kinds(&document["components"]["schemas"]["JobRequest"], &mut found);
    found
}

/// The values that the document permits for `kind`.
fn kinds(schema: &Value, found: &mut Vec<String>) {
    if let Some(words) = schema.pointer("/properties/kind/enum").and_then(Value::as_array) {
        found.extend(words.iter().filter_map(Value::as_str).map(str::to_owned));
    }
    match schema {
        Value::Object(fields) => fields.values().for_each(|inner| kinds(inner, found)),
        Value::Array(all) => all.iter().for_each(|inner| kinds(inner, found)),
        _ => {}
    }
}

/// Where requests come from.
const CLIENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 7)), 50_000);
/// Far longer than all times that the API waits. The clock of a [`Fixture`] does not wait.
const LONG: Duration = Duration::from_secs(600);

/// A made-up server with a session of an administrator, whose clock advances whenever it would wait.
pub struct Fixture {
    runtime: Runtime,
    router: Router,
    cookie: String,
}

impl Fixture {
    /// A server without tokens.
    ///
    /// # Panics
    /// The host has no memory or no threads for it.
    #[must_use]
    pub fn new() -> Self {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_all().start_paused(true).build().expect("a runtime");
        let server = MadeUp { sessions: 3, opens: 3, ..MadeUp::default() };
        let api = api(Path::new("/nonexistent"), Arc::new(server), Arc::default());
        let (logins, router) = (api.logins.clone(), crate::api::router(api));
        let record =
            crate::logins::record(&Arc::default(), CLIENT, ("ada", "password"), std::time::Instant::now());
        let secret = logins.begin(account("ada"), record, std::time::Instant::now());
        Self { runtime, router, cookie: format!("fourfold={}", secret.expect("random numbers")) }
    }

    /// What a client receives that sends this on a connection and then nothing more.
    #[must_use]
    pub fn connection(&self, input: &[u8]) -> Vec<u8> {
        let (mut client, server) = tokio::io::duplex(1 << 16);
        let mut answer = Vec::new();
        self.runtime.block_on(async {
            let standing = Standing::default();
            let serving = crate::serve::answer(server, (CLIENT, &standing), &self.router, LONG);
            let talking = async {
                let _ = client.write_all(input).await;
                let _ = client.shutdown().await;
                let _ = client.read_to_end(&mut answer).await;
            };
            let _ = tokio::join!(serving, talking);
        });
        answer
    }

    /// The status of the answer to a request of an administrator: a method and a path, lines of headers, an empty line,
    /// a body. `None`: it is no request.
    #[must_use]
    pub fn request(&self, input: &str) -> Option<StatusCode> {
        let (head, body) = input.split_once("\n\n").unwrap_or((input, ""));
        let mut lines = head.lines();
        let (method, path) = lines.next()?.split_once(' ')?;
        let mut request = Request::builder().method(method).uri(path).header(header::COOKIE, &self.cookie);
        for (name, value) in lines.filter_map(|line| line.split_once(": ")) {
            request = request.header(name, value);
        }
        let mut request = request.body(Body::from(body.to_owned())).ok()?;
        request.extensions_mut().insert(ConnectInfo(CLIENT));
        let answer = self.runtime.block_on(self.router.clone().oneshot(request));
        answer.ok().map(|answer| answer.status())
    }
}

impl Default for Fixture {
    fn default() -> Self {
        Self::new()
    }
}
