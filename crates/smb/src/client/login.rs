//! SESSION_SETUP with NTLMv2, MS-SMB2 3.2.4.2.3 and MS-NLMP 3.1.5.1.

use std::sync::Arc;

use super::session::{KeyParameters, Session};
use super::{Answer, Client, Error, FrameProtection, Link, Proof, Request, encoded};
use crate::server::login::ntlm::keys::{self, Side, hmac_md5};
use crate::wire::ntlm::{
    Authenticate, Challenge, Negotiate, av, av_pairs, encode_av_pairs, flags as ntlm_flags,
};
use crate::wire::session_setup::{self, RequestFlags, Response, SessionFlags};
use crate::wire::spnego::{MechTypes, NTLMSSP, NegTokenInit, NegTokenResp, SpnegoToken};
use crate::wire::{Capabilities, Command, SecurityMode, Status};
use wire::Malformed;

/// What this client asks for.
pub(crate) const FLAGS: u32 = ntlm_flags::UNICODE
    | ntlm_flags::REQUEST_TARGET
    | ntlm_flags::SIGN
    | ntlm_flags::SEAL
    | ntlm_flags::NTLM
    | ntlm_flags::ALWAYS_SIGN
    | ntlm_flags::EXTENDED_SESSIONSECURITY
    | ntlm_flags::TARGET_INFO
    | ntlm_flags::VERSION
    | ntlm_flags::KEY_128
    | ntlm_flags::KEY_EXCH
    | ntlm_flags::KEY_56;

/// The credentials of a login. An empty user name is an anonymous login.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// The account.
    pub user: String,
    /// Its password.
    pub password: String,
}

impl Credentials {
    /// A user with a password.
    pub fn new(user: &str, password: &str) -> Self {
        Self { user: user.into(), password: password.into() }
    }
}

