//! A slow disk beside a busy one, as the kernel counts them in /proc/diskstats.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use super::loopback::PieceClient;
use super::seen::Diagnoses;
use crate::bench::server::{PROGRAM, Server};

/// How long the doctor may take.
const FOUND_WITHIN: Duration = Duration::from_secs(60);
/// Looks at the status with a busy disk, in which nothing may be found.
const QUIET_LOOKS: u32 = 12;
/// The server sees these counters instead of those of the machine, and these disks. `$0` is the file, and the rest the command.
const SCRIPT: &str = "mount --bind \"$0\" /proc/diskstats && mount -t tmpfs none /sys/block && mkdir /sys/block/sda /sys/block/sdb \
                      && exec \"$@\"";

/// The counters of a disk since the start of the machine.
#[derive(Clone, Copy, Default)]
struct Counters {
    requests: u64,
    busy_ms: u64,
}

impl Counters {
    /// A line as Linux 6.1 writes it: reads of eight sectors each, and nothing else.
    fn line(self, number: u32, name: &str) -> String {
        let Self { requests, busy_ms } = self;
        let sectors = requests * 8;
        format!(
            "   8      {number} {name} {requests} 0 {sectors} {busy_ms} 0 0 0 0 0 {busy_ms} {busy_ms} 0 0 0 0 0 0\n"
        )
    }

    /// After so many more requests, of so many milliseconds each.
    fn serve(&mut self, requests: u64, ms_each: u64) {
        self.requests += requests;
        self.busy_ms += requests * ms_each;
    }
}

fn write(file: &Path, [sda, sdb]: [Counters; 2]) {
    std::fs::write(file, sda.line(0, "sda") + &sdb.line(16, "sdb")).unwrap();
}

#[test]
fn the_slow_one_of_two_disks_is_named_and_the_busy_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("diskstats");
    let [mut sda, mut sdb] = [Counters::default(); 2];
    write(&file, [sda, sdb]);
    let mut program = Command::new("unshare");
    program.args(["--mount", "sh", "-c"]).arg(SCRIPT).arg(&file);
    let can =
        Command::new("unshare").args(["--mount", "sh", "-c"]).arg(SCRIPT).arg(&file).arg("true").output();
    if !can.is_ok_and(|output| output.status.success()) {
        return eprintln!("skipped: it needs root and mount namespaces");
    }
    program.arg(PROGRAM);
    let server = Server::start_at("127.0.0.1", program);
    let nfs: u16 = server.port("mount -t nfs", ",port=").parse().unwrap();
    let client =
        PieceClient::begin(SocketAddr::from(([127, 0, 0, 1], nfs)), true, |_| Duration::from_millis(2));
    let deadline = Instant::now() + FOUND_WITHIN;
    let look = |sda: Counters, sdb: Counters| {
        write(&file, [sda, sdb]);
        std::thread::sleep(Duration::from_millis(250)); // until the doctor may have looked
        assert!(Instant::now() < deadline, "the slow disk is not found");
        Diagnoses::now(server.folder.path())
    };
    // One works all the time, 10 ms for each request, as a good disk does. The other had to start its motor.
    sda.serve(4, 1000);
    let mut quiet = 0;
    while quiet < QUIET_LOOKS {
        sdb.serve(25, 10);
        let seen = look(sda, sdb);
        assert_eq!(seen.of_machine(), [], "{seen}");
        quiet += u32::from(seen.active_ms(&client.address.to_string()) > 0);
    }
    // Now one needs 45 ms for each.
    loop {
        sda.serve(20, 45);
        sdb.serve(25, 10);
        let found = look(sda, sdb).of_machine();
        if !found.is_empty() {
            assert_eq!(found, [("slow-disk".to_owned(), "sda".to_owned())]);
            return;
        }
    }
}
