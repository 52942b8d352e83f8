use crate::server::rpc::Call;

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
