//! The proof of reserved streams: four play for minutes beside 20 writers, a scrub and snapshots, over each protocol, and no picture is late.
//! Then the same without reserving.
//!
//! ```text
//! prepare the films ─► play once, alone ─► play on beside writers, scrub, snapshots ─► pictures that were late
//! ```

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};

use super::server::{LUNS, SHARE, SoakProtocol, SoakServer, runs};
use crate::process::{self, Running};
use crate::server;

/// What plays: uncompressed PAL, 1,244,160 bytes a picture and 25 pictures a second.
const STREAMS: [&str; 4] = ["--speed", "31.2MB", "--streams", "4"];
/// Four films of half a minute. They are played again and again.
const PLAYERS: [&str; 10] =
    ["--workload", "video", "--clients", "4", "--scale", "30", "--time", "120", "--timeout", "120"];
const FILM: Duration = Duration::from_secs(30);
/// 20 files of 200 MB, again and again.
const WRITERS: [&str; 12] = [
    "--workload",
    "seq-write",
    "--clients",
    "20",
    "--scale",
    "8",
    "--time",
    "3600",
    "--timeout",
    "300",
    "--repeats",
    "1000",
];
/// Where a share has the images of its LUNs.
const IMAGES: &str = ".fourfold-luns";
/// How often it is looked whether the films begin again.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// GiB of a LUN: either the films or the files of the writers.
const LUN: u64 = 5;
/// GiB of the file system that is made where none is given. A snapshot keeps files that the writers have removed.
const POOL: u64 = 40;
const SNAPSHOT_EVERY: Duration = Duration::from_secs(15);
/// The longest time that one command of a preparation may take.
const LIMIT: Duration = Duration::from_secs(120);
/// The longest time until films of 4 GB are written, and until writers have removed their files.
const PREPARED_WITHIN: Duration = Duration::from_secs(600);

#[derive(clap::Args)]
pub struct StreamsArgs {
    /// How long reserved streams play beside the others, over each protocol
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(30..=36_000))]
    seconds: u64,
    /// How long the same runs without reserving; 0: not at all
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u64).range(0..=36_000))]
    beside: u64,
    /// Only these protocols
    #[arg(long, value_delimiter = ',')]
    protocols: Vec<SoakProtocol>,
    /// An empty folder on the disk that is to be tried; it should be a subvolume or dataset of its own. Without it: a btrfs in an image
    #[arg(long, value_name = "DIR")]
    folder: Option<PathBuf>,
    /// What the disk carries in a second, instead of a measurement
    #[arg(long, value_name = "SIZE")]
    capacity: Option<String>,
}

/// What became of the pictures of one pass.
struct StreamsOutcome {
    pictures: u64,
    late: u64,
    /// Bytes per second that the server has written for the others.
    written: f64,
    scrubs: usize,
    snapshots: usize,
}

