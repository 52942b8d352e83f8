//! Snapshots of ZFS, by the `zfs` command. ZFS keeps times and holds itself.
//!
//! Only options that the oldest command has (pool version 23) are used: `list -p` is newer.

use std::any::Any;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{Engine, mounts};
use crate::command::run;
use crate::{EngineKind, Refusal, Snapshot, steps};

/// A clone that shows a snapshot is a dataset below the snapshot's own, with this before its name.
const VIEW: &str = "fourfold-view-";
/// The property of a snapshot with the tags of our holds: `zfs holds` needs a library that zfs-fuse of
/// Debian does not have.
const TAGS: &str = "fourfold:held";

/// The longest name of a dataset or snapshot: ZFS_MAX_DATASET_NAME_LEN without its NUL.
const LONGEST: usize = 255;

#[derive(Debug, Clone)]
pub(crate) struct Zfs {
    folder: PathBuf,
    /// `pool/name`
    dataset: String,
    /// Where clones are mounted, if snapshots are shown by no `.zfs`.
    mounts: Option<PathBuf>,
}

impl Zfs {
    pub(crate) fn new(folder: &Path, dataset: String) -> Self {
        Self { folder: folder.to_owned(), dataset, mounts: None }
    }

    pub(crate) fn with_mounts(&self, mounts: &Path) -> Self {
        Self { mounts: Some(mounts.to_owned()), ..self.clone() }
    }

    /// `pool/name`
    pub(crate) fn name(&self) -> &str {
        &self.dataset
    }

    /// Refuses a name that ZFS refuses: zfs_namecheck(3). The dataset that shows the snapshot must have
    /// a valid name, too.
    fn check(&self, name: &str) -> Result<(), Refusal> {
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte);
        let why = if !name.bytes().all(is_valid) {
            "ZFS takes only letters and digits of ASCII, `-`, `_`, `.` and `:`"
        } else if self.clone_of(name).len() > LONGEST {
            "with the name of the dataset it is too long for ZFS"
        } else {
            return Ok(());
        };
        Err(Refusal::Name { name: name.to_owned(), why })
    }

    fn full(&self, name: &str) -> String {
        format!("{}@{name}", self.dataset)
    }

    fn clone_of(&self, name: &str) -> String {
        format!("{}/{VIEW}{name}", self.dataset)
    }

    /// Where the snapshot is seen.
    fn path(&self, name: &str) -> PathBuf {
        match &self.mounts {
            Some(mounts) if !self.folder.join(".zfs").is_dir() => {
                mounts.join(format!("{}@{name}", self.dataset.replace('/', "_")))
            }
            _ => self.folder.join(".zfs/snapshot").join(name),
        }
    }

    fn names(&self) -> Result<Vec<String>, Refusal> {
        snapshots_of(&self.dataset)
    }

    /// The properties of snapshots: time, number, number of holds, tags of our holds.
    fn facts(&self, full: &[String]) -> Result<HashMap<String, Facts>, Refusal> {
        let properties = format!("creation,guid,userrefs,{TAGS}");
        let words = ["get", "-H", "-p", "-o", "name,property,value", &properties].map(str::to_owned);
        let said = run("zfs", &[&words[..], full].concat())?;
        let mut all: HashMap<String, Facts> = HashMap::new();
        for line in said.lines() {
            let mut fields = line.splitn(3, '\t');
            let (Some(name), Some(property), Some(value)) = (fields.next(), fields.next(), fields.next())
            else {
                continue;
            };
            let facts = all.entry(name.to_owned()).or_default();
            match property {
                "creation" => facts.created = value.parse().unwrap_or(0),
                "guid" => facts.guid = value.parse().ok(),
                "userrefs" => facts.holds = value.parse().unwrap_or(0),
                _ => {
                    facts.tags =
                        value.split_whitespace().filter(|tag| *tag != "-").map(str::to_owned).collect()
                }
            }
        }
        Ok(all)
    }

    fn set_tags(&self, name: &str, change: impl Fn(&mut Vec<String>)) -> Result<(), Refusal> {
        let full = self.full(name);
        let mut tags = self.facts(std::slice::from_ref(&full))?.remove(&full).unwrap_or_default().tags;
        change(&mut tags);
        // The command takes no empty value, and shows a missing one so.
        let value = if tags.is_empty() { "-".to_owned() } else { tags.join(" ") };
        run("zfs", &["set", &format!("{TAGS}={value}"), &full]).map(drop)
    }
}

/// The names of a dataset's snapshots, the oldest first.
pub(crate) fn snapshots_of(dataset: &str) -> Result<Vec<String>, Refusal> {
    let listed = run("zfs", &["list", "-H", "-r", "-t", "snapshot", "-o", "name", dataset])?;
    let own = listed.lines().filter_map(|line| line.strip_prefix(dataset)?.strip_prefix('@'));
    Ok(own.map(str::to_owned).collect())
}

/// Whether there is a dataset of this name.
pub(crate) fn exists(dataset: &str) -> bool {
    run("zfs", &["list", "-H", "-o", "name", dataset]).is_ok()
}

