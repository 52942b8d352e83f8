//! `luns.toml` in the state folder.

use std::fs::File;
use std::path::{Path, PathBuf};

use auth::{FileError, StateFile, durable};
use serde::{Deserialize, Serialize};

use super::names::target_suffix;
use super::record::{LunOptions, LunRecord};
use crate::settings::{MOST_NUMBER, is_lun_name};
use crate::shell::quote;

const FILE: StateFile = StateFile {
    format: 1,
    if_damaged: ": it says which disk is which, and initiators would take a LUN that is made anew for another disk",
};
/// NAA of the locally assigned kind, SPC-4 7.8.6.6.5.
const LOCALLY_ASSIGNED: u64 = 3 << 60;

/// The LUNs on disk, at the time of the read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunFile {
    path: PathBuf,
    /// In the order of their creation.
    pub luns: Vec<LunRecord>,
}

/// Why the LUNs were not read or changed.
#[derive(Debug, thiserror::Error)]
pub enum LunError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The table of the cluster cannot be read or written.
    #[error("the table of LUNs of the cluster: {0}")]
    Cluster(String),
    /// Another server of the cluster has changed the table meanwhile.
    #[error("another server of the cluster changes the LUNs at this moment; try again")]
    Busy,
    /// A LUN with this name exists.
    #[error("there is a LUN {0} already; `fourfold lun show {quoted}` tells about it", quoted = quote(.0))]
    Exists(String),
    /// There is no LUN with this name.
    #[error("there is no LUN {0}; `fourfold lun list` shows them")]
    Missing(String),
    /// The name is not allowed.
    #[error("{0:?} cannot be a LUN's name: 1 to 64 letters and digits of ASCII, `-`, `_` and `.`")]
    BadName(String),
    /// Another LUN has the number.
    #[error(
        "the LUN {other} has number {number} of that target; choose another number, or none to get one that is free"
    )]
    NumberTaken {
        /// The number.
        number: u16,
        /// The LUN that has it.
        other: String,
    },
    /// The target is full.
    #[error("the target has {} LUNs, and no number is free; choose another target", MOST_NUMBER + 1)]
    TargetFull,
    /// Another LUN has the same file.
    #[error("the LUN {0} is that file already: two disks cannot have the same blocks")]
    SameFile(String),
    /// The system gives no random numbers.
    #[error("the system gives no random numbers for the LUN's identity")]
    NoRandomness,
}

#[derive(Serialize, Deserialize)]
struct StoredLuns {
    format: u32,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    lun: Vec<WrittenLun>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct WrittenLun {
    share: String,
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// Sixteen hexadecimal digits.
    naa: String,
    target: String,
    target_suffix: String,
    number: u16,
    block_size: u32,
    #[serde(default)]
    read_only: bool,
    #[serde(default)]
    initiators: Vec<String>,
    #[serde(default)]
    readers: Vec<String>,
    created: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    snapshot_of: Option<String>,
    #[serde(default)]
    from_settings: bool,
    made: bool,
}

/// A LUN to add.
#[derive(Debug, Clone)]
pub struct NewLun<'a> {
    /// The share that it belongs to.
    pub share: &'a str,
    /// Its name there.
    pub name: &'a str,
    /// See [`LunRecord::file`].
    pub file: Option<PathBuf>,
    /// See [`LunRecord::target`]; `None`: the LUN's name.
    pub target: Option<&'a str>,
    /// Its number; `None`: the lowest free one.
    pub number: Option<u16>,
    /// The options.
    pub options: LunOptions,
    /// See [`LunRecord::from_settings`].
    pub from_settings: bool,
    /// See [`LunRecord::snapshot_of`].
    pub snapshot_of: Option<String>,
    /// The current time, in seconds since 1970.
    pub created: u64,
}

impl LunFile {
    /// Reads `luns.toml` of a state folder. A missing file stands for no LUNs.
    ///
    /// # Errors
    /// It exists but cannot be read or parsed.
    pub fn read(state: &Path) -> Result<Self, LunError> {
        let path = state.join("luns.toml");
        let luns = FILE.read(&path)?.map_or(Ok(Vec::new()), |written| luns(&path, written))?;
        Ok(Self { path, luns })
    }

    /// Reads, changes and writes the LUNs under the lock. If `change` fails, or changes nothing,
    /// nothing is written.
    ///
    /// # Errors
    /// Those of reading, of `change` and of writing. The old file is then still complete.
    pub fn edit<T, E: From<LunError>>(
        state: &Path,
        change: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        let _lock = lock(state)?;
        let mut file = Self::read(state)?;
        let before = file.luns.clone();
        let result = change(&mut file)?;
        if file.luns != before {
            file.write()?;
        }
        Ok(result)
    }

