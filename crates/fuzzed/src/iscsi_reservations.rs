//! Reservations: commands and parameter lists of crates/iscsi/src/wire/scsi, the record that is kept of them, and what servers of
//! a cluster relay. The first byte of an input says what the others are.

use iscsi::wire::digest::crc32c;
use iscsi::wire::relayed::{ATTENTIONS_MOST, Answer, Attentions, Command, PARAMETERS_MOST};
use iscsi::wire::reservations::{REGISTRATIONS_MOST, ReservationRecord};
use iscsi::wire::scsi::persistent_reserve_out::{Move, ReserveOutParameters};
use iscsi::wire::scsi::{Reserve, TransportId, persistent_reserve_in, persistent_reserve_out};
use wire::{Reader, Writer};

/// Descriptor blocks, lists, records.
pub fn messages(input: &[u8]) {
    let Some((selector, bytes)) = input.split_first() else { return };
    let mut r = Reader::new(bytes);
    match selector {
        0 => ports(bytes),
        1 => _ = persistent_reserve_out::Request::decode(&mut r),
        2 => parameters(bytes),
        3 => moved(bytes),
        4 => _ = persistent_reserve_in::Request::decode(&mut r),
        5 => _ = (Reserve::decode_6(&mut r), Reserve::decode_10(&mut Reader::new(bytes))),
        6 => kept(bytes),
        7 => sealed(bytes),
        8 => relayed(bytes),
        _ => {}
    }
}

/// What decodes encodes to something that decodes to the same.
fn ports(bytes: &[u8]) {
    let Ok(ids) = TransportId::decode_all(bytes) else { return };
    assert!(ids.len() <= bytes.len() / 24);
    let mut w = Writer::new();
    ids.iter().for_each(|id| id.encode(&mut w));
    assert_eq!(TransportId::decode_all(w.as_bytes()), Ok(ids));
}

fn parameters(bytes: &[u8]) {
    let Ok(parameters) = ReserveOutParameters::decode(&mut Reader::new(bytes)) else { return };
    if let Ok(list) = parameters.transport_ids() {
        assert_eq!(list.len() + 4, parameters.additional.len());
        ports(list);
    }
}

fn moved(bytes: &[u8]) {
    if let Ok(moved) = Move::decode(&mut Reader::new(bytes)) {
        _ = moved.initiator();
        ports(moved.transport_id);
    }
}

/// A record is read as it was written, and written as it was read.
fn kept(bytes: &[u8]) {
    let Ok(kept) = ReservationRecord::decode(bytes) else { return };
    assert!(kept.registrations.len() <= REGISTRATIONS_MOST);
    let mut w = Writer::new();
    kept.encode(&mut w);
    assert_eq!(w.as_bytes(), bytes);
}

/// What servers relay is written as it was read.
fn relayed(bytes: &[u8]) {
    if let Ok(command) = Command::decode(bytes) {
        assert!(command.parameters.len() <= PARAMETERS_MOST);
        assert_eq!(command.encode(), bytes);
    }
    if let Ok(answer) = Answer::decode(bytes) {
        assert_eq!(answer.encode(), bytes);
    }
    if let Ok(attentions) = Attentions::decode(bytes) {
        assert!(attentions.0.len() <= ATTENTIONS_MOST);
        assert_eq!(attentions.encode(), bytes);
    }
}

/// The same with a checksum that is always right.
fn sealed(bytes: &[u8]) {
    kept(&[bytes, &crc32c(bytes)].concat());
}
