//! Versions of the protocol.

/// A version of the protocol, Apple Filing Protocol Reference, "AFP Version Strings".
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V1_1,
    V2_0,
    V2_1,
    V2_2,
    V2_3,
    V3_0,
    V3_1,
    V3_2,
    V3_3,
    V3_4,
}

impl Version {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::V1_1 => "AFPVersion 1.1",
            Self::V2_0 => "AFPVersion 2.0",
            Self::V2_1 => "AFPVersion 2.1",
            Self::V2_2 => "AFP2.2",
            Self::V2_3 => "AFP2.3",
            Self::V3_0 => "AFPX03",
            Self::V3_1 => "AFP3.1",
            Self::V3_2 => "AFP3.2",
            Self::V3_3 => "AFP3.3",
            Self::V3_4 => "AFP3.4",
        }
    }

    /// Whether it is one of the 3 family: UTF-8 names, 64-bit forks, UNIX privileges.
    pub fn is_3(self) -> bool {
        self >= Self::V3_0
    }
}
