//! Which bytes of a file: SET_SPARSE, SET_ZERO_DATA, QUERY_ALLOCATED_RANGES, FILE_LEVEL_TRIM, QUERY_FILE_REGIONS; MS-FSCC 2.3.

use wire::{Malformed, Reader, Writer};

/// FILE_SET_SPARSE_BUFFER: no bytes at all mean true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SetSparse(pub bool);

impl SetSparse {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        match r.remaining() {
            0 => Ok(Self(true)),
            _ => Ok(Self(r.u8()? != 0)),
        }
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(u8::from(self.0));
    }
}

wire::layout! {
    LittleEndian;
    /// FILE_ZERO_DATA_INFORMATION. The numbers are signed, and must not be negative.
    pub struct ZeroData {
        pub file_offset: i64,
        pub beyond_final_zero: i64,
    }

    /// FILE_ALLOCATED_RANGE_BUFFER, asked and answered. The numbers are signed, and must not be negative.
    pub struct AllocatedRange {
        pub file_offset: i64,
        pub length: i64,
    }
}

impl AllocatedRange {
    /// How long each is.
    pub const LEN: usize = 16;

    /// The ranges of a response.
    pub fn decode_all(r: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut ranges = Vec::new();
        while r.remaining() > 0 {
            ranges.push(Self::decode(r)?);
        }
        Ok(ranges)
    }
}

wire::layout! {
    LittleEndian;
    /// FILE_LEVEL_TRIM_RANGE.
    pub struct TrimRange {
        pub offset: u64,
        pub length: u64,
    }
}

/// FILE_LEVEL_TRIM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trim {
    pub key: u32,
    pub ranges: Vec<TrimRange>,
}

impl Trim {
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (key, count) = (r.u32_le()?, r.u32_le()?);
        let ranges = (0..count).map(|_| TrimRange::decode(r)).collect::<Result<_, _>>()?;
        Ok(Self { key, ranges })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.key);
        w.u32_le(self.ranges.len() as u32);
        self.ranges.iter().for_each(|range| range.encode(w));
    }
}

wire::layout! {
    LittleEndian;
    /// FILE_LEVEL_TRIM_OUTPUT.
    #[derive(Default)]
    pub struct TrimResponse {
        pub ranges_processed: u32,
    }

    /// FILE_REGION_INPUT.
    #[derive(Default)]
    pub struct RegionRequest {
        pub file_offset: i64,
        pub length: i64,
        pub desired_usage: u32 [4],
    }

    /// FILE_REGION_INFO.
    pub struct Region {
        pub file_offset: i64,
        pub length: i64,
        pub usage: u32 [4],
    }
}

impl Region {
    /// FILE_REGION_USAGE_VALID_CACHED_DATA.
    pub const VALID_CACHED_DATA: u32 = 1;
    /// How long each is.
    pub const LEN: usize = 24;
}

/// FILE_REGION_OUTPUT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Regions {
    pub flags: u32,
    /// How many there are; `regions` may hold fewer, for lack of room.
    pub total: u32,
    pub regions: Vec<Region>,
}

impl Regions {
    /// What comes before the regions.
    pub const FIXED_LEN: usize = 16;

    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (flags, total, count) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        r.skip(4)?;
        let regions = (0..count).map(|_| Region::decode(r)).collect::<Result<_, _>>()?;
        Ok(Self { flags, total, regions })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u32_le(self.flags);
        w.u32_le(self.total);
        w.u32_le(self.regions.len() as u32);
        w.zeros(4);
        self.regions.iter().for_each(|region| region.encode(w));
    }
}
