//! Clients of two servers change the metadata, the streams and the names of the same files at the same time: nothing is
//! lost, and no file gets the sidecar of another one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::time::{sleep, timeout};

use vfs::backend::{NewKind, RenameMode};
use vfs::mac::Metadata;
use vfs::state::Stream;
use vfs::{Beside, Error, Kind, OpenOptions, Time};

use crate::scene::servers::{TRAVEL, servers, settled, slow_servers};
use crate::scene::{RWD, Scene, at, client, read, write};

/// How long a change lasts in which something could be lost.
const LONG: Duration = Duration::from_millis(12);
/// How much longer some calls of the host take.
const PAUSE: Duration = Duration::from_micros(500);
/// A test that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(120);

/// Numbers that look random, from a seed (SplitMix64).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % bound
    }
}

async fn make(scene: &Scene, name: &str) -> vfs::Result<()> {
    let create = || scene.volume.create(&client(1), &scene.root, name.as_bytes(), NewKind::File, 0o644);
    settled(scene, create).await.map(drop)
}

async fn moves(scene: &Scene, from: &str, to: &str, mode: RenameMode) -> vfs::Result<()> {
    let (from, to) = ((&scene.root, from.as_bytes()), (&scene.root, to.as_bytes()));
    settled(scene, || scene.volume.rename(&client(1), from, to, mode)).await.map(drop)
}

async fn remove(scene: &Scene, name: &str) -> vfs::Result<()> {
    settled(scene, || scene.volume.remove(&client(1), &scene.root, name.as_bytes(), Kind::File))
        .await
        .map(drop)
}

async fn stream(scene: &Scene, name: &str, stream: Stream) -> vfs::Result<vfs::Open> {
    let options = OpenOptions { stream, create: true, access: RWD, ..at(&scene.root, name) };
    scene.volume.open(&client(1), &scene.find(name)?, options).await
}

/// Clients of a server that open and close a file all the time: so its state comes again while a change is made.
fn opening(scene: &Arc<Scene>) -> tokio::task::JoinHandle<()> {
    let scene = scene.clone();
    tokio::spawn(async move {
        loop {
            if let Ok(open) = scene.open(9, "file").await {
                open.close().await.unwrap();
            }
            sleep(TRAVEL).await;
        }
    })
}

/// One server counts in the comment, the other one in the time of the backup. Both are in one extended attribute.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_server_loses_what_the_other_one_has_written_into_the_metadata_of_a_file() {
    let servers = servers().map(Arc::new);
    make(&servers[0], "file").await.unwrap();
    let count = |scene: Arc<Scene>, is_first: bool| async move {
        for turn in 1..=10_i64 {
            let file = scene.find("file").unwrap();
            let beside = Some(Beside { folder: &scene.root.object, name: b"file" });
            let change = |metadata: &mut Metadata| {
                let comment = |turn: i64| if turn == 0 { Vec::new() } else { turn.to_string().into_bytes() };
                let backup = |turn| (turn > 0).then_some(Time { secs: 1_000_000_000 + turn, nanos: 0 });
                match is_first {
                    true => assert_eq!(metadata.comment, comment(turn - 1)),
                    false => assert_eq!(metadata.times.backup, backup(turn - 1)),
                }
                thread::sleep(LONG); // the other server has this time to come between
                match is_first {
                    true => metadata.comment = comment(turn),
                    false => metadata.times.backup = backup(turn),
                }
            };
            settled(&scene, || scene.volume.change_metadata(&client(1), &file, beside, change))
                .await
                .unwrap();
        }
    };
    let [first, second] = &servers;
    let both = [tokio::spawn(count(first.clone(), true)), tokio::spawn(count(second.clone(), false))];
    let others = [opening(first), opening(second)];
    for one in both {
        timeout(LIMIT, one).await.unwrap().unwrap();
    }
    others.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A client without Mac metadata saves by moving the old file away and making a new one. This server knows nothing of the
/// states of the two files.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_saved_at_one_server_keeps_what_a_mac_has_written_at_the_other() {
    let servers = servers();
    let [of_mac, other] = &servers;
    make(of_mac, "text").await.unwrap();
    let fork = stream(of_mac, "text", Stream::Resource).await.unwrap();
    write(&fork, 0, b"a fork").await.unwrap();
    let profile = vfs::ClientProfile { is_blind_to_forks: true, ..Default::default() };
    let blind = client(2).with_profile(profile);
    let names = ((&other.root, &b"text"[..]), (&other.root, &b"text~"[..]));
    settled(other, || other.volume.rename(&blind, names.0, names.1, RenameMode::Keep)).await.unwrap();
    let create = || other.volume.create(&blind, &other.root, b"text", NewKind::File, 0o644);
    settled(other, create).await.unwrap();
    let fork = stream(of_mac, "text", Stream::Resource).await.unwrap();
    assert_eq!(read(&fork, 0, 100).await, b"a fork");
}

