//! Large resource forks of files that programs of this machine rename: kept apart from their file, they follow it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::scene::{Scene, client, read};
use crate::waiting::until_async;
use bytes::Bytes;
use vfs::backend::Stability;
use vfs::backend::host::{Host, HostOptions};
use vfs::events::{Depth, Filter};
use vfs::state::{Modes, Stream};
use vfs::streams::Style;
use vfs::{Beside, Open, OpenOptions, Volume, VolumeOptions};

/// Too large for an attribute of any host.
const LARGE: usize = 300 << 10;

fn serve(folder: &Path, style: Style) -> Scene {
    let host = Host::open(folder, &HostOptions::default()).unwrap();
    let options = VolumeOptions { style, ..VolumeOptions::default() };
    let volume = Arc::new(Volume::new(Arc::new(host), options));
    Scene { root: volume.root().unwrap(), volume, dir: None }
}

async fn open(scene: &Scene, path: &str, stream: Stream) -> Open {
    let (mut folder, mut rest) = (scene.root.clone(), path);
    while let Some((name, below)) = rest.split_once('/') {
        folder = scene.volume.lookup(&client(1).caller, &folder.object, name.as_bytes()).unwrap();
        rest = below;
    }
    let file = scene.volume.lookup(&client(1).caller, &folder.object, rest.as_bytes()).unwrap();
    let place = Some(Beside { folder: &folder.object, name: rest.as_bytes() });
    let both = Modes::READ.union(Modes::WRITE);
    let options = OpenOptions { stream, place, create: true, ..OpenOptions::data(both) };
    scene.volume.open(&client(1), &file, options).await.unwrap()
}

fn content() -> Vec<u8> {
    (0..LARGE).map(|at| (at ^ (at >> 8) ^ (at >> 16)) as u8).collect()
}

async fn make(scene: &Scene, name: &str, stream: &Stream) {
    scene.file(name);
    let fork = open(scene, name, stream.clone()).await;
    for (number, part) in content().chunks(1 << 16).enumerate() {
        let at = (number as u64) << 16;
        fork.write_at(at, Bytes::copy_from_slice(part), Stability::Unstable).await.unwrap();
    }
    fork.close().await.unwrap();
}

async fn is_whole(scene: &Scene, path: &str, stream: &Stream) -> bool {
    let fork = open(scene, path, stream.clone()).await;
    if fork.size().await != Ok(LARGE as u64) {
        return false;
    }
    let mut all = Vec::new();
    for number in 0..LARGE.div_ceil(1 << 16) {
        all.extend(read(&fork, (number as u64) << 16, 1 << 16).await);
    }
    all == content()
}

#[tokio::test]
async fn a_fork_follows_its_file_at_the_next_look_and_after_a_restart() {
    let streams = [Stream::Resource, Stream::Named("large".into())];
    for (stream, style) in streams
        .iter()
        .flat_map(|stream| [Style::NETATALK, Style::SAMBA, Style::SAMBA_STREAMS].map(|style| (stream, style)))
    {
        for to in ["renamed", "below/file", "below/renamed"] {
            for restarts in [false, true] {
                let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
                let at = |name: &str| -> PathBuf { dir.path().join(name) };
                let mut scene = serve(dir.path(), style);
                std::fs::create_dir(at("below")).unwrap();
                make(&scene, "file", stream).await;
                if restarts {
                    scene = serve(dir.path(), style);
                }
                assert!(
                    std::process::Command::new("mv").args([at("file"), at(to)]).status().unwrap().success()
                );
                let case = format!("{stream:?}, {style:?}, {to}, {restarts}");
                assert!(is_whole(&scene, to, stream).await, "{case}");
                // Another file of the old name has none of it.
                scene.file("file");
                assert_eq!(open(&scene, "file", stream.clone()).await.size().await, Ok(0), "{case}");
                assert!(is_whole(&scene, to, stream).await, "{case}");
            }
        }
    }
}

#[tokio::test]
async fn a_fork_that_is_open_follows_its_file() {
    for stream in [Stream::Resource, Stream::Named("large".into())] {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let scene = serve(dir.path(), Style::NETATALK);
        make(&scene, "file", &stream).await;
        let fork = open(&scene, "file", stream.clone()).await;
        std::fs::rename(dir.path().join("file"), dir.path().join("renamed")).unwrap();
        assert_eq!(read(&fork, 1 << 16, 4).await, content()[1 << 16..][..4], "{stream:?}");
        fork.write_at(0, Bytes::from_static(b"new"), Stability::Unstable).await.unwrap();
        drop(fork);
        let again = open(&scene, "renamed", stream).await;
        assert_eq!(read(&again, 0, 3).await, b"new");
        assert_eq!(again.size().await, Ok(LARGE as u64));
    }
}

#[tokio::test]
async fn a_fork_follows_its_file_at_once_in_a_watched_folder() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let scene = serve(dir.path(), Style::NETATALK);
    make(&scene, "file", &Stream::Resource).await;
    std::fs::create_dir(dir.path().join("below")).unwrap();
    let caller = client(1).caller;
    let _watching = scene.volume.watch(&caller, &scene.root, Depth::Below, Filter::ALL, 100).unwrap();
    for (from, to, sidecar) in [("file", "renamed", "._renamed"), ("renamed", "below/file", "below/._file")] {
        assert!(!dir.path().join(sidecar).exists());
        std::fs::rename(dir.path().join(from), dir.path().join(to)).unwrap();
        until_async(to, async || dir.path().join(sidecar).exists()).await;
    }
    assert!(is_whole(&scene, "below/file", &Stream::Resource).await);
}

/// Netatalk, Samba and macOS name no owner in a sidecar.
#[tokio::test]
async fn another_servers_sidecar_follows_its_file_in_a_watched_folder() {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let at = |name: &str| dir.path().join(name);
    let mut sidecar = b"\0\x05\x16\x07\0\x02\0\0Netatalk        \0\x02".to_vec();
    sidecar.extend_from_slice(b"\0\0\0\x09\0\0\0\x32\0\0\0\x20\0\0\0\x02\0\0\0\x52\0\0\0\x04");
    sidecar.extend_from_slice(&[0; 32]);
    sidecar.extend_from_slice(b"fork");
    for name in ["file", "other"] {
        std::fs::write(at(name), b"").unwrap();
        std::fs::write(at(&format!("._{name}")), &sidecar).unwrap();
    }
    std::fs::create_dir(at("below")).unwrap();
    let scene = serve(dir.path(), Style::NETATALK);
    let _watching =
        scene.volume.watch(&client(1).caller, &scene.root, Depth::Below, Filter::ALL, 100).unwrap();
    std::fs::rename(at("file"), at("below/renamed")).unwrap();
    until_async("the sidecar does not follow", async || at("below/._renamed").exists()).await;
    assert!(at("._other").exists() && !at("._file").exists());
    assert_eq!(read(&open(&scene, "below/renamed", Stream::Resource).await, 0, 9).await, b"fork");
}
