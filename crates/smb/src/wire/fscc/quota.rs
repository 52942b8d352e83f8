//! FileQuotaInformation (32) and FileGetQuotaInformation, MS-FSCC 2.4.

use wire::{Malformed, Reader, Writer};

use super::chain::{self, Chain};
use crate::wire::security::Sid;
use crate::wire::time::NtTime;

/// The space that a user uses and may use, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub change_time: NtTime,
    pub used: u64,
    pub threshold: u64,
    /// -1: none. -2, when set: forget this record.
    pub limit: u64,
    pub sid: Sid,
}

/// The records of a list.
pub fn decode(r: &mut Reader<'_>) -> Result<Vec<Quota>, Malformed> {
    chain::entries(r.rest()).map(|entry| quota(&mut entry?)).collect()
}

fn quota(r: &mut Reader<'_>) -> Result<Quota, Malformed> {
    let sid_len = r.u32_le()? as usize;
    let (change_time, used) = (NtTime(r.u64_le()?), r.u64_le()?);
    let (threshold, limit) = (r.u64_le()?, r.u64_le()?);
    Ok(Quota { change_time, used, threshold, limit, sid: sid(r, sid_len)? })
}

fn sid(r: &mut Reader<'_>, len: usize) -> Result<Sid, Malformed> {
    let mut r = Reader::new(r.take(len)?);
    let sid = Sid::decode(&mut r)?;
    r.finish()?;
    Ok(sid)
}

/// Writes the records, each at a multiple of 8 bytes.
pub fn encode(quotas: &[Quota], w: &mut Writer) {
    let mut chain = Chain::begin(w, 8);
    for quota in quotas {
        chain.next(w);
        w.u32_le(quota.sid.byte_len() as u32);
        w.u64_le(quota.change_time.0);
        w.u64_le(quota.used);
        w.u64_le(quota.threshold);
        w.u64_le(quota.limit);
        quota.sid.encode(w);
    }
}

/// The users whose quotas are asked for: the SidList of a QUERY_INFO.
pub fn decode_sids(r: &mut Reader<'_>) -> Result<Vec<Sid>, Malformed> {
    let one = |mut r: Reader<'_>| {
        let len = r.u32_le()? as usize;
        sid(&mut r, len)
    };
    chain::entries(r.rest()).map(|entry| one(entry?)).collect()
}

/// Writes FileGetQuotaInformation.
pub fn encode_sids(sids: &[Sid], w: &mut Writer) {
    let mut chain = Chain::begin(w, 4);
    for sid in sids {
        chain.next(w);
        w.u32_le(sid.byte_len() as u32);
        sid.encode(w);
    }
}
