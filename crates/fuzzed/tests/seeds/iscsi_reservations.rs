//! Reservations. The selectors are those of `src/iscsi_reservations.rs`.

use iscsi::wire::relayed::{Answer, Attentions, Command, Nexus};
use iscsi::wire::reservations::{HeldReservation, Registration, ReservationRecord};
use iscsi::wire::scsi::{Asc, ReservationType, Sense, Status, TransportId};
use wire::Writer;

use super::Seed;

pub fn seeds() -> Vec<Seed> {
    let seed = |name, selector: u8, bytes: &[u8]| Seed {
        target: "iscsi_reservations",
        name,
        bytes: [&[selector], bytes].concat(),
    };
    let ids = ids();
    let length = (ids.len() as u32).to_be_bytes();
    let named = [&[0; 15][..], &[5, 0, 0, 0, 0, 0x0d, 0, 0, 0], &length, &ids].concat();
    let moved = [&[0; 7][..], &[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1], &length, &ids].concat();
    let record = record(0, 1);
    let nexus = || Nexus { port: 3, isid: [0x40, 0, 1, 0x37, 0, 1], name: "iqn.2026-11.test:ada".into() };
    let relayed =
        Command { nexus: nexus(), cdb: [0x5f, 0, 0, 0, 0, 0, 0, 0, 24, 0], parameters: vec![0; 24] };
    let attentions = Attentions(vec![(nexus(), Asc::REGISTRATIONS_PREEMPTED)]);
    vec![
        seed("ports", 0, &ids),
        seed("preempt", 1, &[0x5f, 0x04, 0x05, 0, 0, 0, 0, 0, 24, 0]),
        seed("register", 2, &named),
        seed("move", 3, &moved),
        seed("full-status", 4, &[0x5e, 0x03, 0, 0, 0, 0, 0, 0x40, 0, 0]),
        seed("reserve", 5, &[0x56, 0x10, 0, 0, 0, 0, 0, 0, 8, 0]),
        seed("kept", 6, &record),
        seed("kept-generation", 6, &self::record(7, 1)),
        seed("kept-ports", 6, &self::record(7, 3)),
        seed("sealed", 7, &record[..record.len() - 4]),
        seed("relayed", 8, &relayed.encode()),
        seed("relayed-status", 8, &Answer::Status(Status::RESERVATION_CONFLICT).encode()),
        seed("relayed-sense", 8, &Answer::Check(Sense::in_parameters(20)).encode()),
        seed("attentions", 8, &attentions.encode()),
    ]
}

fn ids() -> Vec<u8> {
    let mut w = Writer::new();
    TransportId { name: "iqn.2026-11.test:ada".into(), isid: Some([0x40, 0, 1, 0x37, 0, 1]) }.encode(&mut w);
    TransportId { name: "iqn.2026-11.test:bob".into(), isid: None }.encode(&mut w);
    w.into_bytes()
}

fn record(generation: u32, port: u16) -> Vec<u8> {
    let registration = |key, name: &str| Registration {
        key,
        all_target_ports: key == 1,
        port,
        isid: [0x40, 0, 1, 0x37, 0, 1],
        name: name.into(),
    };
    let kept = ReservationRecord {
        persist: true,
        generation,
        reservation: Some(HeldReservation {
            kind: ReservationType::WRITE_EXCLUSIVE_REGISTRANTS_ONLY,
            holder: Some(1),
        }),
        registrations: vec![registration(1, "iqn.2026-11.test:ada"), registration(2, "iqn.2026-11.test:bob")],
    };
    let mut w = Writer::new();
    kept.encode(&mut w);
    w.into_bytes()
}
