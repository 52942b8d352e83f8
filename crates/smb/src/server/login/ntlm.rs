//! NTLMv2: MS-NLMP 3.2.5. The messages are those of a login ([`super::exchange`]).
//!
//! NTLMv2 only: older responses are refused for every account. The caller passes in time and
//! randomness.

mod charset;
pub(crate) mod keys;
pub(in crate::server) mod protection;
#[cfg(test)]
mod tests;

use auth::{Account, LoggedOn, LogonRefused, NtlmResponse};
use aws_lc_rs::constant_time::verify_slices_are_equal;
use wire::{Malformed, Writer};

use self::charset::Charset;
use self::keys::{Side, hmac_md5};
use self::protection::{DirectionKeys, NtlmProtection};
use super::domain::{self, ClaimedIdentity};
use super::exchange::{Claim, CompletedLogin, LoginJudge, NTLM_METHOD, UserKind};
use crate::wire::Status;
use crate::wire::ntlm::{Authenticate, Challenge, Negotiate, NtlmV2Response, Version};
use crate::wire::ntlm::{av, av_pairs, encode_av_pairs, flags};

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
const ALWAYS: u32 = flags::NTLM | flags::TARGET_INFO;

/// The version that the server shows: that of an old Windows which all clients know. No client acts
/// on it.
const VERSION: Version = Version { major: 6, minor: 1, build: 0, revision: Version::REVISION };

/// The shortest NTLMv2 response (MS-NLMP 2.2.2.8): a proof and a client's challenge without AV pairs.
const SHORTEST_V2: usize = 44;
/// The longest NEGOTIATE message that is kept for its checksum: it has at most two names in it.
const MAX_NEGOTIATE: usize = 1024;

/// A challenge has been sent.
pub(super) struct SentChallenge {
    negotiate: Vec<u8>,
    pub(super) message: Vec<u8>,
    challenge: [u8; 8],
    flags: u32,
    /// The character set of the names in the client's next message.
    charset: Charset,
}

impl SentChallenge {
    pub(super) fn new(negotiate: &[u8], judge: &LoginJudge<'_>) -> Result<Self, Status> {
        let asked = Negotiate::decode(negotiate).map_err(malformed)?;
        // MS-NLMP 2.2.2.5: without a character set the token is invalid.
        let charset = Charset::chosen(asked.flags).ok_or(Status::INVALID_PARAMETER)?;
        if negotiate.len() > MAX_NEGOTIATE {
            return Err(Status::INVALID_PARAMETER);
        }
        // The target of a member of a domain is the domain; a controller verifies only answers that name the member.
        let names = judge.names;
        let (kind, target, computer, host, dns_domain) = match &names.member {
            Some(member) => {
                let of = (&member.short, &member.computer, &member.host, &*member.domain);
                (flags::TARGET_TYPE_DOMAIN, of.0, of.1, of.2, of.3)
            }
            None => (flags::TARGET_TYPE_SERVER, &names.netbios, &names.netbios, &names.dns, ""),
        };
        let flags = asked.flags & ECHOED | ALWAYS | kind | charset.flag();
        // The AV pairs are Unicode in either character set (MS-NLMP 2.2.2.1).
        let [domain, netbios, dns_domain, dns] =
            [target, computer, dns_domain, host].map(|name| Charset::Unicode.bytes(name));
        let mut target_info = Writer::new();
        let pairs: [(u16, &[u8]); 5] = [
            (av::NB_DOMAIN_NAME, &domain),
            (av::NB_COMPUTER_NAME, &netbios),
            (av::DNS_DOMAIN_NAME, &dns_domain),
            (av::DNS_COMPUTER_NAME, &dns),
            (av::TIMESTAMP, &judge.now.to_le_bytes()),
        ];
        encode_av_pairs(&mut target_info, &pairs);
        let mut message = Writer::new();
        let challenge = Challenge {
            target_name: &charset.bytes(target),
            flags,
            challenge: judge.challenge,
            target_info: target_info.as_bytes(),
            version: VERSION,
        };
        challenge.encode(&mut message);
        let (negotiate, message) = (negotiate.to_vec(), message.into_bytes());
        Ok(Self { negotiate, message, challenge: judge.challenge, flags, charset })
    }

    /// The user name that the last message claims.
    pub(super) fn claim(&self, ntlm: &[u8]) -> Option<Claim> {
        let sent = Authenticate::decode(ntlm).ok()?;
        let user = self.charset.text(sent.user);
        let is_old = sent.nt_response.len() < SHORTEST_V2;
        (!user.is_empty()).then_some(Claim { user, is_old })
    }

