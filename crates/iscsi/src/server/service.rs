//! The state that all connections share: the targets and the sessions.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use auth::{Accounts, LoginGuard};
use lock::{Mutex, RwLock};
use tokio::time::Instant;

use super::config::TargetConfig;
use super::connection::Connection;
use super::limits::{MAX_CONNECTIONS, MAX_SESSIONS};
use super::login::{Gate, Initiator, LoginResult, NoTarget, OwnSecret, SessionKind};
use super::paths::{MAIN_PORT, Way};
use super::scsi::Nexus;
use super::session::Session;
use super::target::Target;
use super::{logout, nop};
use crate::ranks;
use crate::wire::pdu::LoginStatus;

/// Seconds of silence after which the server pings a client.
const PING_AFTER_S: u64 = 30;
/// Seconds within which the client must answer.
const PING_WITHIN_S: u64 = 30;

/// The server.
pub struct Service {
    config: RwLock<Arc<TargetConfig>, ranks::IscsiConfig>,
    sessions: Mutex<InitiatorSessions, ranks::IscsiSessions>,
    started: Instant,
}

#[derive(Default)]
struct InitiatorSessions {
    by_tsih: HashMap<u16, Arc<Session>>,
    last: u16,
}

/// A session, for the administrator's list.
#[derive(Debug, Clone)]
pub struct SessionInfo {
    /// The initiator's name.
    pub initiator: String,
    /// The initiator's displayed name, if it has sent one.
    pub alias: Option<String>,
    /// The target's name; `None` for discovery sessions.
    pub target: Option<String>,
    /// The authenticated account.
    pub user: Option<String>,
    /// The addresses of its connections.
    pub peers: Vec<SocketAddr>,
    /// The time of its login.
    pub since: SystemTime,
}

impl Service {
    /// A server without sessions.
    pub fn new(config: TargetConfig) -> Arc<Self> {
        let config = Arc::new(config);
        config.targets.iter().for_each(|target| target.join(&config));
        let (config, sessions) = (RwLock::new(config), Mutex::default());
        Arc::new(Self { config, sessions, started: Instant::now() })
    }

    /// Replaces the settings. Sessions of removed targets end.
    pub fn set_config(&self, config: TargetConfig) {
        let config = Arc::new(config);
        config.targets.iter().for_each(|target| target.join(&config));
        let before = std::mem::replace(&mut *self.config.write(), config.clone());
        for session in self.all() {
            if self.may_stay(&session, &before, &config) {
                session.seen(); // tells its initiator of changed units
            } else {
                self.drop_session(&session);
            }
        }
    }

    /// Whether a session may continue under new settings: its account has the same secret, and may
    /// use the target.
    fn may_stay(&self, session: &Session, before: &TargetConfig, now: &TargetConfig) -> bool {
        let account = session.user.as_deref();
        let secret = |config: &TargetConfig, name: &str| {
            let account = config.accounts.find(name).filter(|account| !account.disabled)?;
            Some(account.chap_secret()?.to_vec())
        };
        let is_same =
            |name| secret(now, name).is_some_and(|secret_now| Some(secret_now) == secret(before, name));
        if account.is_some_and(|name| !is_same(name)) {
            return false;
        }
        let Some(target) = &session.target else { return true };
        if self.is_elsewhere(session, target) {
            return false;
        }
        let who = Initiator { name: &session.nexus.initiator.name, account, host: session.nexus.host };
        let is_there = now.targets.iter().any(|other| Arc::ptr_eq(other, target));
        is_there && (account.is_some() || target.policy().guests) && self.may_log_in(target, &who)
    }

    /// Where an initiator that has connected to this local address finds the units of a target.
    pub(super) fn way(&self, target: &Target, local: IpAddr) -> Way {
        let paths = self.config.read().paths.clone();
        paths.map_or(Way::Here, |paths| paths.way(&target.name, local))
    }

    /// Whether the units of a session's target are at another address now.
    fn is_elsewhere(&self, session: &Session, target: &Target) -> bool {
        let is = |local| matches!(self.way(target, local), Way::Elsewhere(_));
        session.connections().iter().any(|connection| is(connection.local.ip()))
    }

    /// Ends sessions for the administrator. Answers how many.
    pub fn disconnect(&self, which: impl Fn(&SessionInfo) -> bool) -> usize {
        let mut meant = self.all();
        meant.retain(|session| which(&info(session)));
        meant.iter().for_each(|session| self.drop_session(session));
        meant.len()
    }

    /// All sessions.
    pub fn sessions(&self) -> Vec<SessionInfo> {
        self.all().iter().map(|session| info(session)).collect()
    }

    /// Pings silent clients, and checks the space of thin units. Called every few seconds.
    pub fn tend(&self) {
        let config = self.config.read().clone();
        config.targets.iter().flat_map(|target| target.luns()).for_each(|lun| lun.unit.look_at_space());
        let now = self.now_s();
        for connection in self.connections() {
            let Some(joined) = connection.joined.get() else { continue };
            let (heard, pinged) = (connection.heard_s(), connection.pinged_s.load(Ordering::Relaxed));
            if pinged > heard && now >= pinged + PING_WITHIN_S {
                tracing::info!(client = %connection.peer.address, "an iSCSI client is silent; its connection ends");
                connection.sender.close();
            } else if pinged <= heard && now >= heard + PING_AFTER_S {
                connection.pinged_s.store(now, Ordering::Relaxed);
                nop::ping(&connection, joined);
            }
        }
    }

