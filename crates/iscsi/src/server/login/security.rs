//! The security stage, RFC 7143 section 12.
//!
//! ```text
//! Open ─ AuthMethod=None ─────────────────────────────────────────────► Settled
//!   └─── AuthMethod=CHAP ─► Chosen ─ CHAP_A ─► Challenged ─ CHAP_N, CHAP_R ─► Settled
//! ```

use std::time::{Duration, Instant};

use auth::Account;

use super::gate::{ConnectionEnds, Gate, OwnSecret};
use crate::server::chap::{Algorithm, Challenge, is_same};
use crate::wire::keys::{self, KeyValue};
use crate::wire::pdu::LoginStatus;

/// The keys of this stage. Each may be sent once.
pub(super) const KEYS: [&str; 6] = ["AuthMethod", "CHAP_A", "CHAP_I", "CHAP_C", "CHAP_N", "CHAP_R"];

/// The progress of the authentication.
pub(super) enum Security {
    /// Not begun.
    Open,
    /// The method is CHAP.
    Chosen,
    /// The server waits for the response.
    Challenged(Challenge),
    /// The initiator has authenticated itself, or need not.
    Settled(Option<Box<Account>>),
}

/// What the server answers.
#[derive(Default)]
pub(super) struct SecurityAnswer {
    pub(super) pairs: Vec<(&'static str, String)>,
    /// The delay of the answer: the initiator's address has made failed attempts.
    pub(super) after: Duration,
}

impl SecurityAnswer {
    fn of<const N: usize>(pairs: [(&'static str, String); N]) -> Self {
        Self { pairs: pairs.into(), after: Duration::ZERO }
    }
}

/// The claimed identity of an initiator, and the result: for the log.
#[derive(Debug, Default)]
pub(crate) struct InitiatorClaim {
    pub(crate) user: String,
    pub(crate) method: &'static str,
    /// Why the authentication failed.
    pub(crate) reason: Option<&'static str>,
    /// The attempt was not evaluated, because too many logins wait.
    pub(crate) is_unheard: bool,
}

/// The context of the decision.
pub(super) struct AuthenticationContext<'a> {
    pub(super) gate: &'a dyn Gate,
    pub(super) peer: ConnectionEnds,
    /// The login needs no authentication.
    pub(super) guests: bool,
    pub(super) now: Instant,
}

/// A refusal, and the delay of the response.
pub(super) type Outcome = Result<SecurityAnswer, (LoginStatus, Duration)>;

/// Too many logins wait. Initiators retry after this status, but give up after a failed
/// authentication.
const TOO_MANY: (LoginStatus, Duration) = (LoginStatus::OUT_OF_RESOURCES, Duration::ZERO);

/// The same status for every reason.
const REFUSED: (LoginStatus, Duration) = (LoginStatus::AUTHENTICATION_FAILURE, Duration::ZERO);

impl Security {
    /// Whether the initiator may go to the next stage.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Open | Self::Settled(_))
    }

    /// The authenticated account.
    pub(super) fn account(&self) -> Option<&Account> {
        match self {
            Self::Settled(account) => account.as_deref(),
            Self::Open | Self::Chosen | Self::Challenged(_) => None,
        }
    }