/// Unmounts and destroys a dataset.
pub(crate) fn destroy(dataset: &str, options: &[&str]) -> Result<(), Refusal> {
    // zfs-fuse destroys no mounted dataset. One that is not mounted is an error here.
    let _ = run("zfs", &["unmount", dataset]);
    // zfs-fuse ends an unmounted one a moment later.
    let mut tries = 20;
    while let Err(why) = run("zfs", &[&["destroy"], options, &[dataset]].concat()) {
        tries -= 1;
        if tries == 0 {
            return Err(why);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

#[derive(Default)]
struct Facts {
    /// Seconds since 1970.
    created: u64,
    guid: Option<u64>,
    holds: usize,
    tags: Vec<String>,
}

impl Facts {
    /// ZFS counts the holds of all programs, and only some versions tell their tags.
    fn held(self) -> Vec<String> {
        let others = self.holds.saturating_sub(self.tags.len());
        let others = (others > 0).then(|| format!("{others} of other programs: `zfs holds`"));
        self.tags.into_iter().chain(others).collect()
    }
}

impl Zfs {
    fn drop_view(&self, name: &str) -> Result<(), Refusal> {
        let view = self.clone_of(name);
        if exists(&view) {
            destroy(&view, &[])?;
            let _ = std::fs::remove_dir(self.path(name));
            steps::pass()?;
        }
        Ok(())
    }
}

impl Engine for Zfs {
    fn kind(&self) -> EngineKind {
        EngineKind::Zfs
    }

    fn create(&self, name: &str, _now: SystemTime) -> Result<(), Refusal> {
        self.check(name)?;
        if self.names()?.iter().any(|other| other == name) {
            return Err(Refusal::Exists { name: name.to_owned() });
        }
        run("zfs", &["snapshot", &self.full(name)]).map(drop)
    }

    fn remove(&self, name: &str) -> Result<(), Refusal> {
        self.drop_view(name)?;
        run("zfs", &["destroy", &self.full(name)]).map(drop)
    }

    fn list(&self) -> Result<Vec<Snapshot>, Refusal> {
        let names = self.names()?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let full: Vec<String> = names.iter().map(|name| self.full(name)).collect();
        let mut facts = self.facts(&full)?;
        let snapshot = |(name, full): (String, String)| {
            let facts = facts.remove(&full)?;
            let created = UNIX_EPOCH + Duration::from_secs(facts.created);
            let guid = facts.guid;
            Some(Snapshot { path: self.path(&name), name, created, guid, held: facts.held() })
        };
        Ok(names.into_iter().zip(full).filter_map(snapshot).collect())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), Refusal> {
        self.check(to)?;
        if self.names()?.iter().any(|other| other == to) {
            return Err(Refusal::Exists { name: to.to_owned() });
        }
        // The clone would show this snapshot under the name of the next one that is called so.
        self.drop_view(from)?;
        run("zfs", &["rename", &self.full(from), &self.full(to)]).map(drop)
    }

    /// The tag first: after a crash between the two, `remove` refuses, and `release` tidies up.
    fn hold(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        self.set_tags(name, |tags| tags.push(tag.to_owned()))?;
        steps::pass()?;
        run("zfs", &["hold", tag, &self.full(name)]).map(drop)
    }

    fn release(&self, name: &str, tag: &str) -> Result<(), Refusal> {
        match run("zfs", &["release", tag, &self.full(name)]) {
            Err(Refusal::Command { said, .. }) if said.contains("no such tag") => {}
            released => drop(released?),
        }
        steps::pass()?;
        self.set_tags(name, |tags| tags.retain(|other| other != tag))
    }

    fn make_subdataset(&self, path: &Path) -> Result<(), Refusal> {
        let path_text = path.to_str().ok_or_else(|| Refusal::Path {
            path: path.to_owned(),
            why: "ZFS takes no name that is not UTF-8",
        })?;
        run("zfs", &["create", &format!("{}/{path_text}", self.dataset)]).map(drop)
    }

    fn mount(&self, snapshot: &Snapshot) -> Result<(), Refusal> {
        if self.folder.join(".zfs").is_dir() {
            return Ok(());
        }
        if self.mounts.is_none() {
            let folder = self.folder.display();
            return Err(Refusal::Other(format!(
                "{folder}: this ZFS has no .zfs folder, so a snapshot is shown by a clone; \
                 name a state folder for its mount with --state DIR"
            )));
        }
        if mounts::all()?.iter().any(|mount| mount.point == snapshot.path) {
            return Ok(());
        }
        std::fs::create_dir_all(&snapshot.path).map_err(Refusal::io("make", &snapshot.path))?;
        let view = self.clone_of(&snapshot.name);
        if exists(&view) {
            return run("zfs", &["mount", &view]).map(drop);
        }
        let place = format!("mountpoint={}", snapshot.path.display());
        run("zfs", &["clone", "-o", "readonly=on", "-o", &place, &self.full(&snapshot.name), &view]).map(drop)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// zfs_component_namecheck() of module/zcommon/zfs_namecheck.c.
    #[test]
    fn names_that_zfs_refuses_are_refused_before_the_call() {
        let zfs = Zfs::new(Path::new("/tank/share"), "tank/share".into());
        for good in ["hourly.0", "2026-11-23_01:34", "A-b"] {
            zfs.check(good).unwrap();
        }
        // `tank/share/fourfold-view-` has 25 bytes.
        zfs.check(&"n".repeat(230)).unwrap();
        let long = "n".repeat(231);
        for bad in ["größer", "a+b", "50%", "a,b", "a\"b", "~x", &long] {
            let sentence = zfs.check(bad).unwrap_err().to_string();
            assert!(sentence.contains("ZFS") && sentence.ends_with("; choose another name"), "{sentence}");
        }
    }
}