/// A file is moved to and fro at one server, while the other one changes its fork.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_fork_goes_along_with_its_file_while_the_other_server_writes_it() {
    let servers = slow_servers(PAUSE).map(Arc::new);
    make(&servers[0], "one").await.unwrap();
    let fork = stream(&servers[0], "one", Stream::Resource).await.unwrap();
    let mover = servers[1].clone();
    let moving = tokio::spawn(async move {
        for turn in 0..30 {
            let (from, to) = if turn % 2 == 0 { ("one", "two") } else { ("two", "one") };
            moves(&mover, from, to, RenameMode::Keep).await.unwrap();
        }
    });
    for turn in 0..30_u64 {
        timeout(LIMIT, write(&fork, turn, b"x")).await.unwrap().unwrap();
        assert_eq!(fork.size().await, Ok(turn + 1));
    }
    timeout(LIMIT, moving).await.unwrap().unwrap();
    assert_eq!(read(&fork, 0, 100).await, [b'x'; 30]);
    assert_eq!(on_disk(&servers[0]), ["._one", "one"]);
}

/// The names in the folder, those of sidecars too.
fn on_disk(first: &Scene) -> Vec<String> {
    let entries = std::fs::read_dir(first.dir.as_ref().unwrap().path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with(".fourfold"));
    names.sort();
    names
}

/// Puts what a file is into all its parts: the text of its data. Fails if it is not at the name any more.
async fn sign(scene: &Scene, name: &str) -> vfs::Result<()> {
    let found = scene.find(name)?;
    let data = scene.volume.open(&client(1), &found, at(&scene.root, name)).await?;
    let text = read(&data, 0, 100).await;
    let options = OpenOptions { stream: Stream::Resource, ..at(&scene.root, name) };
    let fork = scene.volume.open(&client(1), &found, options).await?;
    write(&fork, 0, &text).await?;
    data.change_metadata(|metadata| metadata.comment.clone_from(&text)).await
}

/// What a client does at a server.
async fn act(scene: &Scene, random: &mut Random, made: &mut u64) -> vfs::Result<()> {
    let names = ["a", "b"];
    let (one, other) = (names[random.below(2) as usize], names[random.below(2) as usize]);
    let what = random.below(8);
    match what {
        0 | 1 => {
            let new = format!("new{made}");
            *made += 4;
            make(scene, &new).await?;
            write(&stream(scene, &new, Stream::Data).await?, 0, format!("text of {new}").as_bytes()).await?;
            sign(scene, &new).await?;
            moves(scene, &new, one, RenameMode::Replace).await
        }
        2 | 3 => moves(scene, one, other, RenameMode::Replace).await,
        4 => moves(scene, one, other, RenameMode::Keep).await,
        5 => remove(scene, one).await,
        _ => sign(scene, one).await,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn every_file_keeps_its_own_parts_whatever_clients_of_two_servers_do() {
    let given = std::env::var("FOURFOLD_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in given.map_or(0..2, |seed: u64| seed..seed + 1) {
        let servers = slow_servers(PAUSE).map(Arc::new);
        let client = |number: usize| {
            let at = number % 2;
            let (scene, mut random) = (servers[at].clone(), Random(seed * 4 + number as u64));
            tokio::spawn(async move {
                let (mut made, mut done) = (number as u64, 0);
                for _ in 0..40 {
                    match act(&scene, &mut random, &mut made).await {
                        Ok(()) => done += 1,
                        Err(Error::NotFound | Error::Exists | Error::Stale | Error::BeingRemoved) => {}
                        Err(Error::LeaseRecall(_)) => {} // as from a machine with much to do
                        Err(other) => panic!("seed {seed}: {other:?}"),
                    }
                }
                done
            })
        };
        let clients = [0, 1, 2, 3].map(client);
        for client in clients {
            let done = timeout(LIMIT, client).await.unwrap().unwrap();
            assert!(done > 5, "seed {seed}: {done} were done");
        }
        assert_whole(&servers[0], seed).await;
    }
}

/// All parts of each file are its own, and no sidecar is without its file.
async fn assert_whole(first: &Scene, seed: u64) {
    let names = on_disk(first);
    let files: BTreeMap<&str, bool> = names
        .iter()
        .filter(|name| !name.starts_with("._"))
        .map(|name| (name.as_str(), names.contains(&format!("._{name}"))))
        .collect();
    let sidecars = names.iter().filter_map(|name| name.strip_prefix("._"));
    let alone: Vec<&str> = sidecars.filter(|name| !files.contains_key(name)).collect();
    assert!(alone.is_empty(), "seed {seed}: sidecars without a file: {alone:?} of {names:?}");
    for name in files.keys() {
        let found = first.find(name).unwrap();
        let data = read(&stream(first, name, Stream::Data).await.unwrap(), 0, 100).await;
        let fork = read(&stream(first, name, Stream::Resource).await.unwrap(), 0, 100).await;
        let place = Beside { folder: &first.root.object, name: name.as_bytes() };
        let comment =
            first.volume.mac_tree().stored_metadata(&found, Some(place)).unwrap().unwrap_or_default().comment;
        for part in [fork, comment] {
            assert!(
                part.is_empty() || part == data,
                "seed {seed}: {name}, {:?}, has {:?}",
                String::from_utf8_lossy(&data),
                String::from_utf8_lossy(&part)
            );
        }
    }
}