/// What a login is for.
#[derive(Clone, Copy)]
pub enum SetUp<'a> {
    /// A new session; in the place of another one, unless that is 0.
    New {
        /// The session that it replaces.
        previous: u64,
    },
    /// The same session: extends the login, or changes its user.
    Again(&'a Session),
    /// This connection shall be one of the session's.
    Bind(&'a Session),
}

impl<L: Link> Client<L> {
    /// Logs in.
    ///
    /// # Errors
    /// The server has refused, or hung up.
    pub async fn log_in(&mut self, who: &Credentials, purpose: SetUp<'_>) -> Result<Arc<Session>, Error> {
        let agreed =
            self.agreed.as_ref().and_then(KeyParameters::of).ok_or(Malformed("nothing agreed on"))?;
        let binder = match purpose {
            SetUp::Bind(session) => Some(session.binder(&agreed)),
            _ => None,
        };
        let how = match (&binder, purpose) {
            (Some(binder), _) => FrameProtection::Signed(binder),
            (None, SetUp::Again(session)) if session.sealer.is_some() => FrameProtection::Sealed(session),
            (None, SetUp::Again(session)) => FrameProtection::Signed(session),
            _ => FrameProtection::Plain,
        };
        let mut hash = self.preauth;
        let negotiate = encoded(|w| {
            Negotiate { flags: FLAGS, domain: &[], workstation: &[], version: None }.encode(w);
        });
        let list = MechTypes::to_der(&[NTLMSSP]);
        let mech_types = MechTypes::of(&list)?;
        let token =
            NegTokenInit { mech_types, mech_token: Some(&negotiate), hint: None, mech_list_mic: None };
        let first = setup(purpose, &token.encode());
        let (sent, answer) = self.exchange(first, how).await?;
        answer.expect(Status::MORE_PROCESSING_REQUIRED)?;
        hash.update(&sent);
        hash.update(&answer.message);
        let id = answer.header.session_id;
        let challenge = challenge_of(&answer)?;
        let (authenticate, key) = authenticate(who, &negotiate, &challenge)?;
        let mic = list_mic(who, &challenge, &key, &list)?;
        let token = NegTokenResp {
            response_token: Some(&authenticate),
            mech_list_mic: mic.as_ref().map(<[u8; 16]>::as_slice),
            ..NegTokenResp::default()
        };
        let mut second = setup(purpose, &token.encode());
        second.header.session_id = id;
        let (sent, answer) = self.exchange(second, how).await?;
        answer.expect(Status::SUCCESS)?;
        hash.update(&sent);
        let mut session = match purpose {
            SetUp::New { .. } => Session::new(id, &agreed, &key, &hash),
            SetUp::Bind(session) => session.channel(&agreed, &key, &hash),
            SetUp::Again(_) => return self.sessions.get(&id).cloned().ok_or(Error::Unproven),
        };
        session.flags = Response::decode(&answer.message)?.flags;
        // smbd does not mark the session of an anonymous login, which has no key that proves anything.
        let is_account =
            !who.user.is_empty() && !session.flags.intersects(SessionFlags::IS_GUEST | SessionFlags::IS_NULL);
        if is_account && !(answer.proof == Proof::Unknown && session.signer.verify(&answer.message)) {
            return Err(Error::Unproven);
        }
        let session = Arc::new(session);
        self.sessions.insert(id, session.clone());
        Ok(session)
    }
}

/// A SESSION_SETUP with this token.
fn setup(purpose: SetUp<'_>, token: &[u8]) -> Request {
    let (flags, id, previous_session_id) = match purpose {
        SetUp::New { previous } => (RequestFlags::NONE, 0, previous),
        SetUp::Again(session) => (RequestFlags::NONE, session.id, 0),
        SetUp::Bind(session) => (RequestFlags::BINDING, session.id, 0),
    };
    let request = session_setup::Request {
        flags,
        security_mode: SecurityMode::SIGNING_ENABLED,
        capabilities: Capabilities::DFS,
        previous_session_id,
        security_buffer: token,
    };
    Request::new(Command::SESSION_SETUP, |w| request.encode(w)).on(id, 0)
}

fn challenge_of(answer: &Answer) -> Result<Vec<u8>, Error> {
    let response = Response::decode(&answer.message)?;
    match SpnegoToken::decode(&response.security_buffer)? {
        SpnegoToken::Resp(NegTokenResp { response_token: Some(challenge), .. }) => Ok(challenge.to_vec()),
        _ => Err(Malformed("no challenge").into()),
    }
}

/// The checksum over the mechanisms that were offered, RFC 4178 section 5. smbd does not admit an account without it.
fn list_mic(
    who: &Credentials,
    challenge: &[u8],
    exported: &[u8; 16],
    list: &[u8],
) -> Result<Option<[u8; 16]>, Error> {
    const NEEDED: u32 = ntlm_flags::SIGN | ntlm_flags::EXTENDED_SESSIONSECURITY | ntlm_flags::KEY_EXCH;
    let agreed = FLAGS & Challenge::decode(challenge)?.flags;
    if who.user.is_empty() || agreed & NEEDED != NEEDED {
        return Ok(None);
    }
    let strength = match agreed {
        agreed if agreed & ntlm_flags::KEY_128 != 0 => 16,
        agreed if agreed & ntlm_flags::KEY_56 != 0 => 7,
        _ => 5,
    };
    let signing = keys::signing_key(exported, Side::Client);
    let sealing = keys::sealing_key(exported, Side::Client, strength);
    Ok(Some(keys::signature(&signing, Some(&sealing), list)))
}

/// AUTHENTICATE_MESSAGE with a MIC, and ExportedSessionKey: MS-NLMP 3.1.5.1.2 and 3.3.2.
pub(crate) fn authenticate(
    who: &Credentials,
    negotiate: &[u8],
    challenge: &[u8],
) -> Result<(Vec<u8>, [u8; 16]), Error> {
    let asked = Challenge::decode(challenge)?;
    let mut random = [0; 24];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let exported: [u8; 16] = *random.first_chunk().expect("16 of 24");
    let mut pairs = av_pairs(asked.target_info).collect::<Result<Vec<_>, _>>()?;
    let time = pairs.iter().find(|(id, _)| *id == av::TIMESTAMP).map_or(&[0; 8][..], |(_, time)| time);
    let time = time.to_vec();
    pairs.push((av::FLAGS, &[2, 0, 0, 0]));
    let temp = encoded(|w| {
        w.put(&[1, 1, 0, 0, 0, 0, 0, 0]);
        w.put(&time);
        w.put(&random[16..]);
        w.zeros(4);
        encode_av_pairs(w, &pairs);
        w.zeros(4);
    });
    let user: Vec<u16> = who.user.encode_utf16().collect();
    let key = keys::response_key(&auth::nt_hash(&who.password), &user, &[]);
    let proof = hmac_md5(&key, &[&asked.challenge, &temp]);
    let response = [&proof, &temp[..]].concat();
    let is_nobody = user.is_empty();
    let base = if is_nobody { [0; 16] } else { hmac_md5(&key, &[&proof]) };
    let encrypted = keys::rc4k(&base, exported);
    let user: Vec<u8> = user.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let message = Authenticate {
        lm_response: if is_nobody { &[0] } else { &[0; 24] },
        nt_response: if is_nobody { &[] } else { &response },
        domain: &[],
        user: &user,
        workstation: &[],
        session_key: &encrypted,
        flags: FLAGS & asked.flags,
        mic: Some([0; 16]),
    };
    let mut message = encoded(|w| message.encode(w));
    let mic = hmac_md5(&exported, &[negotiate, challenge, &message]);
    message[Authenticate::MIC_AT..][..16].copy_from_slice(&mic);
    Ok((message, exported))
}