    /// What a domain controller is asked about this last message: MS-APDS 3.1.5.
    pub(super) fn question(&self, ntlm: &[u8], judge: &LoginJudge<'_>) -> Option<NtlmResponse> {
        let sent = Authenticate::decode(ntlm).ok()?;
        let [user, domain, workstation] =
            [sent.user, sent.domain, sent.workstation].map(|name| self.charset.text(name));
        let claimed = ClaimedIdentity { user: &user, domain: &domain };
        let is_for_it = !user.is_empty()
            && sent.nt_response.len() >= SHORTEST_V2
            && domain::is_asked(&claimed, judge, judge.names.member.as_ref()?);
        let responses = (sent.nt_response, sent.lm_response);
        is_for_it.then(|| domain::question(&claimed, workstation, self.challenge, responses))
    }

    /// MS-NLMP 3.2.5.1.2. `logon` is what a domain controller says, if it was asked.
    pub(super) fn authenticate(
        &self,
        message: &[u8],
        judge: &LoginJudge<'_>,
        logon: Option<Result<LoggedOn, LogonRefused>>,
    ) -> Result<(CompletedLogin, Option<Checksums>), Status> {
        let sent = Authenticate::decode(message).map_err(malformed)?;
        let mut login = CompletedLogin {
            who: UserKind::Anonymous,
            user: self.charset.text(sent.user),
            workstation: self.charset.text(sent.workstation),
            session_key: vec![0; 16],
            method: NTLM_METHOD,
            expires: None,
            protection: None,
        };
        if sent.user.is_empty() && sent.nt_response.is_empty() && matches!(sent.lm_response, [] | [0]) {
            if !judge.policy.anonymous {
                return Err(Status::LOGON_FAILURE);
            }
            let key = self.exported_key([0; 16], &sent)?;
            let checksums = self.checksums(key, &sent);
            login.session_key = key.into();
            return Ok((login, checksums));
        }
        let verified = match logon {
            None => self.verify_here(judge, &login.user, &sent)?,
            Some(Ok(LoggedOn { account, base_key })) => {
                let account = judge.accounts.find_in_any_case(&account).ok_or(Status::LOGON_FAILURE)?;
                Some((account, base_key))
            }
            Some(Err(refused)) => {
                let claimed = ClaimedIdentity { user: &login.user, domain: &self.charset.text(sent.domain) };
                match domain::is_guest(&refused, &claimed, judge.names.member.as_ref(), judge.policy) {
                    true => None,
                    false => return Err(domain::status(&refused)),
                }
            }
        };
        let Some((account, base)) = verified else {
            login.who = UserKind::Guest;
            return Ok((login, None));
        };
        let key = self.exported_key(base, &sent)?;
        self.check_integrity(message, &sent, &key)?;
        if account.disabled {
            return Err(Status::ACCOUNT_DISABLED);
        }
        (login.who, login.session_key) = (UserKind::Account(account), key.into());
        let checksums = self.checksums(key, &sent);
        Ok((login, checksums))
    }

    /// By the accounts of this server. `None`: the user is a guest.
    fn verify_here(
        &self,
        judge: &LoginJudge<'_>,
        user: &str,
        sent: &Authenticate<'_>,
    ) -> Result<Option<(Account, [u8; 16])>, Status> {
        let account = judge.accounts.find_in_any_case(user);
        if account.is_none() && judge.policy.admits_guest(user) {
            return Ok(None);
        }
        self.verify(account, sent).map(Some)
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
    fn checksums(&self, session_key: [u8; 16], sent: &Authenticate<'_>) -> Option<Checksums> {
        let agreed = self.agreed(sent);
        let has = |flag| agreed & flag != 0;
        has(flags::EXTENDED_SESSIONSECURITY).then(|| Checksums {
            session_key,
            strength: match () {
                () if has(flags::KEY_128) => 16,
                () if has(flags::KEY_56) => 7,
                () => 5,
            },
            are_encrypted: has(flags::KEY_EXCH),
        })
    }
}

/// What signs the list of mechanisms, and messages after the login.
pub(super) struct Checksums {
    session_key: [u8; 16],
    strength: usize,
    are_encrypted: bool,
}

impl Checksums {
    pub(super) fn of(&self, side: Side, message: &[u8]) -> [u8; 16] {
        let sealing = keys::sealing_key(&self.session_key, side, self.strength);
        let signing = keys::signing_key(&self.session_key, side);
        keys::signature(&signing, self.are_encrypted.then_some(&sealing), message)
    }

    /// What protects the messages after the login. `first`: how many messages each side has signed.
    pub(super) fn protection(&self, first: u32) -> NtlmProtection {
        let of = |side| {
            let sealing = keys::sealing_key(&self.session_key, side, self.strength);
            DirectionKeys { signing: keys::signing_key(&self.session_key, side), sealing }
        };
        NtlmProtection::new((of(Side::Client), of(Side::Server)), self.are_encrypted, first)
    }
}

pub(super) fn malformed(error: Malformed) -> Status {
    tracing::debug!(%error, "a login");
    Status::INVALID_PARAMETER
}
