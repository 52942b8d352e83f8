//! Records of a file system: keys and values of the catalogue and of the trees of snapshots and extents ("File-System
//! Objects").

use wire::{Malformed, Reader};

use super::names::Comparison;
use super::object::Decoded;

/// "File-System Object Types".
pub(super) mod kind {
    pub(in super::super) const SNAPSHOT: u8 = 1;
    pub(in super::super) const EXTENT: u8 = 2;
    pub(in super::super) const INODE: u8 = 3;
    pub(in super::super) const ATTRIBUTE: u8 = 4;
    pub(in super::super) const SIBLING_LINK: u8 = 5;
    pub(in super::super) const FILE_EXTENT: u8 = 8;
    pub(in super::super) const ENTRY: u8 = 9;
    pub(in super::super) const SNAPSHOT_NAME: u8 = 11;
    pub(in super::super) const FILE_INFO: u8 = 13;
}

/// A key of the catalogue. The fields are in the order in which keys are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key<'a> {
    pub(super) oid: u64,
    pub(super) kind: u8,
    /// An offset, a sibling's id, or the hash of a name in its upper 22 bits.
    pub(super) number: u64,
    /// Without its final zero.
    pub(super) name: &'a [u8],
}

impl<'a> Key<'a> {
    pub(super) fn decode(bytes: &'a [u8], comparison: Comparison) -> Decoded<Self> {
        let mut r = Reader::new(bytes);
        let id = r.u64_le()?;
        let (oid, kind) = (id & (u64::MAX >> 4), (id >> 60) as u8);
        let (mut number, mut name): (u64, &[u8]) = (0, &[]);
        match kind {
            kind::ENTRY if comparison.is_hashed() => {
                let length_and_hash = r.u32_le()?;
                number = u64::from(length_and_hash & !0x3ff);
                name = terminated(&mut r, length_and_hash as usize & 0x3ff)?;
            }
            kind::ENTRY | kind::ATTRIBUTE | kind::SNAPSHOT_NAME => {
                let length = usize::from(r.u16_le()?);
                name = terminated(&mut r, length)?;
            }
            kind::FILE_EXTENT | kind::SIBLING_LINK => number = r.u64_le()?,
            kind::FILE_INFO => number = r.u64_le()? & (u64::MAX >> 8),
            _ => {}
        }
        r.finish().map_err(|_| Malformed("a key is longer than its type has"))?;
        Ok(Self { oid, kind, number, name })
    }

    /// The first key of a type.
    pub(super) fn first(oid: u64, kind: u8) -> Self {
        Self { oid, kind, number: 0, name: &[] }
    }
}

/// A string of `length` bytes, the last of which is a zero.
fn terminated<'a>(r: &mut Reader<'a>, length: usize) -> Decoded<&'a [u8]> {
    match r.take(length)?.split_last() {
        Some((0, name)) if !name.contains(&0) => Ok(name),
        _ => Err(Malformed("a name does not end with a zero")),
    }
}

/// A stream of bytes (j_dstream_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Stream {
    /// The id that its extents have.
    pub(super) id: u64,
    pub(super) size: u64,
    pub(super) allocated: u64,
}

impl Stream {
    fn decode(r: &mut Reader<'_>, id: u64) -> Decoded<Self> {
        let (size, allocated) = (r.u64_le()?, r.u64_le()?);
        r.skip(24)?; // key, bytes written and read
        Ok(Self { id, size, allocated })
    }
}

/// A field that a record may have (x_field_t).
struct Field<'a> {
    kind: u8,
    value: &'a [u8],
}

/// "Extended-Field Types".
mod field {
    pub(super) const ENTRY_SIBLING: u8 = 1;
    pub(super) const NAME: u8 = 4;
    pub(super) const FINDER_INFO: u8 = 7;
    pub(super) const STREAM: u8 = 8;
    pub(super) const SPARSE_BYTES: u8 = 13;
}

/// The extended fields of an inode or an entry (xf_blob_t). Each value begins at a multiple of eight.
fn fields<'a>(r: &mut Reader<'a>) -> Decoded<Vec<Field<'a>>> {
    if r.remaining() == 0 {
        return Ok(Vec::new());
    }
    let count = usize::from(r.u16_le()?);
    r.skip(2)?; // bytes of the values
    let mut table = Reader::new(r.take(count * 4)?);
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let kind = table.u8()?;
        table.skip(1)?; // flags
        let size = usize::from(table.u16_le()?);
        let value = r.take(size)?;
        r.skip((size.next_multiple_of(8) - size).min(r.remaining()))?;
        all.push(Field { kind, value });
    }
    Ok(all)
}

/// An inode (j_inode_val_t).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Inode {
    pub(super) parent: u64,
    pub(super) private: u64,
    pub(super) created: u64,
    pub(super) modified: u64,
    pub(super) changed: u64,
    pub(super) accessed: u64,
    pub(super) internal_flags: u64,
    /// How many entries a folder has, or how many names a file.
    pub(super) children_or_links: u32,
    pub(super) bsd_flags: u32,
    pub(super) user: u32,
    pub(super) group: u32,
    /// The type, and permission bits.
    pub(super) mode: u16,
    pub(super) stream: Option<Stream>,
    pub(super) finder_info: Option<[u8; 32]>,
    pub(super) sparse_bytes: u64,
    /// The name of the first link.
    pub(super) name: String,
}

/// The bit of `bsd_flags` of files whose data is compressed (UF_COMPRESSED).
pub(super) const COMPRESSED: u32 = 0x20;

