//! kill -9 in mid-load: a child, this test program started again, gives ids and says each on its standard output; the
//! parent kills it after so many lines, twenty times, and compares what all the lives said.

use std::collections::HashMap;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;

const FOLDER: &str = "FOURFOLD_TEST_INDEX_FOLDER";
const LIFE: &str = "FOURFOLD_TEST_INDEX_LIFE";
const LIVES: u64 = 20;

/// Small, so that lives end amid reservations and batches.
const SMALL: Limits = Limits { block: 256, cached: 320 };

fn hurried() -> Options {
    Options { queue: 600, batch: 200, interval: Duration::from_millis(5), ..Options::default() }
}

/// A row that is on the disk when the write is done.
const STORED: redb::TableDefinition<'_, u64, ()> = redb::TableDefinition::new("stored");

fn store_row(index: &Index, row: u64) {
    let insert = |transaction: &redb::WriteTransaction| {
        transaction.open_table(STORED)?.insert(row, ())?;
        Ok(())
    };
    index.store().write(insert).unwrap();
}

/// The child: never returns when it is one. Lines: `id KEY ID` once given, `kept N` when the ids of all keys below N
/// of this life are flushed, `row N` when row N is written at once, `epoch N`.
#[test]
#[ignore = "the other half of ids_never_repeat_over_twenty_kills"]
fn child() {
    let (Some(folder), Some(life)) = (env::var_os(FOLDER), env::var(LIFE).ok()) else { return };
    let life: u64 = life.parse().unwrap();
    let index = open(&PathBuf::from(folder), hurried());
    let ids = with_limits(&index, SMALL);
    say(&format!("epoch {}", index.boot_epoch()));
    let next = AtomicU64::new(life * 1_000_000);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                loop {
                    let new = next.fetch_add(1, Ordering::Relaxed);
                    say(&format!("id {new} {}", id(&ids, new)));
                    let old = new % (life + 1) * 1_000_000 + new % 3_000; // of this life or an earlier one
                    say(&format!("id {old} {}", id(&ids, old)));
                    if new % 5 == 4 {
                        ids.forget(&key(new)).unwrap();
                    }
                }
            });
        }
        for round in 0.. {
            let first = life * 1_000_000 + 900_000 + round * 10;
            let mine: Vec<_> =
                (first..first + 10).map(|new| format!("kept {new} {}", id(&ids, new))).collect();
            index.flush().unwrap();
            mine.iter().for_each(|line| say(line));
            store_row(&index, first);
            say(&format!("row {first}"));
        }
    });
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // A closed pipe means that the parent is gone.
    if out.write_all(format!("\nindex {line}\n").as_bytes()).and_then(|()| out.flush()).is_err() {
        std::process::exit(1);
    }
}

fn start(folder: &Path, life: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "catalogue::tests::crash::child", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(LIFE, life.to_string())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// What all lives said.
#[derive(Default)]
struct LifeRecord {
    owner: HashMap<u64, u64>,
    kept: HashMap<u64, u64>,
    rows: Vec<u64>,
    epochs: Vec<u64>,
}

impl LifeRecord {
    fn hear(&mut self, line: &str) -> bool {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
        match (words[..].get(..2), number(2), number(3)) {
            (Some(["index", "id"]), Some(key), Some(id)) => self.given(key, id),
            (Some(["index", "kept"]), Some(key), Some(id)) => {
                self.given(key, id);
                self.kept.insert(key, id);
            }
            (Some(["index", "row"]), Some(row), None) => self.rows.push(row),
            (Some(["index", "epoch"]), Some(epoch), None) => self.epochs.push(epoch),
            _ => return false,
        }
        true
    }

    fn given(&mut self, key: u64, id: u64) {
        let owner = *self.owner.entry(id).or_insert(key);
        assert_eq!(owner, key, "id {id} was given to two files");
    }
}

fn one_life(folder: &Path, life: u64, said: &mut LifeRecord) {
    let mut child = start(folder, life);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).split(b'\n');
    let enough = 200 + life * 337;
    let mut heard = 0;
    while let Some(Ok(line)) = lines.next() {
        heard += u64::from(said.hear(&String::from_utf8_lossy(&line)));
        if heard == enough {
            child.kill().unwrap();
            break;
        }
    }
    child.kill().unwrap();
    // What the pipe still holds counts too, but its last line may be cut.
    let rest: Vec<_> = lines.map_while(Result::ok).collect();
    for line in rest.iter().rev().skip(1).rev() {
        said.hear(&String::from_utf8_lossy(line));
    }
    child.wait().unwrap();
    assert_eq!(heard, enough, "life {life} ended by itself");
}

#[test]
fn ids_never_repeat_over_twenty_kills() {
    let folder = tempfile::tempdir().unwrap();
    let mut said = LifeRecord::default();
    for life in 0..LIVES {
        one_life(folder.path(), life, &mut said);
    }
    assert!(said.epochs.windows(2).all(|pair| pair[0] < pair[1]), "{:?}", said.epochs);
    assert_eq!(said.epochs.len() as u64, LIVES);

    let index = open(folder.path(), hurried());
    let ids = with_limits(&index, SMALL);
    assert!(said.kept.len() > 100 && !said.rows.is_empty());
    for (number, given) in &said.kept {
        assert_eq!(u64::from(id(&ids, *number)), *given, "flushed before the kill");
        assert_eq!(ids.resolve(CatalogId(*given as u32)).unwrap(), Some(key(*number)));
    }
    for row in &said.rows {
        let stored =
            index.store().read(|transaction| Ok(transaction.open_table(STORED)?.get(row)?.is_some()));
        assert!(stored.unwrap(), "row {row}");
    }
    for number in 0..5_000 {
        said.given(777_000_000 + number, u64::from(id(&ids, 777_000_000 + number)));
    }
}
