//! Who speaks for a client, and who for what it holds.
//!
//! RFC 8881 2.10.8.3 and 18.37 leave it to the server who may end a session that has no state protection (SP4_NONE). Here a
//! session belongs to the user that has registered the client: on Linux root, or the machine's Kerberos principal. An open, the
//! locks by it, and a delegation belong to the user that has opened the file, and the former may close them, too: some clients
//! close for users whose login is over. Users are told apart by what the call says before the export's rules change it.

use super::client::Client;
use super::compound::Compound;
use crate::server::call::Call;
use crate::wire::v4::types::Status;

/// The user who speaks for a client: no other one may change its record, RFC 7530 9.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Principal {
    uid: u32,
    is_anonymous: bool,
    /// Of a login by Kerberos: its principal counts, and not its uid.
    hash: u64,
}

impl Principal {
    pub(super) fn of(call: &Call<'_>) -> Self {
        let (uid, is_anonymous) = (call.identity.uid, call.identity.nobody);
        Self { uid, is_anonymous, hash: call.principal_hash() }
    }

    #[cfg(test)]
    pub(super) fn root() -> Self {
        Self { uid: 0, is_anonymous: false, hash: 0 }
    }
}

/// WRONG_CRED unless the call is of the user who speaks for the client.
pub(super) fn may_speak_for(call: &Call<'_>, client: &Client) -> Result<(), Status> {
    if Principal::of(call) == client.principal { Ok(()) } else { Err(Status::WRONG_CRED) }
}

/// WRONG_CRED unless the request is of the user that holds a state, or of the one who speaks for the client. Minor version 0 has
/// no such rule.
pub(super) fn may_end(compound: &Compound<'_>, client: &Client, holder: Principal) -> Result<(), Status> {
    let is_holders = compound.minor == 0 || Principal::of(compound.call) == holder;
    if is_holders { Ok(()) } else { may_speak_for(compound.call, client) }
}
