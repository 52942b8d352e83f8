//! Published measurements, to be repeated: their workloads, numbers of clients and figures.

use std::time::Duration;

/// A published measurement.
#[derive(Debug)]
pub struct Suite {
    /// Its name.
    pub name: &'static str,
    /// What it was.
    pub about: &'static str,
    /// Its workloads.
    pub workloads: &'static [&'static str],
    /// Its numbers of clients.
    pub clients: &'static [usize],
    /// Its figures.
    pub published: &'static [Figure],
    /// Its figures by the size of files.
    pub sized: &'static [SizedFigure],
    /// Its times.
    pub timed: &'static [TimedFigure],
    /// How often each measurement was made at least.
    pub least_repeats: usize,
    /// Repeats are shown one by one, with their bytes on the wire: was the second one answered by a cache?
    pub shows_repeats: bool,
}

/// Published times of parts of a workload, in seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TimedFigure {
    /// What was done.
    pub workload: &'static str,
    /// With what.
    pub system: &'static str,
    /// The parts, named as the marks of a run; empty: all of it.
    pub times: &'static [(&'static str, f64)],
}

const fn timed(
    workload: &'static str,
    system: &'static str,
    times: &'static [(&'static str, f64)],
) -> TimedFigure {
    TimedFigure { workload, system, times }
}

/// A published figure for one client, over all sizes of files and numbers of clients.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedFigure {
    /// Files were read, and not written.
    pub reads: bool,
    /// With what.
    pub system: &'static str,
    /// The lowest and the highest in MB/s.
    pub range: (f64, f64),
}

const fn sized(reads: bool, system: &'static str, low: f64, high: f64) -> SizedFigure {
    SizedFigure { reads, system, range: (low, high) }
}

/// A published figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Figure {
    /// What was done.
    pub workload: &'static str,
    /// By how many clients.
    pub clients: usize,
    /// With what.
    pub system: &'static str,
    /// The lowest and the highest in MB/s, of all clients together.
    pub range: (f64, f64),
}

const fn one(workload: &'static str, system: &'static str, low: f64, high: f64) -> Figure {
    Figure { workload, clients: 1, system, range: (low, high) }
}

