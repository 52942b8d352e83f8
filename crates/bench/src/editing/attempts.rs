//! What edit applications do with files of a share, by two clients. Each function tries one ability.

use std::time::{Duration, Instant};

use client::metadata::{Aspect, AspectState, MetadataValue};
use client::tree::{Tree, below, name_key};
use client::{DataTransfer, OpenFileId, OpenIntent};

use super::{Outcome, Stage};
use crate::{Error, Protocol, Result};

/// The place of the lock by which SQLite keeps others out, in the databases of libraries: its "pending byte".
const PENDING_BYTE: u64 = 0x4000_0000;
/// The size of a page of memory of a Mac with Apple silicon.
const PAGE: usize = 16 << 10;
/// The bytes of a piece that players of many tracks read, and how long it plays: 24 bits, 48 kHz, one channel.
const PIECE: usize = 64 << 10;
const PIECE_PLAYS_FOR: f64 = PIECE as f64 / (3.0 * 48_000.0);
/// Pieces in the file that they are read from.
const PIECES: u64 = 64;
/// How many are read.
const READS: u64 = 256;
/// The tracks of an ordinary session.
const TRACKS: f64 = 64.0;
/// A place behind what 32 bits can count.
const BEHIND_4_GIB: u64 = (4 << 30) + 4096;
/// How long a server may take to notice that a client is gone.
const NOTICED_AFTER: Duration = Duration::from_secs(10);
/// The time between two looks.
const AGAIN: Duration = Duration::from_millis(100);
/// Bytes of a part of a band that is written.
const BAND_PART: usize = 256 << 10;

/// Names with what people write: accents, characters that Windows forbids, a point at the end, other scripts, 200 characters.
pub(super) fn names(stage: &mut Stage) -> Result<Outcome> {
    let folder = stage.path("names");
    stage.first.make_folder(&folder)?;
    let long = format!("{} take 1.mov", "a long name ".repeat(16));
    let names = [
        "Küche – Totale é.mov",
        "Mix 10:12 *final?*.wav",
        "Titel no. 3.",
        "東京 夜景.mov",
        "🎬 Slate.mov",
        &long,
    ];
    let mut lost = Vec::new();
    for name in names {
        let path = below(&folder, &stage.first.native(name));
        match stage.first.make_file(&path) {
            Err(error) if error.ends_session() => return Err(error),
            Err(error) => lost.push(format!("{name:?} is refused: {error}")),
            Ok(()) => {
                let listed = stage.second.entries(&folder)?.entries;
                if !listed.iter().any(|entry| name_key(&entry.name) == name_key(name)) {
                    lost.push(format!("{name:?} is listed by another name"));
                }
            }
        }
    }
    Ok(match lost.is_empty() {
        true => Outcome::works(format!("{} names are kept as they are", names.len())),
        false => Outcome::fails(lost.join("; ")),
    })
}

pub(super) fn one_case(stage: &mut Stage) -> Result<Outcome> {
    let (made, asked) = (stage.path("Clip.MOV"), stage.path("clip.mov"));
    stage.first.make_file(&made)?;
    Ok(match stage.second.stat(&asked) {
        Ok(_) => Outcome::works("clip.mov finds Clip.MOV"),
        Err(Error::Missing(_)) => Outcome::fails("clip.mov does not find Clip.MOV"),
        Err(error) => return Err(error),
    })
}

pub(super) fn no_sidecars(stage: &mut Stage) -> Result<Outcome> {
    let folder = stage.path("sidecars");
    stage.first.make_folder(&folder)?;
    let path = below(&folder, "clip.mov");
    stage.first.make_file(&path)?;
    let info = [&b"MooVTVOD"[..], &[0; 24]].concat();
    if !stage.first.put(&path, Aspect::FinderInfo, &MetadataValue::Bytes(info))? {
        return Ok(Outcome::Impossible);
    }
    let shown = stage.second.list(&folder)?;
    Ok(match shown {
        1 => Outcome::works("one file is listed"),
        _ => Outcome::fails(format!("one file is listed as {shown}")),
    })
}

/// As Premiere makes `.prlock`, and others their lock files: a new file that must not be there yet.
pub(super) fn lock_files(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("project.prlock");
    let held = stage.first.open(&path, OpenIntent::Create)?;
    if refused(stage.second.open(&path, OpenIntent::Create))?.is_some() {
        return Ok(Outcome::fails("two clients have made the same new file"));
    }
    stage.first.close(held)?;
    stage.first.remove(&path)?;
    let again = stage.second.open(&path, OpenIntent::Create)?;
    stage.second.close(again)?;
    Ok(Outcome::works("the second client is refused until the first one has removed it"))
}

