//! Preauthentication integrity: the hash of everything said before the keys were known.

use std::sync::Arc;

use aws_lc_rs::digest::{Context, SHA512};
use lock::Mutex;

use crate::ranks;

/// The hash chain of MS-SMB2 3.3.5.4 and 3.3.5.5: each value is SHA-512 of the one before and a whole message, from its
/// SMB2 header on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct PreauthHash([u8; 64]);

impl PreauthHash {
    /// The value before the first message.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self([0; 64])
    }

    /// Takes a message into the hash.
    pub(crate) fn update(&mut self, message: &[u8]) {
        let mut hash = Context::new(&SHA512);
        hash.update(&self.0);
        hash.update(message);
        self.0.copy_from_slice(hash.finish().as_ref());
    }

    /// A value from a capture.
    #[cfg(test)]
    pub(super) fn set(&mut self, value: [u8; 64]) {
        self.0 = value;
    }

    /// The value: the context that 3.1.1 derives its keys with.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> &[u8; 64] {
        &self.0
    }
}

/// A hash that the connection and a response on its way share.
#[derive(Debug, Clone, Default)]
pub(crate) struct Preauth(Arc<Mutex<PreauthHash, ranks::SmbPreauth>>);

impl Preauth {
    /// A chain that goes on from `value`: a session's begins with the connection's.
    #[must_use]
    pub(crate) fn from(value: PreauthHash) -> Self {
        Self(Arc::new(Mutex::new(value)))
    }

    /// Takes a message into the hash.
    pub(crate) fn update(&self, message: &[u8]) {
        self.0.lock().update(message);
    }

    /// The value so far.
    #[must_use]
    pub(crate) fn value(&self) -> PreauthHash {
        *self.0.lock()
    }
}

impl Default for PreauthHash {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for PreauthHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PreauthHash({:02x?}…)", &self.0[..4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// "SMB 2 and SMB 3 security in Windows 10: the anatomy of signing and cryptographic keys" (Microsoft Open
    /// Specifications blog, 2017), first channel of the 3.1.1 example: the requests of NEGOTIATE and SESSION_SETUP.
    #[test]
    fn each_message_is_hashed_after_the_value_before_it() {
        let mut hash = PreauthHash::new();
        hash.update(&hex(
            "FE534D4240000100000000000000800000000000000000000100000000000000FFFE00000000000000000000000000000000
             000000000000000000000000000024000500000000003F000000ECD86F326276024F9F7752B89BB33F3A7000000002000000
             0202100200030203110300000100260000000000010020000100FA49E6578F1F3A9F4CD3E9CC14A67AA884B3D05844E0E5A1
             18225C15887F32FF00000200060000000000020002000100",
        ));
        assert_eq!(
            hash.as_bytes()[..],
            hex("DD94EFC5321BB618A2E208BA8920D2F422992526947A409B5037DE1E0FE8C736
                 2B8C47122594CDE0CE26AA9DFC8BCDBDE0621957672623351A7540F1E54A0426")
        );
        // The value after the response to NEGOTIATE is the start of SESSION_SETUP's.
        let mut hash = PreauthHash(
            hex("324BFA92A4F3A190E466EBEA08D9C110DC88BFED758D9846ECC6F541CC1D02AE
                 3C94A79F36011E997E13F841B91B50957AD07B19C8E2539C0B23FDAE09D2C513")
            .try_into()
            .unwrap(),
        );
        let request = hex(
            "FE534D4240000100000000000100800000000000000000000200000000000000FFFE00000000000000000000000000000000
             000000000000000000000000000019000001010000000000000058004A000000000000000000604806062B0601050502A03E
             303CA00E300C060A2B06010401823702020AA22A04284E544C4D5353500001000000978208E2000000000000000000000000
             00000000060380250000000F",
        );
        hash.update(&request);
        assert_eq!(
            hash.as_bytes()[..],
            hex("AC0B0F2B9986257700365E416D142A6EDC96DF03594A19E52A15F6BD0D041CD5
                 D432F8ED42C55E33197A50C9EC00F1462B50C592211B1471A04B56088FDFD5F9")
        );
    }
}
