//! Mode pages: SPC-4 7.5.7 to 7.5.16 and SBC-3 6.5.4 to 6.5.9. Each is written and read whole, with its page code and length.

use wire::{Malformed, Reader, Writer};

/// Page code and subpage code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PageId(pub u8, pub u8);

#[allow(missing_docs, reason = "named as in SBC-3 table 190")]
impl PageId {
    pub const ERROR_RECOVERY: Self = Self(0x01, 0);
    pub const DISCONNECT_RECONNECT: Self = Self(0x02, 0);
    pub const CACHING: Self = Self(0x08, 0);
    pub const CONTROL: Self = Self(0x0a, 0);
    pub const CONTROL_EXTENSION: Self = Self(0x0a, 1);
    pub const INFORMATIONAL_EXCEPTIONS: Self = Self(0x1c, 0);
    pub const LOGICAL_BLOCK_PROVISIONING: Self = Self(0x1c, 2);
}

/// SPF, in the first byte of pages that have a subpage code.
const SUBPAGE: u8 = 0x40;
/// The most thresholds that are read of a page.
const MOST_THRESHOLDS: usize = 256;

/// An encoded page, SPC-4 7.5.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawPage<'a> {
    /// The page's code.
    pub id: PageId,
    /// The whole page, from the page code on. PS, which is reserved in MODE SELECT, is unchanged.
    pub bytes: &'a [u8],
}

impl<'a> RawPage<'a> {
    /// The next page.
    pub fn decode(r: &mut Reader<'a>) -> Result<Self, Malformed> {
        let mut head = r.clone();
        let (first, second) = (head.u8()?, head.u8()?);
        let (id, length) = match first & SUBPAGE {
            0 => (PageId(first & 0x3f, 0), usize::from(second) + 2),
            _ => (PageId(first & 0x3f, second), usize::from(head.u16_be()?) + 4),
        };
        Ok(Self { id, bytes: r.take(length)? })
    }
}

fn begin(id: PageId, length: u16, w: &mut Writer) {
    if id.1 == 0 {
        w.put(&[id.0, length as u8]);
    } else {
        w.put(&[SUBPAGE | id.0, id.1]);
        w.u16_be(length);
    }
}

/// Reads the page code and the length, which must be these.
fn open(id: PageId, length: u16, r: &mut Reader<'_>) -> Result<(), Malformed> {
    let page = RawPage::decode(&mut r.clone())?;
    let head = if id.1 == 0 { 2 } else { 4 };
    if page.id != id || page.bytes.len() != usize::from(length) + head {
        return Err(Malformed("another mode page, or of another length"));
    }
    r.skip(head)
}

/// Read-write error recovery, SBC-3 6.5.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorRecovery {
    /// LBPERE: thresholds of logical block provisioning are reported.
    pub reports_thresholds: bool,
}

impl ErrorRecovery {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::ERROR_RECOVERY, 10, w);
        w.zeros(5);
        w.u8(u8::from(self.reports_thresholds) << 7);
        w.zeros(4);
    }

    /// From the page.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        open(PageId::ERROR_RECOVERY, 10, r)?;
        r.skip(5)?;
        let reports_thresholds = r.u8()? & 0x80 != 0;
        r.skip(4)?;
        Ok(Self { reports_thresholds })
    }
}

/// Disconnect-reconnect, SPC-4 7.5.10. In iSCSI, the keys of the login settle these parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DisconnectReconnect;

impl DisconnectReconnect {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::DISCONNECT_RECONNECT, 14, w);
        w.zeros(14);
    }
}

/// Caching, SBC-3 6.5.6.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caching {
    /// WCE: written data may be in a volatile cache.
    pub write_cache: bool,
}

impl Caching {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::CACHING, 18, w);
        w.u8(u8::from(self.write_cache) << 2);
        w.zeros(17);
    }

    /// From the page.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        open(PageId::CACHING, 18, r)?;
        let write_cache = r.u8()? & 0x04 != 0;
        r.skip(17)?;
        Ok(Self { write_cache })
    }
}

/// Control, SPC-4 7.5.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Control {
    /// TST: 1 says that each session has a separate task set.
    pub task_sets: u8,
    /// D_SENSE: sense data in descriptor format.
    pub descriptor_sense: bool,
    /// GLTSD: log parameters are not saved implicitly.
    pub no_implicit_saving: bool,
    /// QUEUE ALGORITHM MODIFIER: 1 says that simple commands may be executed in any order.
    pub reordering: u8,
    /// SWP: all writes are refused.
    pub write_protected: bool,
    /// BUSY TIMEOUT PERIOD, in tenths of a second; FFFFh has no end.
    pub busy_timeout: u16,
}

