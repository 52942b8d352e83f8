//! Prints the speed of listings: `cargo test --release -p afp --lib enumerate::speed -- --ignored
//! --nocapture`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use vfs::backend::NewKind;
use vfs::backend::host::{Host, HostOptions};
use vfs::index::Index;
use vfs::mac::FinderInfo;
use vfs::state::{ClientId, Party};
use vfs::{Actor, Beside, Caller, Time, Volume, VolumeOptions};
use wire::Reader;

use super::*;
use crate::catalogue::Catalogue;
use crate::server::config::{Share, ShareOptions};
use crate::server::testing::{ADA, Server};
use crate::wire::bitmap::{DirBitmap, FileBitmap};
use crate::wire::directory::Place;
use crate::wire::enumerate::Reply as Page;
use crate::wire::{Path, Version};

const ENTRIES: u32 = 10_000;
/// The speed of Netatalk 4 in this test: 113,000 entries a second.
const NETATALK: Duration = Duration::from_nanos(8_850);

/// The parameters that a Mac requests of each file: attributes, parent, dates, Finder information,
/// number, lengths, name, privileges.
const FILES: FileBitmap = FileBitmap(0xe93f);
/// The parameters that it requests of each folder.
const FOLDERS: DirBitmap = DirBitmap(0xbf3f);

fn share(folder: &std::path::Path, index: &Index) -> Arc<Share> {
    let host = Host::open(folder, &HostOptions::default()).unwrap();
    let volume = Arc::new(Volume::new(Arc::new(host), VolumeOptions::default()));
    let root = volume.root().unwrap();
    let actor = Actor::new(Caller::root(), Party::client(ClientId(1)));
    let info = FinderInfo::new(*b"TEXTttxt\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    for at in 0..ENTRIES {
        let name = format!("a file of the listing {at:05}");
        let made = volume.create(&actor, &root, name.as_bytes(), NewKind::File, 0o644).unwrap().found;
        let place = Some(Beside { folder: &root.object, name: name.as_bytes() });
        volume.change_metadata(&actor, &made, place, |metadata| metadata.set_finder_info(info)).unwrap();
    }
    let catalogue = Catalogue::open(index, index.volume("big").unwrap(), root.object.key()).unwrap();
    Share::new("big", (volume, catalogue), [7; 16], Time::default(), ShareOptions::default())
}

/// Lists all entries as clients do: page by page.
async fn list(client: &mut crate::server::testing::Client, volume: u16, max_reply: u32) -> (Duration, usize) {
    let begun = Instant::now();
    let (mut start, mut bytes) = (1, 0);
    while start <= ENTRIES {
        let place = Place { volume, folder: 2, path: Path::utf8(b"") };
        let page = Enumerate { place, files: FILES, folders: FOLDERS, count: 10_000, start, max_reply };
        let answer =
            client.call(command::ENUMERATE_EXT2, |w| page.encode(EnumerateForm::Ext2, w)).await.well();
        start += u32::from(Page::decode(&mut Reader::new(&answer)).unwrap().count);
        bytes += answer.len();
    }
    (begun.elapsed() / ENTRIES, bytes)
}

#[tokio::test]
#[ignore = "prints how fast"]
#[allow(clippy::print_stdout, reason = "what it is for")]
async fn ten_thousand_entries_with_finder_information() {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let index = Index::open(state.path()).unwrap();
    let share = share(folder.path(), &index);
    let server = Server::with(|config| config.shares.push(share));
    let mut ada = server.log_in(ADA, Version::V3_4);
    let volume = ada.open_volume("big");
    let (first, bytes) = list(&mut ada, volume, 60_000).await;
    println!("first time: {first:?} an entry, {bytes} bytes in all");
    for max_reply in [60_000, 1 << 20] {
        // The best of many runs, because other programs take part of the time.
        let mut best = first;
        for _ in 0..20 {
            best = best.min(list(&mut ada, volume, max_reply).await.0);
        }
        println!("again, replies of {max_reply}: {best:?} an entry");
        assert!(best * 5 < NETATALK, "{best:?} an entry");
    }
}
