//! Measures how much an index with contents takes beside the text that it is about. The documents are made: their words are as
//! frequent as those of a language (Zipf's law), a third of them from the few that belong to the document's topic, and some are
//! numbers and names that no other document has.
//! `cargo run --release -p search --example contents -- FOLDER DOCUMENTS`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a tool for developers")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use search::{ContentReader, Contents, IndexOptions, SearchIndex};
use vfs::backend::host::{Host, HostOptions};
use vfs::{Result, Volume, VolumeOptions};

/// Documents of a folder.
const EACH: usize = 100;
/// Words of the language.
const WORDS: usize = 200_000;
/// Words of a topic, and topics.
const TOPIC: usize = 400;
const TOPICS: usize = 1_000;
/// Words of a document, at least and at most.
const LENGTH: (usize, usize) = (100, 1_500);

fn main() {
    let mut words = std::env::args().skip(1);
    let (folder, documents) = (words.next().unwrap(), words.next().unwrap().parse::<usize>().unwrap());
    let (tree, state) = (Path::new(&folder).join("documents"), Path::new(&folder).join("index"));
    if !tree.exists() {
        make(&tree, documents);
    }
    let text: u64 = (0..documents).map(|number| std::fs::metadata(path(&tree, number)).unwrap().len()).sum();
    let size = |contents: Option<Arc<dyn ContentReader>>| {
        let _ = std::fs::remove_dir_all(&state);
        let host = Arc::new(Host::open(&tree, &HostOptions::default()).unwrap());
        let volume = Arc::new(Volume::new(host, VolumeOptions::default()));
        let begun = Instant::now();
        let options = IndexOptions {
            share: "contents".into(),
            folder: state.clone(),
            owner_names: Arc::new(|_| None),
            contents,
            quiet: Duration::from_secs(1),
        };
        let index = SearchIndex::start(&volume, options).unwrap();
        while !index.is_settled() {
            std::thread::sleep(Duration::from_millis(50));
        }
        let took = begun.elapsed();
        drop(index); // writes what waits
        let files = std::fs::read_dir(&state).unwrap().map(|file| file.unwrap().metadata().unwrap().len());
        (files.sum::<u64>(), took)
    };
    let (names, _) = size(None);
    let (all, took) = size(Some(Arc::new(PlainText)));
    println!("{documents} documents, {:.1} MB of text", text as f64 / 1e6);
    println!(
        "built in {:.1} s; {:.1} MB, without contents {:.1} MB",
        took.as_secs_f64(),
        all as f64 / 1e6,
        names as f64 / 1e6
    );
    println!("{:.1} % of the text", all as f64 / text as f64 * 100.0);
}

/// Takes each file for plain text.
struct PlainText;

impl ContentReader for PlainText {
    fn is_of_interest(&self, _name: &str, _length: u64) -> bool {
        true
    }

    fn read(
        &self,
        _name: &str,
        length: u64,
        read_at: &mut dyn FnMut(u64, usize) -> Result<Vec<u8>>,
    ) -> Option<Contents> {
        let text = String::from_utf8(read_at(0, length as usize).ok()?).ok()?;
        Some(Contents { text, ..Contents::default() })
    }
}

/// The same numbers in every run.
struct Random(u64);

impl Random {
    /// Between 0 and 1.
    fn part(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.part() * limit as f64) as usize
    }

    /// A rank that is as frequent as its reciprocal.
    fn rank(&mut self, ranks: usize) -> usize {
        ((ranks as f64).powf(self.part()) as usize).clamp(1, ranks) - 1
    }
}

fn path(tree: &Path, number: usize) -> std::path::PathBuf {
    tree.join(format!("folder {}", number / EACH)).join(format!("document {number}.txt"))
}

fn make(tree: &Path, documents: usize) {
    for number in 0..documents {
        let path = path(tree, number);
        if number.is_multiple_of(EACH) {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        std::fs::write(path, text(number)).unwrap();
    }
}

fn text(number: usize) -> String {
    let mut random = Random((number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let topic = random.below(TOPICS);
    let length = LENGTH.0 + random.below(LENGTH.1 - LENGTH.0);
    let mut text = String::new();
    for at in 0..length {
        match random.below(100) {
            0 => text.push_str(&format!("{}", random.below(1_000_000))),
            1..34 => text.push_str(&word(topic * 97 + random.rank(TOPIC) * 331)),
            _ => text.push_str(&word(random.rank(WORDS))),
        }
        text.push_str(if at % 12 == 11 { ".\n" } else { " " });
    }
    text
}

/// The word of a rank: frequent words are short.
fn word(rank: usize) -> String {
    const SYLLABLES: [&str; 24] = [
        "an", "be", "co", "der", "el", "fi", "ge", "ho", "in", "ja", "ke", "lo", "men", "no", "or", "pre",
        "qua", "re", "sta", "te", "un", "ver", "wi", "zo",
    ];
    let (mut left, mut word) = (rank % WORDS, String::new());
    loop {
        word.push_str(SYLLABLES[left % SYLLABLES.len()]);
        left /= SYLLABLES.len();
        if left == 0 {
            return word;
        }
    }
}
