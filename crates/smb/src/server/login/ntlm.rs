//! One login with NTLMv2 in SPNEGO, or bare: MS-NLMP 3.2.5, RFC 4178, MS-SMB2 3.3.5.5.
//!
//! ```text
//!           NegTokenInit, another mechanism first
//!  Start ──────────────────────────────────────────► Asked      "NTLM, and show me a checksum of your list"
//!    │  NEGOTIATE                            NEGOTIATE │
//!    └───────────────────► Challenged ◄────────────────┘        CHALLENGE
//!                              │ AUTHENTICATE
//!                              └─► Login, or a refusal
//! ```
//!
//! NTLMv2 only: older responses are refused for every account. The caller passes in time and
//! randomness.

mod charset;
pub(crate) mod keys;
#[cfg(test)]
mod tests;

use auth::{Account, Accounts};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use wire::{Malformed, Writer};

use self::charset::Charset;
use self::keys::{Side, hmac_md5};
use crate::wire::Status;
use crate::wire::ntlm::{Authenticate, Challenge, Negotiate, NtlmV2Response, Version};
use crate::wire::ntlm::{av, av_pairs, encode_av_pairs, flags};
use crate::wire::spnego::{HINT, MechTypes, NTLMSSP, NegState, NegTokenInit, NegTokenResp, Token};

/// Flags that the client chooses, besides the character set. The server chooses the others.
const ECHOED: u32 = flags::REQUEST_TARGET
    | flags::SIGN
    | flags::SEAL
    | flags::ALWAYS_SIGN
    | flags::EXTENDED_SESSIONSECURITY
    | flags::VERSION
    | flags::KEY_128
    | flags::KEY_EXCH
    | flags::KEY_56;
/// Flags of every challenge (MS-NLMP 3.2.5.1.1).
const ALWAYS: u32 = flags::NTLM | flags::TARGET_TYPE_SERVER | flags::TARGET_INFO;

/// The version that the server shows: that of an old Windows which all clients know. No client acts
/// on it.
const VERSION: Version = Version { major: 6, minor: 1, build: 0, revision: Version::REVISION };

/// The shortest NTLMv2 response (MS-NLMP 2.2.2.8): a proof and a client's challenge without AV pairs.
const SHORTEST_V2: usize = 44;
/// The longest list of mechanisms that is kept for its checksum.
const MAX_MECH_TYPES: usize = 1024;
/// The longest NEGOTIATE message that is kept for its checksum: it has at most two names in it.
const MAX_NEGOTIATE: usize = 1024;

/// The server's names.
#[derive(Debug, Clone)]
pub(in crate::server) struct Names {
    /// At most 15 characters, upper case.
    pub(in crate::server) netbios: String,
    /// The computer's name.
    pub(in crate::server) dns: String,
}

/// Which logins need no password.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::server) struct Policy {
    /// A login without a name, for lists of shares.
    pub(in crate::server) anonymous: bool,
    /// A login as "guest", which is no account.
    pub(in crate::server) guest: bool,
    /// A login with any other name that is no account is a guest, too, if `guest` is allowed.
    pub(in crate::server) unknown_users: bool,
}

/// The data that decide on a login.
pub(in crate::server) struct Judge<'a> {
    pub(in crate::server) accounts: &'a dyn Accounts,
    pub(in crate::server) names: &'a Names,
    pub(in crate::server) policy: Policy,
    /// The time, a FILETIME.
    pub(in crate::server) now: u64,
    /// Fresh randomness.
    pub(in crate::server) challenge: [u8; 8],
}

/// The kind of user that has logged in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::server) enum Who {
    /// A user that knows the account's password.
    Account(Account),
    /// A user without an account.
    Guest,
    /// A user without a name.
    Anonymous,
}

/// A login that has succeeded.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::server) struct Login {
    pub(in crate::server) who: Who,
    /// The name as the client wrote it.
    pub(in crate::server) user: String,
    /// The client's own name, if it says one.
    pub(in crate::server) workstation: String,
    /// ExportedSessionKey. All zeros for a guest: the two sides have no common key, so no signature
    /// can be verified.
    pub(in crate::server) session_key: [u8; 16],
}

/// The user name that a client claims.
pub(in crate::server) struct Claim {
    pub(in crate::server) user: String,
    /// The response is of NTLMv1 or LM. The server does not check these.
    pub(in crate::server) is_old: bool,
}

/// The answer to a message. `login` is set if it was the last message.
pub(in crate::server) struct Step {
    pub(in crate::server) token: Vec<u8>,
    /// `None`: the status is MORE_PROCESSING_REQUIRED.
    pub(in crate::server) login: Option<Login>,
}

