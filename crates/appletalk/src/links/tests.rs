//! Links on real devices: pairs of interfaces in a network namespace, and a pseudoterminal that plays the chip.

mod alone;
mod ethertalk;
mod ltoudp;
mod tashtalk;

use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Link;

/// How long a test waits for what has to come.
const LIMIT: Duration = Duration::from_secs(20);

/// The next frame of a link.
fn next(link: &mut impl Link) -> Vec<u8> {
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        if let Some(frame) = link.receive().unwrap() {
            return frame.to_vec();
        }
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut [PollFd::new(&*link, PollFlags::IN)], Some(&timeout)).unwrap();
    }
    panic!("nothing arrives by {}", link.name());
}
