//! A disk that was full once. A limit of the file's size stands for it: the host refuses to make the file longer, until the
//! limit is raised. It holds for the whole process, so the test runs in a process of its own.

use std::process::Command;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::*;
use crate::waiting::until;

/// The process in which the limit may be set.
const INSIDE: &str = "FOURFOLD_TEST_FULL_DISK";

fn limit_files(bytes: Option<u64>) {
    let limit = getrlimit(Resource::Fsize);
    setrlimit(Resource::Fsize, Rlimit { current: bytes, ..limit }).unwrap();
}

/// Parts that fill a disk.
const PARTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("parts");

/// Runs one test of this file in another process.
fn alone(name: &str) {
    let mut command = Command::new("env");
    command.arg("--ignore-signal=XFSZ").arg(std::env::current_exe().unwrap()); // it would end the process
    let output = command.env(INSIDE, "1").args(["--exact", name, "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn rows_are_written_when_a_full_disk_has_space_again() {
    if std::env::var_os(INSIDE).is_none() {
        return alone("index::tests::full::rows_are_written_when_a_full_disk_has_space_again");
    }
    let folder = tempfile::tempdir().unwrap();
    let index = open(folder.path(), Options { interval: Duration::from_millis(20), ..quiet() });
    let kept = rows(&index, "Share");
    kept.set(&index, 1);
    index.flush().unwrap();
    let size = std::fs::metadata(folder.path().join("index.redb")).unwrap().len();

    limit_files(Some(size));
    let fill = |number: u64| {
        let part = vec![7; 1 << 18];
        index.store().write(|transaction| {
            transaction.open_table(PARTS)?.insert(number, &part[..])?;
            Ok(())
        })
    };
    let written = (0..1_000).take_while(|number| fill(*number).is_ok()).count();
    assert!(written < 1_000, "the limit has no effect");
    assert!(index.trouble().is_some());
    kept.set(&index, 2); // it waits in memory
    assert!(fill(2_000).is_err(), "nothing is acknowledged that is not on the disk");

    limit_files(None);
    until("nothing is written", || fill(2_000).is_ok());
    until("the rows are not written", || index.rows_waiting() == 0);
    assert_eq!(index.trouble(), None);
    drop(kept);
    drop(index);
    let index = open(folder.path(), quiet());
    for row in [1, 2] {
        assert!(is_stored(&index, "Share", row), "row {row} is lost");
    }
}