/// As SQLite locks the databases of libraries, far behind the end of the file.
pub(super) fn range_locks(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("CurrentVersion.flexolibrary");
    stage.first.make_file(&path)?;
    let mine = stage.first.open(&path, OpenIntent::Write)?;
    let other = stage.second.open(&path, OpenIntent::Write)?;
    stage.first.lock(mine, PENDING_BYTE, 1, true)?;
    if refused(stage.second.lock(other, PENDING_BYTE, 1, true))?.is_some() {
        return Ok(Outcome::fails("two clients have the same lock"));
    }
    stage.second.lock(other, PENDING_BYTE + 2, 510, true)?;
    stage.first.lock(mine, PENDING_BYTE, 1, false)?;
    stage.second.lock(other, PENDING_BYTE, 1, true)?;
    stage.first.close(mine)?;
    stage.second.close(other)?;
    Ok(Outcome::works("the second client waits for the first one, other ranges are free"))
}

pub(super) fn lost_locks(stage: &mut Stage) -> Result<Outcome> {
    if stage.protocol() == Protocol::Nfs {
        // NFS clients take their locks back after a lost connection; the server keeps them for it.
        return Ok(Outcome::Impossible);
    }
    let path = stage.path("session.ptx");
    stage.first.make_file(&path)?;
    let mut gone = stage.connector.tree()?;
    let held = gone.open(&path, OpenIntent::Write)?;
    gone.lock(held, 0, 1, true)?;
    drop(gone);
    let file = stage.second.open(&path, OpenIntent::Write)?;
    let given_up = Instant::now() + NOTICED_AFTER;
    while refused(stage.second.lock(file, 0, 1, true))?.is_none() {
        if Instant::now() > given_up {
            let seconds = NOTICED_AFTER.as_secs();
            return Ok(Outcome::fails(format!(
                "{seconds} s after its connection has ended, a client has its lock"
            )));
        }
        std::thread::sleep(AGAIN);
    }
    stage.second.close(file)?;
    Ok(Outcome::works("another client gets the lock when the connection has ended"))
}

pub(super) fn open_alone(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("token");
    stage.first.make_file(&path)?;
    let held = stage.first.open_alone(&path)?;
    if refused(stage.second.open(&path, OpenIntent::Read))?.is_some() {
        return Ok(Outcome::fails("another client opens the file meanwhile"));
    }
    stage.first.close(held)?;
    let file = stage.second.open(&path, OpenIntent::Read)?;
    stage.second.close(file)?;
    Ok(Outcome::works("the second client is refused until the first one closes the file"))
}

/// A new file beside the old one, brought to the disk, and given its name.
pub(super) fn safe_save(stage: &mut Stage) -> Result<Outcome> {
    let folder = stage.path("saved");
    stage.first.make_folder(&folder)?;
    let (path, new) = (below(&folder, "film.prproj"), below(&folder, "film.tmp"));
    put_file(&mut *stage.first, &path, b"the old project")?;
    put_file(&mut *stage.first, &new, b"the new project")?;
    stage.first.rename(&new, &path)?;
    let found = bytes_of(&mut *stage.second, &path, 64)?;
    let entries = stage.second.list(&folder)?;
    Ok(match (found.as_slice(), entries) {
        (b"the new project", 1) => Outcome::works("the other client sees the new project"),
        (b"the new project", _) => Outcome::fails(format!("{entries} files are left of two")),
        _ => Outcome::fails("the other client sees the old project"),
    })
}

/// As macOS makes an image on a share: the folder gets its name while files in it are open.
pub(super) fn sparse_bundles(stage: &mut Stage) -> Result<Outcome> {
    let (begun, bundle) = (stage.path("editing.incomplete"), stage.path("editing.sparsebundle"));
    stage.first.make_folder(&begun)?;
    stage.first.make_folder(&below(&begun, "bands"))?;
    put_file(&mut *stage.first, &below(&begun, "Info.plist"), b"<plist version=\"1.0\"/>")?;
    stage.first.make_file(&below(&begun, "token"))?;
    let band = stage.first.open(&below(&begun, "bands/0"), OpenIntent::Create)?;
    let part = vec![0xA5; BAND_PART.min(stage.first.largest())];
    write_at(&mut *stage.first, band, 1 << 20, &part)?;
    stage.first.full_sync(band)?;
    if let Err(error) = stage.first.rename(&begun, &bundle) {
        if error.ends_session() {
            return Err(error);
        }
        return Ok(Outcome::fails(format!("a folder with an open file in it gets no other name: {error}")));
    }
    write_at(&mut *stage.first, band, 3 << 20, &part)?;
    stage.first.full_sync(band)?;
    stage.first.close(band)?;
    let file = stage.second.open(&below(&bundle, "bands/0"), OpenIntent::Read)?;
    let (hole, data) = (stage.second.read(file, 0, 4096)?, stage.second.read(file, 3 << 20, 4096)?);
    stage.second.close(file)?;
    Ok(
        match (hole.iter().all(|byte| *byte == 0), data.iter().all(|byte| *byte == 0xA5) && !data.is_empty())
        {
            (true, true) => Outcome::works("bands with holes are kept, also over the rename"),
            _ => Outcome::fails("a band has other bytes than were written"),
        },
    )
}

