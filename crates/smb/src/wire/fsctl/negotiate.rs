//! VALIDATE_NEGOTIATE_INFO, MS-SMB2 2.2.31.4 and 2.2.32.6, and LMR_REQUEST_RESILIENCY, 2.2.31.3.

use wire::{Malformed, Reader, Writer};

/// The values that the client sent in its NEGOTIATE.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValidateRequest {
    pub capabilities: u32,
    pub client_guid: [u8; 16],
    pub security_mode: u16,
    pub dialects: Vec<u16>,
}

impl ValidateRequest {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (capabilities, client_guid) = (r.u32_le()?, r.array()?);
        let (security_mode, count) = (r.u16_le()?, r.u16_le()?);
        let dialects = (0..count).map(|_| r.u16_le()).collect::<Result<_, _>>()?;
        Ok(Self { capabilities, client_guid, security_mode, dialects })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.capabilities);
        w.put(&self.client_guid);
        w.u16_le(self.security_mode);
        w.u16_le(self.dialects.len() as u16);
        self.dialects.iter().for_each(|dialect| w.u16_le(*dialect));
    }
}

wire::layout! {
    LittleEndian;
    /// The values that the server answered.
    #[derive(Default)]
    pub struct ValidateResponse {
        pub capabilities: u32,
        pub server_guid: [u8; 16],
        pub security_mode: u16,
        pub dialect: u16,
    }

    /// NETWORK_RESILIENCY_REQUEST.
    #[derive(Default)]
    pub struct Resiliency {
        pub timeout_ms: u32 [4],
    }
}
