//! The login of one connection, from its first request to its last.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::declared::{ALIAS, FIRST, LoginDeclaration, OF_TARGETS};
use super::gate::{ConnectionEnds, Gate, Initiator, NoTarget};
use super::negotiate::{self, NegotiatedSession, NegotiationKey};
use super::parameters::{OUR_MAX_DATA, Parameters};
use super::security::{self, AuthenticationContext, InitiatorClaim, Security};
use crate::server::scsi::InitiatorPort;
use crate::server::target::Target;
use crate::wire::Writer;
use crate::wire::keys::{self, KeyValue, MAX_TEXT};
use crate::wire::pdu::{LoginRequest, LoginResponse, LoginStatus, Stage, VERSION};

/// The most requests of one login. The text may arrive in small pieces.
const MAX_REQUESTS: usize = 256;
/// The most keys of one login. The answers to this many keys always fit into one response of 8192
/// bytes.
const MAX_KEYS: usize = 96;

/// A login in progress.
pub(crate) struct Attempt {
    gate: Arc<dyn Gate>,
    peer: ConnectionEnds,
    /// The first request. Certain fields of the others must be equal.
    first: Option<LoginRequest>,
    requests: usize,
    stage: Stage,
    /// Text that continues in the next request.
    text: Vec<u8>,
    /// The keys that the initiator has sent; it must not send a key again.
    said: HashSet<String>,
    keys: usize,
    wanted: Option<RequestedLogin>,
    security: Security,
    claim: InitiatorClaim,
    /// The server has declared its own keys of the operational stage.
    has_declared: bool,
    parameters: Parameters,
    /// The login has ended.
    over: bool,
}

/// The declarations of the first text.
struct RequestedLogin {
    declared: LoginDeclaration,
    target: Option<Arc<Target>>,
    /// The login needs no authentication.
    guests: bool,
}

/// The answer, and its delay: a client that guesses secrets waits.
#[derive(Debug)]
pub(crate) struct LoginReply {
    pub(crate) after: Duration,
    pub(crate) step: AttemptStep,
}

/// The result of a login request.
#[derive(Debug)]
pub(crate) enum AttemptStep {
    /// The login continues with the initiator's next request.
    Answer(LoginResponse, Vec<u8>),
    /// The login has failed. The connection is closed after this response.
    Refused(LoginResponse),
    /// The login is complete. The caller adds the session's number to the response, or turns it
    /// into a refusal.
    Done(LoginResponse, Vec<u8>, Box<LoginResult>),
}

/// The result of a login: initiator, target and negotiated parameters.
#[derive(Debug)]
pub(crate) struct LoginResult {
    /// InitiatorName and ISID.
    pub(crate) initiator: InitiatorPort,
    /// InitiatorAlias.
    pub(crate) alias: Option<String>,
    /// 0: a new session, which replaces another one of the same initiator and target. Otherwise the
    /// session to join.
    pub(crate) tsih_asked: u16,
    /// The connection. It replaces another connection with the same number in the session.
    pub(crate) cid: u16,
    /// CmdSN of the last request, which is also the number of the first command.
    pub(crate) cmd_sn: u32,
    /// The type of the session.
    pub(crate) kind: SessionKind,
    /// The authenticated account; `None` for guests. A connection that joins a session must have
    /// the same account.
    pub(crate) account: Option<String>,
    /// When a connection joins a session, only the connection's own parameters count.
    pub(crate) parameters: Parameters,
}

/// The type of a session.
#[derive(Clone)]
pub(crate) enum SessionKind {
    /// For SendTargets.
    Discovery,
    /// For commands to a target.
    Normal(Arc<Target>),
}

impl std::fmt::Debug for SessionKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Discovery => f.write_str("Discovery"),
            Self::Normal(target) => write!(f, "Normal({})", target.name),
        }
    }
}

/// The status that ends a login, and the delay of the response.
type Refusal = (LoginStatus, Duration);

impl Attempt {
    /// The login of a new connection.
    pub(crate) fn new(gate: Arc<dyn Gate>, peer: ConnectionEnds) -> Self {
        Self {
            gate,
            peer,
            first: None,
            requests: 0,
            stage: Stage::SECURITY_NEGOTIATION,
            text: Vec::new(),
            said: HashSet::new(),
            keys: 0,
            wanted: None,
            security: Security::Open,
            claim: InitiatorClaim::default(),
            has_declared: false,
            parameters: Parameters::default(),
            over: false,
        }
    }

    /// The claimed identity, for the log.
    pub(crate) fn claim(&self) -> &InitiatorClaim {
        &self.claim
    }

    /// Answers the next request. After a step that ends the login, all further requests are
    /// refused.
    pub(crate) fn next(&mut self, request: &LoginRequest, text: &[u8], now: Instant) -> LoginReply {
        let advanced = if self.over {
            Err(at_once(LoginStatus::INITIATOR_ERROR))
        } else {
            self.advance(request, text, now)
        };
        let (step, after) = advanced.unwrap_or_else(|(status, after)| {
            (AttemptStep::Refused(LoginResponse::refused(request, status)), after)
        });
        self.over = !matches!(step, AttemptStep::Answer(..));
        LoginReply { after, step }
    }

