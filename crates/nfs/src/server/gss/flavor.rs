//! The security flavours by which a share admits clients.

use crate::wire::gss::Protection;

/// A security flavour: how the calls of a client prove whose they are, RFC 7530 3.2.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// They do not: AUTH_SYS and AUTH_NONE.
    Sys,
    /// Their heads are signed.
    Krb5,
    /// Arguments and results are signed, too.
    Krb5i,
    /// Arguments and results are encrypted.
    Krb5p,
}

impl Flavor {
    /// All of them, in the order in which clients are to prefer them if they are not told one.
    pub const ALL: [Self; 4] = [Self::Sys, Self::Krb5, Self::Krb5i, Self::Krb5p];

    /// The flavour of calls with a protection.
    pub(super) fn of(protection: Protection) -> Option<Self> {
        match protection {
            Protection::NONE => Some(Self::Krb5),
            Protection::INTEGRITY => Some(Self::Krb5i),
            Protection::PRIVACY => Some(Self::Krb5p),
            _ => None,
        }
    }

    /// The protection of its arguments and results; `None`: it is not of RPCSEC_GSS.
    pub(in crate::server) fn protection(self) -> Option<Protection> {
        match self {
            Self::Sys => None,
            Self::Krb5 => Some(Protection::NONE),
            Self::Krb5i => Some(Protection::INTEGRITY),
            Self::Krb5p => Some(Protection::PRIVACY),
        }
    }

    /// The number that MOUNT has for it: AUTH_SYS, or a pseudo-flavour, RFC 2623 2.2.
    pub(in crate::server) fn number(self) -> u32 {
        match self {
            Self::Sys => 1,
            Self::Krb5 => 390_003,
            Self::Krb5i => 390_004,
            Self::Krb5p => 390_005,
        }
    }

    /// The name in settings and mount options.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sys => "sys",
            Self::Krb5 => "krb5",
            Self::Krb5i => "krb5i",
            Self::Krb5p => "krb5p",
        }
    }
}