    /// The LUN with a share and a name.
    #[must_use]
    pub fn find(&self, share: &str, name: &str) -> Option<&LunRecord> {
        self.luns.iter().find(|lun| lun.is(share, name))
    }

    /// The same LUN, for a change.
    ///
    /// # Errors
    /// There is no such LUN.
    pub fn find_mut(&mut self, share: &str, name: &str) -> Result<&mut LunRecord, LunError> {
        let missing = || LunError::Missing(format!("{share}/{name}"));
        self.luns.iter_mut().find(|lun| lun.is(share, name)).ok_or_else(missing)
    }

    /// Adds a LUN, and gives it its identity.
    ///
    /// # Errors
    /// Another LUN has the name, the number or the file; or one of them is not allowed.
    pub fn add(&mut self, new: NewLun<'_>) -> Result<&LunRecord, LunError> {
        let NewLun { share, name, file, target, number, options, from_settings, snapshot_of, created } = new;
        if !is_lun_name(name) {
            return Err(LunError::BadName(name.into()));
        }
        if let Some(there) = self.find(share, name) {
            return Err(LunError::Exists(there.full_name()));
        }
        if let Some(other) =
            self.luns.iter().find(|lun| file.is_some() && lun.share == share && lun.file == file)
        {
            return Err(LunError::SameFile(other.full_name()));
        }
        let target = target.unwrap_or(name).to_owned();
        let number = self.number(share, name, &target, number)?;
        let (naa, target_suffix) = (self.new_naa()?, self.suffix(share, &target));
        let (share, name) = (share.into(), name.into());
        let made = !from_settings;
        let record = LunRecord {
            share,
            name,
            file,
            naa,
            target,
            target_suffix,
            number,
            created,
            from_settings,
            made,
            snapshot_of,
            options,
        };
        self.luns.push(record);
        Ok(self.luns.last().expect("it was pushed just now"))
    }

    /// Notes that the files of the LUNs with these NAA identifiers exist.
    pub fn are_made(&mut self, naas: &[u64]) {
        self.luns.iter_mut().filter(|lun| naas.contains(&lun.naa)).for_each(|lun| lun.made = true);
    }

    /// Removes a LUN, and returns its record.
    ///
    /// # Errors
    /// There is no such LUN.
    pub fn remove(&mut self, share: &str, name: &str) -> Result<LunRecord, LunError> {
        let missing = || LunError::Missing(format!("{share}/{name}"));
        let at = self.luns.iter().position(|lun| lun.is(share, name)).ok_or_else(missing)?;
        Ok(self.luns.remove(at))
    }

    /// Puts a LUN into a target, under the requested number, or under its current one if that is
    /// free there.
    pub(super) fn place(
        &mut self,
        share: &str,
        name: &str,
        target: &str,
        wanted: Option<u16>,
    ) -> Result<(), LunError> {
        let had = self.find(share, name).map(|lun| lun.number);
        let number = match wanted {
            Some(_) => self.number(share, name, target, wanted)?,
            None => {
                self.number(share, name, target, had).or_else(|_| self.number(share, name, target, None))?
            }
        };
        let suffix = self.suffix(share, target);
        let lun = self.find_mut(share, name)?;
        (lun.target, lun.target_suffix, lun.number) = (target.into(), suffix, number);
        Ok(())
    }

    /// A number in a target for this LUN: the requested one, or the lowest free one.
    fn number(&self, share: &str, name: &str, target: &str, wanted: Option<u16>) -> Result<u16, LunError> {
        let others = || self.luns.iter().filter(|lun| lun.is_in(share, target) && !lun.is(share, name));
        match wanted {
            Some(number) => match others().find(|lun| lun.number == number) {
                Some(other) => Err(LunError::NumberTaken { number, other: other.full_name() }),
                None => Ok(number),
            },
            None => {
                let is_free = |number: &u16| !others().any(|lun| lun.number == *number);
                (0..=MOST_NUMBER).find(is_free).ok_or(LunError::TargetFull)
            }
        }
    }

    /// The part after the prefix in the name of a share's target.
    fn suffix(&self, share: &str, target: &str) -> String {
        let same = self.luns.iter().find(|lun| lun.is_in(share, target));
        same.map_or_else(
            || target_suffix(share, target, |name| self.luns.iter().any(|lun| lun.target_suffix == name)),
            |lun| lun.target_suffix.clone(),
        )
    }

    fn new_naa(&self) -> Result<u64, LunError> {
        loop {
            let mut bytes = [0; 8];
            getrandom::fill(&mut bytes).map_err(|_| LunError::NoRandomness)?;
            let naa = LOCALLY_ASSIGNED | u64::from_be_bytes(bytes) >> 4;
            if !self.luns.iter().any(|lun| lun.naa == naa) {
                return Ok(naa);
            }
        }
    }

