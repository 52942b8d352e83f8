//! Measures an index: a tree of many names, the time of building, bytes of each, the time of queries beside a walk by `find`, and what
//! operations of clients cost without an index, with one, and while it is built.
//! `cargo run --release -p search --example measure -- FOLDER NAMES`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for developers")]

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::tz::TimeZone;
use query::language::{self, Clock};
use search::{IndexOptions, SearchIndex};
use vfs::backend::host::{Host, HostOptions};
use vfs::backend::{NewKind, RenameMode, Stability};
use vfs::state::{ClientId, Modes, Party};
use vfs::{Actor, Caller, OpenOptions, Search, Volume, VolumeOptions};

/// Files of a folder.
const EACH: usize = 50;
const WORDS: &[&str] = &[
    "Invoice", "report", "Holiday", "IMG", "draft", "final", "Müller", "budget", "meeting", "scan", "photo",
    "letter", "Project", "plan", "notes", "archive",
];
const ENDS: &[&str] = &["pdf", "docx", "jpg", "txt", "xlsx", "mov", "psd"];
const QUERIES: &[&str] = &[
    "nowhere",
    "invoice 1234",
    "müller kind:pdf 77",
    "name:*9999.jpg",
    "size:>1000000",
    "kind:video plan 55",
    "owner:nobody",
];

fn main() {
    let mut words = std::env::args().skip(1);
    let (folder, names) = (words.next().unwrap(), words.next().unwrap().parse::<usize>().unwrap());
    let (tree, state) = (Path::new(&folder).join("tree"), Path::new(&folder).join("index"));
    if !tree.exists() {
        make(&tree, names);
    }
    let _ = std::fs::remove_dir_all(&state);
    let volume = Arc::new(Volume::new(
        Arc::new(Host::open(&tree, &HostOptions::default()).unwrap()),
        VolumeOptions::default(),
    ));
    let work = Work::new(&volume);
    let without = work.costs();
    let (begun, before) = (Instant::now(), processor());
    let index = SearchIndex::start(&volume, options(&state)).unwrap();
    let finder = index.finder();
    let meanwhile = work.costs();
    let is_building = !index.is_settled();
    while !index.is_settled() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let (built, worked) = (begun.elapsed(), processor() - before);
    volume.searches().set_finder(Some(finder.clone()));
    drop(index);
    let index = SearchIndex::start(&volume, options(&state)).unwrap();
    volume.searches().set_finder(Some(index.finder()));
    let begun = Instant::now();
    while !index.is_settled() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let restarted = begun.elapsed();
    let status = index.finder().status();
    println!(
        "built: {:.1} s, {:.1} s of a processor; {} entries",
        built.as_secs_f64(),
        worked,
        status.entries
    );
    let with = work.costs();
    tell_costs(&without, &meanwhile, &with, is_building);
    println!("memory: {} KiB", index.memory() / 1024);
    println!("bytes each: {:.1}", status.bytes as f64 / status.entries as f64);
    println!("compared at the next start: {:.2} s", restarted.as_secs_f64());
    tell_queries(&volume);
    let walk = || {
        let begun = Instant::now();
        let done = Command::new("find").arg(&tree).args(["-iname", "*nowhere*"]).output().unwrap();
        assert!(done.status.success());
        begun.elapsed()
    };
    walk();
    println!("find -iname, all in memory: {:.0} ms", walk().as_secs_f64() * 1000.0);
}

/// What each operation costs on its thread and on all.
type Costs = [[f64; 2]; 4];

fn tell_costs(without: &Costs, meanwhile: &Costs, with: &Costs, is_building: bool) {
    println!(
        "ns of the processor: without, while it was built ({is_building}), with; of all threads without, with"
    );
    for (at, name) in Work::NAMES.iter().enumerate() {
        let ([without, all], [meanwhile, _], [with, all_with]) = (without[at], meanwhile[at], with[at]);
        let more = |than: f64, without: f64| (than / without - 1.0) * 100.0;
        println!(
            "{name:17} {without:7.0} {meanwhile:7.0} ({:+.1} %) {with:7.0} ({:+.1} %); {all:7.0} {all_with:7.0} ({:+.1} %)",
            more(meanwhile, without),
            more(with, without),
            more(all_with, all)
        );
    }
}

