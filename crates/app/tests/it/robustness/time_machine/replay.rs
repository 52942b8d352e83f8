//! What Time Machine does to a share in a backup, written from public facts: Apple's specifications of Time Machine over SMB and
//! AFP, the published sources of macOS's SMB client, and published logs of `backupd` and DiskImages (macOS 15). In short:
//!
//! ```text
//! create:  NAME.incomplete/ ─► Info.bckup, Info.plist, token, bands/ ─► MachineID (safe-save, three times) ─► F_FULLFSYNC of
//!          Info.plist and token ─► the folder is renamed to NAME.sparsebundle ─► F_FULLFSYNC of both again
//! backup:  Info.plist open with O_EXLOCK ─► MachineID, Results (safe-save) ─► bands are written in place, up to 64 stay open
//!          ─► F_FULLFSYNC of each at every barrier of the inner file system ─► SnapshotHistory (safe-save, twice) ─► Results
//! thin:    only blocks inside of the image are freed    compact: bands without blocks are removed
//! ```
//!
//! A safe-save is: write NAME.tmp, F_FULLFSYNC, remove NAME, rename. macOS never replaces by a rename.

use std::collections::BTreeMap;
use std::path::Path;

use super::mac::{Done, How, Mac, Stopped};
use crate::robustness::random::Random;

/// The unit in which the image is written, as APFS does.
const BLOCK: usize = 4096;
/// Blocks of one write.
const MOST_BLOCKS: usize = 16;
/// Bands that stay open.
const MOST_OPEN: usize = 64;

/// What may be in a block of the image: the number of the write that is certainly there, and those after it that may be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Block {
    synced: u64,
    later: Vec<u64>,
}

/// A bundle as the Mac knows it.
#[derive(Clone)]
pub(super) struct Replay {
    /// The name of the bundle without its ending.
    pub(super) name: String,
    band_size: u64,
    random: Random,
    /// About a third of the bands of the image.
    spread: usize,
    /// By band and block.
    image: BTreeMap<(u64, u64), Block>,
    /// The number of the last write.
    writes: u64,
    /// The completed backups.
    completed: Vec<String>,
    is_made: bool,
}

impl Replay {
    pub(super) fn new(name: &str, band_size: u64, seed: u64) -> Self {
        Self {
            name: name.to_owned(),
            band_size,
            random: Random::new(seed),
            spread: 6,
            image: BTreeMap::new(),
            writes: 0,
            completed: Vec::new(),
            is_made: false,
        }
    }

    /// An image that spreads over about three times as many bands as this.
    pub(super) fn spread_over(self, spread: usize) -> Self {
        Self { spread, ..self }
    }

    fn bundle(&self) -> String {
        format!("{}.sparsebundle", self.name)
    }

    /// Whether the bundle has not got its name yet.
    pub(super) fn is_new(&self) -> bool {
        !self.is_made
    }

    /// Makes the bundle.
    pub(super) fn create<M: Mac>(&mut self, mac: &mut M) -> Done<()> {
        let making = format!("{}.incomplete", self.name);
        mac.make_folder(&making)?;
        mac.make_folder(&format!("{making}/bands"))?;
        for name in ["Info.bckup", "Info.plist"] {
            whole(mac, &format!("{making}/{name}"), info(self.band_size).as_bytes())?;
        }
        whole(mac, &format!("{making}/token"), b"")?;
        for _ in 0..3 {
            self.machine(mac, &making)?;
        }
        sync(mac, &making)?;
        mac.rename(&making, &self.bundle())?;
        self.is_made = true;
        sync(mac, &self.bundle())
    }

    /// A backup that writes so many pieces, with a barrier after every 16. `date` is when it is completed.
    pub(super) fn back_up<M: Mac>(&mut self, mac: &mut M, pieces: usize, date: &str) -> Done<()> {
        let bundle = self.bundle();
        let lock = mac.open(&format!("{bundle}/Info.plist"), How::Exclusive)?;
        self.machine(mac, &bundle)?;
        safe_save(mac, &bundle, "Results", &results(true))?;
        let mut open = BTreeMap::new();
        for piece in 1..=pieces {
            self.write_piece(mac, &mut open)?;
            if piece % 16 == 0 || piece == pieces {
                self.barrier(mac, &open)?;
            }
        }
        for file in open.into_values() {
            mac.close(file)?;
        }
        self.completed.push(date.to_owned());
        for _ in 0..2 {
            safe_save(mac, &bundle, "SnapshotHistory", &history(&self.completed))?;
        }
        safe_save(mac, &bundle, "Results", &results(false))?;
        mac.close(lock)
    }

    /// Writes a run of blocks somewhere in the image: mostly near its beginning, as file systems do.
    fn write_piece<M: Mac>(&mut self, mac: &mut M, open: &mut BTreeMap<u64, M::File>) -> Done<()> {
        let blocks_of_band = self.band_size / BLOCK as u64;
        let band = self.random.below(self.spread) as u64 * self.random.below(3) as u64;
        let count = 1 + self.random.below(MOST_BLOCKS);
        let first = self.random.below(blocks_of_band as usize - count) as u64;
        if open.len() >= MOST_OPEN
            && let Some((_, file)) = open.pop_first()
        {
            mac.close(file)?;
        }
        let file = match open.get(&band) {
            Some(file) => *file,
            None => {
                let is_new = !self.image.keys().any(|(known, _)| *known == band);
                let path = format!("{}/bands/{band:x}", self.bundle());
                // A server that was killed may have made it, and not have said so.
                let made = if is_new { mac.open(&path, How::New) } else { Err(Stopped::Refused) };
                let file = match made {
                    Err(Stopped::Refused) => mac.open(&path, How::Old)?,
                    other => other?,
                };
                open.insert(band, file);
                file
            }
        };
        self.writes += 1;
        for block in first..first + count as u64 {
            self.image.entry((band, block)).or_default().later.push(self.writes);
        }
        mac.write(file, first * BLOCK as u64, &content(self.writes, count))
    }

