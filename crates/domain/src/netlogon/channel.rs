//! A secure channel between this server and a domain controller, MS-NRPC 3.1.4.1 and 3.3.
//!
//! ```text
//! endpoint mapper ─► port ─► challenges ─► credentials, which prove the account's password to both ─► sealed connection ─► logins
//! ```

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::time::Duration;

use auth::NtlmResponse;
use aws_lc_rs::constant_time::verify_slices_are_equal;
use dcerpc::{Syntax, epm};

use super::association::{Association, Failure};
use super::keys::{self, Seal};
use crate::Machine;
use crate::connection::host_at;
use crate::wire::netlogon::{self, Parties, Validation, flags};

/// The most addresses of controllers that are tried.
const MOST_ADDRESSES: usize = 8;
/// How long a controller may take to tell its name.
const NAME_WITHIN: Duration = Duration::from_secs(3);
/// STATUS_ACCESS_DENIED and STATUS_WRONG_PASSWORD: the controller does not know this password of the account.
const WRONG_PASSWORD: [u32; 2] = [0xC000_0022, 0xC000_006A];
/// STATUS_NO_TRUST_SAM_ACCOUNT.
const NO_ACCOUNT: u32 = 0xC000_018B;
/// STATUS_DOWNGRADE_DETECTED.
const TOO_WEAK: u32 = 0xC000_0388;
/// NL_AUTH_MESSAGE (MS-NRPC 2.2.1.3.1) of a bind, with the two names in the characters of OEM.
const BIND_MESSAGE: [u8; 8] = [0, 0, 0, 0, 3, 0, 0, 0];

/// A channel.
pub(super) struct Channel {
    association: Association,
    /// The controller as calls name it. Windows refuses calls that name another one.
    controller: String,
    account: String,
    computer: String,
    /// Where it is.
    pub(super) address: IpAddr,
}

/// What a controller says of a login: the user, or a status.
pub(super) type Answer = Result<Validation, u32>;

/// The short name of this server in the domain.
pub(super) fn computer(machine: &Machine) -> &str {
    machine.account.trim_end_matches('$')
}

impl Channel {
    /// Opens a channel to the first controller that answers. The text says why it fails.
    pub(super) fn open(machine: &Machine) -> Result<Self, String> {
        let name = machine.controller.as_deref().unwrap_or(&machine.domain);
        let addresses = (name, epm::PORT).to_socket_addrs().map_err(|why| format!("{name}: {why}"))?;
        let mut last = format!("{name} has no address");
        for address in addresses.take(MOST_ADDRESSES) {
            match Self::to(address, machine) {
                Ok(channel) => return Ok(channel),
                Err(why) => last = format!("{address}: {why}"),
            }
        }
        Err(last)
    }

    fn to(mapper: SocketAddr, machine: &Machine) -> Result<Self, String> {
        let asking = |failure: Failure| format!("the endpoint mapper: {failure}");
        let mut endpoint = Association::open(mapper, Syntax::EPMAPPER, None).map_err(asking)?;
        let found = endpoint.call(epm::MAP, &epm::map_request(Syntax::NETLOGON)).map_err(asking)?;
        let port = epm::mapped_port(&found).map_err(|malformed| malformed.to_string())?;
        let address = SocketAddr::new(mapper.ip(), port);
        let host = host_at(mapper.ip(), &machine.domain, NAME_WITHIN)?;
        let controller = format!("\\\\{host}");
        // A new password comes to each controller of a domain after some time.
        match Self::with(address, machine, &controller, &machine.password) {
            Err(ChannelRefusal::Password(why)) => match &machine.previous {
                Some(previous) => Self::with(address, machine, &controller, previous),
                None => Err(ChannelRefusal::Password(why)),
            },
            done => done,
        }
        .map_err(ChannelRefusal::into_text)
    }

