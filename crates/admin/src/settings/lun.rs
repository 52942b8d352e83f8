//! The LUNs in the settings, and the checks without the state folder.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::diagnostic::{Findings, Place};
use super::section::Section;
use super::share::LocatedShare;
use super::units::{as_written, format_size};
use crate::luns::{LUN_BLOCK, SMALLEST_LUN, own_file};

/// `[[share.lun]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LunSettings {
    /// Its name in the share.
    pub name: String,
    /// Its least size, in whole blocks; `None`: the size of its file.
    pub size: Option<u64>,
    /// Bytes of a block.
    pub block_size: u32,
    /// All writes are refused.
    pub read_only: bool,
    /// An image inside the share, as written; `None`: a file of the server's own.
    pub file: Option<PathBuf>,
    /// The word for its target; `None`: the LUN's name.
    pub target: Option<String>,
    /// Its number there; `None`: any free one.
    pub number: Option<u16>,
    /// The virtual address of the cluster at which it is reached, as written; `None`: one that the cluster chooses.
    pub address: Option<String>,
    /// Patterns of the names of initiators that see it; if empty, all see it.
    pub initiators: Vec<String>,
    /// Patterns of the names of initiators that may only read.
    pub readers: Vec<String>,
    /// The places of its settings.
    pub places: LunPlaces,
}

/// The places of a LUN and its settings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs, reason = "named like the settings")]
pub struct LunPlaces {
    pub name: Place,
    pub size: Place,
    pub block_size: Place,
    pub file: Place,
    pub number: Place,
    pub address: Place,
}

/// One `[[share.lun]]`; `None` without a name, which was reported.
pub(super) fn settings(section: &Section) -> Option<LunSettings> {
    let small = |key| section.number(key).and_then(|number| u16::try_from(number).ok());
    let place = |key| section.place_of(key).clone();
    Some(LunSettings {
        name: section.text("name")?,
        size: section
            .number("size")
            .map(|size| size.max(1).saturating_add(LUN_BLOCK - 1) / LUN_BLOCK * LUN_BLOCK),
        block_size: small("block-size").map_or(512, u32::from),
        read_only: section.bool("read-only"),
        file: section.text("file").map(PathBuf::from),
        target: section.text("target"),
        number: small("number"),
        address: section.text("address"),
        initiators: section.texts("initiators"),
        readers: section.texts("readers"),
        places: LunPlaces {
            name: place("name"),
            size: place("size"),
            block_size: place("block-size"),
            file: place("file"),
            number: place("number"),
            address: place("address"),
        },
    })
}

impl LunSettings {
    /// The word for its target.
    #[must_use]
    pub fn target(&self) -> &str {
        self.target.as_deref().unwrap_or(&self.name)
    }

    /// Its file, relative to the share's folder; `None`: the server's own.
    #[must_use]
    pub fn file_in(&self, share: &Path) -> Option<PathBuf> {
        self.file.as_ref().map(|file| file.strip_prefix(share).unwrap_or(file).to_owned())
    }
}

/// Checks the LUNs of the shares, also against the existing files.
pub(super) fn check(shares: &[LocatedShare], findings: &mut Findings) {
    for (_, share) in shares {
        for (index, lun) in share.luns.iter().enumerate() {
            check_others(lun, &share.luns[..index], findings);
            if let Some(path) = path_in(lun, &share.path, findings)
                && share.absence.is_none()
                && !share.path.as_os_str().is_empty()
            {
                check_file(lun, &path, findings);
            }
        }
    }
}

/// Names, numbers and files that an earlier LUN of the share has.
fn check_others(lun: &LunSettings, earlier: &[LunSettings], findings: &mut Findings) {
    for other in earlier {
        let at = &other.places.name;
        if lun.name.eq_ignore_ascii_case(&other.name) {
            let what = format!("there are two LUNs {:?} in the share; the other is at {at}", lun.name);
            findings.error(&lun.places.name, what, "give one of them another name");
        } else if lun.target().eq_ignore_ascii_case(other.target())
            && let Some(number) = lun.number.filter(|_| lun.number == other.number)
        {
            let what = format!("the LUN {:?} has number {number} of the target already", other.name);
            findings.error(&lun.places.number, what, "write another number, or none to get one that is free");
        }
        if lun.file.is_some() && lun.file == other.file {
            let what = format!("the LUN {:?} at {at} has the same file", other.name);
            findings.error(
                &lun.places.file,
                what,
                "remove one of them: two disks cannot have the same blocks",
            );
        }
    }
}

/// The file of a LUN, unless it would lie outside the share.
fn path_in(lun: &LunSettings, share: &Path, findings: &mut Findings) -> Option<PathBuf> {
    let Some(file) = lun.file_in(share) else { return Some(share.join(own_file(&lun.name))) };
    if let Err(problem) = inside(&file) {
        let instead = "write a path inside the share, from its folder on";
        findings.error(&lun.places.file, problem, instead);
        return None;
    }
    Some(share.join(file))
}

fn check_file(lun: &LunSettings, path: &Path, findings: &mut Findings) {
    match std::fs::symlink_metadata(path) {
        Ok(there) if !there.is_file() => {
            let what = format!("`{}` is not a file", path.display());
            findings.error(&lun.places.file, what, "write the path of a disk image");
        }
        Ok(there) => check_size(lun, there.len(), findings),
        Err(error) if error.kind() == io::ErrorKind::NotFound => missing(lun, path, findings),
        Err(_) => {} // said when it is opened, by whoever may
    }
}

fn missing(lun: &LunSettings, path: &Path, findings: &mut Findings) {
    if lun.file.is_some() {
        let what = format!("the file `{}` does not exist", path.display());
        findings.error(
            &lun.places.file,
            what,
            "write the path of a disk image, or leave `file` out to have one made",
        );
    } else if let Some(size) = lun.size.filter(|size| *size < SMALLEST_LUN) {
        let (size, smallest) = (format_size(size), format_size(SMALLEST_LUN));
        let what = format!("the LUN {:?} would have {size}, and the smallest has {smallest}", lun.name);
        findings.error(&lun.places.size, what, "write the size with its unit: `size = \"2 TiB\"`");
    } else if lun.size.is_none() {
        let what = format!("the LUN {:?} is not there yet, and has no `size`", lun.name);
        findings.error(&lun.places.name, what, "add `size = \"1 TiB\"` to have it made");
    }
}

/// The settings never make a LUN smaller.
fn check_size(lun: &LunSettings, there: u64, findings: &mut Findings) {
    let Some(size) = lun.size.filter(|size| there / LUN_BLOCK * LUN_BLOCK > *size) else { return };
    let what = format!(
        "the LUN {:?} has {} already, and `size` is {}",
        lun.name,
        format_size(there),
        format_size(size)
    );
    let instead =
        format!("write `size = {}`; `fourfold lun resize --shrink` makes it smaller", as_written(there));
    findings.error(&lun.places.size, what, instead);
}

/// Checks that a path stays in the share's folder, and is not one of the server's own files.
///
/// # Errors
/// The place outside.
pub fn inside(file: &Path) -> Result<(), String> {
    let plain = |part: &Component<'_>| matches!(part, Component::Normal(_));
    if file.as_os_str().is_empty() || !file.components().all(|part| plain(&part)) {
        return Err(format!("`{}` does not lie inside the share", file.display()));
    }
    if file.components().any(|part| formats::is_own_name(part.as_os_str().as_encoded_bytes())) {
        return Err(format!("`{}` is the server's own", file.display()));
    }
    Ok(())
}