    /// F_FULLFSYNC of all open bands: what was written before is there from now on.
    fn barrier<M: Mac>(&mut self, mac: &mut M, open: &BTreeMap<u64, M::File>) -> Done<()> {
        for (band, file) in open {
            mac.full_sync(*file)?;
            for (_, block) in self.image.range_mut((*band, 0)..=(*band, u64::MAX)) {
                if let Some(last) = block.later.pop() {
                    (block.synced, block.later) = (last, Vec::new());
                }
            }
        }
        Ok(())
    }

    /// Removes a band, as a compaction does with one that has no blocks in use.
    pub(super) fn compact<M: Mac>(&mut self, mac: &mut M) -> Done<()> {
        let lock = mac.open(&format!("{}/Info.plist", self.bundle()), How::Exclusive)?;
        let last = self.image.keys().next_back().map(|(band, _)| *band);
        if let Some(band) = last {
            mac.remove(&format!("{}/bands/{band:x}", self.bundle()))?;
            self.image.retain(|(known, _), _| *known != band);
        }
        mac.close(lock)
    }

    /// Compares the bands on the host with what was written. Every block has its last write before the last barrier, or a later one:
    /// the one that is found counts from now on.
    pub(super) fn check(&mut self, share: &Path) {
        let bands = share.join(self.bundle()).join("bands");
        let mut last: Option<(u64, Vec<u8>)> = None;
        for ((band, number), block) in &mut self.image {
            if last.as_ref().is_none_or(|(known, _)| known != band) {
                let bytes = std::fs::read(bands.join(format!("{band:x}"))).unwrap_or_default();
                last = Some((*band, bytes));
            }
            let (_, bytes) = last.as_ref().expect("it was read");
            let at = *number as usize * BLOCK;
            let found = bytes.get(at..at + BLOCK).map_or(0, written);
            let is_right = found == block.synced || block.later.contains(&found);
            assert!(is_right, "bands/{band:x}, block {number}: {found} instead of {block:?}");
            *block = Block { synced: found, later: Vec::new() };
        }
    }

    fn machine<M: Mac>(&self, mac: &mut M, bundle: &str) -> Done<()> {
        let text = plist(
            "<key>VerificationState</key><integer>1</integer><key>com.apple.backupd.HostUUID</key>\
             <string>01234567-1234-5678-9ABC-12345678ABCD</string>",
        );
        safe_save(mac, bundle, "MachineID", &text)
    }
}

/// A run of blocks of one write, each with its number throughout.
fn content(write: u64, blocks: usize) -> Vec<u8> {
    write.to_le_bytes().repeat(blocks * BLOCK / 8)
}

/// The write that a block is of; a torn block has no write.
fn written(block: &[u8]) -> u64 {
    let (numbers, _) = block.as_chunks::<8>();
    let first = numbers.first().map_or(0, |number| u64::from_le_bytes(*number));
    let is_whole = numbers.iter().all(|number| u64::from_le_bytes(*number) == first);
    if is_whole { first } else { u64::MAX }
}

/// Makes a file, or replaces it as macOS does.
fn safe_save<M: Mac>(mac: &mut M, bundle: &str, which: &str, text: &str) -> Done<()> {
    let path = format!("{bundle}/com.apple.TimeMachine.{which}.plist");
    let unfinished = format!("{path}.tmp");
    if mac.open(&unfinished, How::Old).and_then(|left| mac.close(left)).is_ok() {
        mac.remove(&unfinished)?; // of a session that was lost
    }
    whole(mac, &unfinished, text.as_bytes())?;
    if let Ok(there) = mac.open(&path, How::Old) {
        mac.close(there)?;
        mac.remove(&path)?;
    }
    mac.rename(&unfinished, &path)
}

/// Writes a new file, and puts it on the disk.
fn whole<M: Mac>(mac: &mut M, path: &str, bytes: &[u8]) -> Done<()> {
    let file = mac.open(path, How::New)?;
    if !bytes.is_empty() {
        mac.write(file, 0, bytes)?;
    }
    mac.full_sync(file)?;
    mac.close(file)
}

/// F_FULLFSYNC of the header and the token.
fn sync<M: Mac>(mac: &mut M, bundle: &str) -> Done<()> {
    for name in ["Info.plist", "token"] {
        let file = mac.open(&format!("{bundle}/{name}"), How::Old)?;
        mac.full_sync(file)?;
        mac.close(file)?;
    }
    Ok(())
}

fn plist(inner: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<plist version=\"1.0\"><dict>{inner}</dict></plist>\n"
    )
}

fn info(band_size: u64) -> String {
    plist(&format!(
        "<key>CFBundleInfoDictionaryVersion</key><string>6.0</string><key>band-size</key><integer>{band_size}</integer>\
         <key>bundle-backingstore-version</key><integer>1</integer><key>diskimage-bundle-type</key>\
         <string>com.apple.diskimage.sparsebundle</string><key>size</key><integer>16000000000000</integer>"
    ))
}

fn results(is_running: bool) -> String {
    plist(&format!("<key>Running</key><{is_running}/><key>BytesToCopy</key><integer>4096</integer>"))
}

fn history(completed: &[String]) -> String {
    let of = |date: &String| {
        format!("<dict><key>com.apple.backupd.SnapshotCompletionDate</key><date>{date}</date></dict>")
    };
    plist(&format!("<key>Snapshots</key><array>{}</array>", completed.iter().map(of).collect::<String>()))
}
