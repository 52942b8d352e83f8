//! The record of changed rights, by which they are taken back: in the state folder, a line of JSON for each file before it is changed.

use std::fs::{self, File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use vfs::{HostKey, RightsRecord};

/// In the state folder.
const FOLDER: &str = "rights";
const ENDING: &str = "jsonl";
/// Records that are kept.
const MOST_KEPT: usize = 20;
/// The record is put on the disk after so many lines.
const SYNC_EVERY: u64 = 4096;

/// The first line.
#[derive(Debug, Serialize, Deserialize)]
struct Head {
    share: String,
}

/// A file before its change. Bytes are in hexadecimal.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    path: String,
    /// Which file it is: another one may get its place.
    file: String,
    mode: u32,
    attributes: [Option<String>; 3],
}

/// A record that is being written. The file is made with the first line.
pub(super) struct ChangeRecord {
    folder: PathBuf,
    share: String,
    file: Option<(String, File)>,
    lines: u64,
}

impl ChangeRecord {
    pub(super) fn new(state: &Path, share: &str) -> Self {
        Self { folder: state.join(FOLDER), share: share.to_owned(), file: None, lines: 0 }
    }

    /// Its name, if it has a line.
    pub(super) fn name(&self) -> Option<String> {
        self.file.as_ref().map(|(name, _)| name.clone())
    }

    /// Notes how a file is before it is changed.
    pub(super) fn note(&mut self, path: &[u8], before: &RightsRecord) -> anyhow::Result<()> {
        let hex = |value: &Option<Vec<u8>>| value.as_deref().map(wire::hex::encode);
        let [access, default, list] = &before.attributes;
        let line = Line {
            path: wire::hex::encode(path),
            file: wire::hex::encode(before.file.as_bytes()),
            mode: before.mode,
            attributes: [hex(access), hex(default), hex(list)],
        };
        let line = serde_json::to_string(&line)? + "\n";
        if self.file.is_none() {
            self.file = Some(self.made()?);
        }
        let Some((_, file)) = &mut self.file else { bail!("the record is not there") };
        file.write_all(line.as_bytes()).context("the record of the changes cannot be written")?;
        self.lines += 1;
        if self.lines.is_multiple_of(SYNC_EVERY) {
            file.sync_data()?;
        }
        Ok(())
    }

    /// Puts all of it on the disk.
    pub(super) fn end(&self) -> anyhow::Result<()> {
        match &self.file {
            Some((_, file)) => Ok(file.sync_data()?),
            None => Ok(()),
        }
    }

    fn made(&self) -> anyhow::Result<(String, File)> {
        let what = || format!("{} cannot be made", self.folder.display());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).with_context(what)?;
        make_room(&self.folder);
        let plain = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '_' };
        let share: String = self.share.chars().take(40).map(plain).collect();
        let first = format!("{}-{share}", jiff::Zoned::now().strftime("%Y-%m-%d-%H%M%S"));
        let others = (2..100).map(|number| format!("{first}-{number}"));
        for name in [first.clone()].into_iter().chain(others) {
            let path = self.folder.join(format!("{name}.{ENDING}"));
            match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
                Ok(mut file) => {
                    let head = serde_json::to_string(&Head { share: self.share.clone() })? + "\n";
                    file.write_all(head.as_bytes()).with_context(what)?;
                    return Ok((name, file));
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error).with_context(what),
            }
        }
        bail!("{} has too many records of this second", self.folder.display())
    }
}

/// Removes the oldest records, by their names, until there is room for one more.
fn make_room(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|end| end == ENDING)).collect();
    found.sort();
    let too_many = (found.len() + 1).saturating_sub(MOST_KEPT);
    for old in found.into_iter().take(too_many) {
        let _ = fs::remove_file(old); // then there is one more
    }
}

/// Calls `each` with the path and the rights of each file in a record of this share.
pub(super) fn read(
    state: &Path,
    (share, name): (&str, &str),
    each: &mut dyn FnMut(Vec<u8>, RightsRecord) -> bool,
) -> anyhow::Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let name = name.strip_suffix(&format!(".{ENDING}")).unwrap_or(name);
    let path = state.join(FOLDER).join(format!("{name}.{ENDING}"));
    if name.is_empty() || !name.chars().all(is_plain) || !path.is_file() {
        bail!("there is no record {name:?}; the last {MOST_KEPT} are in {}", state.join(FOLDER).display());
    }
    let what = || format!("{} cannot be read", path.display());
    let mut lines = BufReader::new(File::open(&path).with_context(what)?).lines();
    let head = lines.next().transpose().with_context(what)?.unwrap_or_default();
    let head: Head = serde_json::from_str(&head).with_context(what)?;
    if head.share != share {
        bail!("the record {name} is of the share {:?}", head.share);
    }
    for (number, line) in lines.enumerate() {
        let wrong = || format!("{}, line {}: it is no line of a record", path.display(), number + 2);
        let line = line.with_context(what)?;
        let Line { path: hex, file, mode, attributes } = match serde_json::from_str(&line) {
            Ok(line) => line,
            Err(_) if !line.ends_with('}') => break, // it was being written when the server ended
            Err(error) => return Err(error).with_context(wrong),
        };
        let at = wire::hex::decode_any(&hex).with_context(wrong)?;
        let file = wire::hex::decode_any(&file).and_then(|key| HostKey::new(&key)).with_context(wrong)?;
        let value =
            |hex: Option<String>| hex.map(|hex| wire::hex::decode_any(&hex).with_context(wrong)).transpose();
        let [access, default, list] = attributes;
        let attributes = [value(access)?, value(default)?, value(list)?];
        if !each(at, RightsRecord { file, mode, attributes }) {
            break;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_again_and_of_its_share_only() {
        let state = tempfile::tempdir().unwrap();
        let file = HostKey::new(&[3, 0, 9]).unwrap();
        let before =
            RightsRecord { file, mode: 0o2770, attributes: [Some(vec![0xff, 0]), None, Some(vec![7])] };
        let mut record = ChangeRecord::new(state.path(), "Studio/a");
        assert_eq!(record.name(), None);
        record.note(b"2019/\xff", &before).unwrap();
        record.note(b"", &before).unwrap();
        record.end().unwrap();
        let name = record.name().unwrap();
        let mut found = Vec::new();
        read(state.path(), ("Studio/a", &name), &mut |path, rights| {
            found.push((path, rights));
            true
        })
        .unwrap();
        assert_eq!(found, [(b"2019/\xff".to_vec(), before.clone()), (Vec::new(), before)]);
        assert!(read(state.path(), ("Other", &name), &mut |_, _| true).is_err());
        assert!(read(state.path(), ("Studio/a", "../lock"), &mut |_, _| true).is_err());
    }

    #[test]
    fn the_newest_records_are_kept() {
        let state = tempfile::tempdir().unwrap();
        let file = HostKey::new(&[]).unwrap();
        let before = RightsRecord { file, mode: 0, attributes: [None, None, None] };
        for _ in 0..MOST_KEPT + 3 {
            ChangeRecord::new(state.path(), "a").note(b"x", &before).unwrap();
        }
        assert_eq!(fs::read_dir(state.path().join(FOLDER)).unwrap().count(), MOST_KEPT);
    }
}
