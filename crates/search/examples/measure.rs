//! Measures an index: a tree of many names, the time of building, bytes of each, and the time of queries beside a walk by `find`.
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
use vfs::{Caller, Search, Volume, VolumeOptions};

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
    let (begun, before) = (Instant::now(), processor());
    let index = SearchIndex::start(&volume, options(&state)).unwrap();
    let finder = index.finder();
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
    println!("bytes each: {:.1}", status.bytes as f64 / status.entries as f64);
    println!("compared at the next start: {:.2} s", restarted.as_secs_f64());
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
    let walk = || {
        let begun = Instant::now();
        let done = Command::new("find").arg(&tree).args(["-iname", "*nowhere*"]).output().unwrap();
        assert!(done.status.success());
        begun.elapsed()
    };
    walk();
    println!("find -iname, all in memory: {:.0} ms", walk().as_secs_f64() * 1000.0);
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
