//! Backups of Macs, replayed over SMB and AFP: whole sessions, a Mac that sleeps in the middle, two Macs at one bundle, and the
//! server killed at many moments. After each the bundle verifies.

mod mac;
mod replay;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use self::mac::{Done, How, Mac, OverAfp, OverSmb, Stopped};
use self::replay::Replay;
use crate::robustness::random::Random;
use crate::robustness::server::{Server, USER, folder};
use crate::waiting::until;

const MIB: u64 = 1 << 20;
/// Pieces of a first backup, and of an increment.
const FIRST: usize = 120;
const INCREMENT: usize = 24;
/// Bands of the image of a first backup, as a third of them.
const SPREAD: usize = 6;
/// Kills of the server over each protocol. `FOURFOLD_KILLS` sets another number.
const KILLS: usize = 4;

/// A server with a share for Time Machine.
struct Place {
    top: tempfile::TempDir,
    share: PathBuf,
}

impl Place {
    fn new(more: &str) -> Self {
        let (top, share) = folder();
        let settings = format!(
            "[server]\nafp-logins = [\"cleartext\"]\n\n[[user]]\nname = \"{}\"\nuid = 1000\n\n\
             [[share]]\nname = \"share\"\npath = \"{}\"\ntime-machine = true\n{more}",
            USER.0,
            share.display()
        );
        std::fs::write(top.path().join("fourfold.toml"), settings).unwrap();
        Self { top, share }
    }

    fn serve(&self) -> Server {
        let user = format!("{}:{}", USER.0, USER.1);
        let words = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
        Server::run(self.top.path(), &words)
    }

    /// Runs a command beside the server: whether it was done, and its output.
    fn run(&self, words: &[&str]) -> (Option<i32>, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        let done =
            command.args(words).args(["--state", "state"]).current_dir(self.top.path()).output().unwrap();
        let text = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8_lossy(&text).into_owned())
    }

    /// The backups of a Mac, as the server tells them.
    fn show(&self, mac: &str) -> Value {
        let (_, text) = self.run(&["backups", "show", mac, "--json"]);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    fn verify(&self, mac: &str) {
        let (code, text) = self.run(&["backups", "verify", mac]);
        assert_eq!(code, Some(0), "{text}");
    }

    fn bundle(&self, mac: &str) -> PathBuf {
        self.share.join(format!("{mac}.sparsebundle"))
    }
}

