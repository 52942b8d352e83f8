//! Troubles of this machine that slow clients down: a disk that needs long for each request, a half-duplex or damaged line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Requests of a disk that say something about it.
const ENOUGH_REQUESTS: u64 = 50;
/// A hard disk needs 5 to 15 ms for a request anywhere on it. One that is well never needs so long,
const SLOW_REQUEST: Duration = Duration::from_millis(30);
/// unless the requests are long: so many bytes a second of its time are no trouble.
const FAST_ENOUGH: f64 = 20e6;
/// How many times faster the others are that share its work, if it is the only slow one.
const FASTER: f64 = 4.0;
/// Damaged packets that are named, and the part of all that they must be.
const DAMAGED: (u64, f64) = (10, 0.0001);
/// Bytes of a sector in /proc/diskstats, whatever the disk has.
const SECTOR: u64 = 512;

/// The counts of a disk since the start of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct DiskCounts {
    requests: u64,
    bytes: u64,
    /// Milliseconds in which it worked.
    busy_ms: u64,
}

/// The counts of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct InterfaceCounts {
    is_half_duplex: bool,
    packets: u64,
    damaged: u64,
    collisions: u64,
}

/// The counts of the machine at one time.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct MachineCounts {
    disks: BTreeMap<String, DiskCounts>,
    /// Disks that consist of others.
    parts: BTreeMap<String, Vec<String>>,
    interfaces: BTreeMap<String, InterfaceCounts>,
}

/// A trouble: its kind, what it is about, and a sentence.
pub(super) type MachineFinding = (&'static str, String, String);

impl MachineCounts {
    /// Those of now.
    pub(super) fn now() -> Self {
        let (blocks, nets) = (Path::new("/sys/block"), Path::new("/sys/class/net"));
        let text = fs::read_to_string("/proc/diskstats").unwrap_or_default();
        let disks = disks(&text, |name| blocks.join(name).is_dir());
        let of = |name: &String| (name.clone(), names(&blocks.join(name).join("slaves")));
        let parts = disks.keys().map(of).collect();
        let interfaces =
            names(nets).into_iter().filter_map(|name| Some((name.clone(), interface(&nets.join(name))?)));
        Self { interfaces: interfaces.collect(), disks, parts }
    }

    /// What happened from `before` until these counts.
    pub(super) fn judge(&self, before: &Self) -> Vec<MachineFinding> {
        let mut slow = self.slow_disks(before);
        let names: Vec<String> = slow.iter().map(|(_, name, _)| name.clone()).collect();
        // A disk that consists of a slow one is slow because of it.
        slow.retain(|(_, name, _)| {
            !self.parts.get(name).is_some_and(|of| of.iter().any(|one| names.contains(one)))
        });
        slow.extend(
            self.interfaces.iter().filter_map(|(name, now)| line(name, before.interfaces.get(name)?, now)),
        );
        slow
    }

    fn slow_disks(&self, before: &Self) -> Vec<MachineFinding> {
        let since = |name: &String, now: &DiskCounts| {
            let before = before.disks.get(name)?;
            let past = DiskCounts {
                requests: now.requests.checked_sub(before.requests)?,
                bytes: now.bytes.checked_sub(before.bytes)?,
                busy_ms: now.busy_ms.checked_sub(before.busy_ms)?,
            };
            (past.requests >= ENOUGH_REQUESTS).then(|| (name.clone(), past))
        };
        let worked: Vec<(String, DiskCounts)> =
            self.disks.iter().filter_map(|(name, now)| since(name, now)).collect();
        let is_slow = |disk: &DiskCounts| {
            disk.service() >= SLOW_REQUEST.as_secs_f64()
                && disk.bytes as f64 / (disk.busy_ms as f64 / 1e3) < FAST_ENOUGH
        };
        let finding = |(name, disk): &(String, DiskCounts)| {
            let consists =
                |one: &String, of: &String| self.parts.get(one).is_some_and(|parts| parts.contains(of));
            let is_other = |other: &String| other != name && !consists(other, name) && !consists(name, other);
            let mut others: Vec<f64> = worked
                .iter()
                .filter(|(other, _)| is_other(other))
                .map(|(_, other)| other.service())
                .collect();
            others.sort_by(f64::total_cmp);
            let usual = others.get(others.len().saturating_sub(1) / 2);
            let usual = usual.filter(|usual| **usual * FASTER <= disk.service());
            let beside =
                usual.map_or_else(String::new, |usual| format!(", and the others {:.0} ms", usual * 1e3));
            let text = format!(
                "it needs {:.0} ms for each request{beside}; a hard disk needs 5 to 15 ms. Look at it with `smartctl -a /dev/{name}` \
                 and `dmesg`: a disk that reads sectors again and again will fail, and slows down all that shares it.",
                disk.service() * 1e3
            );
            ("slow-disk", name.clone(), text)
        };
        worked.iter().filter(|(_, disk)| is_slow(disk)).map(finding).collect()
    }
}

impl DiskCounts {
    /// Seconds of its time for a request.
    fn service(&self) -> f64 {
        self.busy_ms as f64 / 1e3 / self.requests.max(1) as f64
    }
}

/// The counts of the whole disks in /proc/diskstats, Documentation/admin-guide/iostats.rst.
fn disks(text: &str, is_whole: impl Fn(&str) -> bool) -> BTreeMap<String, DiskCounts> {
    let disk = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let name = *fields.get(2)?;
        let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
        let is_memory = ["ram", "zram", "loop"].iter().any(|kind| name.starts_with(kind));
        (!is_memory && is_whole(name)).then_some(())?;
        let counts = DiskCounts {
            requests: number(3)?.saturating_add(number(7)?),
            bytes: number(5)?.saturating_add(number(9)?).saturating_mul(SECTOR),
            busy_ms: number(12)?,
        };
        Some((name.to_owned(), counts))
    };
    text.lines().filter_map(disk).collect()
}