fn tell_queries(volume: &Volume) {
    for text in QUERIES {
        let query = language::parse(text, &Clock { now: 0, zone: TimeZone::UTC }).unwrap();
        let ask = || {
            volume
                .searches()
                .find(&Caller::root(), Search { query: &query, within: None }, None, 100)
                .unwrap()
                .entries
                .len()
        };
        ask();
        let begun = Instant::now();
        let rounds = 10;
        let found = (0..rounds).fold(0, |_, _| ask());
        println!(
            "{text:24} {:8.2} ms, {found} on the first page",
            begun.elapsed().as_secs_f64() * 1000.0 / f64::from(rounds)
        );
    }
}

/// Operations of clients.
struct Work {
    volume: Arc<Volume>,
    runtime: tokio::runtime::Runtime,
}

impl Work {
    const NAMES: [&str; 4] = ["create+remove", "with NFSv3 write", "write 4 KiB", "rename"];
    const ROUNDS: usize = 5;

    fn new(volume: &Arc<Volume>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { volume: volume.clone(), runtime }
    }

    /// Nanoseconds of the processor that each takes on this thread, and on all: the least of some rounds.
    fn costs(&self) -> Costs {
        let root = self.volume.root().unwrap();
        let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
        let volume = &self.volume;
        let made = |name: &[u8]| volume.create(&actor, &root, name, NewKind::File, 0o644).unwrap().found;
        let removed = |name: &[u8]| volume.remove(&actor, &root, name, vfs::Kind::File).unwrap();
        let file = made(b"measured");
        let place = vfs::Beside { folder: &root.object, name: b"measured" };
        let options = OpenOptions { place: Some(place), ..OpenOptions::data(Modes(3)) };
        let open = self.runtime.block_on(volume.open(&actor, &file, options)).unwrap();
        let data = bytes::Bytes::from(vec![1; 4096]);
        let creation = least(2_000, || {
            made(b"came");
            removed(b"came");
        });
        // Each file is another, which no subscriber knows.
        let mut number = 0;
        let creation_and_write = least(2_000, || {
            number += 1;
            let name = format!("came {number}");
            let file = made(name.as_bytes());
            let written = volume.stateless().write(&actor, &file, 0, data.clone(), Stability::Unstable);
            self.runtime.block_on(written).unwrap();
            removed(name.as_bytes());
        });
        let write = least(50_000, || {
            self.runtime.block_on(open.write_at(0, data.clone(), Stability::Unstable)).unwrap();
        });
        drop(open);
        let (mut from, mut to) = (&b"measured"[..], &b"renamed"[..]);
        let rename = least(5_000, || {
            volume.rename(&actor, (&root, from), (&root, to), RenameMode::Replace).unwrap();
            std::mem::swap(&mut from, &mut to);
        });
        removed(from);
        [creation, creation_and_write, write, rename]
    }
}

/// Nanoseconds of the processor of one call, of this thread and of all: the least of some rounds.
fn least(count: usize, mut call: impl FnMut()) -> [f64; 2] {
    let round = || {
        let before = [thread_processor(), processor()];
        (0..count).for_each(|_| call());
        let after = [thread_processor(), processor()];
        [0, 1].map(|at| (after[at] - before[at]) * 1e9 / count as f64)
    };
    let less = |a: [f64; 2], b: [f64; 2]| [a[0].min(b[0]), a[1].min(b[1])];
    std::iter::repeat_with(round).take(Work::ROUNDS).fold([f64::INFINITY; 2], less)
}

fn thread_processor() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn options(state: &Path) -> IndexOptions {
    IndexOptions {
        share: "measure".into(),
        folder: state.to_owned(),
        owner_names: Arc::new(|_| None),
        contents: None,
        quiet: Duration::from_secs(1),
    }
}

/// Seconds of the processor that this process has taken.
fn processor() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn make(tree: &Path, names: usize) {
    for number in 0..names {
        let folder =
            tree.join(format!("area {}", number / EACH / 100)).join(format!("job {}", number / EACH));
        if number.is_multiple_of(EACH) {
            std::fs::create_dir_all(&folder).unwrap();
        }
        let (a, b) = (WORDS[number % WORDS.len()], WORDS[number / 7 % WORDS.len()]);
        let name = format!("{a} {b} {number}.{}", ENDS[number % ENDS.len()]);
        std::fs::File::create(folder.join(name)).unwrap();
    }
}