/// A number that a run by hand sets.
fn number(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// A first backup, increments, and a compaction.
fn whole_life<M: Mac>(place: &Place, mut mac: M, name: &str, (band_size, increments): (u64, u32)) {
    // For a first backup of 2 GB: `FOURFOLD_REPLAY_PIECES=62500 FOURFOLD_REPLAY_SPREAD=128`.
    let mut replay =
        Replay::new(name, band_size, 0x5eed).spread_over(number("FOURFOLD_REPLAY_SPREAD", SPREAD));
    replay.create(&mut mac).unwrap();
    let first = number("FOURFOLD_REPLAY_PIECES", FIRST);
    replay.back_up(&mut mac, first, "2026-11-22T08:00:00Z").unwrap();
    for hour in 9..9 + increments {
        replay.back_up(&mut mac, INCREMENT, &format!("2026-11-22T{hour:02}:00:00Z")).unwrap();
    }
    replay.compact(&mut mac).unwrap();
    replay.check(&place.share);
    place.verify(name);
    let told = place.show(name);
    assert_eq!(told["backups"], 1 + increments, "{told}");
    let newest = 1_795_334_400 + u64::from(increments) * 3600; // after 2026-11-22T08:00:00Z
    assert_eq!(told["completed"], newest, "{told}");
    assert_eq!(told["mac_check"], "whole");
}

#[test]
fn the_life_of_a_bundle_over_smb_verifies() {
    let place = Place::new("");
    let server = place.serve();
    whole_life(&place, OverSmb::enter(server.smb_port, 1), "small bands", (8 * MIB, 10));
    whole_life(&place, OverSmb::enter(server.smb_port, 2), "large bands", (64 * MIB, 2));
}

#[test]
fn the_life_of_a_bundle_over_afp_verifies() {
    let place = Place::new("");
    let server = place.serve();
    whole_life(&place, OverAfp::enter(server.afp_port), "small bands", (8 * MIB, 10));
    whole_life(&place, OverAfp::enter(server.afp_port), "large bands", (64 * MIB, 2));
}

#[test]
fn a_mac_that_sleeps_goes_on_with_the_files_that_it_had_open() {
    let place = Place::new("");
    let server = place.serve();
    let mut mac = OverSmb::enter(server.smb_port, 1);
    let mut replay = Replay::new("sleeper", 8 * MIB, 7);
    replay.create(&mut mac).unwrap();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T08:00:00Z").unwrap();
    let path = "sleeper.sparsebundle/bands/0";
    let band = mac.open(path, How::Old).unwrap();
    let (mut mac, band) = mac.sleep_and_wake(1, band, path).unwrap();
    mac.write(band, 0, &[0; 4096]).unwrap();
    mac.full_sync(band).unwrap();
    mac.close(band).unwrap();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T09:00:00Z").unwrap();
    place.verify("sleeper");
}

/// Info.plist is open with O_EXLOCK while a Mac has the image attached.
#[test]
fn two_macs_never_share_a_bundle_over_either_protocol() {
    let place = Place::new("");
    let server = place.serve();
    let mut one = OverSmb::enter(server.smb_port, 1);
    Replay::new("shared", 8 * MIB, 7).create(&mut one).unwrap();
    let info = "shared.sparsebundle/Info.plist";
    let held = one.open(info, How::Exclusive).unwrap();
    let mut other = OverSmb::enter(server.smb_port, 2);
    assert_eq!(other.open(info, How::Exclusive).err(), Some(Stopped::InUse));
    let mut over_afp = OverAfp::enter(server.afp_port);
    assert_eq!(over_afp.open(info, How::Exclusive).err(), Some(Stopped::InUse));
    one.close(held).unwrap();
    let held = over_afp.open(info, How::Exclusive).unwrap();
    assert_eq!(other.open(info, How::Exclusive).err(), Some(Stopped::InUse));
    over_afp.close(held).unwrap();
    other.open(info, How::Exclusive).unwrap();
}

/// Backs up until the server is gone.
fn until_killed<M: Mac>(mac: &mut M, replay: &mut Replay, has_begun: &AtomicBool) -> Stopped {
    let mut one = || -> Done<()> {
        if replay.is_new() {
            replay.create(mac)?;
        }
        has_begun.store(true, Ordering::Release);
        for hour in 0.. {
            replay.back_up(mac, INCREMENT, &format!("2026-11-22T{:02}:00:00Z", hour % 24))?;
        }
        Ok(())
    };
    one().expect_err("it backs up until the server is killed")
}

fn killed_often<M: Mac + 'static>(name: &str, enter: fn(&Server) -> M) {
    let place = Place::new("");
    let (mut replay, mut random) = (Replay::new(name, 8 * MIB, 11), Random::new(0x0bad_5eed));
    for _ in 0..number("FOURFOLD_KILLS", KILLS) {
        let server = place.serve();
        let (mut mac, has_begun) = (enter(&server), Arc::new(AtomicBool::new(false)));
        let begun = has_begun.clone();
        let session = std::thread::spawn(move || {
            let why = until_killed(&mut mac, &mut replay, &begun);
            (why, replay)
        });
        until("no backup begins", || has_begun.load(Ordering::Acquire));
        // The moment is the subject: each kill comes at another one.
        std::thread::sleep(std::time::Duration::from_millis(random.below(120) as u64));
        server.kill();
        let (why, after) = session.join().unwrap();
        assert_eq!(why, Stopped::Lost);
        replay = after;
        replay.check(&place.share);
        let server = place.serve();
        place.verify(name);
        drop(server);
    }
}

#[test]
fn a_bundle_verifies_after_kills_in_sessions_over_smb() {
    killed_often("killed", |server| OverSmb::enter(server.smb_port, 1));
}

#[test]
fn a_bundle_verifies_after_kills_in_sessions_over_afp() {
    killed_often("killed", |server| OverAfp::enter(server.afp_port));
}

#[test]
fn a_session_is_told_with_its_end_and_a_limit_is_seen_by_the_mac_that_has_it() {
    let place = Place::new("");
    let server = place.serve();
    let mut mac = OverSmb::enter(server.smb_port, 1);
    let mut replay = Replay::new("ada", 8 * MIB, 7);
    replay.create(&mut mac).unwrap();
    assert_eq!(place.show("ada")["state"], "incomplete");
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T08:00:00Z").unwrap();
    let (code, text) = place.run(&["backups", "limit", "ada", "3G"]);
    assert_eq!(code, Some(0), "{text}");
    assert_eq!(place.show("ada")["own_limit"], 3_u64 << 30);
    assert!(place.run(&["backups", "list"]).1.contains("ada"));
    place.run(&["backups", "retire", "ada"]);
    assert_eq!(place.show("ada")["state"], "retired");
    place.run(&["backups", "keep", "ada"]);
    assert_eq!(place.show("ada")["state"], "overdue", "the backup is from 2026-11-22");
    drop((mac, server));
}

