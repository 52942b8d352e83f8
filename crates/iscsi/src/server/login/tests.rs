//! Logins from the initiator's side. In texts, `|` stands for the zero byte after each pair.

mod anything;
mod keys;
mod security;
mod stages;
mod text;

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock};
use std::time::Instant;

use auth::{AccountFile, Accounts, Directory, Host, Identity, Ids, LoginGuard, UnixAccounts};

use super::*;
use crate::server::target::Target;
use crate::wire::pdu::{LoginRequest, LoginResponse, LoginStatus, Stage};

pub(super) const SECURITY: Stage = Stage::SECURITY_NEGOTIATION;
pub(super) const OPERATIONAL: Stage = Stage::OPERATIONAL_NEGOTIATION;
pub(super) const FULL: Stage = Stage::FULL_FEATURE;

/// A target for guests, one for ada, one for all accounts, and one for a single initiator.
pub(super) const OPEN: &str = "iqn.2026-11.test:open";
pub(super) const ADAS: &str = "iqn.2026-11.test:adas";
pub(super) const MEMBERS: &str = "iqn.2026-11.test:members";
pub(super) const PRIVATE: &str = "iqn.2026-11.test:private";

/// The server of the tests.
pub(super) struct House {
    pub(super) accounts: Arc<Directory>,
    pub(super) own: Option<OwnSecret>,
    pub(super) login_guard: Arc<LoginGuard>,
    /// The value of all random bytes.
    pub(super) random: u8,
    pub(super) discovery_is_open: bool,
}

impl House {
    pub(super) fn new() -> Self {
        let own = OwnSecret { name: "studio".into(), secret: b"secret of the studio".to_vec() };
        let (accounts, login_guard) = (ACCOUNTS.clone(), Arc::default());
        Self { accounts, own: Some(own), login_guard, random: 0x11, discovery_is_open: true }
    }
}

/// Ada and eve have CHAP secrets. Bob has a password only. Grace has a secret and is disabled.
static ACCOUNTS: LazyLock<Arc<Directory>> = LazyLock::new(|| {
    let state = tempfile::tempdir().unwrap();
    let own = Identity::new(7, 7, &[]);
    let file = AccountFile::read(state.path()).unwrap();
    let mut accounts =
        Directory::new(&file, Host { unix: UnixAccounts::parse("", ""), own, default_user: None });
    for (name, secret) in [("ada", "secret of ada"), ("eve", "secret of eve"), ("bob", "bob")] {
        accounts.set(name, Ids::default(), false, Some(secret)).unwrap();
    }
    accounts.set("grace", Ids::default(), true, Some("secret of grace")).unwrap();
    Arc::new(accounts)
});

impl Gate for House {
    fn target(&self, name: &str, who: &Initiator<'_>) -> Result<Arc<Target>, NoTarget> {
        let may = match name {
            OPEN | MEMBERS => true,
            ADAS => who.account.is_none_or(|account| account == "ada"),
            PRIVATE => who.name == "iqn.2026-11.test:friend",
            _ => return Err(NoTarget::NotFound),
        };
        if may {
            Ok(Target::new(name, if name == ADAS { "Ada's disk" } else { "" }))
        } else {
            Err(NoTarget::NotAllowed)
        }
    }

    fn targets(&self, who: &Initiator<'_>) -> Vec<Arc<Target>> {
        [OPEN, ADAS, MEMBERS, PRIVATE].iter().filter_map(|name| self.target(name, who).ok()).collect()
    }

    fn guests(&self, target: Option<&Target>) -> bool {
        target.map_or(self.discovery_is_open, |target| [OPEN, PRIVATE].contains(&target.name.as_str()))
    }

    fn accounts(&self) -> Arc<dyn Accounts> {
        self.accounts.clone()
    }

    fn own_secret(&self) -> Option<OwnSecret> {
        self.own.clone()
    }

    fn login_guard(&self) -> Arc<LoginGuard> {
        self.login_guard.clone()
    }