pub fn run(args: &StreamsArgs) -> Result<()> {
    let place = process::fresh_folder("soak-streams")?;
    let folder = match &args.folder {
        Some(folder) => folder.clone(),
        None => pool(&place)?,
    };
    ensure!(std::fs::read_dir(&folder)?.next().is_none(), "{} is not empty", folder.display());
    let server = SoakServer::start(&place, folder, LUN, "")?;
    let protocols = if args.protocols.is_empty() { &SoakProtocol::ALL[..] } else { &args.protocols };
    let mut late = Vec::new();
    println!(
        "The players run on this machine, {}.",
        if process::is_root() {
            "with a higher priority than the rest (nice -10): as if they had a machine of their own"
        } else {
            "and wait for its processors like the rest: as root they would go first"
        }
    );
    println!(
        "{:<6} {:<12} {:>9} {:>7} {:>12} {:>7} {:>10}",
        "", "", "pictures", "late", "others wrote", "scrubs", "snapshots"
    );
    for protocol in protocols {
        for (is_reserved, seconds) in [(true, args.seconds), (false, args.beside)] {
            if seconds == 0 {
                continue;
            }
            let pass = Pass { server: &server, place: &place, protocol: *protocol };
            if is_reserved {
                pass.reserve(args.capacity.as_deref())?;
            }
            let outcome = pass.play(Duration::from_secs(seconds));
            if is_reserved {
                println!("{}", server.done(&["stream", "list"])?.trim_end());
                server.done(&["stream", "release", "--all"])?;
            }
            let StreamsOutcome { pictures, late: missed, written, scrubs, snapshots } = outcome?;
            let how = if is_reserved { "reserved" } else { "not reserved" };
            let written = format!("{:.0} MB/s", written / 1e6);
            println!(
                "{:<6} {how:<12} {pictures:>9} {missed:>7} {written:>12} {scrubs:>7} {snapshots:>10}",
                protocol.name()
            );
            if is_reserved && missed > 0 {
                late.push(format!("{} of {pictures} over {}", missed, protocol.name()));
            }
        }
    }
    ensure!(late.is_empty(), "reserved pictures were late: {}", late.join(", "));
    Ok(())
}

/// A file system with snapshots in an image: the folder of a subvolume. The image is read and written past the page cache.
fn pool(place: &Path) -> Result<PathBuf> {
    if process::find("mkfs.btrfs").is_none() || !process::is_root() {
        println!("no btrfs can be made here: there are no snapshots");
        let folder = place.join(SHARE);
        std::fs::create_dir(&folder)?;
        return Ok(folder);
    }
    let (image, at) = (place.join("pool.img"), place.join("pool"));
    File::create(&image)?.set_len(POOL << 30)?;
    std::fs::create_dir(&at)?;
    let [image, at_text] = [&image, &at].map(|path| path.to_string_lossy());
    process::stdout_of("mkfs.btrfs", &["-q", &image], LIMIT)?;
    let device = process::stdout_of("losetup", &["-f", "--show", "--direct-io=on", &image], LIMIT)?;
    let mounted = process::stdout_of("mount", &[device.trim(), &at_text], LIMIT);
    process::stdout_of("losetup", &["-d", device.trim()], LIMIT)?; // when it is no longer mounted
    mounted?;
    let folder = at.join(SHARE);
    process::stdout_of("btrfs", &["-q", "subvolume", "create", &folder.to_string_lossy()], LIMIT)?;
    Ok(folder)
}

/// One protocol, with or without a reservation.
struct Pass<'a> {
    server: &'a SoakServer,
    place: &'a Path,
    protocol: SoakProtocol,
}

