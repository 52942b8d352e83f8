//! Clients that send requests and never receive: they are throttled, with bounded memory.

use std::time::Duration;

use ::afp::wire::command;
use ::afp::wire::dsi::Command;
use ::afp::wire::fork::{Read, Width};
use wire::Writer;

use super::client::Afp;
use super::{MIB, beside_a_neighbour};

/// The number of reads of 1 MiB: 256 GiB of answers if the client received them.
const READS: usize = 256 * 1024;
/// Memory the server may need for one such client.
const BOUND: u64 = 100 * MIB;

fn memory_stays_bounded(what: &str, fill: bool) {
    beside_a_neighbour(what, BOUND, |port| {
        let mut afp = Afp::enter(port);
        let file = afp.make("big", b"");
        for at in 0..if fill { 64 } else { 0 } {
            afp.client.write(file, at << 20, &vec![7; MIB as usize]).unwrap();
        }
        afp.client.write(file, (64 << 20) - 1, b"x").unwrap();
        afp.client.link().set_write_timeout(Some(Duration::from_secs(1))).unwrap();
        let sent = (0..READS).take_while(|number| {
            let offset = (*number as i64 % 64) << 20;
            let request = Read { fork: file.0, offset, count: 1 << 20, newline_mask: 0, newline: 0 };
            let mut w = Writer::new();
            w.u8(command::READ_EXT);
            request.encode(Width::Bits64, &mut w);
            afp.client.send(Command::COMMAND, 0, w.as_bytes()).is_ok()
        });
        println!("{what}: {} reads were taken", sent.count());
        std::thread::sleep(Duration::from_millis(500));
        std::mem::forget(afp); // it stays connected
    });
}

#[test]
fn of_data_in_memory() {
    memory_stays_bounded("reads of 1 MiB of cached data that nobody receives", true);
}

#[test]
fn of_data_that_must_be_fetched() {
    memory_stays_bounded("reads of 1 MiB of holes that nobody receives", false);
}