    fn with(
        address: SocketAddr,
        machine: &Machine,
        controller: &str,
        password: &str,
    ) -> Result<Self, ChannelRefusal> {
        let (account, computer) = (&*machine.account, computer(machine));
        let parties = Parties { controller, account, computer };
        let key = agree(address, &parties, password)?;
        let names = [machine.short.as_bytes(), b"\0", computer.as_bytes(), b"\0"].concat();
        let token = [&BIND_MESSAGE[..], &names].concat();
        let association = Association::open(address, Syntax::NETLOGON, Some((Seal::new(key), &token)))?;
        let [controller, account, computer] = [controller, account, computer].map(str::to_owned);
        Ok(Self { association, controller, account, computer, address: address.ip() })
    }

    /// Asks the controller about a client's response to a challenge.
    pub(super) fn logon(&mut self, response: &NtlmResponse) -> Result<Answer, Failure> {
        let [domain, user, workstation] =
            [&response.domain, &response.user, &response.workstation].map(|name| utf16(name));
        let logon = netlogon::Logon {
            domain: &domain,
            user: &user,
            workstation: &workstation,
            challenge: response.challenge,
            nt: &response.nt,
            lm: &response.lm,
        };
        let Self { controller, account, computer, .. } = &*self;
        let stub = netlogon::logon(&Parties { controller, account, computer }, &logon);
        let answer = self.association.call(netlogon::LOGON, &stub)?;
        let verdict = netlogon::verdict(&answer)?;
        Ok(match (verdict.status, verdict.validation) {
            (0, Some(validation)) => Ok(validation),
            (status, _) => Err(status),
        })
    }
}

/// Why a controller gives no channel.
enum ChannelRefusal {
    /// It does not know the password.
    Password(String),
    Other(String),
}

impl From<Failure> for ChannelRefusal {
    fn from(failure: Failure) -> Self {
        Self::Other(failure.to_string())
    }
}

impl ChannelRefusal {
    fn into_text(self) -> String {
        match self {
            Self::Password(why) | Self::Other(why) => why,
        }
    }

    fn of(status: u32, account: &str) -> Self {
        match status {
            _ if WRONG_PASSWORD.contains(&status) => Self::Password(format!(
                "it does not take the password of {account}; `fourfold domain join` makes a new one"
            )),
            NO_ACCOUNT => {
                Self::Other(format!("it has no account {account}; `fourfold domain join` makes one"))
            }
            TOO_WEAK => Self::Other("it wants a stronger channel than AES".into()),
            _ => Self::Other(format!("it refuses the channel with the status {status:#010x}")),
        }
    }
}

/// Both sides prove that they know the password of the account, MS-NRPC 3.1.4.1. The key of the channel.
fn agree(address: SocketAddr, parties: &Parties<'_>, password: &str) -> Result<[u8; 16], ChannelRefusal> {
    let mut plain = Association::open(address, Syntax::NETLOGON, None)?;
    let mut ours = [0; 8];
    getrandom::fill(&mut ours).map_err(|error| ChannelRefusal::Other(error.to_string()))?;
    let answer = plain.call(netlogon::CHALLENGE, &netlogon::challenge(parties, ours))?;
    let (theirs, status) = netlogon::challenged(&answer).map_err(Failure::from)?;
    if status != 0 {
        return Err(ChannelRefusal::of(status, parties.account));
    }
    let key = keys::session_key(password, ours, theirs);
    let proof = |challenge| {
        keys::credential(&key, challenge)
            .ok_or_else(|| ChannelRefusal::Other("nothing can be encrypted".into()))
    };
    let answer = plain.call(netlogon::AUTHENTICATE, &netlogon::authenticate(parties, proof(ours)?))?;
    let answer = netlogon::authenticated(&answer).map_err(Failure::from)?;
    if answer.status != 0 {
        return Err(ChannelRefusal::of(answer.status, parties.account));
    }
    if answer.flags & flags::NEEDED != flags::NEEDED {
        return Err(ChannelRefusal::Other("it offers no channel with AES".into()));
    }
    verify_slices_are_equal(&proof(theirs)?, &answer.credential).map_err(|_| {
        ChannelRefusal::Other(format!("it does not know the password of {}", parties.account))
    })?;
    Ok(key)
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}
