//! `fourfold stream`: what is reserved, refused, recognized over each protocol, and released.

use std::process::Output;

use admin::control::{ReservationStatus, StreamsStatus};

use super::server::{Server, text};

impl Server {
    fn stream(&self, words: &[&str]) -> Output {
        let mut command = std::process::Command::new(super::server::PROGRAM);
        command.arg("stream").args(words).args(["--state", "state"]);
        command.current_dir(self.folder.path()).stdin(std::process::Stdio::null()).output().unwrap()
    }

    /// Runs a command that must succeed; returns what it says.
    fn done(&self, words: &[&str]) -> String {
        let output = self.stream(words);
        assert_eq!(output.status.code(), Some(0), "{words:?}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs a command that must be refused; returns the reason.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.stream(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    fn reserved(&self) -> Vec<ReservationStatus> {
        let status: StreamsStatus = serde_json::from_str(&self.done(&["list", "--json"])).unwrap();
        status.reservations
    }

    fn reads(&self) -> u64 {
        self.reserved().iter().map(|one| one.reads).sum()
    }
}

#[test]
fn a_reserved_stream_is_recognized_over_every_protocol() {
    let server = Server::start();
    let [_, smb, afp, nfs, disk] = server.urls();
    let here = ["--speed", "100MB", "--client", "127.0.0.1"]; // no link limits a client of this machine
    let share = ["reserve", "--share", "One", "--streams", "2", "--capacity", "2GB"];
    let said = server.done(&[&share[..], &here].concat());
    assert!(said.contains("2 streams of 100.0 MB/s of One at 127.0.0.1 reserved as number 1"), "{said}");
    server.done(&[&["reserve", "--lun", "One/disk", "--idle", "off"][..], &here].concat());
    let small = ["--workload", "seq-read", "--scale", "0.01", "--clients", "1", "--repeats", "1"];
    let newest = format!("{nfs}&vers=4.2");
    for url in [&smb, &afp, &nfs, &newest, &disk] {
        let before = server.reads();
        let output = match url == &disk {
            true => server.bench(&[&[url.as_str()], &small[..]].concat()),
            false => server.measure(&[url], &small),
        };
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        assert!(server.reads() > before, "{url}: {}", server.done(&["list"]));
    }
    let all = server.reserved();
    assert!(all.iter().all(|one| one.problem.is_none() && one.bytes > 0), "{all:?}");
}

#[test]
fn streams_that_do_not_fit_are_refused_with_what_is_missing() {
    let server = Server::start();
    let four = ["reserve", "--share", "One", "--format", "prores422hq-2160p25", "--streams", "4"];
    let one = ["reserve", "--share", "One", "--format", "prores422hq-2160p25", "--client", "127.0.0.1"];
    server.done(&[&four[..], &["--capacity", "520MB", "--client", "127.0.0.1"][..]].concat());
    let why = server.refused(&one);
    assert!(why.contains("107.8 MB/s are missing"), "{why}");
    assert!(server.refused(&["reserve", "--share", "Two", "--speed", "1MB"]).contains("no share \"Two\""));
    assert!(server.refused(&["reserve", "--share", "One", "--format", "vhs"]).contains("no format \"vhs\""));
    assert!(server.refused(&["reserve", "--share", "One", "--speed", "0"]).contains("is no speed"));
    let user = ["reserve", "--share", "One", "--speed", "1KB", "--user", "eve"];
    assert!(server.refused(&user).contains("no account \"eve\""));
    assert!(server.refused(&["release", "7"]).contains("no reservation has the number 7"));
    let listed = server.done(&["list"]);
    assert!(listed.contains("4 streams of prores422hq-2160p25 of One at 127.0.0.1"), "{listed}");
    assert!(listed.contains("released after 4 h without a read"), "{listed}");
    assert!(server.done(&["release", "--all"]).contains("1 reservation released"));
    assert!(server.reserved().is_empty());
    server.done(&one);
}
