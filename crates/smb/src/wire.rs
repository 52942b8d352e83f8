//! Converts bytes to values and back. There is no I/O, clock or session here.
//!
//! One file for each command (its request and its response), MS-SMB2 2.2; `fscc` for the data
//! inside them. The doc of a type cites its section. Its fields are in the specification's order
//! and have the specification's meaning.
//!
//! Requests and responses `decode(message)`: one message of a chain, from the first byte of its
//! header, because the specification counts offsets from there. They `encode(w)` the bytes after
//! the header, which is in the 64 bytes before. Bytes after a message's own fields are ignored: the
//! messages of a chain are padded, and some clients pad the last one too. Requests borrow from the
//! message. Responses own their data.
#![allow(missing_docs)]

/// Checks that `$body`, laid out by hand from the specification, is the encoding of `$value` behind
/// a header, that none of its bytes can be left out (except `$spare` bytes at its end), and that
/// another structure size is refused.
#[cfg(test)]
macro_rules! laid_out {
    ($type:ty, $body:expr, $value:expr) => {
        laid_out!($type, $body, $value, 0)
    };
    ($type:ty, $body:expr, $value:expr, $spare:expr) => {{
        let (body, value): (&[u8], $type) = ($body, $value);
        let message = [&[0; crate::wire::Header::LEN][..], body].concat();
        assert_eq!(<$type>::decode(&message).as_ref(), Ok(&value));
        let mut w = wire::Writer::new();
        value.encode(&mut w);
        assert_eq!(w.as_bytes(), body);
        for len in 0..message.len() - $spare {
            assert!(<$type>::decode(&message[..len]).is_err(), "the first {len} bytes");
        }
        let mut other = message.clone();
        other[crate::wire::Header::LEN] ^= 1;
        assert!(<$type>::decode(&other).is_err(), "another structure size");
    }};
}

mod buffers;
mod layout;

pub mod aapl;
pub mod cancel;
pub mod change_notify;
pub mod close;
pub mod compression;
pub mod create;
pub mod create_context;
pub mod echo;
pub mod error;
pub mod flush;
pub mod frame;
pub mod fscc;
pub mod fsctl;
pub mod header;
pub mod ioctl;
pub mod lock;
pub mod logoff;
pub mod negotiate;
pub mod negotiate_context;
pub mod ntlm;
pub mod oplock_break;
pub mod query_directory;
pub mod query_info;
pub mod read;
pub mod rpc;
pub mod security;
pub mod server_to_client;
pub mod session_setup;
pub mod set_info;
pub mod smb1;
pub mod spnego;
pub mod status;
pub mod text;
pub mod time;
pub mod transform;
pub mod tree_connect;
pub mod tree_disconnect;
pub mod values;
pub mod write;

pub use buffers::BufferResponse;
pub use header::{Command, Flags, Header};
pub use status::Status;
pub use time::NtTime;
pub use values::{
    Capabilities, Dialect, FileKey, InfoType, LeaseKey, LeaseState, NetworkOpen, OplockLevel, SecurityMode,
};
