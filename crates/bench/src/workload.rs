//! The workloads, by name. Each imitates what people did in a published measurement, or what a program
//! does all day.

mod blocks;
mod copying;
mod media;
mod metadata;
mod streams;
mod worker;

pub(crate) use worker::{CreatedEntry, Worker};

use crate::Result;
use crate::meter::Meter;
use client::Abilities;

/// What a workload's speed is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Megabytes (10^6 bytes) per second.
    Bytes,
    /// Operations per second.
    Operations,
}

/// A workload.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// Where it comes from.
    pub origin: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// Whether it reads what was written before, so that a cold run differs from a warm one.
    pub reads: bool,
    /// Whether durability changes it.
    pub writes: bool,
    /// Bytes that all clients together need on the server, at full scale.
    bytes: u64,
    /// Each client needs so many bytes, however many there are.
    is_each: bool,
    needs: Abilities,
    prepare: fn(&mut Worker<'_>) -> Result<()>,
    run: fn(&mut Worker<'_>, &mut Meter<'_>) -> Result<()>,
}

const DISK: Abilities =
    Abilities { files: false, locks: false, attributes: false, forks: false, pipelined: false };
const FILES: Abilities = Abilities { files: true, ..DISK };

/// A workload that only reads and writes.
const STREAM: Workload = Workload {
    name: "",
    about: "",
    origin: "",
    unit: Unit::Bytes,
    reads: false,
    writes: false,
    bytes: 0,
    is_each: false,
    needs: DISK,
    prepare: |_| Ok(()),
    run: |_, _| Ok(()),
};

/// Reads a file of this size, of which each client has its own.
const fn sized_read(name: &'static str, bytes: u64) -> Workload {
    Workload {
        name,
        about: "reads a file of this size, which each client has in a folder of its own, 1 MiB at a time, several in flight",
        origin: SIZED,
        reads: true,
        bytes,
        is_each: true,
        prepare: streams::prepare_large,
        run: streams::read_large,
        ..STREAM
    }
}

/// Writes a file of this size, each client its own.
const fn sized_write(name: &'static str, bytes: u64) -> Workload {
    Workload {
        name,
        about: "writes a file of this size, each client in a folder of its own, 1 MiB at a time, several in flight",
        origin: SIZED,
        writes: true,
        bytes,
        is_each: true,
        run: streams::write_large,
        ..STREAM
    }
}

const LMDD: &str =
    "the backup server of 2011: lmdd, 10 GiB in records of 512 bytes; the file is removed between the runs";
const SIZED: &str =
    "NetApp TR-3472, section 7.3: 1, 5 and 10 Macs with files of 500 MB to 10 GB, each its own";

