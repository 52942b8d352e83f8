//! `fourfold bench` against a server with all four protocols, and against servers that fail.

pub(crate) mod links;
pub(crate) mod server;
mod streams;
mod troubles;

use std::net::TcpListener;
use std::process::Command;
use std::time::{Duration, Instant};

use bench::record::Record;

use server::{PASSWORD, PROGRAM, Server, records, repeat, started, text};

#[test]
fn all_protocols_are_measured_side_by_side_and_nothing_is_left() {
    let server = Server::start();
    let urls = server.urls();
    let mut words: Vec<&str> = urls[..4].iter().map(String::as_str).collect();
    let newest = format!("{}&vers=4.2", urls[3]);
    words.push(&newest);
    let account = ["--user", "tester", "--password-file", "password"];
    words.extend(account);
    words.extend(["--scale", "0.0005", "--repeats", "1", "--clients", "2", "--output", "raw"]);
    // The suites run the others: they take long, at any scale that is of use for the rest.
    let others = ["video", "lmdd-write-512B", "lmdd-read-512B"];
    let all = bench::WORKLOADS.iter().map(|workload| workload.name).filter(|name| !others.contains(name));
    let all = all.collect::<Vec<_>>().join(",");
    words.extend(["--workload", &all, "--durability", "end"]);
    let output = server.bench(&words);
    let (said, complained) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}\n{complained}");
    assert_eq!(server.names(), ["somebody's"]);
    let records = records(&server.folder.path().join("raw.jsonl"));
    let runs: Vec<&bench::record::MeasuredRun> = records.iter().filter_map(repeat).collect();
    for scheme in ["file:", "smb:", "afp:", "nfs:"] {
        for workload in all.split(',') {
            let is_it = |run: &&&bench::record::MeasuredRun| {
                run.target.starts_with(scheme) && run.workload == workload
            };
            // Version 4.2 has extended attributes, and version 3 does not.
            let expected = match (scheme, workload) {
                ("nfs:", "xattr-and-fork") => 1,
                ("nfs:", _) => 2,
                ("file:", "small-read-100-at-once") => 0,
                _ => 1,
            };
            assert_eq!(runs.iter().filter(is_it).count(), expected, "{scheme} {workload}\n{said}");
        }
    }
    assert!(runs.iter().all(|run| run.operations > 0 && run.seconds > 0.0 && run.latency.max > 0));
    assert!(runs.iter().filter(|run| run.protocol != bench::Protocol::File).all(|run| run.wire_bytes > 0));
    assert!(
        said.contains("seq-read, 2 clients") && said.contains("setting extended attributes is not"),
        "{said}"
    );
    let html = std::fs::read_to_string(server.folder.path().join("raw.html")).unwrap();
    assert!(html.contains("<svg") && !html.contains("http://127") && !html.contains(PASSWORD));

    let compared = server.bench_plain(&["compare", "raw.jsonl", "raw.jsonl"]);
    assert!(compared.status.success() && text(&compared.stdout).contains("1.00 x  too few repeats"));
}

#[test]
fn the_suites_run_at_a_small_scale_with_the_published_figures_beside() {
    let server = Server::start();
    let [folder, smb, ..] = server.urls();
    for suite in bench::SUITES {
        let repeats = suite.least_repeats.to_string();
        let small = ["--scale", "0.0002", "--repeats", &repeats, "--clients", "1", "--suite", suite.name];
        let output = server.measure(&[&folder, &smb], &small);
        let said = text(&output.stdout);
        assert!(output.status.success(), "{said}{}", text(&output.stderr));
        let figures = suite.published.iter().filter(|figure| figure.clients == 1).count();
        assert_eq!(said.matches("  published: ").count(), figures + suite.timed.len(), "{said}");
        assert_eq!(said.matches(", published ").count(), suite.sized.len(), "{said}");
    }
    assert_eq!(server.names(), ["somebody's"]);
}