    /// Takes the next text. Only the keys of this stage count.
    pub(super) fn step(
        &mut self,
        said: &[KeyValue<'_>],
        judge: &AuthenticationContext<'_>,
        claim: &mut InitiatorClaim,
    ) -> Outcome {
        let said: Vec<_> = said.iter().filter(|pair| KEYS.contains(&pair.key)).collect();
        let find = |key: &str| said.iter().find(|pair| pair.key == key).map(|pair| pair.value);
        // The challenge is removed here: it cannot be used again, whatever the response is.
        let (next, told) = match (std::mem::replace(self, Self::Settled(None)), find("AuthMethod")) {
            (Self::Open, Some(methods)) if said.len() == 1 => choose(methods, judge)?,
            (Self::Chosen, None) if said.len() == 1 => challenge(find("CHAP_A").ok_or(REFUSED)?, judge)?,
            (Self::Challenged(challenge), None) => {
                let name = find("CHAP_N").filter(|name| name.len() <= keys::MAX_SIMPLE).ok_or(REFUSED)?;
                let response = find("CHAP_R").and_then(keys::binary).ok_or(REFUSED)?;
                let back = match (find("CHAP_I"), find("CHAP_C"), find("CHAP_A")) {
                    (None, None, None) => None,
                    (Some(id), Some(bytes), None) => {
                        Some(Challenge::of(challenge.algorithm, id, bytes).ok_or(REFUSED)?)
                    }
                    _ => return Err(REFUSED),
                };
                answered(&challenge, Answer { name, response, back }, judge, claim)?
            }
            (state @ (Self::Open | Self::Settled(_)), None) if said.is_empty() => {
                (state, SecurityAnswer::default())
            }
            _ => return Err(REFUSED), // out of order
        };
        *self = next;
        Ok(told)
    }
}

/// AuthMethod: the first acceptable method.
fn choose(
    methods: &str,
    judge: &AuthenticationContext<'_>,
) -> Result<(Security, SecurityAnswer), (LoginStatus, Duration)> {
    let next = keys::list(methods).find_map(|method| match method {
        "CHAP" => Some(("CHAP", Security::Chosen)),
        keys::NONE if judge.guests => Some((keys::NONE, Security::Settled(None))),
        _ => None,
    });
    let (method, next) = next.ok_or(REFUSED)?;
    Ok((next, SecurityAnswer::of([("AuthMethod", method.into())])))
}

/// CHAP_A.
fn challenge(
    algorithms: &str,
    judge: &AuthenticationContext<'_>,
) -> Result<(Security, SecurityAnswer), (LoginStatus, Duration)> {
    let algorithm = Algorithm::of(algorithms).ok_or(REFUSED)?;
    let challenge = Challenge::new(algorithm, &|bytes| judge.gate.random(bytes))
        .ok_or((LoginStatus::OUT_OF_RESOURCES, Duration::ZERO))?;
    let told = SecurityAnswer::of([
        ("CHAP_A", algorithm.number().into()),
        ("CHAP_I", challenge.id.to_string()),
        ("CHAP_C", keys::hexadecimal_of(&challenge.bytes)),
    ]);
    Ok((Security::Challenged(challenge), told))
}

/// The initiator's response, and its challenge to the server.
struct Answer<'a> {
    name: &'a str,
    response: Vec<u8>,
    back: Option<Challenge>,
}

/// CHAP_N, CHAP_R. An unknown name fails at the same step and after the same work as a wrong secret.
fn answered(
    challenge: &Challenge,
    answer: Answer<'_>,
    judge: &AuthenticationContext<'_>,
    claim: &mut InitiatorClaim,
) -> Result<(Security, SecurityAnswer), (LoginStatus, Duration)> {
    (claim.user, claim.method) = (answer.name.to_owned(), "CHAP");
    let (guard, place) = (judge.gate.login_guard(), judge.peer.address.ip());
    let Some(attempt) = guard.limiter.admit(place, answer.name, judge.now) else {
        claim.is_unheard = true;
        return Err(TOO_MANY);
    };
    let after = attempt.wait;
    let account = judge.gate.accounts().find(answer.name).filter(|account| !account.disabled);
    let own = judge.gate.own_secret();
    let secret =
        account.as_ref().and_then(Account::chap_secret).filter(|secret| !is_ours(secret, &own, judge));
    let is_right = challenge.is_answered_by(secret, &answer.response);
    let (Some(account), true) = (&account, is_right) else {
        let late = guard.limiter.failed(&attempt, judge.now);
        claim.reason = Some(reason(answer.name, judge));
        return Err((LoginStatus::AUTHENTICATION_FAILURE, after + late));
    };
    let pairs = match &answer.back {
        Some(back) => prove(challenge, back, own).ok_or((LoginStatus::AUTHENTICATION_FAILURE, after))?,
        None => Vec::new(),
    };
    guard.limiter.succeeded(&attempt, judge.now);
    Ok((Security::Settled(Some(Box::new(account.clone()))), SecurityAnswer { pairs, after }))
}

fn reason(name: &str, judge: &AuthenticationContext<'_>) -> &'static str {
    let accounts = judge.gate.accounts();
    match accounts.find(name) {
        None => auth::Refusal::Unknown.text(),
        Some(account) if account.disabled => auth::Refusal::Disabled.text(),
        Some(account) if account.chap_secret().is_none() => "the account has no CHAP secret",
        Some(_) => "the CHAP secret is wrong",
    }
}

/// Whether a secret is the server's own. All initiators that verify the server know it, and one of
/// them could make the server answer its own challenge: RFC 7143 9.2.1 wants another secret for
/// each direction.
fn is_ours(secret: &[u8], own: &Option<OwnSecret>, judge: &AuthenticationContext<'_>) -> bool {
    let is_ours = own.as_ref().is_some_and(|own| is_same(secret, &own.secret));
    if is_ours {
        tracing::warn!(peer = %judge.peer.address, "an initiator's CHAP secret is the server's own, which is refused");
    }
    is_ours
}

/// Answers the initiator's challenge, unless it is the server's own challenge.
fn prove(
    ours: &Challenge,
    theirs: &Challenge,
    own: Option<OwnSecret>,
) -> Option<Vec<(&'static str, String)>> {
    let own = own.filter(|own| own.secret.len() >= auth::MIN_CHAP_SECRET && ours.bytes != theirs.bytes)?;
    let response = keys::hexadecimal_of(&theirs.answer(&own.secret));
    Some(vec![("CHAP_N", own.name), ("CHAP_R", response)])
}
