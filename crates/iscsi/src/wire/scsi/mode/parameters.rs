//! The parameter list of MODE SENSE and MODE SELECT: header, block descriptor, pages.

use wire::{Malformed, Reader, Writer};

/// The header differs between commands of 6 and of 10 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs, reason = "as many bytes")]
pub enum Form {
    Six,
    Ten,
}

/// The size of a disk, SBC-3 6.5.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockDescriptor {
    /// The number of blocks; in the short descriptor all ones if it does not fit.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_size: u32,
}

impl BlockDescriptor {
    /// Bytes of a short and of a long descriptor.
    const LENGTHS: [usize; 2] = [8, 16];

    /// The bytes of the descriptor.
    #[must_use]
    pub fn length(long: bool) -> usize {
        Self::LENGTHS[usize::from(long)]
    }

    /// Its bytes, in the short or in the long form.
    pub fn encode(&self, long: bool, w: &mut Writer) {
        if long {
            w.u64_be(self.blocks);
            w.u32_be(0);
        } else {
            w.u32_be(u32::try_from(self.blocks).unwrap_or(u32::MAX));
        }
        w.u32_be(if long { self.block_size } else { self.block_size & 0x00ff_ffff });
    }

    /// From its bytes.
    pub fn decode(long: bool, r: &mut Reader<'_>) -> Result<Self, Malformed> {
        if long {
            let blocks = r.u64_be()?;
            r.skip(4)?;
            return Ok(Self { blocks, block_size: r.u32_be()? });
        }
        let blocks = u64::from(r.u32_be()?);
        Ok(Self { blocks, block_size: r.u32_be()? & 0x00ff_ffff })
    }
}

/// Mode parameters: a header, block descriptors and pages, SPC-4 7.5.4 and 7.5.5.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeParameters<'a> {
    /// WP of the device-specific parameter (SBC-3 6.5.1): all writes are refused.
    pub protected: bool,
    /// DPOFUA: the bits DPO and FUA of READ and WRITE are supported.
    pub dpo_fua: bool,
    /// LONGLBA: the descriptors are long.
    pub long: bool,
    /// Block descriptors.
    pub descriptors: &'a [u8],
    /// Pages.
    pub pages: &'a [u8],
}

impl<'a> ModeParameters<'a> {
    /// Writes the parameters. MODE DATA LENGTH is the length of all of them.
    pub fn encode(&self, form: Form, w: &mut Writer) {
        let device = u8::from(self.protected) << 7 | u8::from(self.dpo_fua) << 4;
        let rest = self.descriptors.len() + self.pages.len();
        match form {
            Form::Six => {
                w.u8(u8::try_from(rest + 3).unwrap_or(u8::MAX));
                w.put(&[0, device, self.descriptors.len() as u8]); // 8
            }
            Form::Ten => {
                w.u16_be(u16::try_from(rest + 6).unwrap_or(u16::MAX));
                w.put(&[0, device, u8::from(self.long), 0]);
                w.u16_be(self.descriptors.len() as u16); // 16 at most
            }
        }
        w.put(self.descriptors);
        w.put(self.pages);
    }

    /// Reads the parameters from all bytes. MODE DATA LENGTH has no meaning in MODE SELECT.
    pub fn decode(form: Form, r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (device, long, length) = match form {
            Form::Six => {
                r.skip(2)?;
                (r.u8()?, false, usize::from(r.u8()?))
            }
            Form::Ten => {
                r.skip(3)?;
                let (device, long) = (r.u8()?, r.u8()? & 1 != 0);
                r.skip(1)?;
                (device, long, usize::from(r.u16_be()?))
            }
        };
        let (descriptors, pages) = (r.take(length)?, r.rest());
        let (protected, dpo_fua) = (device & 0x80 != 0, device & 0x10 != 0);
        Ok(Self { protected, dpo_fua, long, descriptors, pages })
    }

    /// Bytes of the header.
    #[must_use]
    pub fn header(form: Form) -> usize {
        match form {
            Form::Six => 4,
            Form::Ten => 8,
        }
    }
}