/// An interface that has a line.
fn interface(folder: &Path) -> Option<InterfaceCounts> {
    let word = |name: &str| fs::read_to_string(folder.join(name)).map(|text| text.trim().to_owned());
    let count = |name: &str| word(name).ok()?.parse::<u64>().ok();
    if word("operstate").ok()? != "up" || !folder.join("device").exists() {
        return None;
    }
    Some(InterfaceCounts {
        is_half_duplex: word("duplex").is_ok_and(|duplex| duplex == "half"),
        packets: count("statistics/rx_packets")?,
        damaged: count("statistics/rx_crc_errors")?.saturating_add(count("statistics/rx_frame_errors")?),
        collisions: count("statistics/collisions")?,
    })
}

fn line(name: &str, before: &InterfaceCounts, now: &InterfaceCounts) -> Option<MachineFinding> {
    let past = |now: u64, before: u64| now.saturating_sub(before);
    let (packets, damaged) = (past(now.packets, before.packets), past(now.damaged, before.damaged));
    let collisions = past(now.collisions, before.collisions);
    if now.is_half_duplex || collisions > 0 {
        let text = format!(
            "it is half duplex ({collisions} collisions lately): it sends and receives in turn. Set both ends of the cable to \
             automatic negotiation (`ethtool -s {name} autoneg on`), and look at the cable."
        );
        return Some(("half-duplex", name.to_owned(), text));
    }
    let is_much = damaged >= DAMAGED.0 && damaged as f64 >= DAMAGED.1 * packets as f64;
    is_much.then(|| {
        let text = format!(
            "{damaged} of {packets} packets came damaged lately: a bad cable or plug, or the other end is half duplex \
             and this one is not (`ethtool {name}` there and here)."
        );
        ("interface", name.to_owned(), text)
    })
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three disks and a partition, as Linux 6.1 writes them; requests, sectors and milliseconds of each.
    fn stats(sda: (u64, u64, u64), sdb: (u64, u64, u64)) -> MachineCounts {
        let row = |name: &str, (requests, sectors, busy): (u64, u64, u64)| {
            format!("   8       0 {name} {requests} 0 {sectors} 9 0 0 0 0 0 {busy} 9 0 0 0 0 0 0\n")
        };
        let text =
            row("sda", sda) + &row("sda1", sda) + &row("sdb", sdb) + &row("loop0", sda) + &row("dm-0", sda);
        let disks = disks(&text, |name| name != "sda1");
        assert_eq!(disks.len(), 3);
        let parts = BTreeMap::from([("dm-0".to_owned(), vec!["sda".to_owned()])]);
        MachineCounts { disks, parts, ..MachineCounts::default() }
    }

    #[test]
    fn a_disk_that_needs_long_for_each_request_is_named_once() {
        let before = stats((0, 0, 0), (0, 0, 0));
        let found = stats((1000, 8000, 45_000), (1000, 8000, 6000)).judge(&before);
        let [("slow-disk", name, text)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(name, "sda");
        assert!(text.contains("45 ms for each request, and the others 6 ms"), "{text}");
    }

    #[test]
    fn a_disk_with_long_requests_or_much_work_is_not_slow() {
        let before = stats((0, 0, 0), (0, 0, 0));
        let long = stats((100, 100 * 8192, 4000), (0, 0, 0)); // 4 MiB each, 105 MB/s
        assert_eq!(long.judge(&before), []);
        let busy = stats((6000, 48_000, 60_000), (0, 0, 0)); // always busy, 10 ms each
        assert_eq!(busy.judge(&before), []);
        let few = stats((10, 80, 5000), (0, 0, 0)); // a disk that had to spin up
        assert_eq!(few.judge(&before), []);
    }

    #[test]
    fn a_half_duplex_or_damaged_line_is_named() {
        let with = |counts: InterfaceCounts| MachineCounts {
            interfaces: BTreeMap::from([("eth0".to_owned(), counts)]),
            ..MachineCounts::default()
        };
        let well = InterfaceCounts { packets: 1000, damaged: 5, ..InterfaceCounts::default() };
        let names = |now: InterfaceCounts| -> Vec<&'static str> {
            with(now).judge(&with(well.clone())).into_iter().map(|(name, ..)| name).collect()
        };
        assert_eq!(names(InterfaceCounts { is_half_duplex: true, ..well.clone() }), ["half-duplex"]);
        assert_eq!(names(InterfaceCounts { packets: 9000, damaged: 105, ..well.clone() }), ["interface"]);
        assert_eq!(names(InterfaceCounts { packets: 9000, damaged: 9, ..well.clone() }), [""; 0]);
        assert_eq!(names(InterfaceCounts { packets: 9_000_000, damaged: 50, ..well.clone() }), [""; 0]);
    }

    #[test]
    fn the_counts_of_this_machine_can_be_read() {
        let now = MachineCounts::now();
        assert_eq!(now.judge(&now), [], "nothing has happened");
    }
}
