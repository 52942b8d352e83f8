//! What the host says of itself, its processes and its connections.

use std::fs;
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::path::Path;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::record::Machine;
use crate::{Protocol, Target};

/// Bytes of a sector in `/sys/block`, whatever the disk has.
const SECTOR: u64 = 512;
/// Ticks per second of times in `/proc`.
const TICKS: f64 = 100.0;
/// The most processes that are looked at.
const MAX_PROCESSES: usize = 100_000;

/// Describes this machine, and the file system of a folder.
pub(crate) fn machine(folder: Option<&Path>) -> Machine {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let value = |text: &str, key: &str| {
        let line = text.lines().find(|line| line.starts_with(key));
        let value = line.and_then(|line| line.split_once([':', '='])).map(|(_, value)| value.trim());
        value.unwrap_or_default().trim_matches('"').to_owned()
    };
    let memory = value(&read("/proc/meminfo"), "MemTotal");
    Machine {
        system: value(&read("/etc/os-release"), "PRETTY_NAME="),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        processor: value(&read("/proc/cpuinfo"), "model name"),
        processors: processors(),
        memory_bytes: memory.trim_end_matches(" kB").parse::<u64>().unwrap_or(0) << 10,
        file_system: folder.and_then(file_system),
        disks: disks(),
    }
}

pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The type and the options of the mount that holds a folder.
fn file_system(folder: &Path) -> Option<String> {
    let folder = folder.canonicalize().ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let of = |line: &str| -> Option<(usize, String)> {
        let mut words = line.split(' ').skip(1);
        let (at, kind, options) = (words.next()?, words.next()?, words.next()?);
        folder.starts_with(at).then(|| (at.len(), format!("{kind} ({options})")))
    };
    mounts.lines().filter_map(of).max_by_key(|(length, _)| *length).map(|(_, text)| text)
}

/// Processor seconds of this thread.
pub(crate) fn thread_cpu() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds = text.split(' ').next().and_then(|word| word.parse::<u64>().ok());
    nanoseconds.unwrap_or(0) as f64 / 1e9
}

/// The most memory that this process had.
pub(crate) fn peak_memory() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or(0) << 10
}

/// Busy and all ticks of this machine's processors.
pub(crate) fn busy() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").unwrap_or_default();
    let words = text.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let idle = ticks.iter().skip(3).take(2).sum::<u64>();
    let all = ticks.iter().take(8).sum::<u64>();
    (all.saturating_sub(idle), all)
}

/// The whole disks of this machine, each with its size and model.
fn disks() -> Vec<String> {
    let block = Path::new("/sys/block");
    let read = |name: &str, file: &str| fs::read_to_string(block.join(name).join(file)).ok();
    let disk = |name: &String| {
        let sectors: u64 = read(name, "size")?.trim().parse().ok().filter(|sectors| *sectors > 0)?;
        let is_rotational = read(name, "queue/rotational").is_some_and(|text| text.trim() == "1");
        let model = read(name, "device/model").unwrap_or_default();
        let kind = if is_rotational { "hard disk" } else { "flash or virtual" };
        let text = format!("{name}: {} GB, {kind} {}", sectors * SECTOR / 1_000_000_000, model.trim());
        Some(text.trim().to_owned())
    };
    whole_disks().iter().filter_map(disk).collect()
}

/// The names of the disks that are no parts of others, and no memory.
fn whole_disks() -> Vec<String> {
    let entries = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.retain(|name| !["loop", "ram", "zram"].iter().any(|kind| name.starts_with(kind)));
    names.sort();
    names
}

/// Milliseconds that each disk has worked since this machine started.
#[derive(Debug, Clone, Default)]
pub(crate) struct DiskTimes(Vec<(String, u64)>);

impl DiskTimes {
    pub(crate) fn now() -> Self {
        let of = |name: &String| {
            let text = fs::read_to_string(Path::new("/sys/block").join(name).join("stat")).ok()?;
            // The tenth value, Documentation/block/stat.rst.
            Some((name.clone(), text.split_whitespace().nth(9)?.parse().ok()?))
        };
        Self(whole_disks().iter().filter_map(of).collect())
    }

    /// The part of so many seconds in which the busiest disk worked. `None`: no disk tells.
    pub(crate) fn busiest(&self, after: &Self, seconds: f64) -> Option<f64> {
        let worked = |(name, after): &(String, u64)| {
            let (_, before) = self.0.iter().find(|(known, _)| known == name)?;
            Some(after.saturating_sub(*before) as f64 / 1e3 / seconds.max(1e-9))
        };
        after.0.iter().filter_map(worked).reduce(f64::max).map(|part| part.min(1.0))
    }
}

/// The server's processes on this machine.
#[derive(Debug, Clone, Default)]
pub(crate) struct Server(Vec<u32>);

impl Server {
    /// The processes that listen on the target's port, if it is on this machine; or this one.
    pub(crate) fn find(target: &Target, pid: Option<u32>) -> Self {
        match pid {
            Some(pid) => Self(vec![pid]),
            None if target.protocol == Protocol::File || !is_here(target) => Self::default(),
            None => Self(listeners(target.port)),
        }
    }

