//! What a client of DCE/RPC is answered: crates/dcerpc. `smb_rpc` has what servers are asked.

use dcerpc::client::{Answer, answer_header};
use dcerpc::epm;
use dcerpc::pdu::HEADER;

/// A fragment: its header, and what it has.
pub fn answers(bytes: &[u8]) {
    let Some((header, body)) = bytes.split_at_checked(HEADER) else { return };
    let Ok(header) = answer_header(header) else { return };
    if let Ok(Answer::Response(part)) = Answer::decode(&header, body) {
        assert!(part.padding <= part.data.len());
        assert!(part.token.is_empty() || part.token.len() == usize::from(header.auth_length));
    }
}

/// The answer of the endpoint mapper.
pub fn endpoints(bytes: &[u8]) {
    if let Ok(port) = epm::mapped_port(bytes) {
        assert_ne!(port, 0);
    }
}
