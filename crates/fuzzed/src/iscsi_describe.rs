//! crates/iscsi/src/wire/scsi: commands that describe and configure a unit, and what they return. The first byte of an
//! input says what the others are.
//!
//! Whatever decodes must encode to the same value again.

use iscsi::wire::scsi::mode::*;
use iscsi::wire::scsi::vpd::*;
use iscsi::wire::scsi::*;
use wire::{Reader, Writer};

/// Decodes `$bytes` as `$type`; when that works, encodes it and decodes it again.
macro_rules! stable {
    ($bytes:expr, $type:ty) => {
        stable!($bytes, <$type>::decode, |value: &$type, w: &mut Writer| value.encode(w))
    };
    ($bytes:expr, $decode:expr, $encode:expr) => {
        if let Ok(value) = $decode(&mut Reader::new($bytes)) {
            let mut w = Writer::new();
            $encode(&value, &mut w);
            assert_eq!($decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// All of them.
pub fn messages(input: &[u8]) {
    let Some((&selector, bytes)) = input.split_first() else { return };
    let _ = service_action(bytes); // any number is one
    match selector {
        0..16 => commands(selector, bytes),
        16..32 => data(selector, bytes),
        32..48 => pages(selector, bytes),
        _ => {}
    }
}

fn commands(selector: u8, bytes: &[u8]) {
    match selector {
        0 => stable!(bytes, Inquiry),
        1 => stable!(bytes, ReadCapacity10),
        2 => stable!(bytes, ReadCapacity16),
        3 => stable!(bytes, ReportLuns),
        4 => stable!(bytes, RequestSense),
        5 => stable!(bytes, StartStop),
        6 => stable!(bytes, ModeSense),
        7 => stable!(bytes, ModeSelect),
        8 => stable!(bytes, LogSense),
        9 => stable!(bytes, MaintenanceIn),
        10 => stable!(bytes, SendDiagnostic),
        _ => stable!(bytes, FormatUnit),
    }
}

fn data(selector: u8, bytes: &[u8]) {
    match selector {
        16 => stable!(bytes, StandardData),
        17 => stable!(bytes, Capacity10),
        18 => stable!(bytes, Capacity16),
        19 => stable!(bytes, LunList),
        20 => stable!(bytes, Sense::decode, Sense::encode_descriptors),
        21 => stable!(bytes, SupportedCommands),
        22 => stable!(bytes, OneCommand),
        23 => stable!(bytes, |r: &mut _| PortGroups::decode(false, r), PortGroups::encode),
        24 => stable!(bytes, |r: &mut _| PortGroups::decode(true, r), PortGroups::encode),
        25 => log_page(bytes),
        26 => stable!(bytes, Resource),
        27 => format_header(true, bytes),
        28 => format_header(false, bytes),
        _ => vital(bytes),
    }
}

/// Mode parameters as a whole, and each page that is in them.
fn pages(selector: u8, bytes: &[u8]) {
    let form = if selector == 32 { Form::Six } else { Form::Ten };
    let Ok(parameters) = ModeParameters::decode(form, &mut Reader::new(bytes)) else { return };
    let mut w = Writer::new();
    parameters.encode(form, &mut w);
    assert_eq!(ModeParameters::decode(form, &mut Reader::new(w.as_bytes())), Ok(parameters));
    for long in [false, true] {
        stable!(
            parameters.descriptors,
            |r: &mut _| BlockDescriptor::decode(long, r),
            |value: &BlockDescriptor, w: &mut _| value.encode(long, w)
        );
    }
    let mut r = Reader::new(parameters.pages);
    while let Ok(page) = RawPage::decode(&mut r) {
        stable!(page.bytes, ErrorRecovery);
        stable!(page.bytes, Caching);
        stable!(page.bytes, Control);
        stable!(page.bytes, ControlExtension);
        stable!(page.bytes, LogicalBlockProvisioning);
    }
}

/// A page of vital product data, as each of those that there are.
fn vital(bytes: &[u8]) {
    let Ok(page) = VpdPage::decode(&mut Reader::new(bytes)) else { return };
    match page.code {
        PageCode::IDENTIFICATION => stable!(page.body, Designators),
        PageCode::EXTENDED => stable!(page.body, ExtendedInquiry),
        PageCode::PORTS => stable!(page.body, ScsiPorts),
        PageCode::BLOCK_LIMITS => stable!(page.body, BlockLimits),
        PageCode::CHARACTERISTICS => stable!(page.body, Characteristics),
        PageCode::PROVISIONING => stable!(page.body, iscsi::wire::scsi::vpd::Provisioning),
        _ => {
            let mut w = Writer::new();
            page.encode(&mut w);
            assert_eq!(VpdPage::decode(&mut Reader::new(w.as_bytes())), Ok(page));
        }
    }
}

fn log_page(bytes: &[u8]) {
    let Ok(page) = LogPage::decode(&mut Reader::new(bytes)) else { return };
    stable!(page.body, LogParameter::decode_all, |all: &Vec<LogParameter>, w: &mut _| {
        all.iter().for_each(|parameter| parameter.encode(w));
    });
}

fn format_header(long: bool, bytes: &[u8]) {
    stable!(bytes, |r: &mut _| FormatHeader::decode(long, r), |value: &FormatHeader, w: &mut _| value
        .encode(long, w));
}