impl Pass<'_> {
    fn reserve(&self, capacity: Option<&str>) -> Result<()> {
        let lun = format!("{SHARE}/{}", LUNS[0]);
        let what = if self.protocol == SoakProtocol::Iscsi { ["--lun", &lun] } else { ["--share", SHARE] };
        let words = [&["stream", "reserve"][..], &what, &STREAMS, &["--client", "127.0.0.1"]].concat();
        let capacity = capacity.map(|size| vec!["--capacity", size]).unwrap_or_default();
        print!("{}", self.server.done(&[&words[..], &capacity].concat())?);
        Ok(())
    }

    /// Plays once alone, and then for so long beside the others.
    fn play(&self, length: Duration) -> Result<StreamsOutcome> {
        let name = |who: &str| self.place.join(format!("{who}-{}", self.protocol.name()));
        let (films, folder) = (name("players"), self.server.folder.to_string_lossy().into_owned());
        let repeats = (1 + length.as_secs().div_ceil(FILM.as_secs())).to_string();
        // Each time the films come from the disk. `bench` does not know the file of a disk of iSCSI.
        let cache = if self.protocol == SoakProtocol::Iscsi { "warm" } else { "cold" };
        let more = ["--cache", cache, "--repeats", &repeats, "--server-folder", &folder];
        let words = [&PLAYERS[..], &more].concat();
        let mut players =
            self.server.bench_first(&films, &[self.server.url(self.protocol, LUNS[0])], &words)?;
        let prepared_by = Instant::now() + PREPARED_WITHIN;
        while runs(&films).is_empty() {
            players.still_up()?;
            ensure!(Instant::now() < prepared_by, "the films are not prepared: see {}.log", films.display());
            std::thread::sleep(Duration::from_millis(500));
        }
        let mut writers =
            self.server.bench(&name("writers"), &[self.server.url(self.protocol, LUNS[1])], &WRITERS)?;
        let (begun, before) = (Instant::now(), self.server.written_bytes());
        let mut others = Others {
            server: self.server,
            place: self.place,
            scrub: None,
            scrubs: 0,
            snapshots: 0,
            taken: None,
        };
        let mut played = 0;
        while players.still_up().is_ok() {
            let times = runs(&films).len();
            if times > played {
                played = times;
                self.forget_disk()?;
            }
            if begun.elapsed() > 4 * length + PREPARED_WITHIN {
                bail!("the players do not come to their end: see {}.log", films.display());
            }
            writers.still_up()?;
            others.go_on()?;
            std::thread::sleep(LOOK_EVERY);
        }
        let written = (self.server.written_bytes() - before) as f64 / begun.elapsed().as_secs_f64();
        ensure!(writers.interrupt(PREPARED_WITHIN), "the writers do not end");
        let (scrubs, snapshots) = (others.scrubs, others.snapshots);
        others.end()?;
        let beside = runs(&films).split_off(1);
        ensure!(!beside.is_empty(), "nothing was played: see {}.log", films.display());
        let sum = |key: &str| beside.iter().filter_map(|run| run[key].as_u64()).sum();
        Ok(StreamsOutcome { pictures: sum("pictures"), late: sum("late"), written, scrubs, snapshots })
    }

    /// Drops the image of the disk that is played from the page cache.
    fn forget_disk(&self) -> Result<()> {
        if self.protocol != SoakProtocol::Iscsi {
            return Ok(());
        }
        let image = File::open(self.server.folder.join(IMAGES).join(LUNS[0]).with_extension("img"))?;
        image.sync_all()?;
        Ok(rustix::fs::fadvise(&image, 0, None, rustix::fs::Advice::DontNeed)?)
    }
}

/// A scrub that begins again when it is over, and snapshots now and then.
struct Others<'a> {
    server: &'a SoakServer,
    place: &'a Path,
    scrub: Option<Running>,
    scrubs: usize,
    snapshots: usize,
    /// When the last snapshot was taken. None can be taken if this is never set.
    taken: Option<Instant>,
}

impl Others<'_> {
    fn go_on(&mut self) -> Result<()> {
        if self.scrub.as_mut().is_none_or(|scrub| scrub.still_up().is_err()) {
            let settings = self.place.join("fourfold.toml").to_string_lossy().into_owned();
            let words = ["scrub", SHARE, "--config", &settings];
            self.scrub = Some(Running::start(server::binary(), &words, Stdio::null(), Stdio::null())?);
            self.scrubs += 1;
        }
        if self.taken.is_none_or(|taken| taken.elapsed() >= SNAPSHOT_EVERY) {
            self.taken = Some(Instant::now());
            self.remove_snapshot()?;
            let name = format!("{SHARE}@soak");
            self.snapshots +=
                usize::from(self.server.command(&["snapshot", "create", &name])?.status.success());
        }
        Ok(())
    }

    /// Removes the snapshot, if there is one.
    fn remove_snapshot(&self) -> Result<()> {
        let name = format!("{SHARE}@soak");
        self.server.command(&["snapshot", "remove", &name, "--yes"]).map(drop)
    }

    fn end(self) -> Result<()> {
        self.remove_snapshot()
    }
}