    fn advance(
        &mut self,
        request: &LoginRequest,
        text: &[u8],
        now: Instant,
    ) -> Result<(AttemptStep, Duration), Refusal> {
        self.check(request).map_err(at_once)?;
        self.text.extend_from_slice(text);
        if self.requests > MAX_REQUESTS || self.text.len() > MAX_TEXT {
            return Err(at_once(LoginStatus::OUT_OF_RESOURCES));
        }
        if request.more {
            let response = LoginResponse::to(request, None);
            return Ok((AttemptStep::Answer(response, Vec::new()), Duration::ZERO));
        }
        let text = std::mem::take(&mut self.text);
        let mut said = keys::decode(&text).map_err(|_| at_once(LoginStatus::INITIATOR_ERROR))?;
        let mut w = Writer::new();
        let is_first = self.wanted.is_none();
        if is_first {
            self.begin(&said, &mut w).map_err(at_once)?;
        }
        said.sort_by_key(|pair| negotiate::order(pair.key));
        let mut for_security = Vec::new();
        for pair in said {
            self.take(pair, is_first, &mut for_security, &mut w).map_err(at_once)?;
        }
        let after = self.secure(&for_security, now, &mut w)?;
        self.conclude(request, w).map(|step| (step, after)).map_err(|status| (status, after))
    }

    /// Checks the header against the current state: RFC 7143 6.3 and 11.12.
    fn check(&mut self, request: &LoginRequest) -> Result<(), LoginStatus> {
        self.requests += 1;
        let is_stage = match &self.first {
            None if request.version_min > VERSION => return Err(LoginStatus::UNSUPPORTED_VERSION),
            None => request.current <= Stage::OPERATIONAL_NEGOTIATION,
            Some(first) => request.current == self.stage && request.is_like(first),
        };
        let goes_on = request.current < request.next
            && [Stage::OPERATIONAL_NEGOTIATION, Stage::FULL_FEATURE].contains(&request.next);
        if !is_stage || request.transit && (request.more || !goes_on) {
            return Err(LoginStatus::INITIATOR_ERROR);
        }
        self.stage = request.current;
        self.first.get_or_insert(*request);
        Ok(())
    }

    /// Reads the declarations of the first request: RFC 7143 6.3.1.
    fn begin(&mut self, said: &[KeyValue<'_>], w: &mut Writer) -> Result<(), LoginStatus> {
        let declared = LoginDeclaration::of(said)?;
        let target = self.target(&declared, None)?;
        if declared.names_target {
            let group = self.gate.portal_group(self.peer.local.ip());
            keys::encode("TargetPortalGroupTag", &group.to_string(), w);
        }
        let alias = target.as_ref().map_or("", |target| &target.alias);
        if (1..=keys::MAX_SIMPLE).contains(&alias.len()) {
            keys::encode("TargetAlias", alias, w);
        }
        let guests = self.gate.guests(target.as_deref());
        self.wanted = Some(RequestedLogin { declared, target, guests });
        Ok(())
    }

    /// Finds the target, with the identity that is known so far.
    fn target(
        &self,
        declared: &LoginDeclaration,
        account: Option<&str>,
    ) -> Result<Option<Arc<Target>>, LoginStatus> {
        let Some(name) = &declared.target else { return Ok(None) };
        let who = Initiator { name: &declared.initiator, account, host: self.peer.address.ip() };
        match self.gate.target(name, &who) {
            Ok(target) => Ok(Some(target)),
            Err(NoTarget::NotFound) => Err(LoginStatus::NOT_FOUND),
            Err(NoTarget::NotAllowed) => Err(LoginStatus::AUTHORIZATION_FAILURE),
        }
    }

    /// Takes one pair. Pairs of the security stage are collected, because they are evaluated
    /// together.
    fn take<'a>(
        &mut self,
        pair: KeyValue<'a>,
        is_first: bool,
        for_security: &mut Vec<KeyValue<'a>>,
        w: &mut Writer,
    ) -> Result<(), LoginStatus> {
        self.keys += 1;
        if self.keys > MAX_KEYS {
            return Err(LoginStatus::OUT_OF_RESOURCES);
        }
        if pair.is_refusal() && (OF_TARGETS.contains(&pair.key) || pair.key == "MaxRecvDataSegmentLength") {
            return Ok(()); // an answer to a key of the server
        }
        let in_security = self.stage == Stage::SECURITY_NEGOTIATION;
        let in_stage = match NegotiationKey::named(pair.key) {
            Some(_) => !in_security,
            None if security::KEYS.contains(&pair.key) => in_security,
            None => !OF_TARGETS.contains(&pair.key),
        };
        if !in_stage {
            keys::encode(pair.key, keys::REJECT, w);
            return Ok(());
        }
        let is_late = FIRST.contains(&pair.key) && !is_first;
        if is_late || !self.said.insert(pair.key.to_owned()) {
            return Err(LoginStatus::INITIATOR_ERROR); // RFC 7143 6.2: a key may be sent once only
        }
        if security::KEYS.contains(&pair.key) {
            for_security.push(pair);
        } else if let Some(key) = NegotiationKey::named(pair.key) {
            let place = self.place();
            let answer = key.settle(&mut self.parameters, place, pair.value);
            answer.text().into_iter().for_each(|value| keys::encode(pair.key, value, w));
        } else if !FIRST.contains(&pair.key) && pair.key != ALIAS {
            keys::encode(pair.key, keys::NOT_UNDERSTOOD, w);
        }
        Ok(())
    }