/// Pieces of 64 KiB from places far from each other, one after the other: as a program that plays many tracks.
pub(super) fn small_reads(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("track.wav");
    let file = stage.first.open(&path, OpenIntent::Create)?;
    let piece = vec![0x5A; PIECE.min(stage.first.largest())];
    let length = piece.len() as u64;
    for number in 0..PIECES {
        write_at(&mut *stage.first, file, number * length, &piece)?;
    }
    stage.first.close(file)?;
    let file = stage.second.open(&path, OpenIntent::Read)?;
    let mut times = Vec::new();
    for number in 0..READS {
        let at = number * 37 % PIECES * length; // 37 is prime to the number of pieces
        let begun = Instant::now();
        let read = stage.second.read(file, at, piece.len())?;
        times.push(begun.elapsed().as_secs_f64());
        if read != piece {
            return Err(Error::Corrupt(at));
        }
    }
    stage.second.close(file)?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let tracks = PIECE_PLAYS_FOR * (length as f64 / PIECE as f64) / mean;
    times.sort_by(f64::total_cmp);
    let slow = times[times.len() * 99 / 100] * 1000.0;
    let seen = format!(
        "{:.2} ms for 64 KiB on average, {slow:.2} ms at the 99th percentile: {tracks:.0} tracks",
        mean * 1000.0
    );
    Ok(if tracks >= TRACKS { Outcome::works(seen) } else { Outcome::fails(seen) })
}

/// What the kernel of a Mac does for a mapped file.
pub(super) fn mapping(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("peaks.dat");
    let file = stage.first.open(&path, OpenIntent::Create)?;
    let length = 3 * PAGE + 100;
    write_at(&mut *stage.first, file, 0, &vec![1; length])?;
    let last = stage.first.read(file, 3 * PAGE as u64, PAGE)?;
    let behind = stage.first.read(file, 4 * PAGE as u64, PAGE)?;
    stage.first.set_length(file, 6 * PAGE as u64)?;
    let hole = stage.first.read(file, 5 * PAGE as u64, PAGE)?;
    write_at(&mut *stage.first, file, PAGE as u64, &vec![2; PAGE])?;
    stage.first.flush(file)?;
    let other = stage.second.open(&path, OpenIntent::Read)?;
    let page = stage.second.read(other, PAGE as u64, PAGE)?;
    stage.second.close(other)?;
    stage.first.close(file)?;
    let all =
        |bytes: &[u8], byte: u8, length: usize| bytes.len() == length && bytes.iter().all(|one| *one == byte);
    Ok(match (all(&last, 1, 100), behind.is_empty(), all(&hole, 0, PAGE), all(&page, 2, PAGE)) {
        (true, true, true, true) => {
            Outcome::works("pages, the end, holes, and pages that another client has written")
        }
        (false, ..) | (_, false, ..) => Outcome::fails("the end of a file is read at another place"),
        (_, _, false, _) => Outcome::fails("a hole is not read as zeros"),
        _ => Outcome::fails("a page that another client has written is not seen"),
    })
}

pub(super) fn full_sync(stage: &mut Stage) -> Result<Outcome> {
    let file = stage.first.open(&stage.path("take.caf"), OpenIntent::Create)?;
    write_at(&mut *stage.first, file, 0, b"a take")?;
    let synced = stage.first.full_sync(file);
    stage.first.close(file)?;
    synced?;
    Ok(match (stage.protocol(), stage.mac) {
        (Protocol::Smb, None) => Outcome::fails("the server does not answer the questions of Macs (AAPL)"),
        (Protocol::Smb, Some(mac)) if !mac.full_sync => {
            Outcome::fails("the server does not offer it to Macs")
        }
        _ => Outcome::works("written data are on the disk when it is answered"),
    })
}

pub(super) fn durable_opens(stage: &mut Stage) -> Result<Outcome> {
    match stage.protocol() {
        Protocol::Smb => {}
        // FPDisconnectOldSession, and opens that the client repeats.
        Protocol::Afp => {
            return Ok(Outcome::works(
                "Macs connect again over AFP, and open their files again, by themselves",
            ));
        }
        _ => {
            return Ok(Outcome::works("NFS clients keep their files over a lost connection by themselves"));
        }
    }
    let path = stage.path("asleep.fcpbundle");
    stage.first.make_file(&path)?;
    match stage.connector.survive(&path) {
        Ok(()) => {
            Ok(Outcome::works("the file is written, the connection lost, and the same open used again"))
        }
        Err(error @ Error::Unsupported(_)) => Ok(Outcome::fails(error.to_string())),
        Err(error) => Err(error),
    }
}

