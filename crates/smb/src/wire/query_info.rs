//! QUERY_INFO, MS-SMB2 2.2.37 and 2.2.38.

use wire::{Malformed, Reader, Writer};

use super::buffers::{BufferResponse, body, buffer};
use super::{FileKey, Header, InfoType};

wire::bits! {
    /// About a list of extended attributes, MS-SMB2 2.2.37.
    pub Flags: u32 {
        RESTART_SCAN = 1,
        RETURN_SINGLE_ENTRY = 2,
        INDEX_SPECIFIED = 4,
    }
}

/// QUERY_INFO request, MS-SMB2 2.2.37.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request<'a> {
    pub info_type: InfoType,
    /// MS-FSCC 2.4 for a file, 2.5 for a file system.
    pub information_class: u8,
    pub output_buffer_length: u32,
    /// Of security information: which parts. Of extended attributes: the index of the first.
    pub additional_information: u32,
    pub flags: Flags,
    pub file: FileKey,
    /// [`QuotaQuery`], or [`ea_names`].
    pub input: &'a [u8],
}

/// How long the body of a request is before its buffer.
const FIXED: usize = 40;

impl<'a> Request<'a> {
    pub fn decode(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = body(message, 41)?;
        let (info_type, information_class) = (InfoType(r.u8()?), r.u8()?);
        let (output_buffer_length, offset) = (r.u32_le()?, r.u16_le()?);
        r.skip(2)?; // reserved
        let (length, additional_information, flags) = (r.u32_le()?, r.u32_le()?, Flags(r.u32_le()?));
        let file = FileKey::decode(&mut r)?;
        let input = buffer(message, FIXED, offset, length)?;
        Ok(Self {
            info_type,
            information_class,
            output_buffer_length,
            additional_information,
            flags,
            file,
            input,
        })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u16_le(41);
        w.u8(self.info_type.0);
        w.u8(self.information_class);
        w.u32_le(self.output_buffer_length);
        w.u16_le((Header::LEN + FIXED) as u16);
        w.u16_le(0); // reserved
        w.u32_le(self.input.len() as u32);
        w.u32_le(self.additional_information);
        w.u32_le(self.flags.0);
        self.file.encode(w);
        w.put(self.input);
    }
}

/// QUERY_INFO response, MS-SMB2 2.2.38.
pub type Response = BufferResponse;

/// The names in the input of a query for extended attributes: a list of FILE_GET_EA_INFORMATION, MS-FSCC 2.4.15.1.
pub fn ea_names(mut input: &[u8]) -> Result<Vec<&[u8]>, Malformed> {
    let mut names = Vec::new();
    while !input.is_empty() {
        let mut r = Reader::new(input);
        let (next, length) = (r.u32_le()? as usize, r.u8()?);
        names.push(r.take(length.into())?);
        r.skip(1)?; // the zero behind the name
        input = match next {
            0 => &[],
            _ if next < r.position() => return Err(Malformed("names of attributes that overlap")),
            _ => input.get(next..).ok_or(Malformed("a name behind its list"))?,
        };
    }
    Ok(names)
}

/// Appends the input of a query for the extended attributes `names`; see [`ea_names`].
pub fn put_ea_names(names: &[&[u8]], w: &mut Writer) {
    for (at, name) in names.iter().enumerate() {
        let start = w.len();
        w.u32_le(0);
        w.u8(name.len() as u8);
        w.put(name);
        w.u8(0);
        if at + 1 < names.len() {
            w.zeros((start.wrapping_sub(w.len())) % 4);
            w.patch_u32_le(start, (w.len() - start) as u32);
        }
    }
}

/// SMB2_QUERY_QUOTA_INFO, MS-SMB2 2.2.37.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaQuery<'a> {
    pub return_single: bool,
    pub restart_scan: bool,
    /// The users whose quotas are asked for: a list of FILE_GET_QUOTA_INFORMATION (MS-FSCC
    /// 2.4.41.1). Empty: all.
    pub sid_list: &'a [u8],
    /// Without a list: the SID before the first wanted one. Empty: from the beginning.
    pub start_sid: &'a [u8],
}

impl<'a> QuotaQuery<'a> {
    pub fn decode(input: &'a [u8]) -> Result<Self, Malformed> {
        let mut r = Reader::new(input);
        let (return_single, restart_scan) = (r.u8()? != 0, r.u8()? != 0);
        r.skip(2)?; // reserved
        let (list_length, start_length, start_offset) = (r.u32_le()?, r.u32_le()?, r.u32_le()?);
        let sids = r.rest();
        let outside = Malformed("SIDs outside of their buffer");
        let part = |from: u32, length: u32| {
            let (from, length) = (usize::try_from(from).ok()?, usize::try_from(length).ok()?);
            sids.get(from..from.checked_add(length)?)
        };
        let sid_list = part(0, list_length).ok_or(outside)?;
        let start_sid =
            if start_length == 0 { &[] } else { part(start_offset, start_length).ok_or(outside)? };
        Ok(Self { return_single, restart_scan, sid_list, start_sid })
    }

    pub fn encode(&self, w: &mut Writer) {
        w.u8(self.return_single.into());
        w.u8(self.restart_scan.into());
        w.u16_le(0); // reserved
        w.u32_le(self.sid_list.len() as u32);
        w.u32_le(self.start_sid.len() as u32);
        w.u32_le(self.sid_list.len() as u32);
        w.put(self.sid_list);
        w.put(self.start_sid);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_may_have_input() {
        let body = b"\x29\0\x01\x0f\0\x20\0\0\x68\0\0\0\x05\0\0\0\x07\0\0\0\x03\0\0\0\x08\x07\x06\x05\x04\x03\x02\x01\x18\x17\x16\x15\x14\x13\x12\x1112345";
        let request = Request {
            info_type: InfoType::FILE,
            information_class: 15,
            output_buffer_length: 8192,
            additional_information: 7,
            flags: Flags::RESTART_SCAN | Flags::RETURN_SINGLE_ENTRY,
            file: FileKey { persistent: 0x0102_0304_0506_0708, volatile: 0x1112_1314_1516_1718 },
            input: b"12345",
        };
        laid_out!(Request<'_>, body, request);
    }

    #[test]
    fn a_quota_query_lists_sids_or_says_where_to_go_on() {
        let list = b"\x01\0\0\0\x04\0\0\0\0\0\0\0\0\0\0\0sids";
        let quota =
            QuotaQuery { return_single: true, restart_scan: false, sid_list: b"sids", start_sid: b"" };
        assert_eq!(QuotaQuery::decode(list), Ok(quota));
        let start = b"\0\x01\0\0\0\0\0\0\x03\0\0\0\x02\0\0\0..sid";
        let quota = QuotaQuery { return_single: false, restart_scan: true, sid_list: b"", start_sid: b"sid" };
        assert_eq!(QuotaQuery::decode(start), Ok(quota));
        assert!(QuotaQuery::decode(&list[..19]).is_err());
        assert!(QuotaQuery::decode(&start[..20]).is_err());
    }
}
