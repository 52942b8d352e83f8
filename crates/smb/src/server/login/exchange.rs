//! One login: SPNEGO (RFC 4178) around Kerberos or NTLM, or NTLM alone; MS-SMB2 3.3.5.5.
//!
//! ```text
//!           NegTokenInit, another mechanism first
//!  Start ──────────────────────────────────────────► Asked      "this one, and show me a checksum of your list"
//!    │  NTLM: NEGOTIATE                    NEGOTIATE │  │
//!    ├───────────────────► Challenged ◄──────────────┘  │       CHALLENGE
//!    │ a ticket                │ AUTHENTICATE           │ a ticket
//!    ▼                         ▼                        ▼
//!  Login                     Login, or a refusal     Proving    the ticket is good: the checksum is awaited
//! ```
//!
//! The caller passes in time and randomness.

#[cfg(test)]
mod tests;

use std::time::SystemTime;

use auth::kerberos::{SecurityContext, Ticket, TicketRefusal};
use auth::{Account, Accounts, LoggedOn, LogonRefused, MemberNames, NtlmResponse};
use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::ntlm::keys::Side;
use super::ntlm::protection::NtlmProtection;
use super::ntlm::{SentChallenge, malformed};
use crate::wire::Status;
use crate::wire::spnego::{
    HINT, KERBEROS, MS_KERBEROS, MechTypes, NTLMSSP, NegState, NegTokenInit, NegTokenResp, SpnegoToken,
};

/// The longest list of mechanisms that is kept for its checksum.
const MAX_MECH_TYPES: usize = 1024;
/// The server's names.
#[derive(Debug, Clone)]
pub(in crate::server) struct ServerNames {
    /// At most 15 characters, upper case.
    pub(in crate::server) netbios: String,
    /// The computer's name.
    pub(in crate::server) dns: String,
    /// The names in the domain, if its users may log in.
    pub(in crate::server) member: Option<MemberNames>,
}

/// What others say of a login, before the step that needs it.
pub(in crate::server) enum Answer {
    /// Kerberos, of the client's ticket.
    Ticket(Result<Ticket, TicketRefusal>),
    /// A domain controller, of the client's response.
    Domain(Result<LoggedOn, LogonRefused>),
}

/// Which logins need no password.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct LoginPolicy {
    /// A login without a name, for lists of shares.
    pub(in crate::server) anonymous: bool,
    /// A login as "guest", which is no account.
    pub(in crate::server) guest: bool,
    /// A login with any other name that is no account is a guest, too, if `guest` is allowed.
    pub(in crate::server) unknown_users: bool,
}

/// The data that decide on a login.
pub(in crate::server) struct LoginJudge<'a> {
    pub(in crate::server) accounts: &'a dyn Accounts,
    pub(in crate::server) names: &'a ServerNames,
    pub(in crate::server) policy: LoginPolicy,
    /// The server takes tickets.
    pub(in crate::server) has_kerberos: bool,
    /// The time, a FILETIME.
    pub(in crate::server) now: u64,
    /// Fresh randomness.
    pub(in crate::server) challenge: [u8; 8],
}

/// The kind of user that has logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum UserKind {
    /// A user that knows the account's password, or has a ticket.
    Account(Account),
    /// A user without an account.
    Guest,
    /// A user without a name.
    Anonymous,
}

/// A login that has succeeded.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::server) struct CompletedLogin {
    pub(in crate::server) who: UserKind,
    /// The name as the client wrote it.
    pub(in crate::server) user: String,
    /// The client's own name, if it says one.
    pub(in crate::server) workstation: String,
    /// The key of the mechanism: 16 bytes, or 32 from some tickets. All zeros for a guest: the two sides have no common
    /// key, so no signature can be verified.
    pub(in crate::server) session_key: Vec<u8>,
    /// How the user has proven who it is, for the log.
    pub(in crate::server) method: &'static str,
    /// When the ticket ends.
    pub(in crate::server) expires: Option<SystemTime>,
    /// What protects messages by the mechanism itself, for protocols without keys of their own: NTLM with extended session
    /// security has it.
    pub(in crate::server) protection: Option<Box<NtlmProtection>>,
}

