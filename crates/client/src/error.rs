//! Why a client could not do something.

use std::io;

/// The result of a call to a server.
pub type Result<T> = std::result::Result<T, Error>;

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No connection came about.
    #[error("{0} cannot be reached: {1}. Check the address, the port, and that the server runs")]
    Unreachable(String, io::Error),
    /// The server did not answer in time.
    #[error("the server did not answer for {0} s. It hangs, or --timeout is too short")]
    Silent(u64),
    /// Large packets do not arrive, and small ones do.
    #[error(
        "packets of more than {0} bytes vanish on the way, and no ICMP message says so: a switch, a tunnel or a \
         firewall between the two has a smaller MTU than both. Give all of them the same MTU, or set it to {0} \
         on this machine and on the server (`ip link set dev INTERFACE mtu {0}`). Linux also finds it with \
         `sysctl net.ipv4.tcp_mtu_probing=1`"
    )]
    LargePacketsLost(u32),
    /// The connection ended in the middle of the work.
    #[error("the connection was lost: {0}. The server stopped, or it refused to go on")]
    Lost(String),
    /// The server refuses the login.
    #[error("the login is refused: {0}. Check the user and the password")]
    Login(String),
    /// The server's file system is full, or a quota is used up.
    #[error("the share is full. Make room, or raise the quota")]
    Full,
    /// The server refuses the access.
    #[error("the server refuses access: {0}. Check that the user may write to the share")]
    Refused(String),
    /// The name does not exist.
    #[error("{0} does not exist on the server")]
    Missing(String),
    /// The name is taken.
    #[error("{0} exists on the server already")]
    Exists(String),
    /// The protocol or the server has no such operation.
    #[error("{0} is not supported here")]
    Unsupported(&'static str),
    /// The data read differ from the data written.
    #[error("the data read at byte {0} are not the data that were written")]
    Corrupt(u64),
    /// The address of a server is not one.
    #[error("{0}")]
    Address(String),
    /// Any other answer.
    #[error("{0}")]
    Other(String),
    /// The user pressed Ctrl-C.
    #[error("stopped")]
    Stopped,
}

impl Error {
    /// An error of a connection, whose calls time out after so many seconds.
    #[must_use]
    pub fn of_io(error: &io::Error, seconds: u64) -> Self {
        match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Self::Silent(seconds),
            io::ErrorKind::UnexpectedEof => Self::Lost("the server closed it".into()),
            _ => Self::Lost(error.to_string()),
        }
    }

    /// Whether the session cannot be used any more.
    #[must_use]
    pub fn ends_session(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(..)
                | Self::Silent(_)
                | Self::LargePacketsLost(_)
                | Self::Lost(_)
                | Self::Login(_)
        )
    }
}
