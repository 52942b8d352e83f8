//! MODE SENSE and MODE SELECT, SPC-4 6.9 to 6.14, and mode parameters, 7.5 and SBC-3 6.5.

mod pages;
mod parameters;

pub use pages::{
    Caching, Control, ControlExtension, DisconnectReconnect, ErrorRecovery, InformationalExceptions,
    LogicalBlockProvisioning, PageId, RawPage, Threshold,
};
pub use parameters::{BlockDescriptor, Form, ModeParameters};

use wire::{Malformed, Reader, Writer};

/// The kind of values that is requested, SPC-4 table 169.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageControl {
    /// The current values.
    Current,
    /// The mask of changeable bits.
    Changeable,
    /// The values after a reset.
    Default,
    /// The saved values.
    Saved,
}

impl PageControl {
    /// From the two bits of a command.
    #[must_use]
    pub fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Current,
            1 => Self::Changeable,
            2 => Self::Default,
            _ => Self::Saved,
        }
    }
}

/// MODE SENSE, SPC-4 6.11.1 and 6.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSense {
    /// MODE SENSE (6) or (10).
    pub form: Form,
    /// LLBAA: the initiator understands long block descriptors.
    pub long_descriptors: bool,
    /// DBD: no block descriptors.
    pub no_descriptors: bool,
    /// PC.
    pub control: PageControl,
    /// The page, or 3Fh for all.
    pub page: u8,
    /// The subpage, or FFh for all.
    pub subpage: u8,
    /// The allocation length.
    pub allocation_length: u16,
}

impl ModeSense {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let form = if r.u8()? == 0x1a { Form::Six } else { Form::Ten };
        let (flags, page, subpage) = (r.u8()?, r.u8()?, r.u8()?);
        let allocation_length = match form {
            Form::Six => u16::from(r.u8()?),
            Form::Ten => {
                r.skip(3)?;
                r.u16_be()?
            }
        };
        Ok(Self {
            form,
            long_descriptors: form == Form::Ten && flags & 0x10 != 0,
            no_descriptors: flags & 0x08 != 0,
            control: PageControl::of(page >> 6),
            page: page & 0x3f,
            subpage,
            allocation_length,
        })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        let flags = u8::from(self.long_descriptors) << 4 | u8::from(self.no_descriptors) << 3;
        let page = (self.control as u8) << 6 | self.page & 0x3f;
        match self.form {
            Form::Six => w.put(&[0x1a, flags, page, self.subpage, self.allocation_length as u8, 0]),
            Form::Ten => {
                w.put(&[0x5a, flags, page, self.subpage, 0, 0, 0]);
                w.u16_be(self.allocation_length);
                w.u8(0);
            }
        }
    }
}

/// MODE SELECT, SPC-4 6.9 and 6.10.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ModeSelect {
    /// MODE SELECT (6) or (10).
    pub form: Form,
    /// PF: the pages have the format of the specification.
    pub page_format: bool,
    /// RTD: restores all defaults.
    pub revert: bool,
    /// SP: the pages are to be saved.
    pub save: bool,
    /// Bytes of the parameters.
    pub length: u16,
}

impl ModeSelect {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let form = if r.u8()? == 0x15 { Form::Six } else { Form::Ten };
        let flags = r.u8()?;
        let length = match form {
            Form::Six => {
                r.skip(2)?;
                u16::from(r.u8()?)
            }
            Form::Ten => {
                r.skip(5)?;
                r.u16_be()?
            }
        };
        let (page_format, revert, save) = (flags & 0x10 != 0, flags & 0x02 != 0, flags & 0x01 != 0);
        Ok(Self { form, page_format, revert, save, length })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        let flags = u8::from(self.page_format) << 4 | u8::from(self.revert) << 1 | u8::from(self.save);
        match self.form {
            Form::Six => w.put(&[0x15, flags, 0, 0, self.length as u8, 0]),
            Form::Ten => {
                w.put(&[0x55, flags, 0, 0, 0, 0, 0]);
                w.u16_be(self.length);
                w.u8(0);
            }
        }
    }
}
