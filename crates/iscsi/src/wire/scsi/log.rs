//! LOG SENSE, SPC-4 6.6, and log pages, 7.3 and SBC-3 6.4.

use wire::{Malformed, Reader, Writer};

/// The most parameters or pages that are read.
const MOST: usize = 1024;
/// SPF, in the first byte of pages that have a subpage code.
const SUBPAGE: u8 = 0x40;

/// Page code and subpage code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LogPageId(pub u8, pub u8);

#[allow(missing_docs, reason = "named as in SPC-4 table 377")]
impl LogPageId {
    pub const SUPPORTED: Self = Self(0x00, 0x00);
    pub const SUPPORTED_WITH_SUBPAGES: Self = Self(0x00, 0xff);
    pub const LOGICAL_BLOCK_PROVISIONING: Self = Self(0x0c, 0x00);
    pub const INFORMATIONAL_EXCEPTIONS: Self = Self(0x2f, 0x00);
}

/// LOG SENSE, SPC-4 6.6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogSense {
    /// SP: the parameters are to be saved.
    pub save: bool,
    /// PC: the kind of values.
    pub control: u8,
    /// The page.
    pub page: LogPageId,
    /// PARAMETER POINTER: the first parameter.
    pub from: u16,
    /// The allocation length.
    pub allocation_length: u16,
}

impl LogSense {
    /// From a descriptor block.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        r.skip(1)?;
        let save = r.u8()? & 1 != 0;
        let (page, subpage) = (r.u8()?, r.u8()?);
        r.skip(1)?;
        let (from, allocation_length) = (r.u16_be()?, r.u16_be()?);
        Ok(Self { save, control: page >> 6, page: LogPageId(page & 0x3f, subpage), from, allocation_length })
    }

    /// As a descriptor block.
    pub fn encode(&self, w: &mut Writer) {
        let page = self.control << 6 | self.page.0 & 0x3f;
        w.put(&[0x4d, u8::from(self.save), page, self.page.1, 0]);
        w.u16_be(self.from);
        w.u16_be(self.allocation_length);
        w.u8(0);
    }
}

/// A page and its body, SPC-4 7.3.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPage<'a> {
    /// The page's code.
    pub id: LogPageId,
    /// The bytes after the first four; shorter than 64 KiB.
    pub body: &'a [u8],
}

impl<'a> LogPage<'a> {
    /// Writes the page. No parameter is saved (DS).
    pub fn encode(&self, w: &mut Writer) {
        let subpage = if self.id.1 == 0 { 0 } else { SUBPAGE };
        w.put(&[0x80 | subpage | self.id.0 & 0x3f, self.id.1]);
        w.u16_be(u16::try_from(self.body.len()).unwrap_or(u16::MAX));
        w.put(self.body.get(..usize::from(u16::MAX)).unwrap_or(self.body));
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let (code, subpage, length) = (r.u8()? & 0x3f, r.u8()?, r.u16_be()?);
        Ok(Self { id: LogPageId(code, subpage), body: r.take(usize::from(length))? })
    }
}

/// A parameter, SPC-4 7.3.2.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogParameter {
    /// PARAMETER CODE.
    pub code: u16,
    /// Its value.
    pub value: Vec<u8>,
}

impl LogParameter {
    /// Writes the parameter: a list in binary format, which no MODE SELECT or LOG SELECT changes.
    pub fn encode(&self, w: &mut Writer) {
        let value = &self.value[..self.value.len().min(usize::from(u8::MAX))];
        w.u16_be(self.code);
        w.put(&[0x03, value.len() as u8]);
        w.put(value);
    }

    /// Reads all parameters of a page's body.
    pub fn decode_all(r: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let mut all = Vec::new();
        while r.remaining() > 0 && all.len() < MOST {
            let code = r.u16_be()?;
            r.skip(1)?;
            let length = usize::from(r.u8()?);
            all.push(Self { code, value: r.take(length)?.to_vec() });
        }
        Ok(all)
    }
}

/// The amount of a resource, SBC-3 6.4.3.2: the value of a parameter of the logical block
/// provisioning page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resource {
    /// RESOURCE COUNT, in threshold sets.
    pub count: u32,
    /// SCOPE: 1 for this unit alone, 2 if it may be shared with others.
    pub scope: u8,
}

impl Resource {
    /// Parameter codes: the available and the used LBA mapping resources.
    pub const AVAILABLE: u16 = 1;
    #[allow(missing_docs, reason = "see above")]
    pub const USED: u16 = 2;

    /// Its bytes.
    pub fn encode(&self, w: &mut Writer) {
        w.u32_be(self.count);
        w.put(&[self.scope & 3, 0, 0, 0]);
    }

    /// From its bytes.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let (count, scope) = (r.u32_be()?, r.u8()? & 3);
        r.skip(3)?;
        Ok(Self { count, scope })
    }
}
