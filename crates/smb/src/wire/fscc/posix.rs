//! Class 100 of the SMB3 POSIX extensions, for files, listings and file systems. The layouts are those of `struct smb2_posix_info`,
//! `struct smb311_posix_qinfo` and `FILE_SYSTEM_POSIX_INFO` in Linux (fs/smb/client/smb2pdu.h, fs/smb/common/smb2pdu.h).

use wire::{Malformed, Reader, Sid, Writer};

use super::FileAttributes;
use super::directory::Facts;
use crate::wire::time::NtTime;

/// The mode of the extensions: permission bits with setuid, setgid and sticky as UNIX has them, and above them the type.
pub mod mode {
    /// All but the type.
    pub const PERMISSIONS: u32 = 0o7777;
    /// Regular files; also folders, which the attribute DIRECTORY tells. Linux before 6.12 takes the bits of a folder's own type
    /// (1) for a part of its mode, and later versions expect 0 of servers that do not know types.
    pub const FILE_OR_FOLDER: u32 = 0;
    pub const LINK: u32 = 2 << 12;
    pub const CHAR_DEVICE: u32 = 3 << 12;
    pub const BLOCK_DEVICE: u32 = 4 << 12;
    pub const FIFO: u32 = 5 << 12;
    pub const SOCKET: u32 = 6 << 12;
}

/// What the extensions tell of a file besides its times, sizes and attributes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PosixAttributes {
    /// The file system that the file is on.
    pub device: u32,
    /// The file's names.
    pub links: u32,
    /// See [`mode`].
    pub mode: u32,
    pub owner: Sid,
    pub group: Sid,
}

/// FilePosixInformation (100). `facts.ea_size` is not a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PosixInfo {
    pub facts: Facts,
    pub posix: PosixAttributes,
}

impl PosixInfo {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let facts = Facts {
            creation_time: NtTime(r.u64_le()?),
            last_access_time: NtTime(r.u64_le()?),
            last_write_time: NtTime(r.u64_le()?),
            change_time: NtTime(r.u64_le()?),
            end_of_file: r.u64_le()?,
            allocation_size: r.u64_le()?,
            attributes: FileAttributes(r.u32_le()?),
            file_id: r.u64_le()?,
            ..Facts::default()
        };
        let device = r.u32_le()?;
        r.skip(4)?; // always 0
        let (links, reparse_tag, mode) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        let (owner, group) = (Sid::decode(r)?, Sid::decode(r)?);
        let posix = PosixAttributes { device, links, mode, owner, group };
        Ok(Self { facts: Facts { reparse_tag, ..facts }, posix })
    }

    pub fn encode(&self, w: &mut Writer) {
        let (facts, posix) = (&self.facts, &self.posix);
        for time in [facts.creation_time, facts.last_access_time, facts.last_write_time, facts.change_time] {
            w.u64_le(time.0);
        }
        w.u64_le(facts.end_of_file);
        w.u64_le(facts.allocation_size);
        w.u32_le(facts.attributes.0);
        w.u64_le(facts.file_id);
        w.u32_le(posix.device);
        w.u32_le(0);
        w.u32_le(posix.links);
        w.u32_le(facts.reparse_tag);
        w.u32_le(posix.mode);
        posix.owner.encode(w);
        posix.group.encode(w);
    }

    /// The bytes that [`PosixInfo::encode`] writes.
    pub fn byte_len(&self) -> usize {
        80 + self.posix.owner.byte_len() + self.posix.group.byte_len()
    }
}

wire::layout! {
    LittleEndian;
    /// FileFsPosixInformation (100). All ones where a number is not known.
    #[derive(Default)]
    pub struct FsPosix {
        /// The best length of one transfer, in bytes.
        pub optimal_transfer_size: u32,
        pub block_size: u32,
        pub total_blocks: u64,
        pub blocks_available: u64,
        pub user_blocks_available: u64,
        pub total_file_nodes: u64,
        pub free_file_nodes: u64,
        pub file_system_id: u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::security::well_known::Unix;

    /// By struct smb311_posix_qinfo, with two SIDs of two numbers each behind it.
    #[test]
    fn a_file_has_80_bytes_and_two_sids() {
        let info = PosixInfo {
            facts: Facts {
                creation_time: NtTime(1),
                last_access_time: NtTime(2),
                last_write_time: NtTime(3),
                change_time: NtTime(4),
                end_of_file: 5,
                allocation_size: 6,
                attributes: FileAttributes(7),
                file_id: 8,
                reparse_tag: 11,
                ea_size: 0,
            },
            posix: PosixAttributes {
                device: 9,
                links: 10,
                mode: 0o1755,
                owner: Unix::User(1000).sid(),
                group: Unix::Group(100).sid(),
            },
        };
        let mut w = Writer::new();
        info.encode(&mut w);
        let expected = b"\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0\x03\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\
            \x05\0\0\0\0\0\0\0\x06\0\0\0\0\0\0\0\x07\0\0\0\x08\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\
            \x0a\0\0\0\x0b\0\0\0\xed\x03\0\0\
            \x01\x02\0\0\0\0\0\x16\x01\0\0\0\xe8\x03\0\0\x01\x02\0\0\0\0\0\x16\x02\0\0\0\x64\0\0\0";
        assert_eq!(w.as_bytes(), expected);
        assert_eq!(info.byte_len(), expected.len());
        assert_eq!(PosixInfo::decode(&mut Reader::new(expected)), Ok(info));
        assert!(PosixInfo::decode(&mut Reader::new(&expected[..111])).is_err());
    }

    /// FILE_SYSTEM_POSIX_INFO has 56 bytes.
    #[test]
    fn a_file_system_has_56_bytes() {
        let mut w = Writer::new();
        FsPosix { block_size: 4096, total_blocks: 2, file_system_id: 3, ..FsPosix::default() }.encode(&mut w);
        assert_eq!(w.as_bytes().len(), 56);
        assert_eq!(w.as_bytes()[4..16], *b"\0\x10\0\0\x02\0\0\0\0\0\0\0");
        assert_eq!(w.as_bytes()[48], 3);
    }
}
