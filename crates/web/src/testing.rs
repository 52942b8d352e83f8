//! The API in front of a server that is made up: for tests, and for what is fuzzed.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use admin::control::{
    CachesAnswer, CachesRequest, Disconnect, LunAnswer, LunRequest, OpenStatus, Progress, Report,
    RestoreReport, RestoreRequest, SessionStatus, Status,
};
use auth::{Account, Identity, LoginGuard, Refusal, Secret, nt_hash};

use crate::manage::{AccountStatus, Holdings, Overview, SettingChange, SettingsStatus, SnapshotsStatus};
use crate::{Api, Events, Figures, LogLines, Manage, Metrics};

/// A part of answers that only administrators may read.
pub const CONFIDENTIAL: &str = "<script>";

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
    /// Passwords that are being checked, the most at the same time, and all of them.
    pub(crate) checking: AtomicUsize,
    pub(crate) most_checking: AtomicUsize,
    pub(crate) checked: AtomicUsize,
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
            user: Some(format!("user{number}")),
            since_s: 1,
            requests: 1,
            bytes_in: 1,
            bytes_out: 1,
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

    fn reload(&self) -> Lines {
        Ok(Vec::new())
    }

    fn say(&self, _: &str) -> Vec<String> {
        Vec::new()
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

    fn overview(&self) -> Overview {
        Overview::default()
    }

    fn holdings(&self) -> Holdings {
        Holdings::default()
    }

    fn accounts(&self) -> Vec<AccountStatus> {
        Vec::new()
    }

    fn settings(&self) -> Result<SettingsStatus, Vec<String>> {
        Ok(SettingsStatus::default())
    }

    fn change(&self, _: &SettingChange) -> Lines {
        Ok(Vec::new())
    }

    fn undo(&self) -> Lines {
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
}

/// What requests to the made-up server need, with the tokens of this state folder.
pub fn api(state: &Path, server: Arc<MadeUp>, guard: Arc<LoginGuard>) -> Api {
    let metrics = (Metrics::default(), Arc::new(Figures::default) as Arc<dyn Fn() -> Figures + Send + Sync>);
    let more = (Events::default(), LogLines::default());
    Api::new(state.into(), (server.clone(), server), metrics, guard, more)
}
