//! What the machine and the link can do: no protocol is faster.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::Reach;

use crate::link::Link;
use crate::record::{Baseline, BaselineUnit};
use crate::{Protocol, Target, machine, mount};

/// How long each of them is measured.
const TIME: Duration = Duration::from_millis(200);
const MIB: usize = 1 << 20;
/// Bytes of the file that measures the disk.
const DISK: usize = 64 << 20;
/// Connections that measure the round trip.
const TRIPS: usize = 9;
/// Bytes of IP and TCP headers with timestamps in a segment.
const HEADERS: u64 = 52;

/// Names of baselines, in the records.
pub mod name {
    #![allow(missing_docs, reason = "the words are the meaning")]
    pub const MEMORY: &str = "memory copy";
    pub const LOOPBACK: &str = "loopback TCP";
    pub const DISK_WRITE: &str = "disk write";
    pub const DISK_READ: &str = "disk read";
    pub const ROUND_TRIP: &str = "round trip";
    pub const RAW_TO: &str = "raw TCP to the server";
    pub const RAW_FROM: &str = "raw TCP from the server";
    pub const INTERFACE: &str = "interface";
    pub const LINK: &str = "link";
    pub const MTU: &str = "MTU of the interface";
    pub const PATH_MTU: &str = "MTU of the path";
}

pub(crate) fn baseline(name: &str, target: Option<&Target>, value: f64, unit: BaselineUnit) -> Baseline {
    Baseline { name: name.into(), target: target.map(Target::to_string), link: None, value, unit }
}

/// Memory, loopback, and the disk of a folder.
pub(crate) fn of_machine(folder: Option<&Path>) -> Vec<Baseline> {
    let speed = |name, value: Option<f64>| {
        value.map(|value| baseline(name, None, value, BaselineUnit::BytesPerSecond))
    };
    let disk = folder.and_then(|folder| disk(folder).ok());
    let all = [
        speed(name::MEMORY, Some(memory())),
        speed(name::LOOPBACK, loopback().ok()),
        speed(name::DISK_WRITE, disk.map(|(write, _)| write)),
        speed(name::DISK_READ, disk.map(|(_, read)| read)),
    ];
    all.into_iter().flatten().collect()
}

fn memory() -> f64 {
    let from = vec![1_u8; 64 * MIB];
    let mut to = vec![0; from.len()];
    to.copy_from_slice(&from); // touches the pages
    let (begun, mut bytes) = (Instant::now(), 0);
    while begun.elapsed() < TIME {
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        bytes += from.len();
    }
    bytes as f64 / begun.elapsed().as_secs_f64()
}

fn loopback() -> std::io::Result<f64> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let mut sender = TcpStream::connect(listener.local_addr()?)?;
    let (mut receiver, _) = listener.accept()?;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let data = vec![1; MIB];
            let begun = Instant::now();
            while begun.elapsed() < TIME && sender.write_all(&data).is_ok() {}
        });
        let (begun, mut bytes, mut buffer) = (Instant::now(), 0, vec![0; MIB]);
        loop {
            match receiver.read(&mut buffer)? {
                0 => return Ok(bytes as f64 / begun.elapsed().as_secs_f64()),
                count => bytes += count,
            }
        }
    })
}

/// Writes a new unnamed file until it is on the disk, drops it from the page cache, and reads it.
fn disk(folder: &Path) -> std::io::Result<(f64, f64)> {
    use rustix::fs::{Advice, Mode, OFlags, fadvise, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    let mut block = vec![3; MIB];
    let begun = Instant::now();
    for at in 0..DISK / MIB {
        file.write_all_at(&block, (at * MIB) as u64)?;
    }
    file.sync_all()?;
    let write = DISK as f64 / begun.elapsed().as_secs_f64();
    fadvise(&file, 0, None, Advice::DontNeed)?;
    let begun = Instant::now();
    for at in 0..DISK / MIB {
        file.read_exact_at(&mut block, (at * MIB) as u64)?;
    }
    Ok((write, DISK as f64 / begun.elapsed().as_secs_f64()))
}

/// The round trip to a server and the link to it.
pub(crate) fn of_target(target: &Target, reach: &Reach, link: Option<&Arc<Link>>) -> Vec<Baseline> {
    if target.protocol == Protocol::File {
        return of_mount(target);
    }
    let mut trips = Vec::new();
    let mut interface = None;
    for _ in 0..TRIPS {
        let begun = Instant::now();
        let Ok(stream) = reach.connect(&target.address()) else { continue };
        trips.push(begun.elapsed().as_secs_f64());
        interface = interface.or_else(|| Some((machine::interface(&stream)?, path_mtu(&stream))));
    }
    trips.sort_by(f64::total_cmp);
    let mut all: Vec<Baseline> = Vec::new();
    let mut add = |name, value: Option<f64>, unit| {
        all.extend(value.map(|value| baseline(name, Some(target), value, unit)));
    };
    add(name::ROUND_TRIP, trips.get(trips.len() / 2).copied(), BaselineUnit::Seconds);
    if let Ok(Some(port)) = target.number("raw") {
        let far = Target { port, ..target.clone() };
        let (to, from) = crate::raw::measure(reach, &far.address())
            .map_or((None, None), |(to, from)| (Some(to), Some(from)));
        add(name::RAW_TO, to, BaselineUnit::BytesPerSecond);
        add(name::RAW_FROM, from, BaselineUnit::BytesPerSecond);
    }
    if let Some(((speed, mtu), path)) = interface {
        add(name::INTERFACE, speed, BaselineUnit::BytesPerSecond);
        add(name::MTU, Some(mtu as f64), BaselineUnit::Bytes);
        add(name::PATH_MTU, path, BaselineUnit::Bytes);
    }
    if let Some(link) = link {
        all.iter_mut().for_each(|baseline| baseline.link = Some(link.rate()));
        let measured: Vec<Baseline> = link.baselines(target, reach.timeout);
        all.retain(|known| measured.iter().all(|other| other.name != known.name));
        all.extend(measured);
    }
    all
}

/// The interface that leads to the server of a network file system.
fn of_mount(target: &Target) -> Vec<Baseline> {
    let speed = mount::Counter::of(target).and_then(|counter| counter.speed());
    let speed =
        speed.map(|speed| baseline(name::INTERFACE, Some(target), speed, BaselineUnit::BytesPerSecond));
    speed.into_iter().collect()
}

/// The MTU that both ends and the path agree on, from the size of TCP segments.
pub(crate) fn path_mtu(stream: &TcpStream) -> Option<f64> {
    let segment = socket2::SockRef::from(stream).tcp_mss().ok()?;
    Some((u64::from(segment) + HEADERS) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_loopback_and_disk_have_speeds() {
        let folder = tempfile::tempdir().unwrap();
        let all = of_machine(Some(folder.path()));
        let value = |name: &str| all.iter().find(|b| b.name == name).map(|b| b.value);
        assert!(value(name::MEMORY).unwrap() > 1e6 && value(name::LOOPBACK).unwrap() > 1e6);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_server_on_this_machine_has_a_round_trip_and_the_mtu_of_the_loopback() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let target = Target::parse(&format!("smb://127.0.0.1:{port}/s")).unwrap();
        let all = of_target(&target, &Reach::direct(Duration::from_secs(5)), None);
        let value = |name: &str| all.iter().find(|b| b.name == name).map(|b| b.value);
        assert!(value(name::ROUND_TRIP).unwrap() < 5.0);
        assert_eq!(value(name::MTU), Some(65_536.0));
    }
}
