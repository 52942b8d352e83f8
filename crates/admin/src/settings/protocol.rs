//! The protocols: a row for each with what the program knows of it, and values of which each protocol has one. Below are the settings.

pub mod afp;
mod iscsi;
mod nfs;
pub mod settings;
mod smb;

use auth::FileProtocol;
use serde::{Deserialize, Serialize};

use super::port::Port;

pub use nfs::{ClientSec, ClientTls, HostAudience, TrustedHosts};
pub use smb::Encryption;

/// A service that listens on a port.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Protocol {
    /// NFSv3 with MOUNT, NLM and NSM.
    Nfs,
    /// SMB 2 and 3.
    Smb,
    /// AFP over TCP.
    Afp,
    /// iSCSI.
    Iscsi,
    /// Portmap v2, rpcbind v3 and v4.
    Portmap,
}

/// What the program knows of a protocol.
struct Row {
    word: &'static str,
    title: &'static str,
    port: u16,
    service: &'static str,
    has_datagrams: bool,
    files: Option<FileProtocol>,
    users_log_in: bool,
    encrypts: bool,
    has_volume_passwords: bool,
    kerberos: Option<&'static str>,
    kernel_server: Option<&'static str>,
    goes_over_appletalk: bool,
}

/// A service without files, accounts or the kernel's help. The rows below say what else a protocol has.
const PLAIN: Row = Row {
    word: "",
    title: "",
    port: 0,
    service: "",
    has_datagrams: false,
    files: None,
    users_log_in: false,
    encrypts: false,
    has_volume_passwords: false,
    kerberos: None,
    kernel_server: None,
    goes_over_appletalk: false,
};

const NFS: Row = Row {
    word: "nfs",
    title: "NFS",
    port: 2049,
    service: "nfs",
    has_datagrams: true,
    files: Some(FileProtocol::Nfs),
    kerberos: Some("nfs"),
    kernel_server: Some("nfsd"),
    ..PLAIN
};

const SMB: Row = Row {
    word: "smb",
    title: "SMB",
    port: 445,
    service: "microsoft-ds",
    files: Some(FileProtocol::Smb),
    users_log_in: true,
    encrypts: true,
    kerberos: Some("cifs"),
    ..PLAIN
};

const AFP: Row = Row {
    word: "afp",
    title: "AFP",
    port: 548,
    service: "afpovertcp",
    files: Some(FileProtocol::Afp),
    users_log_in: true,
    has_volume_passwords: true,
    goes_over_appletalk: true,
    ..PLAIN
};

const ISCSI: Row = Row { word: "iscsi", title: "iSCSI", port: 3260, service: "iscsi-target", ..PLAIN };

/// It tells clients of NFS the ports.
const PORTMAP: Row =
    Row { word: "portmap", title: "portmap", port: 111, service: "sunrpc", has_datagrams: true, ..PLAIN };

impl Protocol {
    /// All services, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Nfs, Self::Smb, Self::Afp, Self::Iscsi, Self::Portmap];

    /// The services that show shares.
    pub const SERVED: [Self; 4] = [Self::Nfs, Self::Smb, Self::Afp, Self::Iscsi];

    /// The services that show files, those with accounts first.
    pub const OF_FILES: [Self; 3] = [Self::Smb, Self::Afp, Self::Nfs];

    const fn row(self) -> Row {
        match self {
            Self::Nfs => NFS,
            Self::Smb => SMB,
            Self::Afp => AFP,
            Self::Iscsi => ISCSI,
            Self::Portmap => PORTMAP,
        }
    }

    /// The word used in settings.
    #[must_use]
    pub const fn word(self) -> &'static str {
        self.row().word
    }

    /// The displayed name.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.row().title
    }

    /// The port that clients use if they are not told another one.
    #[must_use]
    pub const fn standard_port(self) -> u16 {
        self.row().port
    }

    /// The name of the standard port in IANA's list of services.
    #[must_use]
    pub const fn service(self) -> &'static str {
        self.row().service
    }

    /// Whether it has UDP, too.
    #[must_use]
    pub const fn has_datagrams(self) -> bool {
        self.row().has_datagrams
    }

    /// Whether its clients see the files of shares.
    #[must_use]
    pub const fn shows_files(self) -> bool {
        self.row().files.is_some()
    }

    /// The protocol as the tree knows it, if its clients see files.
    #[must_use]
    pub const fn of_files(self) -> Option<FileProtocol> {
        self.row().files
    }

    /// Whether people log in with the password of an account and act as that account.
    #[must_use]
    pub const fn users_log_in(self) -> bool {
        self.row().users_log_in
    }

    /// Whether it is concerned by `encryption` of a share.
    #[must_use]
    pub const fn encrypts(self) -> bool {
        self.row().encrypts
    }

    /// The first part of its principal's name in Kerberos, if its clients log in by Kerberos.
    #[must_use]
    pub const fn kerberos_service(self) -> Option<&'static str> {
        self.row().kerberos
    }

    /// The server in the kernel of Linux, which listens without a process.
    #[must_use]
    pub const fn kernel_server(self) -> Option<&'static str> {
        self.row().kernel_server
    }

    /// Whether its clients are asked for the password of a share.
    #[must_use]
    pub const fn has_volume_passwords(self) -> bool {
        self.row().has_volume_passwords
    }

    /// Whether clients without TCP reach it, too.
    #[must_use]
    pub const fn goes_over_appletalk(self) -> bool {
        self.row().goes_over_appletalk
    }
}

/// A value for each protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PerProtocol<T>([T; Protocol::ALL.len()]);

/// The ports in the settings. [`Port::Standard`] is resolved when the port is bound.
pub type Ports = PerProtocol<Port>;

/// The ports that were bound; `None`: the protocol is off.
pub type BoundPorts = PerProtocol<Option<u16>>;

impl<T: Copy> PerProtocol<T> {
    /// The values that a function gives.
    #[must_use]
    pub fn by(value: impl FnMut(Protocol) -> T) -> Self {
        Self(Protocol::ALL.map(value))
    }

    /// The value of one protocol.
    #[must_use]
    pub fn of(&self, protocol: Protocol) -> T {
        self.0[protocol as usize]
    }

    /// The same values, except for one protocol.
    #[must_use]
    pub fn with(mut self, protocol: Protocol, value: T) -> Self {
        self.0[protocol as usize] = value;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_its_own_value() {
        let words = PerProtocol::by(Protocol::word);
        assert_eq!(Protocol::ALL.map(|protocol| words.of(protocol)), Protocol::ALL.map(Protocol::word));
        assert_eq!(words.with(Protocol::Afp, "other").of(Protocol::Afp), "other");
        assert_eq!(words.with(Protocol::Afp, "other").of(Protocol::Smb), "smb");
    }
}