pub(super) fn large_files(stage: &mut Stage) -> Result<Outcome> {
    let path = stage.path("A001_C001.mxf");
    let file = stage.first.open(&path, OpenIntent::Create)?;
    let written = write_at(&mut *stage.first, file, BEHIND_4_GIB, b"behind");
    stage.first.close(file)?;
    let length = written.and_then(|()| stage.second.stat(&path));
    let file = stage.second.open(&path, OpenIntent::Read)?;
    let found = stage.second.read(file, BEHIND_4_GIB, 6);
    stage.second.close(file)?;
    Ok(match (length?, found?.as_slice()) {
        (length, b"behind") if length == BEHIND_4_GIB + 6 => {
            Outcome::works("bytes behind 4 GiB are kept, with a hole before them")
        }
        (length, _) => Outcome::fails(format!("a file of {} bytes has {length}", BEHIND_4_GIB + 6)),
    })
}

pub(super) fn links(stage: &mut Stage) -> Result<Outcome> {
    let (path, target) = (stage.path("Original Media"), "../media/A001_C001.mxf");
    stage.first.make_link(&path, target)?;
    Ok(match stage.second.get(&path, Aspect::Target)? {
        AspectState::Value(MetadataValue::Text(found)) if found == target => {
            Outcome::works("the target is kept")
        }
        AspectState::Impossible => Outcome::Impossible,
        other => Outcome::fails(format!("{target:?} was written, {other:?} is read")),
    })
}

pub(super) fn attributes(stage: &mut Stage) -> Result<Outcome> {
    const NAME: &str = "com.apple.metadata:kMDItemWhereFroms";
    let path = stage.path("imported.mov");
    stage.first.make_file(&path)?;
    let value = MetadataValue::Bytes((0..300_u32).map(|at| at as u8).collect());
    if !stage.first.put(&path, Aspect::Attribute(NAME), &value)? {
        return Ok(Outcome::Impossible);
    }
    Ok(match stage.second.get(&path, Aspect::Attribute(NAME))? {
        AspectState::Value(found) if found == value => Outcome::works("300 bytes are kept"),
        AspectState::Impossible => Outcome::Impossible,
        _ => Outcome::fails("other bytes are read than were written"),
    })
}

pub(super) fn dates(stage: &mut Stage) -> Result<Outcome> {
    const SHOT: i64 = 1_000_000_001;
    let path = stage.path("B002_C003.mov");
    put_file(&mut *stage.first, &path, b"a clip")?;
    if !stage.first.put(&path, Aspect::Modified, &MetadataValue::Time(SHOT, 0))? {
        return Ok(Outcome::Impossible);
    }
    bytes_of(&mut *stage.second, &path, 6)?;
    Ok(match stage.second.get(&path, Aspect::Modified)? {
        AspectState::Value(MetadataValue::Time(SHOT, _)) => {
            Outcome::works("the date of the last change is kept")
        }
        other => Outcome::fails(format!("another date is read: {other:?}")),
    })
}

/// Makes a file with these bytes, which are on the disk then.
fn put_file(tree: &mut dyn Tree, path: &str, bytes: &[u8]) -> Result<()> {
    let file = tree.open(path, OpenIntent::Create)?;
    write_at(tree, file, 0, bytes)?;
    tree.full_sync(file)?;
    tree.close(file)
}

/// The first bytes of a file.
fn bytes_of(tree: &mut dyn Tree, path: &str, length: usize) -> Result<Vec<u8>> {
    let file = tree.open(path, OpenIntent::Read)?;
    let read = tree.read(file, 0, length);
    tree.close(file)?;
    read
}

fn write_at(tree: &mut dyn Tree, file: OpenFileId, offset: u64, data: &[u8]) -> Result<()> {
    let mut at = offset;
    for data in data.chunks(tree.largest()) {
        tree.start(file, DataTransfer::Write { offset: at, data, stable: false })?;
        tree.finish()?;
        at += data.len() as u64;
    }
    Ok(())
}

/// What an operation gave that should have been refused. An error that ends the session stays one.
fn refused<T>(done: Result<T>) -> Result<Option<T>> {
    match done {
        Ok(given) => Ok(Some(given)),
        Err(error) if error.ends_session() => Err(error),
        Err(_) => Ok(None),
    }
}
