//! What the client offers at the beginning: dialects, algorithms, and its id.

use ::smb::client::Offer;
use ::smb::wire::negotiate_context::{Cipher, Signing};
use ::smb::wire::{Capabilities, Dialect};

use crate::{Error, Result};

/// An id that no other has.
pub(super) fn random() -> Result<[u8; 16]> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(|error| Error::Other(error.to_string()))?;
    Ok(id)
}

/// All dialects, and the algorithms that servers of today have.
pub(super) fn offer(guid: [u8; 16]) -> Offer {
    Offer {
        dialects: vec![
            Dialect::SMB_2_0_2,
            Dialect::SMB_2_1,
            Dialect::SMB_3_0,
            Dialect::SMB_3_0_2,
            Dialect::SMB_3_1_1,
        ],
        guid,
        capabilities: Capabilities::LARGE_MTU | Capabilities::ENCRYPTION,
        ciphers: vec![Cipher::AES_128_GCM, Cipher::AES_128_CCM],
        signing: vec![Signing::AES_GMAC, Signing::AES_CMAC],
        ..Offer::default()
    }
}