    /// Processor seconds of the processes and their descendants. `None` if they are not known.
    pub(crate) fn cpu(&self) -> Option<f64> {
        if self.0.is_empty() {
            return None;
        }
        let processes: Vec<(u32, u32, f64)> = pids().into_iter().filter_map(process).collect();
        let mut family = self.0.clone();
        let mut at = 0;
        while at < family.len() {
            let children =
                processes.iter().filter(|(pid, parent, _)| *parent == family[at] && *pid != *parent);
            let children: Vec<u32> =
                children.map(|(pid, ..)| *pid).filter(|pid| !family.contains(pid)).collect();
            family.extend(children);
            at += 1;
        }
        Some(processes.iter().filter(|(pid, ..)| family.contains(pid)).map(|(.., cpu)| cpu).sum())
    }
}

/// Whether the target's host is this machine.
pub(crate) fn is_here(target: &Target) -> bool {
    let Ok(addresses) = target.address().to_socket_addrs() else { return false };
    addresses.map(|address| address.ip()).any(is_own)
}

/// Keeps this thread on one processor. A client that is alone beside its server would otherwise be measured
/// by where the scheduler puts it: two idle processors of a virtual machine wake each other in 50 µs.
pub(crate) fn stay_on_one_processor() {
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let Some(last) = (0..CpuSet::MAX_CPU).rev().find(|processor| allowed.is_set(*processor)) else { return };
    let mut one = CpuSet::new();
    one.set(last);
    let _ = sched_setaffinity(None, &one); // where that is forbidden, the figures are less steady
}

/// Whether an interface of this machine has the address.
pub(crate) fn is_own(address: IpAddr) -> bool {
    let own = || if_addrs::get_if_addrs().unwrap_or_default();
    address.is_loopback() || own().iter().any(|interface| interface.ip() == address)
}

fn pids() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().take(MAX_PROCESSES);
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A process, its parent, and the processor seconds of both it and its children that have ended.
fn process(pid: u32) -> Option<(u32, u32, f64)> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let words: Vec<&str> = stat.rsplit_once(") ")?.1.split(' ').collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<f64>().ok());
    Some((pid, words.get(1)?.parse().ok()?, (11..15).filter_map(ticks).sum::<f64>() / TICKS))
}

/// Sockets that listen on a port: their addresses as the kernel writes them, and their inodes.
fn listening(port: u16) -> Vec<(String, String)> {
    const LISTEN: &str = "0A";
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|path| fs::read_to_string(path).unwrap_or_default());
    let wanted = format!(":{port:04X}");
    let socket = |line: &str| -> Option<(String, String)> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let address = words.get(1)?.strip_suffix(&wanted)?;
        (words.get(3)? == &LISTEN).then(|| Some((address.to_owned(), (*words.get(9)?).to_owned())))?
    };
    tables.iter().flat_map(|table| table.lines().filter_map(socket)).collect()
}

/// Whether each socket that listens on this port has all addresses of the machine.
pub(crate) fn listens_everywhere(port: u16) -> bool {
    let sockets = listening(port);
    !sockets.is_empty() && sockets.iter().all(|(address, _)| address.bytes().all(|digit| digit == b'0'))
}

/// The processes that have a socket that listens on this port.
fn listeners(port: u16) -> Vec<u32> {
    let sockets: Vec<String> =
        listening(port).into_iter().map(|(_, inode)| format!("socket:[{inode}]")).collect();
    if sockets.is_empty() {
        return Vec::new();
    }
    let has = |pid: &u32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files
            .filter_map(|file| fs::read_link(file.path()).ok())
            .any(|link| link.to_str().is_some_and(|link| sockets.iter().any(|socket| socket == link)))
    };
    pids().into_iter().filter(has).collect()
}

/// The speed of the interface to a target in bytes per second, and its MTU, if it is a real one.
pub(crate) fn interface(stream: &TcpStream) -> Option<(Option<f64>, u64)> {
    let own = stream.local_addr().ok()?.ip();
    let interfaces = if_addrs::get_if_addrs().ok()?;
    let name = interfaces.into_iter().find(|interface| interface.ip() == own)?.name;
    let read = |what: &str| fs::read_to_string(format!("/sys/class/net/{name}/{what}")).ok();
    let megabits = read("speed").and_then(|speed| speed.trim().parse::<f64>().ok());
    let mtu = read("mtu")?.trim().parse().ok()?;
    Some((megabits.filter(|speed| *speed > 0.0).map(|speed| speed * 1e6 / 8.0), mtu))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_that_listens_is_found_by_its_port() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        // A child of another test has the socket, too, until it runs its program.
        assert!(listeners(port).contains(&std::process::id()));
        assert!(!listeners(port).contains(&1));
        assert!(!listens_everywhere(port));
        let listener = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        assert!(listens_everywhere(listener.local_addr().unwrap().port()));
        let target = Target::parse(&format!("smb://127.0.0.1:{port}/s")).unwrap();
        assert!(is_here(&target));
        assert!(Server::find(&target, None).cpu().is_some());
        assert_eq!(Server::find(&Target::parse("file:///tmp").unwrap(), None).cpu(), None);
    }

    #[test]
    fn the_machine_has_a_kernel_memory_and_processor_time() {
        let machine = machine(Some(Path::new("/proc")));
        assert!(!machine.kernel.is_empty() && machine.memory_bytes > 1 << 20 && machine.processors > 0);
        assert!(machine.file_system.unwrap().starts_with("proc"));
        let (busy, all) = busy();
        assert!(busy <= all && all > 0);
        assert!(peak_memory() > 1 << 20);
    }
}
