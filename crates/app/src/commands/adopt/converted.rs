//! The journals of converted folders: what was on the disk of each file, saved before the file changes. A line of JSON for each
//! step, bytes in hexadecimal.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};
use vfs::streams::{Raw, RawFile, RawPlace};
use wire::hex;

use super::convert::path_bytes;

/// The longest line that is read: [`vfs::streams::MOST_SAVED`] in hexadecimal, with names and attributes.
const LONGEST_LINE: u64 = 3 * vfs::streams::MOST_SAVED;
/// Journals that are kept.
const MOST_JOURNALS: usize = 10_000;
/// The format of these files.
const FORMAT: u32 = 1;
/// How their names end.
pub(crate) const ENDING: &str = "journal";

/// A file before it was changed.
#[derive(Debug, Clone)]
pub(super) struct Change {
    /// Its path in the folder.
    pub(super) path: Vec<u8>,
    pub(super) before: Raw,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "kebab-case")]
enum Line {
    Start { format: u32, folder: String, to: String },
    Begin { path: String, xattrs: Vec<(String, String)>, files: Vec<FileLine> },
    Done { sum: String },
    Back,
    End,
}

#[derive(Debug, Serialize, Deserialize)]
struct FileLine {
    place: usize,
    name: String,
    rights: (u32, u32, u32),
    modified: (i64, u32),
    len: u64,
    bytes: String,
    xattrs: Vec<(String, String)>,
}

/// The folder with the journals.
pub(super) struct Journals(PathBuf);

/// A journal that is being written.
pub(crate) struct JournalWriter {
    path: PathBuf,
    file: File,
    /// A file was begun, and neither done nor restored.
    has_begun: bool,
    /// Something was changed.
    has_changes: bool,
}

/// A change in a journal: where its line is, and what was on the disk afterwards.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    at: u64,
    after: Option<u128>,
}

impl Journals {
    /// The folder, which is made if it is missing.
    pub(super) fn at(folder: &Path) -> anyhow::Result<Self> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.with_context(|| format!("{} cannot be made", folder.display()))?;
        Ok(Self(folder.into()))
    }

    /// The journal of a folder that has not come to its end, or a new one.
    pub(super) fn of(&self, folder: &Path, to: &str) -> anyhow::Result<JournalWriter> {
        let (text, mut numbers) = (hex::encode(&path_bytes(folder)), Vec::new());
        for entry in fs::read_dir(&self.0)?.flatten().take(MOST_JOURNALS) {
            let path = entry.path();
            if path.extension().is_none_or(|end| end != ENDING) {
                continue;
            }
            numbers.push(path.clone());
            let Some(Line::Start { format: FORMAT, folder, to: known }) = first(&path)? else { continue };
            if folder != text || has_ended(&path)? {
                continue;
            }
            ensure!(
                known == to,
                "{} was being converted to {known}; go on with that (--to {known}), or take it back: \
                 fourfold adopt --undo {}",
                String::from_utf8_lossy(&hex::decode_any(&folder).unwrap_or_default()),
                path.display()
            );
            return JournalWriter::go_on(path);
        }
        let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let name: String = name.chars().take(40).map(plain).collect();
        let stem = format!("{}-{name}", jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S"));
        let others = (2..100).map(|number| format!("{stem}-{number}"));
        let path = std::iter::once(stem.clone()).chain(others);
        let mut paths = path.map(|name| self.0.join(format!("{name}.{ENDING}")));
        let path = paths.find(|path| !path.exists()).context("there are too many journals of this second")?;
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(&path);
        let file = file.with_context(|| format!("{} cannot be made", path.display()))?;
        let mut journal = JournalWriter { path, file, has_begun: false, has_changes: false };
        journal.write(&Line::Start { format: FORMAT, folder: text, to: to.into() })?;
        File::open(&self.0)?.sync_all()?;
        Ok(journal)
    }
}

/// A journal that is kept.
#[derive(Debug)]
pub(crate) struct ConversionJournal {
    /// Its name without the ending.
    pub(crate) name: String,
    /// The folder that was converted.
    pub(crate) folder: PathBuf,
    /// The layout.
    pub(crate) to: String,
    /// When it was written last.
    pub(crate) at: SystemTime,
    /// Its bytes.
    pub(crate) size: u64,
    /// The conversion has come to its end.
    pub(crate) has_ended: bool,
}