/// All suites.
pub const SUITES: &[Suite] = &[
    Suite {
        name: "ballstate",
        about: "NetApp TR-3472, 2006: Macs at a filer, by DAVE, CIFS and NFS",
        workloads: &[
            "read-500MB",
            "read-1GB",
            "read-2GB",
            "read-5GB",
            "read-10GB",
            "write-500MB",
            "write-1GB",
            "write-2GB",
            "write-5GB",
            "write-10GB",
        ],
        clients: &[1, 5, 10],
        published: &[],
        sized: &[
            sized(true, "DAVE", 31.0, 34.0),
            sized(true, "CIFS", 13.0, 17.0),
            sized(true, "NFS", 11.0, 12.0),
            sized(false, "DAVE", 25.0, 26.5),
            sized(false, "CIFS", 20.0, 24.0),
            sized(false, "NFS", 13.4, 13.4),
        ],
        timed: &[],
        least_repeats: 3,
        shows_repeats: false,
    },
    Suite {
        name: "readynas",
        about: "A comparison of AFP, CIFS and NFS of a ReadyNAS NV, 2007",
        workloads: &[
            "seq-write",
            "small-write-1K",
            "small-read-1K",
            "small-read-100-at-once",
            "seq-read",
            "open-155-images",
        ],
        clients: &[1],
        published: &[
            one("seq-write", "AFP", 7.2, 7.2),
            one("seq-write", "CIFS", 6.8, 6.8),
            one("seq-write", "NFS", 7.8, 7.8),
            one("small-write-1K", "AFP", 9.6, 9.6),
            one("small-write-1K", "CIFS", 1.4, 1.4),
            one("small-write-1K", "NFS", 8.4, 8.4),
            one("small-read-1K", "AFP", 13.7, 13.7),
            one("small-read-1K", "CIFS", 1.6, 1.6),
            one("small-read-1K", "NFS", 14.0, 14.0),
            one("seq-read", "AFP", 14.0, 14.0),
            one("seq-read", "CIFS", 13.6, 13.6),
            one("seq-read", "NFS", 12.0, 12.0),
        ],
        sized: &[],
        timed: &[
            timed("open-155-images", "AFP", &[("window", 2.0), ("thumbnails", 7.0)]),
            timed("open-155-images", "CIFS", &[("window", 5.0), ("thumbnails", 14.0)]),
            timed("open-155-images", "NFS", &[("window", 26.0), ("thumbnails", 28.0)]),
        ],
        least_repeats: 2,
        shows_repeats: true,
    },
    Suite {
        name: "macbook",
        about: "NFS and CIFS of a Linux server with a MacBook Air and a PowerBook, 2011 to 2013",
        workloads: &["lmdd-write-512B", "lmdd-read-512B", "tar-tree", "disk-image", "sparse-bundle"],
        clients: &[1],
        published: &[
            one("lmdd-write-512B", "NFS", 6.6, 8.4),
            one("lmdd-write-512B", "CIFS", 0.6, 0.8),
            one("lmdd-write-512B", "disk", 30.0, 30.0),
            one("lmdd-read-512B", "NFS", 10.5, 10.7),
            one("lmdd-read-512B", "CIFS", 5.4, 5.6),
            one("lmdd-read-512B", "disk", 31.0, 200.0),
        ],
        sized: &[],
        timed: &[
            timed("tar-tree", "tar", &[("all of it", 49.8)]),
            timed("disk-image", "hdiutil", &[("all of it", 195.0)]),
            timed("sparse-bundle", "hdiutil", &[("all of it", 195.0)]),
        ],
        least_repeats: 1,
        shows_repeats: false,
    },
    Suite {
        name: "aws95",
        about: "Apple Workgroup Server 95 with AppleShare Pro beside AppleShare 3.0, 1993",
        workloads: &["seq-read", "enumerate", "read-write-25-1"],
        clients: &[1, 5, 50],
        published: &[
            one("seq-read", "AS Pro", 0.585, 0.585),
            Figure { workload: "seq-read", clients: 5, system: "AS Pro", range: (0.85, 0.85) },
            Figure { workload: "seq-read", clients: 50, system: "AS Pro", range: (0.85, 0.85) },
            one("seq-read", "AS 3.0", 0.4, 0.4),
            Figure { workload: "seq-read", clients: 50, system: "AS 3.0", range: (0.21, 0.21) },
        ],
        sized: &[],
        timed: &[],
        least_repeats: 1,
        shows_repeats: false,
    },
    Suite {
        name: "zfs-iscsi",
        about: "ZFS volumes over iSCSI for Windows and Macs, 2007 and 2008",
        workloads: &["seq-read", "seq-write", "video", "block-mix"],
        clients: &[1],
        published: &[
            one("seq-write", "before", 8.0, 10.0), // with delayed acknowledgements
            one("seq-write", "needed", 30.0, 30.0),
            one("seq-read", "after", 90.0, 100.0),
        ],
        sized: &[],
        timed: &[],
        least_repeats: 1,
        shows_repeats: false,
    },
];

impl Suite {
    /// The suite of a name.
    #[must_use]
    pub fn of(name: &str) -> Option<&'static Self> {
        SUITES.iter().find(|suite| suite.name == name)
    }

    /// The published times of a workload.
    pub fn times(&self, workload: &str) -> impl Iterator<Item = &'static TimedFigure> {
        self.timed.iter().filter(move |figure| figure.workload == workload)
    }

    /// The longest time of a repeat: files of a size are read and written as a whole.
    #[must_use]
    pub fn limit(&self) -> Duration {
        Duration::from_secs(if self.sized.is_empty() { 30 } else { 3600 })
    }

    /// The figures of a workload with so many clients.
    pub fn figures(&self, workload: &str, clients: usize) -> impl Iterator<Item = &'static Figure> {
        let is_it = move |figure: &&Figure| figure.workload == workload && figure.clients == clients;
        let wanted: Vec<&'static Figure> = self.published.iter().filter(is_it).collect();
        wanted.into_iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Unit, Workload};

    #[test]
    fn suites_have_workloads_and_their_figures_are_of_them() {
        for suite in SUITES {
            assert!(suite.workloads.iter().all(|name| Workload::of(name).is_some()), "{}", suite.name);
            for figure in suite.published {
                assert!(suite.workloads.contains(&figure.workload), "{figure:?}");
                assert!(suite.clients.contains(&figure.clients), "{figure:?}");
                assert_eq!(Workload::of(figure.workload).map(|w| w.unit), Some(Unit::Bytes));
                assert!(figure.range.0 <= figure.range.1);
            }
        }
        let ballstate = Suite::of("ballstate").unwrap();
        assert!(
            ballstate
                .workloads
                .iter()
                .all(|name| Workload::of(name).is_some_and(|w| w.file_size().is_some()))
        );
        assert_eq!((ballstate.sized.len(), ballstate.least_repeats), (6, 3));
        assert_eq!(Suite::of("readynas").unwrap().figures("seq-read", 1).count(), 3);
        assert!(Suite::of("other").is_none());
    }
}