    /// The LUNs as `luns.toml` has them.
    pub(super) fn text(&self) -> Result<String, LunError> {
        Ok(FILE.text(&self.path, &self.written())?)
    }

    /// The same, read from this text. `path` is for messages, and where it is written to.
    pub(super) fn parse(path: PathBuf, text: &str) -> Result<Self, LunError> {
        let luns = luns(&path, FILE.parse(&path, text)?)?;
        Ok(Self { path, luns })
    }

    pub(super) fn write(&self) -> Result<(), LunError> {
        Ok(FILE.write(&self.path, &self.written())?)
    }

    fn written(&self) -> StoredLuns {
        StoredLuns { format: FILE.format, lun: self.luns.iter().map(WrittenLun::from).collect() }
    }
}

impl From<&LunRecord> for WrittenLun {
    fn from(lun: &LunRecord) -> Self {
        let options = lun.options.clone();
        Self {
            share: lun.share.clone(),
            name: lun.name.clone(),
            file: lun.file.as_ref().map(|file| file.to_string_lossy().into_owned()),
            naa: format!("{:016x}", lun.naa),
            target: lun.target.clone(),
            target_suffix: lun.target_suffix.clone(),
            number: lun.number,
            block_size: options.block_size,
            read_only: options.read_only,
            initiators: options.initiators,
            readers: options.readers,
            created: lun.created,
            snapshot_of: lun.snapshot_of.clone(),
            from_settings: lun.from_settings,
            made: lun.made,
        }
    }
}

impl WrittenLun {
    fn read(self) -> Result<LunRecord, String> {
        let wrong = |what: &str| format!("the {what} of {}/{}", self.share, self.name);
        let naa = u64::from_str_radix(&self.naa, 16).ok().filter(|naa| naa >> 60 == 3);
        let naa = naa.filter(|_| self.naa.len() == 16).ok_or_else(|| wrong("naa"))?;
        if !is_lun_name(&self.name) {
            return Err(wrong("name"));
        }
        if !matches!(self.block_size, 512 | 4096) {
            return Err(wrong("block-size"));
        }
        if self.number > MOST_NUMBER {
            return Err(wrong("number"));
        }
        let file = self.file.as_ref().map(PathBuf::from);
        if file.as_ref().is_some_and(|file| crate::settings::inside(file).is_err()) {
            return Err(wrong("file"));
        }
        Ok(LunRecord {
            share: self.share,
            name: self.name,
            file,
            naa,
            target: self.target,
            target_suffix: self.target_suffix,
            number: self.number,
            created: self.created,
            snapshot_of: self.snapshot_of,
            from_settings: self.from_settings,
            made: self.made,
            options: LunOptions {
                block_size: self.block_size,
                read_only: self.read_only,
                initiators: self.initiators,
                readers: self.readers,
            },
        })
    }
}

/// The LUNs of a file. No two of them may be one disk.
fn luns(path: &Path, written: StoredLuns) -> Result<Vec<LunRecord>, LunError> {
    let damaged = |reason: String| FILE.damaged(path, reason);
    let luns: Vec<LunRecord> =
        written.lun.into_iter().map(WrittenLun::read).collect::<Result<_, _>>().map_err(damaged)?;
    for (at, lun) in luns.iter().enumerate() {
        let same = |other: &LunRecord| {
            other.naa == lun.naa
                || other.is(&lun.share, &lun.name)
                || (other.target_suffix == lun.target_suffix && other.number == lun.number)
        };
        if luns[..at].iter().any(same) {
            return Err(
                damaged(format!("{} is there twice, or is taken for another", lun.full_name())).into()
            );
        }
    }
    Ok(luns)
}