    /// Asks every initiator to log out, because the server shuts down.
    pub fn stop(&self) {
        for connection in self.connections() {
            if let Some(joined) = connection.joined.get() {
                logout::ask_for(&connection, joined);
            }
        }
    }

    /// Seconds since the start.
    pub(super) fn now_s(&self) -> u64 {
        1 + self.started.elapsed().as_secs()
    }

    fn all(&self) -> Vec<Arc<Session>> {
        self.sessions.lock().by_tsih.values().cloned().collect()
    }

    /// All connections of all sessions.
    pub(super) fn connections(&self) -> Vec<Arc<Connection>> {
        self.all().into_iter().flat_map(|session| session.connections()).collect()
    }

    /// Completes a login: begins its session, which replaces the session of the same initiator port
    /// (RFC 7143 6.3.5), or adds the connection to the session that it names (6.3.4).
    pub(super) fn attach(
        &self,
        connection: &Arc<Connection>,
        logged_in: LoginResult,
    ) -> Result<Arc<Session>, LoginStatus> {
        let cid = logged_in.cid;
        let session = match logged_in.tsih_asked {
            0 => self.begin(logged_in, connection.peer.address.ip(), connection.local.ip())?,
            tsih => self.find(tsih, &logged_in, connection.local.ip())?,
        };
        session.join(cid, connection).ok_or(LoginStatus::TOO_MANY_CONNECTIONS)?;
        Ok(session)
    }

    fn begin(
        &self,
        logged_in: LoginResult,
        host: IpAddr,
        local: IpAddr,
    ) -> Result<Arc<Session>, LoginStatus> {
        let target = match logged_in.kind {
            SessionKind::Normal(target) => Some(target),
            SessionKind::Discovery => None,
        };
        let (initiator, port) = (logged_in.initiator, self.portal_group(local));
        let is_same = |other: &&Arc<Session>| {
            let theirs = other.target.as_ref().map(|target| &target.name);
            target.is_some()
                && other.nexus.initiator == initiator
                && theirs == target.as_ref().map(|target| &target.name)
        };
        let mut sessions = loop {
            let sessions = self.sessions.lock();
            let Some(before) = sessions.by_tsih.values().find(is_same).cloned() else { break sessions };
            drop(sessions);
            // An initiator's name is a claim without proof: another client must not end the session
            // of an account.
            if before.user.is_some() && before.user != logged_in.account {
                return Err(LoginStatus::AUTHORIZATION_FAILURE);
            }
            self.end(&before);
        };
        if sessions.by_tsih.len() >= MAX_SESSIONS {
            return Err(LoginStatus::OUT_OF_RESOURCES);
        }
        let tsih = sessions.free();
        let nexus = Nexus { initiator, host, port };
        let mut parameters = logged_in.parameters;
        parameters.max_connections = parameters.max_connections.min(MAX_CONNECTIONS as u16);
        let session = Session::new(
            tsih,
            nexus,
            target,
            (logged_in.account, logged_in.alias),
            parameters,
            logged_in.cmd_sn,
        );
        sessions.by_tsih.insert(tsih, session.clone());
        Ok(session)
    }

    fn find(&self, tsih: u16, logged_in: &LoginResult, local: IpAddr) -> Result<Arc<Session>, LoginStatus> {
        let found = self.sessions.lock().by_tsih.get(&tsih).cloned();
        let session = found.ok_or(LoginStatus::SESSION_DOES_NOT_EXIST)?;
        if session.nexus.initiator != logged_in.initiator {
            return Err(LoginStatus::SESSION_DOES_NOT_EXIST);
        }
        let same_target = match (&logged_in.kind, &session.target) {
            (SessionKind::Normal(target), Some(theirs)) => target.name == theirs.name,
            _ => false,
        };
        let same_port = session.nexus.port == self.portal_group(local);
        if !same_target || !same_port || session.user != logged_in.account {
            return Err(LoginStatus::CANNOT_INCLUDE_IN_SESSION);
        }
        Ok(session)
    }

    /// A connection is over. Its session is over, too, unless the connection was logged out and
    /// others exist: at error recovery level 0 nothing is retained, and lost PDUs are not sent
    /// again (RFC 7143 7.1.4).
    pub(super) fn lost(&self, session: &Arc<Session>, connection: &Arc<Connection>) {
        if session.part(connection) {
            self.end(session);
        } else if !connection.is_logged_out() {
            self.drop_session(session);
        }
    }

    /// Ends a session.
    pub(super) fn end(&self, session: &Arc<Session>) {
        let mut sessions = self.sessions.lock();
        if sessions.by_tsih.get(&session.tsih).is_some_and(|other| Arc::ptr_eq(other, session)) {
            sessions.by_tsih.remove(&session.tsih);
        }
        drop(sessions);
        session.end();
    }

