//! Initiators that send commands and never receive: they are throttled, with bounded memory.

use std::time::Duration;

use ::iscsi::client::{Data, command_16};

use super::client::enter;
use super::{MIB, beside_a_neighbour};

/// Bytes that one command requests.
const LENGTH: u32 = 8 << 20;
/// Memory the server may need for one such initiator.
const BOUND: u64 = 100 * MIB;
/// Initiators that do this at once.
const INITIATORS: usize = 4;

fn memory_stays_bounded(what: &str, fill: bool) {
    beside_a_neighbour(what, INITIATORS as u64 * BOUND, |port| {
        let mut initiators: Vec<_> = (0..INITIATORS).map(|_| enter(port)).collect();
        for at in 0..if fill { 32 } else { 0 } {
            initiators[0].write(0, at * 2048, &vec![7; MIB as usize], false).unwrap();
        }
        for client in &mut initiators {
            client.link().set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            let mut sent = 0;
            while client.cmd_sn <= client.max_cmd_sn {
                let cdb = command_16(0x88, 0, 16 * 1024 * (sent % 4), LENGTH / 512);
                if client.begin(0, &cdb, Data::In(LENGTH)).is_err() {
                    break;
                }
                sent += 1;
            }
            println!("{what}: {sent} reads were sent");
        }
        std::thread::sleep(Duration::from_millis(500)); // for this time nobody receives
        std::mem::forget(initiators); // they stay connected
    });
}

#[test]
fn of_data_in_memory() {
    memory_stays_bounded("reads of 8 MiB of cached data that nobody receives", true);
}

#[test]
fn of_data_that_must_be_fetched() {
    memory_stays_bounded("reads of 8 MiB of holes that nobody receives", false);
}

/// Commands without their data: the server solicits them, and the initiator never sends them.
#[test]
fn of_writes_whose_data_never_come() {
    beside_a_neighbour("writes of 8 MiB whose data never come", INITIATORS as u64 * BOUND, |port| {
        let data = vec![7; LENGTH as usize];
        let mut initiators: Vec<_> = (0..INITIATORS).map(|_| enter(port)).collect();
        for client in &mut initiators {
            while client.cmd_sn <= client.max_cmd_sn {
                let tag = client.begin(0, &command_16(0x8a, 0, 0, LENGTH / 512), Data::Out(&data)).unwrap();
                client.forget(tag);
            }
        }
        std::thread::sleep(Duration::from_millis(500)); // for this time no data come
        enter(port).read(0, 0, 1).unwrap();
    });
}
