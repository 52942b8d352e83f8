//! Reparse points, MS-FSCC 2.1.2.

use wire::{Malformed, Reader, Writer};

use crate::wire::text;

wire::number! {
    /// What kind of reparse point, MS-FSCC 2.1.2.1.
    pub Tag: u32 {
        MOUNT_POINT = 0xA000_0003,
        DFS = 0x8000_000A,
        SYMLINK = 0xA000_000C,
        NFS = 0x8000_0014,
        AF_UNIX = 0x8000_0023,
        LX_SYMLINK = 0xA000_001D,
        LX_FIFO = 0x8000_0024,
        LX_CHR = 0x8000_0025,
        LX_BLK = 0x8000_0026,
    }
}

impl Tag {
    /// The tag at the beginning of a reparse point.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.u32_le().map(Self)
    }

    /// A GUID follows the tags of vendors other than Microsoft.
    pub fn has_guid(self) -> bool {
        self.0 & 0x8000_0000 == 0
    }
}

wire::bits! {
    /// Flags of a symbolic link.
    pub SymlinkFlags: u32 {
        RELATIVE = 1,
    }
}

/// The data of a reparse point.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reparse {
    /// 2.1.2.4.
    Symlink { substitute_name: Vec<u16>, print_name: Vec<u16>, flags: SymlinkFlags },
    /// 2.1.2.5.
    MountPoint { substitute_name: Vec<u16>, print_name: Vec<u16> },
    /// 2.1.2.6.
    Nfs(Nfs),
    /// Any other, kept as it is, its GUID included if it has one.
    Other { tag: Tag, data: Vec<u8> },
}

/// Special files as Windows' NFS server and Linux's SMB client store them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Nfs {
    Symlink(Vec<u16>),
    Char { major: u32, minor: u32 },
    Block { major: u32, minor: u32 },
    Fifo,
    Socket,
    Other { kind: u64, data: Vec<u8> },
}

wire::layout! {
    LittleEndian;
    /// The numbers of a device of WSL, in the extended attribute `$LXDEV`.
    #[derive(Default)]
    pub struct WslDevice {
        pub major: u32,
        pub minor: u32,
    }
}

const LNK: u64 = 0x014B_4E4C;
const CHR: u64 = 0x0052_4843;
const BLK: u64 = 0x004B_4C42;
const FIFO: u64 = 0x4F46_4946;
const SOCK: u64 = 0x4B43_4F53;

impl Reparse {
    /// The kind.
    pub fn tag(&self) -> Tag {
        match self {
            Self::Symlink { .. } => Tag::SYMLINK,
            Self::MountPoint { .. } => Tag::MOUNT_POINT,
            Self::Nfs(_) => Tag::NFS,
            Self::Other { tag, .. } => *tag,
        }
    }

    /// REPARSE_DATA_BUFFER or REPARSE_GUID_DATA_BUFFER. Nothing may follow it.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (tag, len) = (Tag::decode(r)?, r.u16_le()?);
        r.skip(2)?;
        let guid_len = if tag.has_guid() { 16 } else { 0 };
        let data = r.take(usize::from(len) + guid_len)?;
        let mut r = Reader::new(data);
        match tag {
            Tag::SYMLINK => {
                let (names, flags) = (Names::decode(&mut r)?, SymlinkFlags(r.u32_le()?));
                let (substitute_name, print_name) = names.of(r.rest())?;
                Ok(Self::Symlink { substitute_name, print_name, flags })
            }
            Tag::MOUNT_POINT => {
                let (substitute_name, print_name) = Names::decode(&mut r)?.of(r.rest())?;
                Ok(Self::MountPoint { substitute_name, print_name })
            }
            Tag::NFS => Ok(Self::Nfs(Nfs::decode(&mut r)?)),
            _ => Ok(Self::Other { tag, data: data.to_vec() }),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.tag().0);
        let len_at = w.len();
        w.zeros(4);
        match self {
            Self::Symlink { substitute_name, print_name, flags } => {
                put_names(w, substitute_name, print_name, Some(*flags));
            }
            Self::MountPoint { substitute_name, print_name } => {
                put_names(w, substitute_name, print_name, None)
            }
            Self::Nfs(nfs) => nfs.encode(w),
            Self::Other { data, .. } => w.put(data),
        }
        let guid_len = if self.tag().has_guid() { 16 } else { 0 };
        let len = (w.len() - len_at - 4).saturating_sub(guid_len);
        w.patch_u16_le(len_at, u16::try_from(len).unwrap_or(u16::MAX));
    }
}

/// Where the two names stand in the buffer that follows.
struct Names {
    substitute: (u16, u16),
    print: (u16, u16),
}

impl Names {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { substitute: (r.u16_le()?, r.u16_le()?), print: (r.u16_le()?, r.u16_le()?) })
    }

    fn of(&self, buffer: &[u8]) -> Result<(Vec<u16>, Vec<u16>), Malformed> {
        let name = |(offset, len): (u16, u16)| {
            let mut r = Reader::new(buffer);
            r.skip(offset.into())?;
            text::units(&mut r, len.into())
        };
        Ok((name(self.substitute)?, name(self.print)?))
    }
}

/// The order of the names is free. Those of mount points have a NUL after each.
fn put_names(w: &mut Writer, substitute: &[u16], print: &[u16], flags: Option<SymlinkFlags>) {
    let nul: &[u16] = if flags.is_none() { &[0] } else { &[] };
    let (substitute_len, print_len) = (text::byte_len(substitute) as u16, text::byte_len(print) as u16);
    let (first, second, offsets) = match flags {
        Some(_) => (print, substitute, (print_len, 0)),
        None => (substitute, print, (0, substitute_len.saturating_add(2))),
    };
    for field in [offsets.0, substitute_len, offsets.1, print_len] {
        w.u16_le(field);
    }
    if let Some(flags) = flags {
        w.u32_le(flags.0);
    }
    for part in [first, nul, second, nul] {
        text::put(w, part);
    }
}

impl Nfs {
    fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = r.u64_le()?;
        Ok(match kind {
            LNK => Self::Symlink(text::from_bytes(r.rest())?),
            CHR => Self::Char { major: r.u32_le()?, minor: r.u32_le()? },
            BLK => Self::Block { major: r.u32_le()?, minor: r.u32_le()? },
            FIFO => Self::Fifo,
            SOCK => Self::Socket,
            _ => Self::Other { kind, data: r.rest().to_vec() },
        })
    }

    fn encode(&self, w: &mut Writer) {
        let mut device = |kind, major, minor| {
            w.u64_le(kind);
            w.u32_le(major);
            w.u32_le(minor);
        };
        match self {
            Self::Char { major, minor } => device(CHR, *major, *minor),
            Self::Block { major, minor } => device(BLK, *major, *minor),
            Self::Fifo => w.u64_le(FIFO),
            Self::Socket => w.u64_le(SOCK),
            Self::Symlink(target) => {
                w.u64_le(LNK);
                text::put(w, target);
            }
            Self::Other { kind, data } => {
                w.u64_le(*kind);
                w.put(data);
            }
        }
    }
}