    fn random(&self, bytes: &mut [u8]) -> bool {
        bytes.fill(self.random);
        true
    }
}

pub(super) fn peer() -> ConnectionEnds {
    let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
    ConnectionEnds { address: at("192.0.2.7:49152"), local: at("192.0.2.1:3260") }
}

/// An initiator during its login.
pub(super) struct Client {
    attempt: Attempt,
    pub(super) header: LoginRequest,
    pub(super) now: Instant,
}

/// The server's answer.
#[derive(Debug)]
pub(super) enum LoginAnswer {
    /// With the next stage, if the login goes to it.
    Text(String, Option<Stage>),
    Refused(LoginStatus),
    In(String, Box<LoginResult>),
}

impl Client {
    pub(super) fn claim(&self) -> &crate::server::login::security::InitiatorClaim {
        self.attempt.claim()
    }

    pub(super) fn of(house: Arc<dyn Gate>) -> Self {
        let header = LoginRequest {
            transit: false,
            more: false,
            current: SECURITY,
            next: SECURITY,
            version_max: 0,
            version_min: 0,
            isid: [0x00, 0x02, 0x3d, 0, 0, 1],
            tsih: 0,
            task_tag: 7,
            cid: 1,
            cmd_sn: 5,
            exp_stat_sn: 0,
        };
        Self { attempt: Attempt::new(house, peer()), header, now: Instant::now() }
    }

    pub(super) fn new() -> Self {
        Self::of(Arc::new(House::new()))
    }

    /// Sends a text in a stage, and asks for the next stage if it is given.
    pub(super) fn say(&mut self, current: Stage, next: Option<Stage>, text: &str) -> LoginAnswer {
        let request =
            LoginRequest { transit: next.is_some(), current, next: next.unwrap_or(SECURITY), ..self.header };
        self.send(&request, &bytes(text))
    }

    pub(super) fn send(&mut self, request: &LoginRequest, text: &[u8]) -> LoginAnswer {
        let reply = self.attempt.next(request, text, self.now);
        self.now += reply.after;
        let shown = |text: Vec<u8>| String::from_utf8(text).unwrap().replace('\0', "|");
        let like = |response: &LoginResponse| {
            assert_eq!((response.isid, response.task_tag), (request.isid, request.task_tag));
            assert_eq!((response.current, response.tsih), (request.current, request.tsih));
        };
        match reply.step {
            AttemptStep::Answer(response, text) => {
                like(&response);
                assert_eq!(response.status, LoginStatus::SUCCESS);
                LoginAnswer::Text(shown(text), response.transit.then_some(response.next))
            }
            AttemptStep::Refused(response) => {
                like(&response);
                assert!(!response.transit && response.status != LoginStatus::SUCCESS);
                LoginAnswer::Refused(response.status)
            }
            AttemptStep::Done(response, text, logged_in) => {
                like(&response);
                assert_eq!((response.transit, response.next), (true, FULL));
                assert_eq!(response.status, LoginStatus::SUCCESS);
                LoginAnswer::In(shown(text), logged_in)
            }
        }
    }
}

pub(super) fn bytes(text: &str) -> Vec<u8> {
    text.replace('|', "\0").into_bytes()
}

impl LoginAnswer {
    #[track_caller]
    pub(super) fn text(self, next: Option<Stage>) -> String {
        match self {
            Self::Text(text, stage) if stage == next => text,
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn logged_in(self) -> (String, LoginResult) {
        match self {
            Self::In(text, logged_in) => (text, *logged_in),
            other => panic!("{other:?}"),
        }
    }

    #[track_caller]
    pub(super) fn refused(self) -> (u8, u8) {
        match self {
            Self::Refused(LoginStatus(class, detail)) => (class, detail),
            other => panic!("{other:?}"),
        }
    }
}

/// The first text of an initiator that logs in to this target.
pub(super) fn hello(target: &str) -> String {
    format!("InitiatorName=iqn.1993-08.org.debian:01:abc|TargetName={target}|SessionType=Normal|")
}