/// A disk that changes bytes, and a snapshot from before.
#[test]
fn rot_is_found_and_rolled_back() {
    let place = Place::new("");
    let server = place.serve();
    let mut mac = OverSmb::enter(server.smb_port, 1);
    let mut replay = Replay::new("ada", 8 * MIB, 7);
    replay.create(&mut mac).unwrap();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T08:00:00Z").unwrap();
    drop(mac);
    let band = place.bundle("ada").join("bands/0");
    let bands = std::fs::read_dir(place.bundle("ada").join("bands")).unwrap().count();
    until("a band has no checksum", || {
        place.verify("ada");
        place.show("ada")["verification"]["whole"] == bands
    });
    rot(&band);
    let (code, text) = place.run(&["backups", "verify", "ada"]);
    assert!(code == Some(1) && text.contains("bands/0 has other bytes"), "{text}");
    assert_eq!(place.show("ada")["state"], "damaged");
    let (code, text) = place.run(&["backups", "rollback", "ada", "--yes"]);
    assert!(code == Some(1) && text.contains("no snapshot"), "{text}");
    drop(server);
}

/// The server is killed in a session that changes the bundle. The journal of replaced bands takes it back to the session before.
fn killed_and_undone<M: Mac + 'static>(name: &str, enter: fn(&Server) -> M) {
    let place = Place::new("time-machine-journal = 2\n");
    let server = place.serve();
    let (mut mac, mut replay) = (enter(&server), Replay::new(name, 8 * MIB, 23));
    replay.create(&mut mac).unwrap();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T08:00:00Z").unwrap();
    let points = || place.show(name)["points"].as_array().map_or(0, Vec::len);
    until("no point begins", || {
        place.verify(name);
        points() > 0
    });
    let point = place.show(name)["points"][0]["snapshot"].as_str().unwrap().to_owned();
    let mut as_of_point = replay.clone();
    let has_begun = Arc::new(AtomicBool::new(false));
    let begun = has_begun.clone();
    let session = std::thread::spawn(move || {
        replay.back_up(&mut mac, INCREMENT, "2026-11-22T09:00:00Z").unwrap();
        until_killed(&mut mac, &mut replay, &begun)
    });
    until("no backup begins", || has_begun.load(Ordering::Acquire));
    server.kill();
    assert_eq!(session.join().unwrap(), Stopped::Lost);
    let server = place.serve();
    let (code, text) = place.run(&["backups", "rollback", name, "--to", &point, "--yes"]);
    assert_eq!(code, Some(0), "{text}");
    as_of_point.check(&place.share);
    place.verify(name);
    let mut mac = enter(&server);
    as_of_point.back_up(&mut mac, INCREMENT, "2026-11-22T10:00:00Z").unwrap();
    as_of_point.check(&place.share);
    drop((mac, server));
}

#[test]
fn the_journal_undoes_a_session_over_smb_that_was_killed() {
    killed_and_undone("undone", |server| OverSmb::enter(server.smb_port, 1));
}

#[test]
fn the_journal_undoes_a_session_over_afp_that_was_killed() {
    killed_and_undone("undone", |server| OverAfp::enter(server.afp_port));
}

#[test]
fn a_new_mac_inherits_the_backups_of_an_old_one() {
    let place = Place::new("time-machine-macs = [\"old: limit=3GiB\"]\n");
    let server = place.serve();
    let mut mac = OverSmb::enter(server.smb_port, 1);
    let mut replay = Replay::new("old", 8 * MIB, 7);
    replay.create(&mut mac).unwrap();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T08:00:00Z").unwrap();
    let (code, text) = place.run(&["backups", "rename", "old", "new"]);
    assert_eq!(code, Some(0), "{text}");
    let told = place.show("new");
    assert_eq!(told["bundle"], "new.sparsebundle");
    assert_eq!(told["own_limit"], 3_u64 << 30, "{told}");
    assert_eq!(place.run(&["backups", "show", "old"]).0, Some(1), "the old name is gone");
    replay.name = "new".into();
    replay.back_up(&mut mac, INCREMENT, "2026-11-22T09:00:00Z").unwrap();
    replay.check(&place.share);
    drop((mac, server));
}

/// Changes a byte, and leaves the time of change as it was.
fn rot(file: &Path) {
    use std::io::{Seek, SeekFrom, Write};
    let modified = file.metadata().unwrap().modified().unwrap();
    let mut open = std::fs::File::options().write(true).open(file).unwrap();
    open.seek(SeekFrom::Start(1)).unwrap();
    open.write_all(&[0xA5]).unwrap();
    open.set_modified(modified).unwrap();
}