impl Inode {
    pub(super) fn decode(value: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let (parent, private) = (r.u64_le()?, r.u64_le()?);
        let (created, modified, changed, accessed) = (r.u64_le()?, r.u64_le()?, r.u64_le()?, r.u64_le()?);
        let (internal_flags, children_or_links) = (r.u64_le()?, r.u32_le()?);
        r.skip(8)?; // protection class, generation of writes
        let (bsd_flags, user, group, mode) = (r.u32_le()?, r.u32_le()?, r.u32_le()?, r.u16_le()?);
        r.skip(2 + 8)?; // padding, uncompressed size
        let (mut stream, mut finder_info, mut sparse_bytes, mut name) = (None, None, 0, String::new());
        for field in fields(&mut r)? {
            let mut value = Reader::new(field.value);
            match field.kind {
                field::STREAM => stream = Some(Stream::decode(&mut value, private)?),
                field::FINDER_INFO => finder_info = Some(value.array()?),
                field::SPARSE_BYTES => sparse_bytes = value.u64_le()?,
                field::NAME => name = String::from_utf8_lossy(field.value).trim_end_matches('\0').to_owned(),
                _ => {}
            }
        }
        Ok(Self {
            parent,
            private,
            created,
            modified,
            changed,
            accessed,
            internal_flags,
            children_or_links,
            bsd_flags,
            user,
            group,
            mode,
            stream,
            finder_info,
            sparse_bytes,
            name,
        })
    }

    /// The type, as entries have it: the upper four bits of the mode.
    pub(super) fn file_type(&self) -> u8 {
        (self.mode >> 12) as u8
    }
}

/// An entry of a folder (j_drec_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) file: u64,
    /// The type of the file: 4 is a folder, 8 a file, 10 a link.
    pub(super) file_type: u8,
    /// The id of this link of a file that has or had several.
    pub(super) sibling: Option<u64>,
}

impl Entry {
    pub(super) fn decode(value: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let file = r.u64_le()?;
        r.skip(8)?; // when it was added
        let file_type = (r.u16_le()? & 0xf) as u8;
        let mut sibling = None;
        for field in fields(&mut r)? {
            if field.kind == field::ENTRY_SIBLING {
                sibling = Some(Reader::new(field.value).u64_le()?);
            }
        }
        Ok(Self { file, file_type, sibling })
    }
}

/// The value of an extended attribute (j_xattr_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Attribute<'a> {
    /// The bytes are in the record.
    Embedded(&'a [u8]),
    /// They are a stream of their own.
    Stream(Stream),
}

impl<'a> Attribute<'a> {
    pub(super) fn decode(value: &'a [u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let (flags, length) = (r.u16_le()?, usize::from(r.u16_le()?));
        match flags & 3 {
            1 => {
                let id = r.u64_le()?;
                Ok(Self::Stream(Stream::decode(&mut r, id)?))
            }
            2 => Ok(Self::Embedded(r.take(length)?)),
            _ => Err(Malformed("an attribute is neither embedded nor a stream")),
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Self::Embedded(bytes) => bytes.len() as u64,
            Self::Stream(stream) => stream.size,
        }
    }
}

/// A run of a stream (j_file_extent_val_t, fext_tree_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileExtent {
    /// Where it begins in the stream, in bytes.
    pub(super) offset: u64,
    /// In bytes.
    pub(super) length: u64,
    /// The first block; 0 for a hole.
    pub(super) block: u64,
    /// What the tweaks of its units begin with, in blocks; 0 if it is not encrypted.
    pub(super) tweak: u64,
}

impl FileExtent {
    pub(super) fn decode(offset: u64, value: &[u8], has_tweak: bool) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let (length, block) = (r.u64_le()? & (u64::MAX >> 8), r.u64_le()?);
        let tweak = if has_tweak { r.u64_le()? } else { 0 };
        Ok(Self { offset, length, block, tweak })
    }

    /// Where it ends in the stream.
    pub(super) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// A run of blocks of files, and how many streams use it (j_phys_ext_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PhysicalExtent {
    pub(super) blocks: u64,
    /// Whether the run was allocated since the last snapshot (APFS_KIND_NEW); else the record changes an older count.
    pub(super) is_new: bool,
    pub(super) references: u32,
}

impl PhysicalExtent {
    pub(super) fn decode(value: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let length_and_kind = r.u64_le()?;
        r.skip(8)?; // an owner
        let references = r.u32_le()?;
        Ok(Self { blocks: length_and_kind & (u64::MAX >> 4), is_new: length_and_kind >> 60 == 1, references })
    }
}

/// A snapshot (j_snap_metadata_val_t).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SnapshotValue {
    pub(super) extents: u64,
    pub(super) superblock: u64,
    pub(super) created: u64,
    pub(super) name: String,
}

impl SnapshotValue {
    pub(super) fn decode(value: &[u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let (extents, superblock, created) = (r.u64_le()?, r.u64_le()?, r.u64_le()?);
        r.skip(8 + 8 + 4 + 4)?; // when it was changed, an inode number, the type of the tree of extents, flags
        let length = usize::from(r.u16_le()?);
        let name = String::from_utf8_lossy(terminated(&mut r, length)?).into_owned();
        Ok(Self { extents, superblock, created, name })
    }
}

/// A name of a file that has several (j_sibling_val_t).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sibling<'a> {
    pub(super) parent: u64,
    pub(super) name: &'a [u8],
}

impl<'a> Sibling<'a> {
    pub(super) fn decode(value: &'a [u8]) -> Decoded<Self> {
        let mut r = Reader::new(value);
        let (parent, length) = (r.u64_le()?, usize::from(r.u16_le()?));
        Ok(Self { parent, name: terminated(&mut r, length)? })
    }
}