/// How the log names the mechanisms.
pub(in crate::server) const NTLM_METHOD: &str = "NTLMv2";
const KERBEROS_METHOD: &str = "Kerberos";

/// Why a ticket was refused, for the log.
#[derive(Debug, Default, Clone)]
pub(in crate::server) struct TicketRefused {
    /// The principal, if the ticket is good.
    pub(in crate::server) principal: String,
    pub(in crate::server) why: String,
}

/// The user name that a client claims.
pub(in crate::server) struct Claim {
    pub(in crate::server) user: String,
    /// The response is of NTLMv1 or LM. The server does not check these.
    pub(in crate::server) is_old: bool,
}

/// The answer to a message. `login` is set if it was the last message.
pub(in crate::server) struct LoginStep {
    pub(in crate::server) token: Vec<u8>,
    /// `None`: the status is MORE_PROCESSING_REQUIRED.
    pub(in crate::server) login: Option<CompletedLogin>,
}

/// The state of one login. After a refusal it accepts no further message.
#[derive(Default)]
pub(in crate::server) struct Exchange {
    pub(super) state: LoginState,
    /// The client's list of mechanisms. `None` if NTLM is sent without SPNEGO.
    pub(super) mech_types: Option<Vec<u8>>,
    /// The mechanism is not the client's first choice, so the client must prove its list (RFC 4178 5).
    must_prove: bool,
    ticket_refused: Option<TicketRefused>,
    domain_refused: Option<LogonRefused>,
}

#[derive(Default)]
pub(super) enum LoginState {
    #[default]
    Start,
    /// The client is to use this mechanism.
    Asked(Mechanism),
    Challenged(SentChallenge),
    /// The ticket is good, and the client is to prove its list.
    Proving(CompletedLogin, Box<dyn SecurityContext>),
    Over,
}

/// A mechanism of the client's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mechanism {
    Ntlm,
    /// By one of its two object identifiers.
    Kerberos(&'static [u8]),
}

impl Mechanism {
    fn of(oid: &[u8], has_kerberos: bool) -> Option<Self> {
        match oid {
            NTLMSSP => Some(Self::Ntlm),
            KERBEROS if has_kerberos => Some(Self::Kerberos(KERBEROS)),
            MS_KERBEROS if has_kerberos => Some(Self::Kerberos(MS_KERBEROS)),
            _ => None,
        }
    }

    fn oid(self) -> &'static [u8] {
        match self {
            Self::Ntlm => NTLMSSP,
            Self::Kerberos(oid) => oid,
        }
    }
}

/// The token in the response to NEGOTIATE (MS-SMB2 3.3.5.4): the mechanisms that the server offers.
pub(in crate::server) fn hint(has_kerberos: bool) -> Vec<u8> {
    let der = match has_kerberos {
        true => MechTypes::to_der(&[MS_KERBEROS, KERBEROS, NTLMSSP]),
        false => MechTypes::to_der(&[NTLMSSP]),
    };
    let mech_types = MechTypes::of(&der).expect("our own list");
    NegTokenInit { mech_types, mech_token: None, hint: Some(HINT), mech_list_mic: None }.encode()
}