/// The state of one login. After a refusal it accepts no further message.
#[derive(Default)]
pub(in crate::server) struct Exchange {
    state: State,
    /// The client's list of mechanisms. `None` if NTLM is sent without SPNEGO.
    mech_types: Option<Vec<u8>>,
    /// NTLM is not the client's first choice, so the client must prove its list (RFC 4178 5).
    must_prove: bool,
}

#[derive(Default)]
enum State {
    #[default]
    Start,
    Asked,
    Challenged(Challenged),
    Over,
}

/// The token in the response to NEGOTIATE (MS-SMB2 3.3.5.4): the server offers only NTLM.
pub(in crate::server) fn hint() -> Vec<u8> {
    let der = MechTypes::to_der(&[NTLMSSP]);
    let mech_types = MechTypes::of(&der).expect("our own list");
    NegTokenInit { mech_types, mech_token: None, hint: Some(HINT), mech_list_mic: None }.encode()
}

impl Exchange {
    /// Answers the next message of the client.
    ///
    /// # Errors
    /// The login is refused: INVALID_PARAMETER when the message makes no sense, LOGON_FAILURE, or
    /// ACCOUNT_DISABLED when the user knows the password.
    pub(in crate::server) fn step(&mut self, message: &[u8], judge: &Judge<'_>) -> Result<Step, Status> {
        let token = Token::decode(message).map_err(malformed)?;
        match (std::mem::replace(&mut self.state, State::Over), token) {
            (State::Start, Token::Ntlm(ntlm)) => self.challenge(ntlm, None, judge),
            (State::Start, Token::Init(init)) => self.begin(init, judge),
            (State::Asked, Token::Resp(NegTokenResp { response_token: Some(ntlm), .. })) => {
                self.challenge(ntlm, None, judge)
            }
            (State::Challenged(challenged), Token::Ntlm(ntlm)) if self.mech_types.is_none() => {
                let (login, _) = challenged.authenticate(ntlm, judge)?;
                Ok(Step { token: Vec::new(), login: Some(login) })
            }
            (State::Challenged(challenged), Token::Resp(resp)) if self.mech_types.is_some() => {
                self.complete(challenged, resp, judge)
            }
            _ => Err(Status::INVALID_PARAMETER),
        }
    }

    /// The claimed user name, if this message decides whether the user is let in.
    pub(in crate::server) fn claimed(&self, message: &[u8]) -> Option<Claim> {
        let State::Challenged(challenged) = &self.state else { return None };
        let ntlm = match Token::decode(message).ok()? {
            Token::Ntlm(ntlm) => ntlm,
            Token::Resp(resp) => resp.response_token?,
            Token::Init(_) => return None,
        };
        let sent = Authenticate::decode(ntlm).ok()?;
        let user = challenged.charset.text(sent.user);
        let is_old = sent.nt_response.len() < SHORTEST_V2;
        (!user.is_empty()).then_some(Claim { user, is_old })
    }

    fn begin(&mut self, init: NegTokenInit<'_>, judge: &Judge<'_>) -> Result<Step, Status> {
        let mut mechanisms = init.mech_types.iter();
        let is_preferred = mechanisms.next() == Some(NTLMSSP);
        if !is_preferred && !mechanisms.any(|mechanism| mechanism == NTLMSSP) {
            return Err(Status::INVALID_PARAMETER);
        }
        let mech_types = init.mech_types.as_der();
        if mech_types.len() > MAX_MECH_TYPES {
            return Err(Status::INVALID_PARAMETER);
        }
        self.mech_types = Some(mech_types.to_vec());
        self.must_prove = !is_preferred;
        match init.mech_token {
            Some(ntlm) if is_preferred => self.challenge(ntlm, Some(NTLMSSP), judge),
            _ => {
                let state = if is_preferred { NegState::ACCEPT_INCOMPLETE } else { NegState::REQUEST_MIC };
                let resp = NegTokenResp {
                    neg_state: Some(state),
                    supported_mech: Some(NTLMSSP),
                    ..NegTokenResp::default()
                };
                self.state = State::Asked;
                Ok(Step { token: resp.encode(), login: None })
            }
        }
    }

    fn challenge(&mut self, ntlm: &[u8], mech: Option<&[u8]>, judge: &Judge<'_>) -> Result<Step, Status> {
        let challenged = Challenged::new(ntlm, judge)?;
        let message = challenged.message.clone();
        self.state = State::Challenged(challenged);
        if self.mech_types.is_none() {
            return Ok(Step { token: message, login: None });
        }
        let resp = NegTokenResp {
            neg_state: Some(NegState::ACCEPT_INCOMPLETE),
            supported_mech: mech,
            response_token: Some(&message),
            ..NegTokenResp::default()
        };
        Ok(Step { token: resp.encode(), login: None })
    }

