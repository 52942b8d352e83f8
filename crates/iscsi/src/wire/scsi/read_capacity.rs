//! READ CAPACITY, SBC-3 5.15 and 5.16.

use wire::{Malformed, Reader, Writer};

/// READ CAPACITY (10), SBC-3 5.15.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadCapacity10 {
    /// An address, which is obsolete.
    pub lba: u32,
    /// PMI, also obsolete: asks for the end of the blocks with the same speed as this address.
    pub partial: bool,
}

impl ReadCapacity10 {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(2)?;
        let lba = r.u32_be()?;
        r.skip(2)?;
        Ok(Self { lba, partial: r.u8()? & 1 != 0 })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[0x25, 0]);
        w.u32_be(self.lba);
        w.put(&[0, 0, u8::from(self.partial), 0]);
    }
}

wire::layout! {
    /// The answer of READ CAPACITY (10), SBC-3 5.15.2.
    pub struct Capacity10 {
        /// Address of the last block; all ones when it does not fit.
        pub last: u32,
        /// Bytes of a block.
        pub block_size: u32,
    }
}

/// READ CAPACITY (16), SBC-3 5.16.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadCapacity16 {
    /// As in [`ReadCapacity10`].
    pub lba: u64,
    /// The allocation length.
    pub allocation_length: u32,
    /// As in [`ReadCapacity10`].
    pub partial: bool,
}

impl ReadCapacity16 {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(2)?;
        let (lba, allocation_length, partial) = (r.u64_be()?, r.u32_be()?, r.u8()? & 1 != 0);
        Ok(Self { lba, allocation_length, partial })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        w.put(&[0x9e, 0x10]);
        w.u64_be(self.lba);
        w.u32_be(self.allocation_length);
        w.put(&[u8::from(self.partial), 0]);
    }
}

/// The answer of READ CAPACITY (16), SBC-3 5.16.2: 32 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity16 {
    /// Address of the last block.
    pub last: u64,
    /// Bytes of a block.
    pub block_size: u32,
    /// A physical block has two to this power of logical blocks.
    pub physical_exponent: u8,
    /// LBPME: the unit is thin; blocks are mapped and unmapped as needed.
    pub thin: bool,
    /// LBPRZ: unmapped blocks read as zeros.
    pub reads_zeros: bool,
    /// The first block that begins a physical block.
    pub aligned: u16,
}

impl Capacity16 {
    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u64_be(self.last);
        w.u32_be(self.block_size);
        w.u8(0); // no protection information
        w.u8(self.physical_exponent & 0xf);
        w.u16_be(u16::from(self.thin) << 15 | u16::from(self.reads_zeros) << 14 | self.aligned & 0x3fff);
        w.zeros(16);
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (last, block_size) = (r.u64_be()?, r.u32_be()?);
        r.skip(1)?;
        let (exponent, flags) = (r.u8()?, r.u16_be()?);
        r.skip(16)?;
        Ok(Self {
            last,
            block_size,
            physical_exponent: exponent & 0xf,
            thin: flags & 0x8000 != 0,
            reads_zeros: flags & 0x4000 != 0,
            aligned: flags & 0x3fff,
        })
    }
}