/// All workloads, in the order in which they run.
pub const WORKLOADS: &[Workload] = &[
    Workload {
        name: "seq-read",
        about: "reads a file from its beginning to its end, 1 MiB at a time, several in flight",
        origin: "NetApp TR-3472, section 7.3: Macs read files of 500 MB to 10 GB",
        reads: true,
        bytes: 512 << 20,
        prepare: streams::prepare_large,
        run: streams::read_large,
        ..STREAM
    },
    Workload {
        name: "seq-write",
        about: "writes a new file, 1 MiB at a time, several in flight",
        origin: "NetApp TR-3472, section 7.3: Macs write files of 500 MB to 10 GB",
        writes: true,
        bytes: 512 << 20,
        run: streams::write_large,
        ..STREAM
    },
    Workload {
        name: "seq-write-noac",
        about: "writes a new file, 1 MiB at a time, and asks for its attributes before each write",
        origin: "the MacBook Air tuning of 2011: NFS mounted with noac",
        writes: true,
        bytes: 512 << 20,
        needs: FILES,
        run: streams::write_noac,
        ..STREAM
    },
    Workload {
        name: "small-read-1K",
        about: "reads a file 1 KiB at a time, one after another",
        origin: "the ReadyNAS comparison of 2007: 100 MB in records of 1 KiB",
        reads: true,
        bytes: 100 << 20,
        prepare: streams::prepare_small,
        run: streams::read_small,
        ..STREAM
    },
    Workload {
        name: "small-write-1K",
        about: "writes a new file 1 KiB at a time, one after another",
        origin: "the ReadyNAS comparison of 2007: 10 MB in records of 1 KiB",
        writes: true,
        bytes: 10 << 20,
        run: streams::write_small,
        ..STREAM
    },
    Workload {
        name: "lmdd-512B",
        about: "writes a file in records of 512 bytes, then reads it back the same way",
        origin: "the MacBook Air tuning of 2011: lmdd with 512-byte records",
        writes: true,
        bytes: 16 << 20,
        run: streams::lmdd,
        ..STREAM
    },
    Workload {
        name: "lmdd-write-512B",
        about: "writes a file in records of 512 bytes, one after another",
        origin: LMDD,
        writes: true,
        bytes: 10 << 30,
        run: streams::write_records,
        ..STREAM
    },
    Workload {
        name: "lmdd-read-512B",
        about: "reads a file in records of 512 bytes, one after another",
        origin: LMDD,
        reads: true,
        bytes: 10 << 30,
        prepare: streams::prepare_large,
        run: streams::read_records,
        ..STREAM
    },
    Workload {
        name: "small-read-100-at-once",
        about: "reads 1 KiB at a hundred places of a file at once, then at the next ones",
        origin: "the ReadyNAS comparison of 2007: small reads over CIFS took a second each when many were asked for",
        reads: true,
        bytes: 100 << 20,
        needs: Abilities { pipelined: true, ..DISK },
        prepare: streams::prepare_small,
        run: streams::read_small_at_once,
        ..STREAM
    },
    Workload {
        name: "open-155-images",
        about: "lists a folder of 155 images of 2.7 MB, then reads the beginning and the whole of each",
        origin: "the ReadyNAS comparison of 2007: Preview opens 155 JPEG files, 415 MB",
        reads: true,
        bytes: 415 << 20,
        needs: FILES,
        prepare: media::prepare_images,
        run: media::open_images,
        ..STREAM
    },
    Workload {
        name: "enumerate",
        about: "lists a folder of 10,000 files with the attributes that a file browser shows",
        origin: "Apple Workgroup Server 95, 1993: enumeration is a benchmark of its own",
        unit: Unit::Operations,
        needs: FILES,
        prepare: metadata::prepare_listing,
        run: metadata::enumerate,
        ..STREAM
    },
    Workload {
        name: "create-stat-delete",
        about: "makes files of 4 KiB, asks for their attributes, deletes them",
        origin: "NetApp TR-3472 and every benchmark of mail and source trees since",
        unit: Unit::Operations,
        writes: true,
        bytes: 8 << 20,
        needs: FILES,
        run: metadata::create_stat_delete,
        ..STREAM
    },
    Workload {
        name: "copy-tree",
        about: "copies a tree to the server as the Finder does, then as the Explorer does",
        origin: "NetApp TR-3472, section 7.3.4: copies by the Finder and by a terminal differ",
        unit: Unit::Operations,
        writes: true,
        bytes: 20 << 20,
        needs: FILES,
        run: copying::copy_tree,
        ..STREAM
    },
    Workload {
        name: "lock-unlock",
        about: "locks and unlocks ranges of one file",
        origin: "LanTest's lock test; databases on shares",
        unit: Unit::Operations,
        needs: Abilities { locks: true, ..FILES },
        prepare: metadata::prepare_locks,
        run: metadata::lock_unlock,
        bytes: 1 << 20,
        ..STREAM
    },
    Workload {
        name: "xattr-and-fork",
        about: "sets and reads an extended attribute, and where the protocol has it the resource fork",
        origin: "NetApp TR-3472, section 2.2: both forks and the Finder's metadata",
        unit: Unit::Operations,
        bytes: 4 << 20,
        needs: Abilities { attributes: true, ..FILES },
        prepare: metadata::prepare_attributes,
        run: metadata::attributes_and_forks,
        ..STREAM
    },
    Workload {
        name: "lantest",
        about: "makes 300 files, opens and closes them, removes them; writes and reads 100 MB; locks; lists",
        origin: "the steps of HELIOS LanTest",
        unit: Unit::Operations,
        writes: true,
        bytes: 100 << 20,
        needs: FILES,
        run: metadata::lantest,
        ..STREAM
    },
    Workload {
        name: "video",
        about: "reads a stream at 30 MB/s (25 pictures a second), and counts pictures that come late",
        origin: "Aperture and video over ZFS and iSCSI, 2007: uncompressed PAL needs 30 MB/s",
        reads: true,
        bytes: 120 << 20,
        prepare: streams::prepare_large,
        run: media::video,
        ..STREAM
    },
    Workload {
        name: "video-hd",
        about: "reads a stream at 104 MB/s (uncompressed 1080p, 25 pictures a second), and counts late pictures",
        origin: "the question after the PAL streams of 2007: which formats does this server sustain?",
        reads: true,
        bytes: 415 << 20,
        prepare: streams::prepare_large,
        run: media::video_hd,
        ..STREAM
    },
    Workload {
        name: "video-4k",
        about: "reads a stream at 415 MB/s (uncompressed 2160p, 25 pictures a second), and counts late pictures",
        origin: "the question after the PAL streams of 2007: which formats does this server sustain?",
        reads: true,
        bytes: 1 << 30,
        prepare: streams::prepare_large,
        run: media::video_4k,
        ..STREAM
    },
    Workload {
        name: "backup-bands",
        about: "writes the bands of a sparse bundle, 8 MiB each, and a token and a property list after each",
        origin: "Time Machine to a share; the MacBook Air's backups of 2011",
        writes: true,
        bytes: 256 << 20,
        needs: FILES,
        run: copying::backup_bands,
        ..STREAM
    },
    Workload {
        name: "tar-tree",
        about: "writes one archive of many small files as a stream of 64 KiB records",
        origin: "the MacBook Air tuning of 2011: tar, 49.8 s",
        writes: true,
        bytes: 64 << 20,
        run: copying::tar_tree,
        ..STREAM
    },
    Workload {
        name: "disk-image",
        about: "writes the same files into a disk image: 4 KiB blocks, metadata in between, flushes",
        origin: "the MacBook Air tuning of 2011: hdiutil, 195 s",
        writes: true,
        bytes: 64 << 20,
        run: copying::disk_image,
        ..STREAM
    },
    Workload {
        name: "sparse-bundle",
        about: "writes the same blocks into a sparse bundle: bands of 8 MiB, a list and a token, flushes",
        origin: "the MacBook Air tuning of 2011: hdiutil, 195 s; macOS of today makes sparse bundles on shares",
        writes: true,
        bytes: 64 << 20,
        needs: FILES,
        run: copying::sparse_bundle,
        ..STREAM
    },
    Workload {
        name: "block-mix",
        about: "reads (70 %) and writes (30 %) 4 to 64 KiB at random places of a file or disk",
        origin: "ZFS volumes over iSCSI, 2007 and 2008: what a file system on a LUN sends",
        reads: true,
        bytes: 128 << 20,
        prepare: streams::prepare_large,
        run: blocks::block_mix,
        ..STREAM
    },
    Workload {
        name: "random-read-4K",
        about: "reads 4 KiB at random places of a file or disk, several in flight",
        origin: "fio and Iometer: the figure that data sheets of storage name",
        reads: true,
        bytes: 128 << 20,
        prepare: streams::prepare_large,
        run: blocks::read_4k,
        ..STREAM
    },
    Workload {
        name: "read-write-25-1",
        about: "reads 25 times as often as it writes, 16 KiB at random places",
        origin: "Apple Workgroup Server 95, 1993: real sites read up to 25 times as often",
        reads: true,
        bytes: 128 << 20,
        prepare: streams::prepare_large,
        run: blocks::read_write_25_1,
        ..STREAM
    },
    sized_read("read-500MB", 500_000_000),
    sized_read("read-1GB", 1_000_000_000),
    sized_read("read-2GB", 2_000_000_000),
    sized_read("read-5GB", 5_000_000_000),
    sized_read("read-10GB", 10_000_000_000),
    sized_write("write-500MB", 500_000_000),
    sized_write("write-1GB", 1_000_000_000),
    sized_write("write-2GB", 2_000_000_000),
    sized_write("write-5GB", 5_000_000_000),
    sized_write("write-10GB", 10_000_000_000),
];

