//! The Win32 error codes of RPC calls.

use std::fmt;

/// The result of a call of the server, workstation or witness service: a Win32 error code, MS-ERREF 2.2, or
/// one of the network management's, MS-ERREF 2.2 from 2100 up.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct WinError(pub u32);

impl WinError {
    pub const OK: Self = Self(0);
    pub const ACCESS_DENIED: Self = Self(5);
    pub const NOT_SUPPORTED: Self = Self(50);
    pub const INVALID_PARAMETER: Self = Self(87);
    pub const INVALID_NAME: Self = Self(123);
    pub const INVALID_LEVEL: Self = Self(124);
    pub const MORE_DATA: Self = Self(234);
    pub const NOT_FOUND: Self = Self(1168);
    pub const REVISION_MISMATCH: Self = Self(1306);
    pub const NO_SYSTEM_RESOURCES: Self = Self(1450);
    pub const TIMEOUT: Self = Self(1460);
    pub const INVALID_STATE: Self = Self(5023);
    pub const BUF_TOO_SMALL: Self = Self(2123);
    pub const NET_NAME_NOT_FOUND: Self = Self(2310);
    pub const DEVICE_NOT_SHARED: Self = Self(2311);
    pub const FILE_ID_NOT_FOUND: Self = Self(2314);
}

impl fmt::Debug for WinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "WinError({})", self.0)
    }
}