    /// Ends a session for a reason of the server: its initiator is told.
    fn drop_session(&self, session: &Arc<Session>) {
        for connection in session.connections() {
            if let Some(joined) = connection.joined.get() {
                logout::say_dropped(&connection, joined);
            }
        }
        self.end(session);
    }

    /// Ends all sessions of a target.
    pub(super) fn end_all_of(&self, target: Option<&Arc<Target>>) {
        let of = |session: &&Arc<Session>| match (&session.target, target) {
            (Some(theirs), Some(target)) => Arc::ptr_eq(theirs, target),
            _ => false,
        };
        self.all().iter().filter(of).for_each(|session| self.drop_session(session));
    }

    fn may_log_in(&self, target: &Target, who: &Initiator<'_>) -> bool {
        if target.seen_by(who.name, who.host).is_empty() {
            return false;
        }
        let Some(name) = who.account else { return true };
        let identity = self.accounts().find(name).map(|account| account.identity);
        let is_member = |group| identity.as_ref().is_some_and(|identity| identity.in_group(group));
        target.policy().admits(Some(name), &is_member)
    }
}

fn info(session: &Session) -> SessionInfo {
    SessionInfo {
        initiator: session.nexus.initiator.name.to_string(),
        alias: session.alias.clone(),
        target: session.target.as_ref().map(|target| target.name.clone()),
        user: session.user.clone(),
        peers: session.connections().iter().map(|connection| connection.peer.address).collect(),
        since: session.since,
    }
}

impl InitiatorSessions {
    /// A number that no session has. There are fewer sessions than numbers.
    fn free(&mut self) -> u16 {
        loop {
            self.last = self.last.wrapping_add(1);
            if self.last != 0 && !self.by_tsih.contains_key(&self.last) {
                return self.last;
            }
        }
    }
}

impl Gate for Service {
    fn target(&self, name: &str, who: &Initiator<'_>) -> Result<Arc<Target>, NoTarget> {
        let config = self.config.read().clone();
        let target = config.targets.iter().find(|target| target.name == name).ok_or(NoTarget::NotFound)?;
        if self.may_log_in(target, who) { Ok(target.clone()) } else { Err(NoTarget::NotAllowed) }
    }

    fn targets(&self, who: &Initiator<'_>) -> Vec<Arc<Target>> {
        let config = self.config.read().clone();
        let seen = |target: &&Arc<Target>| {
            (who.account.is_some() || target.policy().guests) && self.may_log_in(target, who)
        };
        config.targets.iter().filter(seen).cloned().collect()
    }

    fn guests(&self, target: Option<&Target>) -> bool {
        match target {
            Some(target) => target.policy().guests,
            None => {
                let config = self.config.read().clone(); // a target's own lock comes before
                config.targets.iter().any(|target| target.policy().guests)
            }
        }
    }

    fn accounts(&self) -> Arc<dyn Accounts> {
        self.config.read().accounts.clone()
    }

    fn own_secret(&self) -> Option<OwnSecret> {
        let own = self.config.read().own_secret.clone();
        own.map(|(name, secret)| OwnSecret { name, secret })
    }

    fn login_guard(&self) -> Arc<LoginGuard> {
        self.config.read().login_guard.clone()
    }

    fn portal_group(&self, local: IpAddr) -> u16 {
        let paths = self.config.read().paths.clone();
        paths.map_or(MAIN_PORT, |paths| paths.port(local))
    }

    fn portals(&self, target: &str, local: SocketAddr) -> Vec<(SocketAddr, u16)> {
        let paths = self.config.read().paths.clone();
        paths.map_or_else(|| vec![(local, MAIN_PORT)], |paths| paths.portals(target, local))
    }
}

#[cfg(test)]
mod tests {
    use super::super::login::Parameters;
    use super::super::scsi::InitiatorPort;
    use super::super::testing::Server;
    use super::*;

    #[tokio::test]
    async fn the_session_of_an_account_is_begun_again_by_that_account_alone() {
        let server = Server::new().await;
        let begin = |account: Option<&str>| {
            let initiator =
                InitiatorPort { name: "iqn.2026-11.test:ada".into(), isid: [0x40, 0, 0, 0, 0, 1] };
            let logged_in = LoginResult {
                initiator,
                alias: None,
                tsih_asked: 0,
                cid: 1,
                cmd_sn: 1,
                kind: SessionKind::Normal(server.target.clone()),
                account: account.map(str::to_owned),
                parameters: Parameters::default(),
            };
            server
                .service
                .begin(logged_in, [192, 0, 2, 1].into(), [192, 0, 2, 9].into())
                .map(|session| session.tsih)
        };
        let refused = Err(LoginStatus::AUTHORIZATION_FAILURE);
        assert!(begin(None).is_ok());
        let first = begin(Some("ada")).unwrap();
        assert_eq!((begin(None), begin(Some("eve"))), (refused, refused));
        assert!(begin(Some("ada")).is_ok_and(|second| second != first));
        assert_eq!(server.service.sessions().len(), 1);
    }
}
