//! Copies on the server: SRV_REQUEST_RESUME_KEY, SRV_COPYCHUNK, DUPLICATE_EXTENTS_TO_FILE.

use wire::{Malformed, Reader, Writer};

/// SRV_REQUEST_RESUME_KEY response, MS-SMB2 2.2.32.3: names an open as the source of a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResumeKey(pub [u8; 24]);

impl ResumeKey {
    /// How long the response is. ContextLength is 0, yet four bytes of context follow: Windows sends them, and clients
    /// take the whole to be 32 bytes.
    pub const RESPONSE_LEN: usize = 32;

    /// The bytes after the key are unused.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let key = Self(r.array()?);
        let context_len = r.u32_le()?;
        r.skip(context_len as usize)?;
        Ok(key)
    }

    pub fn encode(&self, w: &mut Writer) {
        w.put(&self.0);
        w.u32_le(0);
        w.zeros(4);
    }
}

/// SRV_COPYCHUNK_COPY, MS-SMB2 2.2.31.1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyChunk {
    pub source: ResumeKey,
    /// Empty: a Mac that negotiated OSX_COPYFILE wants the whole file copied, its metadata
    /// included.
    pub chunks: Vec<Chunk>,
}

wire::layout! {
    LittleEndian;
    /// SRV_COPYCHUNK, MS-SMB2 2.2.31.1.1.
    #[derive(Default)]
    pub struct Chunk {
        pub source_offset: u64,
        pub target_offset: u64,
        pub length: u32 [4],
    }
}

impl CopyChunk {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (source, count) = (ResumeKey(r.array()?), r.u32_le()?);
        r.skip(4)?;
        let chunks = (0..count).map(|_| Chunk::decode(r)).collect::<Result<_, _>>()?;
        Ok(Self { source, chunks })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.put(&self.source.0);
        w.u32_le(self.chunks.len() as u32);
        w.zeros(4);
        self.chunks.iter().for_each(|chunk| chunk.encode(w));
    }
}

wire::layout! {
    LittleEndian;
    /// SRV_COPYCHUNK_RESPONSE, MS-SMB2 2.2.32.1. With INVALID_PARAMETER it says the server's
    /// limits: chunks, bytes of one chunk, bytes in all.
    #[derive(Default)]
    pub struct CopyChunkResponse {
        pub chunks_written: u32,
        pub chunk_bytes_written: u32,
        pub total_bytes_written: u32,
    }

    /// SMB2_DUPLICATE_EXTENTS_DATA, MS-FSCC 2.3.
    #[derive(Default)]
    pub struct DuplicateExtents {
        /// FileId of the source, as CREATE gave it.
        pub source: [u8; 16],
        pub source_offset: u64,
        pub target_offset: u64,
        pub byte_count: u64,
    }
}

wire::bits! {
    /// Flags of SMB2_DUPLICATE_EXTENTS_DATA_EX.
    pub DuplicateFlags: u32 {
        /// The copy is atomic.
        SOURCE_ATOMIC = 1,
    }
}

/// SMB2_DUPLICATE_EXTENTS_DATA_EX, MS-FSCC 2.3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DuplicateExtentsEx {
    pub extents: DuplicateExtents,
    pub flags: DuplicateFlags,
}

impl DuplicateExtentsEx {
    /// The value of StructureSize, which is not the length here.
    const STRUCTURE_SIZE: u64 = 0x30;

    /// Four reserved bytes may follow.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(8)?;
        Ok(Self { extents: DuplicateExtents::decode(r)?, flags: DuplicateFlags(r.u32_le()?) })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u64_le(Self::STRUCTURE_SIZE);
        self.extents.encode(w);
        w.u32_le(self.flags.0);
        w.zeros(4);
    }
}