/// The journals in a folder, the newest first. Other files are left out.
pub(crate) fn kept(journals: &Path) -> Vec<ConversionJournal> {
    let entries = fs::read_dir(journals).into_iter().flatten().flatten().take(MOST_JOURNALS);
    let mut all: Vec<ConversionJournal> = entries.filter_map(|entry| kept_at(&entry.path())).collect();
    all.sort_by_key(|one| std::cmp::Reverse(one.at));
    all
}

fn kept_at(path: &Path) -> Option<ConversionJournal> {
    let name = path.file_stem().filter(|_| path.extension().is_some_and(|end| end == ENDING))?;
    let Ok(Some(Line::Start { format: FORMAT, to, .. })) = first(path) else { return None };
    let found = fs::metadata(path).ok()?;
    Some(ConversionJournal {
        name: name.to_str()?.to_owned(),
        folder: JournalWriter::folder(path).ok()?,
        to,
        at: found.modified().ok()?,
        size: found.len(),
        has_ended: ends_with_its_end(path, found.len()).ok()?,
    })
}

/// Whether the last line says that all was done. Only that line is read.
fn ends_with_its_end(path: &Path, length: u64) -> anyhow::Result<bool> {
    let end = serde_json::to_string(&Line::End)? + "\n";
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(length.saturating_sub(end.len() as u64)))?;
    let mut last = String::new();
    file.take(end.len() as u64).read_to_string(&mut last)?;
    Ok(last == end)
}

impl JournalWriter {
    /// Continues a journal. What follows its last whole line was cut off.
    fn go_on(path: PathBuf) -> anyhow::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).open(&path);
        let file = file.with_context(|| format!("{} cannot be opened", path.display()))?;
        let (mut whole, mut has_begun, mut has_changes) = (0, false, false);
        each(&path, |at, length, line| {
            whole = at + length;
            match line {
                Line::Begin { .. } => (has_begun, has_changes) = (true, true),
                Line::Done { .. } | Line::Back => has_begun = false,
                Line::Start { .. } | Line::End => {}
            }
        })?;
        file.set_len(whole)?;
        Ok(Self { path, file, has_begun, has_changes })
    }

    fn write(&mut self, line: &Line) -> anyhow::Result<()> {
        let line = serde_json::to_string(line)? + "\n";
        let written = self.file.write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        written.with_context(|| format!("the journal {} cannot be written", self.path.display()))
    }

    /// Before a file changes.
    pub(super) fn begin(&mut self, change: &Change) -> anyhow::Result<()> {
        let Raw { xattrs, files } = &change.before;
        let line = Line::Begin {
            path: hex::encode(&change.path),
            xattrs: pairs(xattrs),
            files: files.iter().map(FileLine::of).collect(),
        };
        (self.has_begun, self.has_changes) = (true, true);
        self.write(&line)
    }

    /// The file has changed.
    pub(super) fn done(&mut self, sum: u128) -> anyhow::Result<()> {
        self.has_begun = false;
        self.write(&Line::Done { sum: format!("{sum:032x}") })
    }

    /// The file is what it was.
    pub(super) fn back(&mut self) -> anyhow::Result<()> {
        self.has_begun = false;
        self.write(&Line::Back)
    }

    /// Everything was looked at.
    pub(super) fn end(&mut self) -> anyhow::Result<()> {
        self.write(&Line::End)
    }

    pub(super) fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Where the journal is; one without changes is removed.
    pub(super) fn keep(self) -> anyhow::Result<Option<PathBuf>> {
        if self.has_changes {
            return Ok(Some(self.path));
        }
        fs::remove_file(&self.path)?;
        Ok(None)
    }

    /// The file at which an earlier run was cut off.
    pub(super) fn unfinished(&self) -> anyhow::Result<Option<Change>> {
        if !self.has_begun {
            return Ok(None);
        }
        match Self::read(&self.path)?.last() {
            Some(place) => Ok(Some(place.load(&self.path)?.0)),
            None => Ok(None),
        }
    }

    /// The changes of a journal that were not taken back, in their order.
    pub(super) fn read(path: &Path) -> anyhow::Result<Vec<Place>> {
        let mut places: Vec<Place> = Vec::new();
        let mut is_first = true;
        let mut is_journal = true;
        each(path, |at, _, line| {
            match line {
                Line::Start { format, .. } => is_journal &= is_first && format == FORMAT,
                Line::Begin { .. } => places.push(Place { at, after: None }),
                Line::Done { sum } => {
                    if let Some(last) = places.last_mut() {
                        last.after = u128::from_str_radix(&sum, 16).ok();
                    }
                }
                Line::Back => _ = places.pop(),
                Line::End => {}
            }
            is_first = false;
        })?;
        ensure!(is_journal && !is_first, "{} is no journal of a converted folder", path.display());
        Ok(places)
    }

    /// The folder of a journal.
    pub(crate) fn folder(path: &Path) -> anyhow::Result<PathBuf> {
        use std::os::unix::ffi::OsStringExt as _;
        let what = || format!("{} is no journal of a converted folder", path.display());
        let Some(Line::Start { format: FORMAT, folder, .. }) = first(path)? else { bail!("{}", what()) };
        Ok(PathBuf::from(std::ffi::OsString::from_vec(hex::decode_any(&folder).with_context(what)?)))
    }
}