/// Held while the LUNs change. The system releases it when the process ends, for any reason.
pub(super) fn lock(state: &Path) -> Result<File, LunError> {
    let path = state.join("luns.lock");
    Ok(durable::lock(&path).map_err(FileError::io(&path))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new<'a>(share: &'a str, name: &'a str) -> NewLun<'a> {
        let options = LunOptions { initiators: vec!["iqn.*".into()], ..LunOptions::default() };
        NewLun {
            share,
            name,
            file: None,
            target: None,
            number: None,
            options,
            from_settings: false,
            snapshot_of: None,
            created: 7,
        }
    }

    #[test]
    fn luns_are_read_as_they_were_written() {
        let state = tempfile::tempdir().unwrap();
        LunFile::edit(state.path(), |file| {
            file.add(new("My Work", "video"))?;
            file.add(NewLun { file: Some("images/old.img".into()), ..new("My Work", "old") }).map(drop)
        })
        .unwrap();
        let file = LunFile::read(state.path()).unwrap();
        let video = file.find("My Work", "VIDEO").unwrap();
        assert_eq!((video.full_name().as_str(), video.naa >> 60, video.number), ("My Work/video", 3, 0));
        assert_eq!(file.luns[1].file.as_deref(), Some(Path::new("images/old.img")));
        let text = std::fs::read_to_string(state.path().join("luns.toml")).unwrap();
        assert!(text.starts_with("format = 1\n"), "{text}");
        LunFile::edit(state.path(), |file| file.remove("My Work", "old").map(drop)).unwrap();
        assert_eq!(LunFile::read(state.path()).unwrap().luns, file.luns[..1]);
    }

    #[test]
    fn numbers_are_the_lowest_that_is_free_and_targets_have_names_of_their_own() {
        let state = tempfile::tempdir().unwrap();
        LunFile::edit(state.path(), |file| {
            let in_vms = |name| NewLun { target: Some("vms"), ..new("A", name) };
            let numbers = [file.add(in_vms("a"))?.number, file.add(in_vms("b"))?.number];
            file.remove("A", "a")?;
            assert_eq!((numbers, file.add(in_vms("c"))?.number), ([0, 1], 0));
            let taken = file.add(NewLun { number: Some(1), ..in_vms("d") }).unwrap_err();
            assert!(matches!(taken, LunError::NumberTaken { number: 1, other } if other == "A/b"));
            assert_eq!(file.add(new("A", "x_y"))?.target_suffix, "a.x-y");
            assert_eq!(file.add(new("A", "x-y"))?.target_suffix, "a.x-y-2");
            Ok::<(), LunError>(())
        })
        .unwrap();
    }

    #[test]
    fn what_is_there_or_cannot_be_is_said() {
        let state = tempfile::tempdir().unwrap();
        let add = |lun: NewLun<'_>| LunFile::edit(state.path(), |file| file.add(lun).map(drop));
        add(NewLun { file: Some("x".into()), ..new("A", "video") }).unwrap();
        assert!(matches!(add(new("A", "Video")), Err(LunError::Exists(name)) if name == "A/video"));
        assert!(matches!(add(new("A", "a b")), Err(LunError::BadName(_))));
        assert!(matches!(
            add(NewLun { file: Some("x".into()), ..new("A", "other") }),
            Err(LunError::SameFile(name)) if name == "A/video"
        ));
        let gone = LunFile::edit(state.path(), |file| file.remove("A", "gone").map(drop)).unwrap_err();
        assert_eq!(gone.to_string(), "there is no LUN A/gone; `fourfold lun list` shows them");
    }

    #[test]
    fn a_later_format_and_a_damaged_file_are_refused_and_not_overwritten() {
        let state = tempfile::tempdir().unwrap();
        let path = state.path().join("luns.toml");
        LunFile::edit(state.path(), |file| file.add(new("A", "video")).map(drop)).unwrap();
        let whole = std::fs::read_to_string(&path).unwrap();
        let twice = whole.clone() + whole.strip_prefix("format = 1\n").unwrap();
        let texts = [
            ("format = 2\nother = {}\n".to_owned(), "has format 2"),
            (whole[..whole.len() / 2].to_owned(), "is damaged"),
            (whole.replace("naa = \"3", "naa = \"5"), "the naa of A/video"),
            (whole.replace("\"video\"", "\"../video\""), "the name of A/../video"),
            (whole.replace("block-size = 512", "block-size = 513"), "the block-size of A/video"),
            (whole.replace("number = 0", "file = \"../../etc/shadow\"\nnumber = 0"), "the file of A/video"),
            (twice, "is there twice"),
        ];
        for (text, expected) in texts {
            std::fs::write(&path, &text).unwrap();
            let error = LunFile::edit(state.path(), |file| file.add(new("A", "x")).map(drop)).unwrap_err();
            assert!(error.to_string().contains(expected), "{expected}: {error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn a_write_cut_off_by_a_crash_leaves_the_luns_as_they_were() {
        let state = tempfile::tempdir().unwrap();
        LunFile::edit(state.path(), |file| file.add(new("A", "video")).map(drop)).unwrap();
        let whole = std::fs::read(state.path().join("luns.toml")).unwrap();
        std::fs::write(state.path().join("luns.toml.new"), &whole[..whole.len() / 2]).unwrap();
        assert_eq!(LunFile::read(state.path()).unwrap().luns.len(), 1);
        LunFile::edit(state.path(), |file| file.add(new("A", "b")).map(drop)).unwrap();
        assert_eq!(LunFile::read(state.path()).unwrap().luns.len(), 2);
    }
}
