//! A share with a snapshot, for clients that others wrote: a btrfs in an image file, mounted in our own mount
//! namespace.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::fs::XattrFlags;

use crate::{isolate, process, server};

/// The name of the share.
pub const SHARE: &str = "past";
/// What `subdir/hardlink` has in the snapshot, and now.
pub const THEN: &str = "as it was\n";
const NOW: &str = "as it is\n";
/// A stream of `subdir/hardlink`, as Samba keeps it, with its end.
pub const STREAM: &str = "note";
const STREAM_DATA: &[u8] = b"kept\0";
pub const STREAM_LENGTH: usize = STREAM_DATA.len() - 1;
const LIMIT: Duration = Duration::from_secs(30);

/// The folder of the share, mounted inside `place`. `None` where no btrfs can be mounted.
pub fn mount(place: &Path, owner: u32) -> Result<Option<PathBuf>> {
    if !isolate::is_isolated()
        || process::find("mkfs.btrfs").is_none()
        || !Path::new("/dev/loop-control").exists()
    {
        return Ok(None);
    }
    let (image, pool) = (place.join("past.img"), place.join("past"));
    fs::File::create(&image)?.set_len(128 << 20)?;
    fs::create_dir(&pool)?;
    let [image, pool_text] = [&image, &pool].map(|path| path.to_string_lossy());
    process::stdout_of("mkfs.btrfs", &["-q", &image], LIMIT)?;
    process::stdout_of("mount", &["-o", "loop", &image, &pool_text], LIMIT)?;
    process::stdout_of("btrfs", &["-q", "subvolume", "create", &format!("{pool_text}/{SHARE}")], LIMIT)?;
    let folder = pool.join(SHARE);
    let file = folder.join("subdir/hardlink");
    fs::create_dir(folder.join("subdir"))?;
    fs::write(&file, THEN)?;
    rustix::fs::setxattr(&file, format!("user.DosStream.{STREAM}:$DATA"), STREAM_DATA, XattrFlags::empty())?;
    [&folder, &folder.join("subdir"), &file]
        .into_iter()
        .try_for_each(|path| chown(path, Some(owner), Some(owner)))?;
    Ok(Some(folder))
}

/// Takes the snapshot `one` of the share, changes the file, and returns the label of the snapshot: `@GMT-` and its time.
pub fn take(settings: &Path, folder: &Path) -> Result<String> {
    let settings = settings.to_string_lossy();
    let fourfold = |words: &[&str]| {
        process::stdout_of(server::binary(), &[words, &["--config", &settings]].concat(), LIMIT)
    };
    fourfold(&["snapshot", "create", "past@one"])?;
    fs::write(folder.join("subdir/hardlink"), NOW)?;
    let list: serde_json::Value = serde_json::from_str(&fourfold(&["snapshot", "list", SHARE, "--json"])?)?;
    let created = list[0]["created"].as_str().context("no time of the snapshot")?;
    let time = created.trim_end_matches('Z').replace('T', "-").replace(':', ".");
    let (date, clock) = time.split_at("2026-11-23".len());
    Ok(format!("@GMT-{}{clock}", date.replace('-', ".")))
}
