//! The operations on clients of minor version 0, RFC 7530 16.28, 16.33 and 16.34.

use super::types::*;
use super::*;

record! {
    /// clientaddr4, RFC 7530 2.2.11: a transport, and a universal address of RFC 5665.
    pub struct ClientAddress<'a> {
        pub net: NetId<'a>,
        pub address: UniversalAddress<'a>,
    }

    /// SETCLIENTID4args, 16.33.
    pub struct SetClientId<'a> {
        /// Changes when the client restarts.
        pub verifier: Verifier,
        pub id: OwnerName<'a>,
        /// The program at `callback` that the server calls.
        pub program: u32,
        pub callback: ClientAddress<'a>,
        /// The client's own name of the callback, repeated in CB_COMPOUND.
        pub callback_ident: u32,
    }

    /// SETCLIENTID_CONFIRM4args, 16.34, and SETCLIENTID4resok.
    pub struct SetClientIdConfirm {
        pub client: u64,
        pub verifier: Verifier,
    }
}