/// What runs if no workload is named: the six that answer most questions.
pub const DEFAULT: &[&str] =
    &["seq-read", "seq-write", "small-read-1K", "small-write-1K", "enumerate", "create-stat-delete"];

impl Workload {
    /// The workload of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        WORKLOADS.iter().find(|workload| workload.name == name)
    }

    /// What is missing in a session, if the workload cannot run there.
    pub(crate) fn lacks(&self, has: Abilities) -> Option<&'static str> {
        let Abilities { files, locks, attributes, forks, pipelined } = self.needs;
        let missing = [
            (files && !has.files, "a workload with files on a disk"),
            (locks && !has.locks, "locking"),
            (attributes && !has.attributes, "setting extended attributes"),
            (forks && !has.forks, "a resource fork"),
            (pipelined && !has.pipelined, "several requests at once"),
        ];
        missing.into_iter().find_map(|(lacks, what)| lacks.then_some(what))
    }

    /// Bytes that one of so many clients writes at most.
    pub(crate) fn room(&self, scale: f64, clients: usize) -> u64 {
        self.share(scale, clients).max(worker::LEAST) + worker::LEAST
    }

    /// Bytes of one of so many clients.
    fn share(&self, scale: f64, clients: usize) -> u64 {
        let whole = (self.bytes as f64 * scale) as u64;
        if self.is_each { whole } else { whole / clients.max(1) as u64 }
    }

    /// Bytes that so many clients together write at most.
    #[must_use]
    pub fn bytes(&self, scale: f64, clients: usize) -> u64 {
        let whole = (self.bytes as f64 * scale) as u64;
        if self.is_each { whole.saturating_mul(clients as u64) } else { whole }
    }

    /// The size of each client's file at full scale, if the workload is about files of one size.
    #[must_use]
    pub fn file_size(&self) -> Option<u64> {
        self.is_each.then_some(self.bytes)
    }

    pub(crate) fn prepare(&self, worker: &mut Worker<'_>) -> Result<()> {
        worker.bytes = self.share(worker.scale, worker.clients);
        (self.prepare)(worker)
    }

    pub(crate) fn run(&self, worker: &mut Worker<'_>, meter: &mut Meter<'_>) -> Result<()> {
        (self.run)(worker, meter)
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_workload_says_what_it_does_and_where_it_comes_from() {
        for (at, workload) in WORKLOADS.iter().enumerate() {
            assert!(!workload.about.is_empty() && !workload.origin.is_empty(), "{workload:?}");
            assert!(WORKLOADS[..at].iter().all(|other| other.name != workload.name), "{workload:?}");
        }
        assert!(DEFAULT.iter().all(|name| Workload::of(name).is_some()));
    }

    #[test]
    fn files_of_one_size_are_those_of_each_client() {
        let each = Workload::of("read-2GB").unwrap();
        assert_eq!((each.file_size(), each.share(0.5, 10)), (Some(2_000_000_000), 1_000_000_000));
        assert_eq!(each.bytes(0.5, 10), 10_000_000_000);
        let shared = Workload::of("seq-read").unwrap();
        assert_eq!((shared.file_size(), shared.share(1.0, 4)), (None, 128 << 20));
        assert_eq!(shared.bytes(1.0, 4), 512 << 20);
    }

    #[test]
    fn a_disk_runs_what_needs_no_files() {
        let runs: Vec<_> = WORKLOADS.iter().filter(|w| w.lacks(DISK).is_none()).map(|w| w.name).collect();
        assert!(runs.contains(&"seq-read") && runs.contains(&"block-mix") && !runs.contains(&"enumerate"));
    }
}