#[test]
fn an_empty_disk_is_measured_and_empty_again_and_a_used_disk_is_refused() {
    let server = Server::start();
    let [_, _, _, _, disk] = server.urls();
    let words = ["--scale", "0.001", "--clients", "1,2", "--repeats", "2", "--output", "disk"];
    let workloads = ["--workload", "seq-read,seq-write,block-mix,disk-image,enumerate"];
    let output = server.bench(&[&[disk.as_str()], &words[..], &workloads].concat());
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    let runs = records(&server.folder.path().join("disk.jsonl"));
    let runs = runs.iter().filter(|record| matches!(record, Record::Run(_))).count();
    assert_eq!(runs, 4 * 2 * 2);
    assert!(text(&output.stdout).contains("a workload with files on a disk is not supported"));

    // A partition table lies in the first block.
    let (_, address) = disk.split_once("iscsi://").unwrap();
    let (host, target) = address.split_once('/').unwrap();
    let target = target.strip_suffix("/0").unwrap();
    let mut client = iscsi::client::Client::new(std::net::TcpStream::connect(host).unwrap());
    client.log_in(&iscsi::client::Login::to(target)).unwrap();
    client.until_ready(0).unwrap();
    let (blocks, _) = client.capacity(0).unwrap();
    for lba in (0..blocks).step_by(2048) {
        let data = client.read(0, lba, 2048.min(blocks - lba) as u32).unwrap();
        assert!(data.iter().all(|byte| *byte == 0), "data are left behind block {lba}");
    }
    client.write(0, 0, &[0x55; 512], true).unwrap();
    let output = server.bench(&[&[disk.as_str()], &words[..6], &workloads[..]].concat());
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("the disk is not empty"), "{}", text(&output.stdout));
    assert_eq!(client.read(0, 0, 1).unwrap(), [0x55; 512]);
}

#[test]
fn a_wrong_password_and_a_port_without_a_server_are_named() {
    let server = Server::start();
    let [_, smb, afp, ..] = server.urls();
    std::fs::write(server.folder.path().join("password"), "wrong").unwrap();
    for url in [&smb, &afp] {
        let output = server.measure(&[url], &["--workload", "seq-read", "--scale", "0.001"]);
        assert_eq!(output.status.code(), Some(1));
        assert!(text(&output.stdout).contains("the login is refused"), "{}", text(&output.stdout));
    }
    let free = crate::ports::free_port().unwrap();
    let output = server.bench(&[&format!("nfs://127.0.0.1:{free}/One")]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("cannot be reached"), "{}", text(&output.stdout));
    let output = server.bench_plain(&["http://host/share"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn a_server_that_does_not_answer_is_given_up_after_the_timeout() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("smb://tester:x@{}/One", silent.local_addr().unwrap());
    let begun = Instant::now();
    let output = Command::new(PROGRAM).args(["bench", &url, "--timeout", "1"]).output().unwrap();
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("did not answer for 1 s"), "{}", text(&output.stdout));
}

#[test]
fn a_server_that_is_killed_leaves_a_partial_report_and_the_name_of_the_folder() {
    let mut server = Server::start();
    let [_, smb, ..] = server.urls();
    let bench = started(&server, &smb, &["--workload", "small-read-1K,enumerate", "--scale", "0.02"]);
    let raw = server.folder.path().join("partial.jsonl");
    server.child.kill().unwrap();
    let output = bench.wait_with_output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("left on the server: fourfold-bench-"), "{said}");
    assert!(said.contains("small-read-1K, 1 client") && said.contains("was not completed"), "{said}");
    assert!(records(&raw).iter().any(|record| matches!(record, Record::Run(_))));
}

#[test]
fn ctrl_c_gives_what_there_is_and_removes_the_files() {
    let server = Server::start();
    let [_, smb, ..] = server.urls();
    let bench = started(&server, &smb, &["--workload", "small-read-1K", "--scale", "0.02"]);
    let pid = rustix::process::Pid::from_child(&bench);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = bench.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stdout).contains("small-read-1K, 1 client"), "{}", text(&output.stdout));
    assert_eq!(server.names(), ["somebody's"]);
}