impl Place {
    /// The change, and the sum of what was on the disk afterwards.
    pub(super) fn load(&self, path: &Path) -> anyhow::Result<(Change, Option<u128>)> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(self.at))?;
        let mut line = String::new();
        BufReader::new(file.take(LONGEST_LINE)).read_line(&mut line)?;
        let what = || format!("{}: a line cannot be read", path.display());
        let Line::Begin { path: name, xattrs, files } = serde_json::from_str(&line).with_context(what)?
        else {
            bail!("{}", what())
        };
        let files =
            files.into_iter().map(FileLine::raw).collect::<Option<Vec<RawFile>>>().with_context(what)?;
        let before = Raw { xattrs: unpaired(&xattrs).with_context(what)?, files };
        Ok((Change { path: hex::decode_any(&name).with_context(what)?, before }, self.after))
    }
}

impl FileLine {
    fn of(file: &RawFile) -> Self {
        Self {
            place: file.place.number(),
            name: hex::encode(&file.name),
            rights: file.rights,
            modified: file.modified,
            len: file.len,
            bytes: hex::encode(&file.bytes),
            xattrs: pairs(&file.xattrs),
        }
    }

    /// `None` if this program did not write it.
    fn raw(self) -> Option<RawFile> {
        let name = hex::decode_any(&self.name).filter(|name| !name.contains(&b'/') && !name.is_empty())?;
        let is_dot = name == b"." || name == b"..";
        let place = RawPlace::of_number(self.place).filter(|_| !is_dot)?;
        Some(RawFile {
            place,
            name,
            rights: self.rights,
            modified: self.modified,
            len: self.len,
            bytes: hex::decode_any(&self.bytes)?,
            xattrs: unpaired(&self.xattrs)?,
        })
    }
}

/// The first line of a journal; `None` for another line.
fn first(path: &Path) -> anyhow::Result<Option<Line>> {
    let mut line = String::new();
    BufReader::new(File::open(path)?.take(1 << 16)).read_line(&mut line)?;
    Ok(serde_json::from_str(&line).ok())
}

fn has_ended(path: &Path) -> anyhow::Result<bool> {
    let mut has_ended = false;
    each(path, |_, _, line| has_ended = matches!(line, Line::End))?;
    Ok(has_ended)
}

/// Calls `look` with the position, the length and the content of each whole line.
fn each(path: &Path, mut look: impl FnMut(u64, u64, Line)) -> anyhow::Result<()> {
    let file = File::open(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let (mut reader, mut at) = (BufReader::new(file), 0);
    loop {
        let mut line = String::new();
        let length = (&mut reader).take(LONGEST_LINE).read_line(&mut line)? as u64;
        if length == 0 || !line.ends_with('\n') {
            return Ok(()); // a crash has cut it off: nothing was changed before it was whole
        }
        let what = || format!("{}: the line at byte {at} is none of a journal", path.display());
        look(at, length, serde_json::from_str(&line).with_context(what)?);
        at += length;
    }
}

fn pairs(xattrs: &[(Vec<u8>, Vec<u8>)]) -> Vec<(String, String)> {
    xattrs.iter().map(|(name, value)| (hex::encode(name), hex::encode(value))).collect()
}

fn unpaired(xattrs: &[(String, String)]) -> Option<Vec<(Vec<u8>, Vec<u8>)>> {
    let both = |(name, value): &(String, String)| Some((hex::decode_any(name)?, hex::decode_any(value)?));
    let all: Option<Vec<(Vec<u8>, Vec<u8>)>> = xattrs.iter().map(both).collect();
    all.filter(|all| all.iter().all(|(name, _)| name.starts_with(b"user.")))
}
