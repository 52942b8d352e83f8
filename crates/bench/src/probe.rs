//! Why a server fell silent: whether packets of a certain size vanish on the way to it or back. Then small
//! requests work, and transfers hang. TCP segments that are limited to a smaller size arrive, and shorter datagrams.

use std::time::Duration;

use crate::{Error, Result, Target, baseline};
use client::{Connector, DataTransfer, OpenIntent, Reach, Session};

/// How long each attempt may take.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The segment that each IPv4 path carries, RFC 9293 section 3.7.1.
const SMALL: u32 = 536;
/// Bytes of IP and TCP headers.
const HEADERS: u32 = 40;
/// Sizes are told apart to so many bytes.
const STEP: u32 = 32;
/// Bytes that an attempt writes and reads: several segments of each size.
const LENGTH: usize = 64 << 10;
/// Bytes around the data of an answer to READ over UDP: IP 20, UDP 8, RPC 24, and 104 of READ3resok with attributes, RFC 1813 3.3.6.
const AROUND_DATA: u32 = 156;
/// Room of a disk.
const ROOM: u64 = 1 << 20;

/// Tests transfers of several lengths over UDP: a datagram that is longer than a packet is divided by the end that sends it, and the
/// parts vanish. `None` if the length makes no difference.
fn lost_datagrams(target: &Target, reach: &Reach, prefix: &str) -> Option<Error> {
    let reach = Reach { timeout: TIMEOUT.min(reach.timeout), ..reach.clone() };
    let connector = Connector::new(target.clone(), reach, 1, ROOM);
    let mut made = Vec::new();
    let mut arrives = |length: u32| {
        let name = format!("{prefix}-datagram-{length}");
        let moved = moves(&connector, &name, length as usize).is_ok();
        if !moved {
            made.push(name);
        }
        moved
    };
    let usual = connector.connect(0).ok()?.largest() as u32;
    let found = match usual > SMALL && arrives(SMALL) && !arrives(usual) {
        true => Some(largest(SMALL, usual, &mut arrives)),
        false => None,
    };
    if let Ok(mut session) = connector.connect(0) {
        for name in &made {
            let _ = session.remove(name);
        }
    }
    found.map(|length| Error::LargePacketsLost(length + AROUND_DATA))
}

/// Tests transfers with segments of several sizes, below a folder of the measurement.
/// `None` if the size makes no difference: then the server itself is silent.
pub(crate) fn lost_packets(target: &Target, reach: &Reach, prefix: &str) -> Option<Error> {
    if target.options.get("proto").is_some_and(|proto| proto == "udp") {
        return lost_datagrams(target, reach, prefix);
    }
    let usual = reach.connect(&target.address()).ok().and_then(|stream| baseline::path_mtu(&stream))? as u32;
    let usual = usual.saturating_sub(HEADERS);
    let mut made = Vec::new();
    let mut arrives = |segment: u32| {
        let name = format!("{prefix}-segment-{segment}");
        let moved = moves(&connector(target, reach, segment), &name, LENGTH).is_ok();
        if !moved {
            made.push(name);
        }
        moved
    };
    let found = match arrives(SMALL) && usual > SMALL && !arrives(usual) {
        true => Some(largest(SMALL, usual, &mut arrives)),
        false => None,
    };
    // What the attempts that hung have left.
    if let Ok(mut session) = connector(target, reach, SMALL).connect(0) {
        for name in &made {
            let _ = session.remove(name);
        }
    }
    found.map(|segment| Error::LargePacketsLost(segment + HEADERS))
}

fn connector(target: &Target, reach: &Reach, segment: u32) -> Connector {
    let reach = Reach { timeout: TIMEOUT.min(reach.timeout), segment: Some(segment), ..reach.clone() };
    Connector::new(target.clone(), reach, 1, ROOM)
}

/// The largest size that arrives, to a step: `low` does, `high` does not.
fn largest(mut low: u32, mut high: u32, arrives: &mut dyn FnMut(u32) -> bool) -> u32 {
    while high - low > STEP {
        let middle = u32::midpoint(low, high);
        if arrives(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// Writes a file, reads it, and removes it.
fn moves(connector: &Connector, name: &str, length: usize) -> Result<()> {
    let mut session = connector.connect(0)?;
    let file = session.open(name, OpenIntent::Create)?;
    let length = length.min(session.largest());
    let data = vec![0x5A; length];
    let transfer = |session: &mut dyn Session, transfer| {
        session.start(file, transfer)?;
        session.finish().map(drop)
    };
    transfer(&mut *session, DataTransfer::Write { offset: 0, data: &data[..length], stable: false })?;
    transfer(&mut *session, DataTransfer::Read { offset: 0, length })?;
    session.close(file)?;
    session.remove(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_size_that_arrives_is_found_by_halves() {
        let mut tried = 0;
        let found = largest(536, 1448, &mut |segment| {
            tried += 1;
            segment + HEADERS <= 1400
        });
        assert!((1360 - STEP..=1360).contains(&found), "{found}");
        assert!(tried <= 5, "{tried}");
    }
}
