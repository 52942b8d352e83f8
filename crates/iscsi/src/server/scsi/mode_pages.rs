//! The mode pages of a disk: conversion between settings and bytes. A received page is converted to
//! settings and back, and must stay the same: so only changeable bits can change.

use super::modes::Settings;
use crate::wire::scsi::Resource;
use crate::wire::scsi::mode::{
    Caching, Control, ControlExtension, DisconnectReconnect, ErrorRecovery, InformationalExceptions,
    LogicalBlockProvisioning, PageId, Threshold,
};
use crate::wire::{Malformed, Reader, Writer};

/// All pages, ascending.
pub(crate) const PAGES: [PageId; 7] = [
    PageId::ERROR_RECOVERY,
    PageId::DISCONNECT_RECONNECT,
    PageId::CACHING,
    PageId::CONTROL,
    PageId::CONTROL_EXTENSION,
    PageId::INFORMATIONAL_EXCEPTIONS,
    PageId::LOGICAL_BLOCK_PROVISIONING,
];

/// A page; `None` if it does not exist.
pub(crate) fn encode(id: PageId, settings: &Settings) -> Option<Vec<u8>> {
    let mut w = Writer::new();
    match id {
        PageId::ERROR_RECOVERY => {
            ErrorRecovery { reports_thresholds: settings.reports_thresholds }.encode(&mut w);
        }
        PageId::DISCONNECT_RECONNECT => DisconnectReconnect.encode(&mut w),
        PageId::CACHING => Caching { write_cache: settings.write_cache }.encode(&mut w),
        PageId::CONTROL => control(settings).encode(&mut w),
        PageId::CONTROL_EXTENSION => ControlExtension { implicit_access: true }.encode(&mut w),
        PageId::INFORMATIONAL_EXCEPTIONS => InformationalExceptions.encode(&mut w),
        PageId::LOGICAL_BLOCK_PROVISIONING => provisioning(settings).encode(&mut w),
        _ => return None,
    }
    Some(w.into_bytes())
}

/// The mask of changeable bits: all zeros for an initiator that may only read. A unit that several
/// servers have (`is_shared`) has no write cache.
pub(crate) fn changeable(id: PageId, read_only: bool, is_shared: bool) -> Option<Vec<u8>> {
    let ones = Settings { write_cache: !is_shared, ..Settings::ONES };
    let most = if read_only { Settings::ZEROS } else { ones };
    let (mut bytes, ones) = (encode(id, &Settings::ZEROS)?, encode(id, &most)?);
    let head = if id.1 == 0 { 2 } else { 4 };
    for (byte, one) in bytes.iter_mut().zip(ones).skip(head) {
        *byte ^= one;
    }
    Some(bytes)
}

/// The settings after a change by this page.
pub(crate) fn decode(id: PageId, bytes: &[u8], settings: &Settings) -> Result<Settings, Malformed> {
    let (mut settings, r) = (*settings, &mut Reader::new(bytes));
    match id {
        PageId::ERROR_RECOVERY => settings.reports_thresholds = ErrorRecovery::decode(r)?.reports_thresholds,
        PageId::CACHING => settings.write_cache = Caching::decode(r)?.write_cache,
        PageId::CONTROL => {
            let control = Control::decode(r)?;
            settings.descriptor_sense = control.descriptor_sense;
            settings.write_protected = control.write_protected;
        }
        PageId::LOGICAL_BLOCK_PROVISIONING => {
            let page = LogicalBlockProvisioning::decode(r)?;
            let [threshold] = page.thresholds[..] else {
                return Err(Malformed("another number of thresholds"));
            };
            settings.watches_space = threshold.enabled;
            settings.threshold = threshold.count;
        }
        _ => {} // these pages have no changeable bits
    }
    Ok(settings)
}

fn control(settings: &Settings) -> Control {
    Control {
        task_sets: 1,
        descriptor_sense: settings.descriptor_sense,
        no_implicit_saving: true,
        reordering: 1,
        write_protected: settings.write_protected,
        busy_timeout: u16::MAX,
    }
}

/// One threshold, for the decreasing free space of the volume.
fn provisioning(settings: &Settings) -> LogicalBlockProvisioning {
    let threshold = Threshold {
        enabled: settings.watches_space,
        kind: 0,
        arming: 0,
        resource: Resource::AVAILABLE as u8, // 1
        count: settings.threshold,
    };
    LogicalBlockProvisioning { one_initiator: false, thresholds: vec![threshold] }
}