impl Exchange {
    /// Answers the next message of the client.
    ///
    /// # Errors
    /// The login is refused: INVALID_PARAMETER when the message makes no sense, LOGON_FAILURE, or
    /// ACCOUNT_DISABLED when the user knows the password.
    pub(in crate::server) fn step(
        &mut self,
        message: &[u8],
        judge: &LoginJudge<'_>,
        answer: Option<Answer>,
    ) -> Result<LoginStep, Status> {
        let token = SpnegoToken::decode(message).map_err(malformed)?;
        let (ticket, domain) = match answer {
            Some(Answer::Ticket(ticket)) => (Some(ticket), None),
            Some(Answer::Domain(logon)) => (None, Some(logon)),
            None => (None, None),
        };
        self.domain_refused = domain.as_ref().and_then(|logon| logon.as_ref().err().cloned());
        match (std::mem::replace(&mut self.state, LoginState::Over), token) {
            (LoginState::Start, SpnegoToken::Ntlm(ntlm)) => self.challenge(ntlm, None, judge),
            (LoginState::Start, SpnegoToken::Init(init)) => self.begin(init, judge, ticket),
            (
                LoginState::Asked(mechanism),
                SpnegoToken::Resp(NegTokenResp { response_token: Some(token), .. }),
            ) => match mechanism {
                Mechanism::Ntlm => self.challenge(token, None, judge),
                Mechanism::Kerberos(_) => self.ticket(ticket, None, judge),
            },
            (LoginState::Proving(login, context), SpnegoToken::Resp(resp)) => {
                self.proven(login, &*context, resp)
            }
            (LoginState::Challenged(challenged), SpnegoToken::Ntlm(ntlm)) if self.mech_types.is_none() => {
                let (mut login, checksums) = challenged.authenticate(ntlm, judge, domain)?;
                login.protection = checksums.map(|checksums| Box::new(checksums.protection(0)));
                Ok(LoginStep { token: Vec::new(), login: Some(login) })
            }
            (LoginState::Challenged(challenged), SpnegoToken::Resp(resp)) if self.mech_types.is_some() => {
                self.complete(challenged, resp, judge, domain)
            }
            _ => Err(Status::INVALID_PARAMETER),
        }
    }

    /// The claimed user name, if this message decides whether the user is let in.
    pub(in crate::server) fn claimed(&self, message: &[u8]) -> Option<Claim> {
        let (challenged, ntlm) = self.last(message)?;
        challenged.claim(ntlm)
    }

    /// What a domain controller is asked before the next [`Self::step`], if this message is for it to decide.
    pub(in crate::server) fn question(&self, message: &[u8], judge: &LoginJudge<'_>) -> Option<NtlmResponse> {
        let (challenged, ntlm) = self.last(message)?;
        challenged.question(ntlm, judge)
    }

    /// Why a domain controller has refused the login, if one has.
    pub(in crate::server) fn domain_refused(&self) -> Option<&LogonRefused> {
        self.domain_refused.as_ref()
    }