    fn place(&self) -> NegotiatedSession {
        let leading = self.first.is_some_and(|first| first.tsih == 0);
        let discovery = self.wanted.as_ref().is_some_and(|wanted| wanted.target.is_none());
        NegotiatedSession { leading, discovery }
    }

    /// Evaluates the keys of the security stage.
    fn secure(&mut self, said: &[KeyValue<'_>], now: Instant, w: &mut Writer) -> Result<Duration, Refusal> {
        if self.stage != Stage::SECURITY_NEGOTIATION {
            return Ok(Duration::ZERO);
        }
        let guests = self.wanted.as_ref().is_some_and(|wanted| wanted.guests);
        let judge = AuthenticationContext { gate: &*self.gate, peer: self.peer, guests, now };
        let told = self.security.step(said, &judge, &mut self.claim)?;
        told.pairs.iter().for_each(|(key, value)| keys::encode(key, value, w));
        Ok(told.after)
    }

    /// Goes to the next stage if the initiator asks for it and the current stage is complete.
    fn conclude(&mut self, request: &LoginRequest, mut w: Writer) -> Result<AttemptStep, LoginStatus> {
        if self.stage == Stage::OPERATIONAL_NEGOTIATION {
            self.admit()?; // a login that begins here has skipped the security stage
            if !std::mem::replace(&mut self.has_declared, true) {
                keys::encode("MaxRecvDataSegmentLength", &OUR_MAX_DATA.to_string(), &mut w);
                self.parameters.our_max_data = OUR_MAX_DATA;
            }
        }
        let text = w.into_bytes();
        if !request.transit || !self.security.is_over() {
            return Ok(AttemptStep::Answer(LoginResponse::to(request, None), text));
        }
        self.admit()?;
        self.stage = request.next;
        let response = LoginResponse::to(request, Some(request.next));
        if request.next != Stage::FULL_FEATURE {
            return Ok(AttemptStep::Answer(response, text));
        }
        let logged_in = self.logged_in(request).ok_or(LoginStatus::TARGET_ERROR)?;
        Ok(AttemptStep::Done(response, text, Box::new(logged_in)))
    }

    /// Leaving the security stage needs an account, unless guests are allowed, and permission for
    /// the target.
    fn admit(&self) -> Result<(), LoginStatus> {
        let wanted = self.wanted.as_ref().ok_or(LoginStatus::MISSING_PARAMETER)?;
        match self.security.account() {
            Some(account) => self.target(&wanted.declared, Some(&account.name)).map(|_| ()),
            None if wanted.guests => Ok(()),
            None => Err(LoginStatus::AUTHENTICATION_FAILURE),
        }
    }

    fn logged_in(&mut self, request: &LoginRequest) -> Option<LoginResult> {
        negotiate::finish(&mut self.parameters);
        let RequestedLogin { declared, target, .. } = self.wanted.take()?;
        Some(LoginResult {
            initiator: InitiatorPort { name: declared.initiator.into(), isid: request.isid },
            alias: declared.alias,
            tsih_asked: request.tsih,
            cid: request.cid,
            cmd_sn: request.cmd_sn,
            kind: target.map_or(SessionKind::Discovery, SessionKind::Normal),
            account: self.security.account().map(|account| account.name.clone()),
            parameters: self.parameters.clone(),
        })
    }
}

fn at_once(status: LoginStatus) -> Refusal {
    (status, Duration::ZERO)
}

impl LoginRequest {
    /// Whether this is a later request of the same login, RFC 7143 11.12.
    fn is_like(&self, first: &Self) -> bool {
        let fixed = |request: &Self| (request.isid, request.tsih, request.cid);
        fixed(self) == fixed(first)
    }
}

impl LoginResponse {
    /// The response to a request without an error.
    fn to(request: &LoginRequest, next: Option<Stage>) -> Self {
        Self {
            transit: next.is_some(),
            more: false,
            current: request.current,
            next: next.unwrap_or(Stage(0)),
            version_max: VERSION,
            version_active: VERSION,
            isid: request.isid,
            tsih: request.tsih,
            task_tag: request.task_tag,
            status: LoginStatus::SUCCESS,
        }
    }

    /// The response to a refused request.
    pub(crate) fn refused(request: &LoginRequest, status: LoginStatus) -> Self {
        Self { status, ..Self::to(request, None) }
    }
}