    /// Answers the last message. A checksum over the list of mechanisms proves that no attacker has
    /// changed the list.
    fn complete(
        &self,
        challenged: Challenged,
        resp: NegTokenResp<'_>,
        judge: &Judge<'_>,
    ) -> Result<Step, Status> {
        let ntlm = resp.response_token.ok_or(Status::INVALID_PARAMETER)?;
        let (login, checksums) = challenged.authenticate(ntlm, judge)?;
        let mech_types = self.mech_types.as_deref().unwrap_or_default();
        let ours = match (checksums, resp.mech_list_mic) {
            (Some(checksums), Some(mic)) => {
                let expected = checksums.of(Side::Client, mech_types);
                verify_slices_are_equal(&expected, mic).map_err(|_| Status::LOGON_FAILURE)?;
                Some(checksums.of(Side::Server, mech_types))
            }
            // The server has no common key with a guest, so the guest can prove nothing and gets
            // nothing protected.
            _ if login.who == Who::Guest => None,
            _ if self.must_prove || resp.mech_list_mic.is_some() => return Err(Status::LOGON_FAILURE),
            _ => None,
        };
        let done = NegTokenResp {
            neg_state: Some(NegState::ACCEPT_COMPLETED),
            mech_list_mic: ours.as_ref().map(<[u8; 16]>::as_slice),
            ..NegTokenResp::default()
        };
        Ok(Step { token: done.encode(), login: Some(login) })
    }
}

/// A challenge has been sent.
struct Challenged {
    negotiate: Vec<u8>,
    message: Vec<u8>,
    challenge: [u8; 8],
    flags: u32,
    /// The character set of the names in the client's next message.
    charset: Charset,
}

impl Challenged {
    fn new(negotiate: &[u8], judge: &Judge<'_>) -> Result<Self, Status> {
        let asked = Negotiate::decode(negotiate).map_err(malformed)?;
        // MS-NLMP 2.2.2.5: without a character set the token is invalid.
        let charset = Charset::chosen(asked.flags).ok_or(Status::INVALID_PARAMETER)?;
        if negotiate.len() > MAX_NEGOTIATE {
            return Err(Status::INVALID_PARAMETER);
        }
        let flags = asked.flags & ECHOED | ALWAYS | charset.flag();
        // The AV pairs are Unicode in either character set (MS-NLMP 2.2.2.1).
        let [netbios, dns] =
            [&judge.names.netbios, &judge.names.dns].map(|name| Charset::Unicode.bytes(name));
        let mut target_info = Writer::new();
        let pairs: [(u16, &[u8]); 5] = [
            (av::NB_DOMAIN_NAME, &netbios),
            (av::NB_COMPUTER_NAME, &netbios),
            (av::DNS_DOMAIN_NAME, &[]),
            (av::DNS_COMPUTER_NAME, &dns),
            (av::TIMESTAMP, &judge.now.to_le_bytes()),
        ];
        encode_av_pairs(&mut target_info, &pairs);
        let mut message = Writer::new();
        let challenge = Challenge {
            target_name: &charset.bytes(&judge.names.netbios),
            flags,
            challenge: judge.challenge,
            target_info: target_info.as_bytes(),
            version: VERSION,
        };
        challenge.encode(&mut message);
        let (negotiate, message) = (negotiate.to_vec(), message.into_bytes());
        Ok(Self { negotiate, message, challenge: judge.challenge, flags, charset })
    }

    /// MS-NLMP 3.2.5.1.2.
    fn authenticate(&self, message: &[u8], judge: &Judge<'_>) -> Result<(Login, Option<Checksums>), Status> {
        let sent = Authenticate::decode(message).map_err(malformed)?;
        let mut login = Login {
            who: Who::Anonymous,
            user: self.charset.text(sent.user),
            workstation: self.charset.text(sent.workstation),
            session_key: [0; 16],
        };
        if sent.user.is_empty() && sent.nt_response.is_empty() && matches!(sent.lm_response, [] | [0]) {
            if !judge.policy.anonymous {
                return Err(Status::LOGON_FAILURE);
            }
            login.session_key = self.exported_key([0; 16], &sent)?;
            let checksums = self.checksums(&login, &sent);
            return Ok((login, checksums));
        }
        let account = judge.accounts.find_in_any_case(&login.user);
        if account.is_none() && judge.policy.admits_guest(&login.user) {
            login.who = Who::Guest;
            return Ok((login, None));
        }
        let (account, base) = self.verify(account, &sent)?;
        login.session_key = self.exported_key(base, &sent)?;
        self.check_integrity(message, &sent, &login.session_key)?;
        if account.disabled {
            return Err(Status::ACCOUNT_DISABLED);
        }
        login.who = Who::Account(account);
        let checksums = self.checksums(&login, &sent);
        Ok((login, checksums))
    }

