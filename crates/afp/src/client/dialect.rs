//! How a version of AFP writes names and numbers.

use vfs::names::encode_mac_roman;

use crate::wire::Path;

/// The dialect of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Dialect {
    /// AFP 1.1 to 2.3: long names in MacRoman, offsets of 32 bits, blocks that fit into a reply of AppleTalk.
    Classic,
    /// AFP 3: names in UTF-8, offsets of 64 bits.
    #[default]
    Modern,
}

impl Dialect {
    /// The most bytes that one command reads or writes: QuantumSize of ASP.
    pub const BLOCK: usize = 4_624;

    /// The dialect of a version, as FPLogin names it.
    #[must_use]
    pub fn of(version: &str) -> Self {
        let is_classic = version.starts_with("AFPVersion") || version.starts_with("AFP2");
        if is_classic { Self::Classic } else { Self::Modern }
    }

    /// One name, or several, separated by NUL bytes.
    pub(super) fn name(self, text: &str) -> ClientName {
        match self {
            Self::Classic => ClientName { dialect: self, bytes: encode_mac_roman(text) },
            Self::Modern => ClientName { dialect: self, bytes: text.as_bytes().to_vec() },
        }
    }
}

/// Names as the client sends them.
pub(super) struct ClientName {
    dialect: Dialect,
    bytes: Vec<u8>,
}

impl ClientName {
    pub(super) fn path(&self) -> Path<'_> {
        match self.dialect {
            Dialect::Classic => Path::long(&self.bytes),
            Dialect::Modern => Path::utf8(&self.bytes),
        }
    }
}