impl Control {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::CONTROL, 10, w);
        w.u8((self.task_sets & 7) << 5
            | u8::from(self.descriptor_sense) << 2
            | u8::from(self.no_implicit_saving) << 1);
        w.u8((self.reordering & 0xf) << 4);
        w.u8(u8::from(self.write_protected) << 3);
        w.zeros(3);
        w.u16_be(self.busy_timeout);
        w.zeros(2);
    }

    /// From the page.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        open(PageId::CONTROL, 10, r)?;
        let (sense, queue, protection) = (r.u8()?, r.u8()?, r.u8()?);
        r.skip(3)?;
        let busy_timeout = r.u16_be()?;
        r.skip(2)?;
        Ok(Self {
            task_sets: sense >> 5,
            descriptor_sense: sense & 0x04 != 0,
            no_implicit_saving: sense & 0x02 != 0,
            reordering: queue >> 4,
            write_protected: protection & 0x08 != 0,
            busy_timeout,
        })
    }
}

/// Control extension, SPC-4 7.5.9.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControlExtension {
    /// IALUAE: the target may change the states of its port groups.
    pub implicit_access: bool,
}

impl ControlExtension {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::CONTROL_EXTENSION, 28, w);
        w.u8(u8::from(self.implicit_access));
        w.zeros(27);
    }

    /// From the page.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        open(PageId::CONTROL_EXTENSION, 28, r)?;
        let implicit_access = r.u8()? & 1 != 0;
        r.skip(27)?;
        Ok(Self { implicit_access })
    }
}

/// Informational exceptions control, SBC-3 6.5.7: there are none to report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InformationalExceptions;

impl InformationalExceptions {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        begin(PageId::INFORMATIONAL_EXCEPTIONS, 10, w);
        w.zeros(10);
    }
}

/// A threshold, SBC-3 table 209.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Threshold {
    /// ENABLED.
    pub enabled: bool,
    /// THRESHOLD TYPE: 0 for a soft threshold.
    pub kind: u8,
    /// THRESHOLD ARMING: 0 while the resource becomes less, 1 while it becomes more.
    pub arming: u8,
    /// THRESHOLD RESOURCE: the parameter of the log page that is compared.
    pub resource: u8,
    /// THRESHOLD COUNT, in threshold sets.
    pub count: u32,
}

/// Logical block provisioning, SBC-3 6.5.9.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogicalBlockProvisioning {
    /// SITUA: only one initiator is notified.
    pub one_initiator: bool,
    /// The thresholds.
    pub thresholds: Vec<Threshold>,
}

impl LogicalBlockProvisioning {
    /// The page.
    pub fn encode(&self, w: &mut Writer) {
        let length = 12 + 8 * self.thresholds.len().min(MOST_THRESHOLDS);
        begin(PageId::LOGICAL_BLOCK_PROVISIONING, length as u16, w);
        w.u8(u8::from(self.one_initiator));
        w.zeros(11);
        for threshold in self.thresholds.iter().take(MOST_THRESHOLDS) {
            w.u8(u8::from(threshold.enabled) << 7 | (threshold.kind & 7) << 3 | threshold.arming & 7);
            w.put(&[threshold.resource, 0, 0]);
            w.u32_be(threshold.count);
        }
    }

    /// From the page.
    pub fn decode(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        let page = RawPage::decode(r)?;
        let mut body = Reader::new(page.bytes);
        body.skip(4)?;
        if page.id != PageId::LOGICAL_BLOCK_PROVISIONING {
            return Err(Malformed("another mode page"));
        }
        let one_initiator = body.u8()? & 1 != 0;
        body.skip(11)?;
        let mut thresholds = Vec::new();
        while body.remaining() > 0 && thresholds.len() < MOST_THRESHOLDS {
            let (flags, resource) = (body.u8()?, body.u8()?);
            body.skip(2)?;
            let (enabled, kind, arming) = (flags & 0x80 != 0, flags >> 3 & 7, flags & 7);
            thresholds.push(Threshold { enabled, kind, arming, resource, count: body.u32_be()? });
        }
        body.finish()?;
        Ok(Self { one_initiator, thresholds })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_found_by_its_head_with_and_without_a_subpage() {
        let bytes = [0x8a, 2, 1, 2, 0x5c, 2, 0, 1, 9];
        let mut r = Reader::new(&bytes);
        let page = RawPage::decode(&mut r).unwrap();
        assert_eq!((page.id, page.bytes), (PageId(0x0a, 0), &bytes[..4]));
        let page = RawPage::decode(&mut r).unwrap();
        assert_eq!((page.id, page.bytes), (PageId(0x1c, 2), &bytes[4..]));
        assert!(RawPage::decode(&mut r).is_err());
    }

    #[test]
    fn a_page_of_another_length_is_none() {
        let mut w = Writer::new();
        Caching { write_cache: true }.encode(&mut w);
        let mut bytes = w.into_bytes();
        assert_eq!(bytes[..3], [0x08, 0x12, 0x04]); // SBC-3 table 196
        bytes[1] = 17;
        assert!(Caching::decode(&mut Reader::new(&bytes)).is_err());
    }
}