    /// The account, if the response was made with its password, and SessionBaseKey. It takes as
    /// long for a name that no account has.
    fn verify(
        &self,
        account: Option<Account>,
        sent: &Authenticate<'_>,
    ) -> Result<(Account, [u8; 16]), Status> {
        const NOBODY: [u8; 16] = [0x5A; 16];
        // NTLMv1, LM, and both with NTLMv2's session security have 24 bytes; LMv2 alone has none here.
        if sent.nt_response.len() < SHORTEST_V2 {
            return Err(Status::LOGON_FAILURE);
        }
        let response = NtlmV2Response::decode(sent.nt_response).map_err(|_| Status::LOGON_FAILURE)?;
        if av_pairs(response.av_pairs).any(|pair| pair.is_err()) {
            return Err(Status::INVALID_PARAMETER); // as Windows does, whatever the password
        }
        let nt_hash = account.as_ref().and_then(Account::nt_hash);
        let [user, domain] = [sent.user, sent.domain].map(|name| self.charset.units(name));
        let key = keys::response_key(nt_hash.unwrap_or(&NOBODY), &user, &domain);
        let proof = hmac_md5(&key, &[&self.challenge, response.client_challenge]);
        let is_right = verify_slices_are_equal(&proof, &response.proof).is_ok();
        let base = hmac_md5(&key, &[&proof]);
        let is_known = nt_hash.is_some();
        account.filter(|_| is_right && is_known).map(|account| (account, base)).ok_or(Status::LOGON_FAILURE)
    }

    /// The flags that both sides agree on.
    fn agreed(&self, sent: &Authenticate<'_>) -> u32 {
        self.flags & sent.flags
    }

    /// ExportedSessionKey: the client's choice, encrypted, or KeyExchangeKey, which with NTLMv2 is SessionBaseKey.
    fn exported_key(&self, base: [u8; 16], sent: &Authenticate<'_>) -> Result<[u8; 16], Status> {
        if self.agreed(sent) & flags::KEY_EXCH == 0 || sent.session_key.is_empty() {
            return Ok(base);
        }
        let encrypted = sent.session_key.try_into().map_err(|_| Status::INVALID_PARAMETER)?;
        Ok(keys::rc4k(&base, encrypted))
    }

    /// Checks the MIC over all three messages. The response says whether there is a MIC, and a
    /// response cannot be changed.
    fn check_integrity(
        &self,
        message: &[u8],
        sent: &Authenticate<'_>,
        session_key: &[u8; 16],
    ) -> Result<(), Status> {
        let response = NtlmV2Response::decode(sent.nt_response).map_err(malformed)?;
        let mut is_promised = false;
        for pair in av_pairs(response.av_pairs) {
            let (id, value) = pair.map_err(malformed)?;
            is_promised |= id == av::FLAGS && av::flags(value) & av::FLAG_MIC != 0;
        }
        if !is_promised {
            return Ok(());
        }
        let mic = sent.mic.ok_or(Status::INVALID_PARAMETER)?;
        let mut unsigned = message.to_vec();
        unsigned[Authenticate::MIC_AT..][..16].fill(0);
        let expected = hmac_md5(session_key, &[&self.negotiate, &self.message, &unsigned]);
        verify_slices_are_equal(&expected, &mic).map_err(|_| Status::INVALID_PARAMETER)
    }

    /// `None` without extended session security: signatures without it protect nothing.
    fn checksums(&self, login: &Login, sent: &Authenticate<'_>) -> Option<Checksums> {
        let agreed = self.agreed(sent);
        let has = |flag| agreed & flag != 0;
        has(flags::EXTENDED_SESSIONSECURITY).then(|| Checksums {
            session_key: login.session_key,
            strength: match () {
                () if has(flags::KEY_128) => 16,
                () if has(flags::KEY_56) => 7,
                () => 5,
            },
            are_encrypted: has(flags::KEY_EXCH),
        })
    }
}

/// What signs the list of mechanisms.
struct Checksums {
    session_key: [u8; 16],
    strength: usize,
    are_encrypted: bool,
}

impl Checksums {
    fn of(&self, side: Side, message: &[u8]) -> [u8; 16] {
        let sealing = keys::sealing_key(&self.session_key, side, self.strength);
        let signing = keys::signing_key(&self.session_key, side);
        keys::signature(&signing, self.are_encrypted.then_some(&sealing), message)
    }
}

impl Policy {
    /// Whether a user whose name is no account is let in as a guest.
    fn admits_guest(self, user: &str) -> bool {
        self.guest && (self.unknown_users || user.eq_ignore_ascii_case("guest"))
    }
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let who = match &self.who {
            Who::Account(account) => &account.name,
            Who::Guest => "a guest",
            Who::Anonymous => "nobody",
        };
        write!(f, "Login({who} as {:?} from {:?})", self.user, self.workstation)
    }
}

fn malformed(error: Malformed) -> Status {
    tracing::debug!(%error, "a login");
    Status::INVALID_PARAMETER
}
