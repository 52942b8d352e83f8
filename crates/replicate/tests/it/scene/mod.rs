//! Two datasets on file systems in loop-mounted images, and a replication between them over a pair of sockets.

#![allow(dead_code, unused_imports, clippy::unwrap_used, clippy::print_stdout, reason = "a test")]

#[path = "../../../../snapshots/tests/it/scene/mod.rs"]
mod file_systems;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

pub(crate) use file_systems::{Mounted, at, described, names, plant, run, text, zfs};
use replicate::{Failure, Link, Options, receive, send};
use snapshots::Dataset;

/// A source and a destination.
pub(crate) struct Scene {
    mounted: [Mounted; 2],
}

impl Scene {
    /// `None` if nothing can be mounted here.
    pub(crate) fn new(from: &str, to: &str) -> Option<Self> {
        let scene = Self { mounted: [Mounted::new(from)?, Mounted::new(to)?] };
        for (kind, place) in [(from, scene.source()), (to, scene.destination())] {
            if kind != "btrfs" || !run("btrfs", &["-q", "subvolume", "create", text(&place)]) {
                std::fs::create_dir(&place).unwrap();
            }
        }
        Some(scene)
    }

    pub(crate) fn source(&self) -> PathBuf {
        self.mounted[0].root().join("source")
    }

    pub(crate) fn destination(&self) -> PathBuf {
        self.mounted[1].root().join("destination")
    }

    pub(crate) fn datasets(&self) -> [Dataset; 2] {
        [self.source(), self.destination()].map(|path| Dataset::find(&path).unwrap())
    }

    /// Sends what the destination lacks. Returns the names of the sent snapshots.
    #[track_caller]
    pub(crate) fn replicate(&self, options: &Options) -> Vec<String> {
        self.try_replicate(options, i64::MAX).unwrap().0
    }

    /// The same over a connection that ends after so many bytes. Returns the snapshots and the bytes.
    pub(crate) fn try_replicate(&self, options: &Options, most: i64) -> Result<(Vec<String>, i64), Failure> {
        self.stopped(options, most, None)
    }

    /// The same with a destination that stops, as in a crash, after so many steps of its snapshots.
    pub(crate) fn stopped(
        &self,
        options: &Options,
        most: i64,
        steps: Option<u32>,
    ) -> Result<(Vec<String>, i64), Failure> {
        let [source, destination] = self.datasets();
        let (one, other) = UnixStream::pair().unwrap();
        let left = Arc::new(AtomicI64::new(most));
        let limited = Limited { stream: one.try_clone().unwrap(), left: left.clone() };
        let (to_destination, to_source) =
            (Link::new(one, limited), Link::new(other.try_clone().unwrap(), other));
        std::thread::scope(|scope| {
            let received = scope.spawn(move || {
                steps.inspect(|steps| snapshots::steps::stop_after(*steps));
                receive(&destination, to_source, &mut |_| {})
            });
            let sent = send(&source, options, to_destination, &mut |_| {});
            let received = received.join().unwrap();
            match (sent, received) {
                (Ok((names, _)), Ok(_)) => Ok((names, most - left.load(Ordering::Relaxed))),
                (_, Err(failure)) | (Err(failure), Ok(_)) => Err(failure),
            }
        })
    }
}

/// A connection that is cut.
struct Limited {
    stream: UnixStream,
    left: Arc<AtomicI64>,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.left.fetch_sub(bytes.len() as i64, Ordering::Relaxed) < bytes.len() as i64 {
            let _ = self.stream.shutdown(std::net::Shutdown::Both);
            return Err(std::io::ErrorKind::BrokenPipe.into());
        }
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.stream.flush()
    }
}

impl Read for Limited {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        self.stream.read(bytes)
    }
}

/// A dataset's snapshot as `described`, without what belongs to the server.
pub(crate) fn tree(dataset: &Path, snapshot: &str) -> std::collections::BTreeMap<PathBuf, String> {
    let mut all = described(&dataset.join(snapshots::FOLDER).join(snapshot));
    all.retain(|path, _| !path.starts_with(".fourfold-streams"));
    all
}

/// Waits until the clock shows another second.
pub(crate) fn until_next_second() {
    let now = SystemTime::now();
    let second = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    while second(SystemTime::now()) == second(now) {
        std::thread::sleep(Duration::from_millis(10));
    }
}