    /// The last message of a login by NTLM.
    fn last<'a>(&self, message: &'a [u8]) -> Option<(&SentChallenge, &'a [u8])> {
        let LoginState::Challenged(challenged) = &self.state else { return None };
        let ntlm = match SpnegoToken::decode(message).ok()? {
            SpnegoToken::Ntlm(ntlm) => ntlm,
            SpnegoToken::Resp(resp) => resp.response_token?,
            SpnegoToken::Init(_) => return None,
        };
        Some((challenged, ntlm))
    }

    /// Why a ticket was refused, if one was.
    pub(in crate::server) fn ticket_refused(&self) -> Option<&TicketRefused> {
        self.ticket_refused.as_ref()
    }

    /// The token that Kerberos is to take before the next [`Self::step`], if this message has one.
    pub(in crate::server) fn token_for_kerberos(&self, message: &[u8]) -> Option<Vec<u8>> {
        match (&self.state, SpnegoToken::decode(message).ok()?) {
            (LoginState::Start, SpnegoToken::Init(init)) => {
                let is_kerberos = matches!(init.mech_types.iter().next(), Some(KERBEROS | MS_KERBEROS));
                init.mech_token.filter(|_| is_kerberos).map(<[u8]>::to_vec)
            }
            (LoginState::Asked(Mechanism::Kerberos(_)), SpnegoToken::Resp(resp)) => {
                resp.response_token.map(<[u8]>::to_vec)
            }
            _ => None,
        }
    }

    fn begin(
        &mut self,
        init: NegTokenInit<'_>,
        judge: &LoginJudge<'_>,
        ticket: Option<Result<Ticket, TicketRefusal>>,
    ) -> Result<LoginStep, Status> {
        let mut mechanisms = init.mech_types.iter().map(|oid| Mechanism::of(oid, judge.has_kerberos));
        let preferred = mechanisms.next().flatten();
        let Some(mechanism) = preferred.or_else(|| mechanisms.flatten().next()) else {
            return Err(Status::INVALID_PARAMETER);
        };
        let mech_types = init.mech_types.as_der();
        if mech_types.len() > MAX_MECH_TYPES {
            return Err(Status::INVALID_PARAMETER);
        }
        self.mech_types = Some(mech_types.to_vec());
        self.must_prove = preferred.is_none();
        match (init.mech_token.filter(|_| !self.must_prove), mechanism) {
            (Some(ntlm), Mechanism::Ntlm) => self.challenge(ntlm, Some(NTLMSSP), judge),
            (Some(_), Mechanism::Kerberos(oid)) => self.ticket(ticket, Some(oid), judge),
            (None, _) => {
                let state = if self.must_prove { NegState::REQUEST_MIC } else { NegState::ACCEPT_INCOMPLETE };
                let resp = NegTokenResp {
                    neg_state: Some(state),
                    supported_mech: Some(mechanism.oid()),
                    ..NegTokenResp::default()
                };
                self.state = LoginState::Asked(mechanism);
                Ok(LoginStep { token: resp.encode(), login: None })
            }
        }
    }

    /// A ticket: MS-SMB2 3.3.5.5.3, RFC 4121. `mech`: the answer names the mechanism.
    fn ticket(
        &mut self,
        ticket: Option<Result<Ticket, TicketRefusal>>,
        mech: Option<&[u8]>,
        judge: &LoginJudge<'_>,
    ) -> Result<LoginStep, Status> {
        let ticket = ticket.ok_or(Status::INVALID_PARAMETER)?.map_err(|refused| {
            let status = match &refused {
                TicketRefusal::Clock => Status::TIME_DIFFERENCE_AT_DC,
                _ => Status::LOGON_FAILURE,
            };
            self.refuse_ticket(String::new(), refused.to_string(), status)
        })?;
        let principal = ticket.principal.clone();
        let Some(account) = ticket.account.as_deref().and_then(|name| judge.accounts.find_in_any_case(name))
        else {
            let why = match ticket.account {
                Some(_) => auth::Refusal::Unknown.text().to_owned(),
                None => {
                    "it is no user of the realms whose users have accounts (`kerberos-realms`)".to_owned()
                }
            };
            return Err(self.refuse_ticket(principal, why, Status::LOGON_FAILURE));
        };
        if account.disabled {
            let why = auth::Refusal::Disabled.text().to_owned();
            return Err(self.refuse_ticket(principal, why, Status::ACCOUNT_DISABLED));
        }
        let login = CompletedLogin {
            who: UserKind::Account(account),
            user: principal,
            workstation: String::new(),
            session_key: ticket.session_key,
            method: KERBEROS_METHOD,
            expires: ticket.expires,
            protection: None,
        };
        let mech_types = self.mech_types.as_deref().unwrap_or_default();
        let mic = if self.must_prove { ticket.context.sign(mech_types) } else { None };
        let state = if self.must_prove { NegState::ACCEPT_INCOMPLETE } else { NegState::ACCEPT_COMPLETED };
        let resp = NegTokenResp {
            neg_state: Some(state),
            supported_mech: mech,
            response_token: (!ticket.reply.is_empty()).then_some(&*ticket.reply),
            mech_list_mic: mic.as_deref(),
        };
        let token = resp.encode();
        if self.must_prove {
            self.state = LoginState::Proving(login, ticket.context);
            return Ok(LoginStep { token, login: None });
        }
        Ok(LoginStep { token, login: Some(login) })
    }

    fn refuse_ticket(&mut self, principal: String, why: String, status: Status) -> Status {
        self.ticket_refused = Some(TicketRefused { principal, why });
        status
    }

    /// The checksum over the client's list, after its ticket.
    fn proven(
        &mut self,
        login: CompletedLogin,
        context: &dyn SecurityContext,
        resp: NegTokenResp<'_>,
    ) -> Result<LoginStep, Status> {
        let mech_types = self.mech_types.as_deref().unwrap_or_default();
        if !resp.mech_list_mic.is_some_and(|mic| context.verifies(mech_types, mic)) {
            let why = "the list of mechanisms was changed on the way".to_owned();
            return Err(self.refuse_ticket(login.user, why, Status::LOGON_FAILURE));
        }
        let done = NegTokenResp { neg_state: Some(NegState::ACCEPT_COMPLETED), ..NegTokenResp::default() };
        Ok(LoginStep { token: done.encode(), login: Some(login) })
    }

    fn challenge(
        &mut self,
        ntlm: &[u8],
        mech: Option<&[u8]>,
        judge: &LoginJudge<'_>,
    ) -> Result<LoginStep, Status> {
        let challenged = SentChallenge::new(ntlm, judge)?;
        let message = challenged.message.clone();
        self.state = LoginState::Challenged(challenged);
        if self.mech_types.is_none() {
            return Ok(LoginStep { token: message, login: None });
        }
        let resp = NegTokenResp {
            neg_state: Some(NegState::ACCEPT_INCOMPLETE),
            supported_mech: mech,
            response_token: Some(&message),
            ..NegTokenResp::default()
        };
        Ok(LoginStep { token: resp.encode(), login: None })
    }

    /// Answers the last message. A checksum over the list of mechanisms proves that no attacker has
    /// changed the list.
    fn complete(
        &self,
        challenged: SentChallenge,
        resp: NegTokenResp<'_>,
        judge: &LoginJudge<'_>,
        domain: Option<Result<LoggedOn, LogonRefused>>,
    ) -> Result<LoginStep, Status> {
        let ntlm = resp.response_token.ok_or(Status::INVALID_PARAMETER)?;
        let (mut login, checksums) = challenged.authenticate(ntlm, judge, domain)?;
        // The checksums of the list are the first messages of both sides. The cipher begins anew after them: MS-SPNG 3.3.5.1.
        let first = u32::from(resp.mech_list_mic.is_some());
        login.protection = checksums.as_ref().map(|checksums| Box::new(checksums.protection(first)));
        let mech_types = self.mech_types.as_deref().unwrap_or_default();
        let ours = match (checksums, resp.mech_list_mic) {
            (Some(checksums), Some(mic)) => {
                let expected = checksums.of(Side::Client, mech_types);
                verify_slices_are_equal(&expected, mic).map_err(|_| Status::LOGON_FAILURE)?;
                Some(checksums.of(Side::Server, mech_types))
            }
            // The server has no common key with a guest, so the guest can prove nothing and gets
            // nothing protected.
            _ if login.who == UserKind::Guest => None,
            _ if self.must_prove || resp.mech_list_mic.is_some() => return Err(Status::LOGON_FAILURE),
            _ => None,
        };
        let done = NegTokenResp {
            neg_state: Some(NegState::ACCEPT_COMPLETED),
            mech_list_mic: ours.as_ref().map(<[u8; 16]>::as_slice),
            ..NegTokenResp::default()
        };
        Ok(LoginStep { token: done.encode(), login: Some(login) })
    }
}

impl LoginPolicy {
    /// Whether a user whose name is no account is let in as a guest.
    pub(in crate::server) fn admits_guest(self, user: &str) -> bool {
        self.guest && (self.unknown_users || user.eq_ignore_ascii_case("guest"))
    }
}

impl std::fmt::Debug for CompletedLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let who = match &self.who {
            UserKind::Account(account) => &account.name,
            UserKind::Guest => "a guest",
            UserKind::Anonymous => "nobody",
        };
        write!(f, "Login({who} as {:?} from {:?})", self.user, self.workstation)
    }
}
