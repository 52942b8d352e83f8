//! What the transport of a connection means for AFP. Over AppleTalk, messages come by ASP (*Inside AppleTalk*, chapter 11); each
//! session of ASP is a connection here, and its commands and replies are frames of DSI.

use super::config::Version;
use super::limits::{MAX_AROUND, MAX_BEFORE_LOGIN, MAX_READ, QUANTUM};
use crate::wire::command::{self, Properties};

/// How the messages of a connection come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transport {
    /// DSI over TCP.
    #[default]
    Tcp,
    /// ASP over AppleTalk.
    AppleTalk,
}

/// The most bytes of a reply, and of the data of a write, over ASP: eight packets of ATP with 578 bytes each.
pub const ASP_QUANTUM: u32 = 8 * 578;

impl Transport {
    /// The versions that clients may choose, oldest first. Over TCP there was none before AFP 2.1. Clients of AFP 3 use TCP.
    pub(super) fn versions(self) -> &'static [Version] {
        match self {
            Self::Tcp => &[
                Version::V2_1,
                Version::V2_2,
                Version::V2_3,
                Version::V3_0,
                Version::V3_1,
                Version::V3_2,
                Version::V3_3,
                Version::V3_4,
            ],
            Self::AppleTalk => &[Version::V1_1, Version::V2_0, Version::V2_1, Version::V2_2],
        }
    }

    /// The version with this name, if it is one of them.
    pub(super) fn version(self, name: &[u8]) -> Option<Version> {
        self.versions().iter().copied().find(|version| version.name().as_bytes() == name)
    }

    /// Whether sessions of this version have this command. No version has a command that does not exist.
    pub(super) fn has(self, command: u8, version: Version) -> bool {
        let Properties { since, tcp_only, .. } = command::properties(command);
        since.is_some_and(|since| since <= version) && (self == Self::Tcp || !tcp_only)
    }

    /// Whether sessions of any version have this command.
    pub(super) fn ever_has(self, command: u8) -> bool {
        self.versions().iter().any(|version| self.has(command, *version))
    }

    /// The most bytes of a request or of a listing.
    pub(super) fn quantum(self) -> u32 {
        match self {
            Self::Tcp => QUANTUM,
            Self::AppleTalk => ASP_QUANTUM,
        }
    }

    /// The most bytes of one read.
    pub(super) fn longest_read(self) -> u64 {
        match self {
            Self::Tcp => MAX_READ,
            Self::AppleTalk => ASP_QUANTUM.into(),
        }
    }

    /// The longest message of a client.
    pub(super) fn longest_message(self, logged_in: bool) -> usize {
        match (self, logged_in) {
            (_, false) => MAX_BEFORE_LOGIN,
            (Self::Tcp, true) => QUANTUM as usize + MAX_AROUND,
            (Self::AppleTalk, true) => MAX_BEFORE_LOGIN, // a write, with its command
        }
    }

    /// The longest reply.
    pub(super) fn longest_reply(self) -> usize {
        match self {
            Self::Tcp => usize::MAX,
            Self::AppleTalk => ASP_QUANTUM as usize,
        }
    }
}

#[cfg(test)]
mod tests;
