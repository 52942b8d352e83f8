use std::sync::mpsc::Receiver;

use conn::observe::Outcome;
use serde_json::Value;
use vfs::noted::{Act, FileNote};

use super::*;

fn note(act: Act, path: &str) -> FileNote {
    FileNote { act, path: path.into(), to: None, inode: Some(5) }
}

fn hear(shared: &AuditRecorder, share: &str, files: Vec<FileNote>, failed: bool) {
    let result = if failed { "ACCESS_DENIED" } else { "SUCCESS" };
    let outcome = Outcome { user: "ada", share, result, failed, bytes_in: 10, bytes_out: 20 };
    let client = "[::ffff:192.0.2.7]:51234".parse().unwrap();
    let operation = EndedOperation { protocol: "smb", client, command: "WRITE", outcome };
    shared.hear(&operation, &OperationTrace { files, ..OperationTrace::default() });
}

/// Shares `a` with changes and `b/c` with everything, and a queue for so many lines.
fn shared(waiting: usize) -> (AuditRecorder, Receiver<Line>) {
    let shared = AuditRecorder::default();
    let (lines, queue) = sync_channel(waiting);
    let (a, c): (Arc<str>, Arc<str>) = ("a".into(), "b/c".into());
    *shared.rules.write() = AuditRules {
        shares: HashMap::from([("a".into(), (a, AuditScope::Changes)), ("b_c".into(), (c, AuditScope::All))]),
        lines: Some(lines),
    };
    (shared, queue)
}

/// Has the queue written, until its sender is gone.
fn written(shared: AuditRecorder, queue: &Receiver<Line>, place: Place) -> Arc<AuditCounters> {
    let counters = shared.counters.clone();
    drop(shared);
    Writer::new(place, counters.clone()).run(queue);
    counters
}

fn read(path: &std::path::Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_share_has_the_operations_that_its_setting_names() {
    let (shared, queue) = shared(100);
    hear(&shared, "a", vec![note(Act::Read, "x")], false);
    hear(&shared, "a", vec![note(Act::Open, "x")], true);
    hear(&shared, "a", vec![note(Act::OpenToChange, "x")], false);
    hear(&shared, "elsewhere", vec![note(Act::Write, "x")], false);
    hear(&shared, "a", vec![], true);
    hear(&shared, "a", vec![note(Act::OpenToChange, "denied")], true);
    let to = Some("new\nname".into());
    hear(&shared, "a", vec![FileNote { to, ..note(Act::Rename, "old") }], false);
    hear(&shared, "b_c", vec![note(Act::Open, "y")], false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let counters = written(shared, &queue, Place { path: path.clone(), size: 1 << 20, older: 2 });
    let lines = read(&path);
    let said: Vec<_> = lines.iter().map(|line| (line["operation"].as_str(), line["path"].as_str())).collect();
    let expected = [("open", "denied"), ("rename", "old"), ("open", "y")];
    assert_eq!(said, expected.map(|(act, path)| (Some(act), Some(path))));
    assert_eq!((&lines[0]["ok"], &lines[0]["result"]), (&false.into(), &"ACCESS_DENIED".into()));
    assert_eq!((&lines[1]["to"], &lines[1]["client"]), (&"new\nname".into(), &"192.0.2.7:51234".into()));
    assert_eq!((&lines[2]["share"], &lines[2]["user"]), (&"b/c".into(), &"ada".into()));
    assert_eq!((&lines[2]["protocol"], &lines[2]["command"]), (&"smb".into(), &"WRITE".into()));
    assert_eq!(counters.written.load(Ordering::Relaxed), 3);
    let mode = std::os::unix::fs::MetadataExt::mode(&path.metadata().unwrap());
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_file_that_is_written_in_many_pieces_has_two_lines() {
    let (shared, queue) = shared(1000);
    (0..500).for_each(|_| hear(&shared, "a", vec![note(Act::Write, "film")], false));
    hear(&shared, "a", vec![note(Act::Remove, "film")], false);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    written(shared, &queue, Place { path: path.clone(), size: 1 << 20, older: 2 });
    let lines = read(&path);
    let said =
        lines.iter().map(|line| (line["operation"].as_str(), line["times"].as_u64(), line["bytes"].as_u64()));
    let expected = [("write", 1, 30), ("write", 499, 499 * 30), ("remove", 1, 30)];
    let expected = expected.map(|(act, times, bytes)| (Some(act), Some(times), Some(bytes)));
    assert_eq!(said.collect::<Vec<_>>(), expected);
}

#[test]
fn lines_that_do_not_fit_are_counted_and_the_loss_is_in_the_file() {
    let (shared, queue) = shared(10);
    (0..25).for_each(|number| hear(&shared, "a", vec![note(Act::Create, &number.to_string())], false));
    let long = "x".repeat(MOST_BYTES);
    let before = shared.counters.waiting.load(Ordering::Relaxed);
    hear(&shared, "a", vec![note(Act::Create, &long)], false);
    assert_eq!(shared.counters.waiting.load(Ordering::Relaxed), before, "it takes no memory");
    assert_eq!(shared.counters.lost.load(Ordering::Relaxed), 16);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let counters = shared.counters.clone();
    let mut writer = Writer::new(Place { path: path.clone(), size: 1 << 20, older: 2 }, counters.clone());
    writer.forget_told();
    drop(shared);
    writer.run(&queue);
    let lines = read(&path);
    assert_eq!(lines.len(), 11);
    assert_eq!(lines.last().unwrap()["lost"], 16);
    assert_eq!(counters.waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn files_are_rotated_by_size_and_the_oldest_is_removed() {
    let (shared, queue) = shared(1000);
    (0..100).for_each(|number| hear(&shared, "a", vec![note(Act::Create, &format!("file {number}"))], false));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("audit.log");
    let counters = written(shared, &queue, Place { path: path.clone(), size: 2000, older: 3 });
    assert_eq!((counters.written.load(Ordering::Relaxed), counters.lost.load(Ordering::Relaxed)), (100, 0));
    let mut names: Vec<_> = folder
        .path()
        .read_dir()
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["audit.log", "audit.log.1", "audit.log.2", "audit.log.3"]);
    for name in &names {
        assert!(folder.path().join(name).metadata().unwrap().len() <= 2000, "{name}");
    }
    assert_eq!(read(&path).last().unwrap()["path"], "file 99");
    let (newer, now) = (read(&folder.path().join("audit.log.1")), read(&path));
    let number = |line: &Value| line["path"].as_str().unwrap()[5..].parse::<u32>().unwrap();
    assert_eq!(number(newer.last().unwrap()) + 1, number(&now[0]), "no line is missing between two files");
}

#[test]
fn a_file_that_cannot_be_written_loses_lines_and_stops_nothing() {
    let (shared, queue) = shared(100);
    (0..5).for_each(|number| hear(&shared, "a", vec![note(Act::Create, &number.to_string())], false));
    let counters = written(shared, &queue, Place { path: "/nowhere/audit.log".into(), size: 2000, older: 3 });
    assert_eq!((counters.written.load(Ordering::Relaxed), counters.lost.load(Ordering::Relaxed)), (0, 5));
}
