//! The table of LUNs, compared with their files.

use std::fs;
use std::io::ErrorKind;

use admin::ShareSettings;
use admin::luns::{own_file, own_file_name};
use anyhow::Context;
use iscsi::server::stored;
use vfs::{Caller, Error, OwnFolder, Volume};

use super::work::{Place, ScrubRecorder, settle};
use crate::gateway;
use crate::shares::luns;

/// Files of LUNs that are named like this are incomplete clones.
const UNFINISHED: &str = ".unfinished";
/// A clone that has not been written to for so many seconds has ended.
const SETTLED_AFTER_SECS: i64 = 3600;

/// The LUNs of a share.
pub(super) fn check(
    place: &Place<'_>,
    share: &ShareSettings,
    volume: &Volume,
    repair: bool,
    recorder: &ScrubRecorder<'_>,
) -> anyhow::Result<()> {
    let table = gateway::luns::table(place.volumes).read().context("the table of LUNs cannot be read")?;
    let records: Vec<_> = table.luns.iter().filter(|lun| lun.share == share.name).collect();
    for lun in &records {
        let file = lun.file.clone().unwrap_or_else(|| own_file(&lun.name)).display().to_string();
        match luns::find_file(volume, lun) {
            Err(Error::NotFound) if lun.made => settle(
                recorder,
                (file, "lun-without-file", format!("the file of the LUN {} is missing", lun.full_name())),
                ("initiators cannot use it", "bring the file back, or `fourfold lun remove`"),
                (repair, None),
            ),
            Err(Error::NotFound) => {}
            Err(error) => settle(
                recorder,
                (file, "unreadable", format!("the file of the LUN {}: {error}", lun.full_name())),
                ("initiators cannot use it", "look at the file and its folder"),
                (repair, None),
            ),
            Ok(found) => {
                let size = found.attributes.size;
                if !size.is_multiple_of(u64::from(lun.options.block_size.max(1))) {
                    settle(
                        recorder,
                        (file, "lun-size", format!("its {size} bytes are not whole blocks of the LUN")),
                        ("initiators do not see its last bytes", "`fourfold lun resize` makes it longer"),
                        (repair, None),
                    );
                }
            }
        }
        recorder.looked(1);
    }
    let names: Vec<String> =
        records.iter().filter(|lun| lun.file.is_none()).map(|lun| own_file_name(&lun.name)).collect();
    let naas: Vec<u64> = records.iter().map(|lun| lun.naa).collect();
    files(volume, (&names, &naas), repair, recorder)
}

/// The files in the server's own folder for LUNs. `naas`: those of the LUNs, whose reservations are there in a cluster.
fn files(
    volume: &Volume,
    (known, naas): (&[String], &[u64]),
    repair: bool,
    recorder: &ScrubRecorder<'_>,
) -> anyhow::Result<()> {
    let folder = match volume.own_folders().find(OwnFolder::LUNS) {
        Ok(folder) => folder,
        Err(Error::NotFound) => return Ok(()),
        // It is reported with the tree, or at the start of the server.
        Err(Error::NotPermitted) => {
            settle(
                recorder,
                (".fourfold-luns".into(), "folder-untrusted", "something else is in its place".into()),
                ("LUNs cannot be used", "make it root's with the mode 700, or move it away"),
                (repair, None),
            );
            return Ok(());
        }
        Err(other) => return Err(other.into()),
    };
    let mut names = Vec::new();
    folder.list(0, &mut |entry| {
        names.push(entry.name.to_vec());
        true
    })?;
    let now = jiff::Timestamp::now().as_second();
    for name in names.iter().filter(|name| !matches!(&name[..], b"." | b"..")) {
        let text = String::from_utf8_lossy(name).into_owned();
        let path = format!(".fourfold-luns/{text}");
        recorder.looked(1);
        if known.contains(&text) || stored::naa_of(&text).is_some_and(|naa| naas.contains(&naa)) {
            continue;
        }
        if text.starts_with('.') && text.ends_with(UNFINISHED) {
            let changed = folder.entry_attributes(&Caller::root(), name)?.changed.secs;
            let is_settled = changed.saturating_add(SETTLED_AFTER_SECS) <= now;
            let remove = || Ok(folder.remove(&Caller::root(), name)?);
            let mend: Option<&dyn Fn() -> anyhow::Result<()>> = if is_settled { Some(&remove) } else { None };
            settle(
                recorder,
                (path, "lun-unfinished", "a copy of a LUN that is not complete".into()),
                ("it takes space", "--repair removes it, an hour after it was written last"),
                (repair, mend),
            );
            continue;
        }
        let remedy = match text.strip_suffix(".img") {
            Some(_) => "`fourfold lun create SHARE/NAME` makes a LUN of it, as it is",
            None => "move it away",
        };
        settle(
            recorder,
            (path, "lun-unknown", "no LUN has this file".into()),
            ("no initiator can use it", remedy),
            (repair, None),
        );
    }
    Ok(())
}

/// Reservations of LUNs that do not exist any more.
pub(super) fn check_kept(
    place: &Place<'_>,
    repair: bool,
    recorder: &ScrubRecorder<'_>,
) -> anyhow::Result<()> {
    let state = place.volumes.state();
    let table = gateway::luns::table(place.volumes).read().context("the table of LUNs cannot be read")?;
    let entries = match fs::read_dir(state.join("luns")) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other.context("the reservations of the LUNs cannot be read")?,
    };
    for entry in entries {
        let path = entry?.path();
        let naa = path.file_stem().and_then(|stem| u64::from_str_radix(stem.to_str()?, 16).ok());
        let is_kept = path.extension().is_some_and(|end| end == "kept");
        recorder.looked(1);
        if !is_kept || naa.is_some_and(|naa| table.luns.iter().any(|lun| lun.naa == naa)) {
            continue;
        }
        let remove = || Ok(fs::remove_file(&path)?);
        settle(
            recorder,
            (
                path.display().to_string(),
                "lun-reservations",
                "reservations of a LUN that is not there".into(),
            ),
            ("nothing", "--repair removes them"),
            (repair, Some(&remove)),
        );
    }
    Ok(())
}
