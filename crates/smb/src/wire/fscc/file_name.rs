//! File information with a name, MS-FSCC 2.4.

use wire::{Malformed, Reader, Writer};

use super::file_info::{Alignment, Basic, Ea, FileAccess, FilePosition, Internal, Mode, Standard};
use crate::wire::text;

/// FileNameInformation (9), and those that have its form: FileAlternateNameInformation (21), FileShortNameInformation (40),
/// FileNormalizedNameInformation (48).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Name {
    pub name: Vec<u16>,
}

impl Name {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { name: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        text::put_counted(w, &self.name);
    }
}

/// FileAllInformation (18).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct All {
    pub basic: Basic,
    pub standard: Standard,
    pub internal: Internal,
    pub ea: Ea,
    pub access: FileAccess,
    pub position: FilePosition,
    pub mode: Mode,
    pub alignment: Alignment,
    pub name: Name,
}

impl All {
    /// What comes before the name's text: a reply that has not even room for this is an error, not an overflow.
    pub const FIXED_LEN: usize = 100;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            basic: Basic::decode(r)?,
            standard: Standard::decode(r)?,
            internal: Internal::decode(r)?,
            ea: Ea::decode(r)?,
            access: FileAccess::decode(r)?,
            position: FilePosition::decode(r)?,
            mode: Mode::decode(r)?,
            alignment: Alignment::decode(r)?,
            name: Name::decode(r)?,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        self.basic.encode(w);
        self.standard.encode(w);
        self.internal.encode(w);
        self.ea.encode(w);
        self.access.encode(w);
        self.position.encode(w);
        self.mode.encode(w);
        self.alignment.encode(w);
        self.name.encode(w);
    }
}

/// FileRenameInformation for SMB2 (10, type 2) and FileLinkInformation for SMB2 (11, type 2): where the file goes, or gets
/// another name. Clients may pad it at its end to 24 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Target {
    pub replace_if_exists: bool,
    /// Must be 0 over the network.
    pub root_directory: u64,
    pub name: Vec<u16>,
}

impl Target {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let replace_if_exists = r.u8()? != 0;
        r.skip(7)?;
        Ok(Self { replace_if_exists, root_directory: r.u64_le()?, name: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(u8::from(self.replace_if_exists));
        w.zeros(7);
        w.u64_le(self.root_directory);
        text::put_counted(w, &self.name);
    }
}

wire::bits! {
    /// Flags of FileRenameInformationEx.
    pub RenameFlags: u32 {
        REPLACE_IF_EXISTS = 0x001,
        POSIX_SEMANTICS = 0x002,
        SUPPRESS_PIN_STATE_INHERITANCE = 0x004,
        SUPPRESS_STORAGE_RESERVE_INHERITANCE = 0x008,
        NO_INCREASE_AVAILABLE_SPACE = 0x010,
        NO_DECREASE_AVAILABLE_SPACE = 0x020,
        IGNORE_READONLY_ATTRIBUTE = 0x040,
    }
}

/// FileRenameInformationEx (65).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TargetEx {
    pub flags: RenameFlags,
    /// Must be 0 over the network.
    pub root_directory: u64,
    pub name: Vec<u16>,
}

impl TargetEx {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let flags = RenameFlags(r.u32_le()?);
        r.skip(4)?;
        Ok(Self { flags, root_directory: r.u64_le()?, name: text::counted(r)? })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.flags.0);
        w.zeros(4);
        w.u64_le(self.root_directory);
        text::put_counted(w, &self.name);
    }
}
