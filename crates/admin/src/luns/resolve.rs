//! The LUNs to serve: those of the state folder, combined with the settings.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::file::{LunError, LunFile, NewLun};
use super::names::target_name;
use super::own_file;
use super::record::{LunOptions, LunRecord};
use super::table::LunTable;
use crate::settings::{LunSettings, Place, Protocol, Settings, ShareSettings};
use crate::shell::quote;

/// A LUN to serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lun {
    /// Its record, with the identity.
    pub record: LunRecord,
    /// Its target's whole name.
    pub target: String,
    /// Its size at least; `None`: the size of its file.
    pub size: Option<u64>,
    /// The virtual address of the cluster at which it is reached; `None`: one that the cluster chooses.
    pub address: Option<IpAddr>,
}

/// The LUNs to serve, and the problems of others.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct LunResolution {
    /// The LUNs.
    pub luns: Vec<Lun>,
    /// Why other LUNs are not served: `studio/video`, and a line for people.
    pub problems: Vec<(String, String)>,
}

impl Lun {
    /// Its file, relative to the share's folder.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        self.record.file.clone().unwrap_or_else(|| own_file(&self.record.name))
    }
}

/// The prefix of the targets' names.
#[must_use]
pub fn prefix(settings: &Settings, server_id: &[u8; 16]) -> String {
    settings.server.protocols.iscsi.name.clone().unwrap_or_else(|| own_prefix(server_id))
}

/// The prefix if the settings do not have one.
#[must_use]
pub fn own_prefix(server_id: &[u8; 16]) -> String {
    format!("iqn.2026-11.local.fourfold-{}", wire::hex::encode(&server_id[..4]))
}

/// Stores the identities of the settings' LUNs in the state folder, and returns all LUNs to serve.
///
/// # Errors
/// The state folder cannot be read or written. A problem of one LUN is a line of [`LunResolution`].
pub fn resolve(
    table: &LunTable,
    settings: &Settings,
    server_id: &[u8; 16],
) -> Result<LunResolution, LunError> {
    if table.read()?.luns.is_empty() && settings.shares.iter().all(|share| share.luns.is_empty()) {
        return Ok(LunResolution::default());
    }
    table.edit_again(|file| {
        let mut problems = Vec::new();
        let note = |share| note_settings(file, share, &mut problems);
        let refused: Vec<Vec<&str>> = settings.shares.iter().map(note).collect();
        Ok(served(file, settings, (server_id, &refused), problems))
    })
}

/// The same, without storing anything of the settings: another server of the cluster has changed the table, and each may
/// have other settings while the administrator changes them.
///
/// # Errors
/// The table cannot be read.
pub fn resolve_as_noted(
    table: &LunTable,
    settings: &Settings,
    server_id: &[u8; 16],
) -> Result<LunResolution, LunError> {
    Ok(served(&table.read()?, settings, (server_id, &[]), Vec::new()))
}

/// The LUNs of the shares, without those that are `refused`, for each share.
fn served(
    file: &LunFile,
    settings: &Settings,
    (server_id, refused): (&[u8; 16], &[Vec<&str>]),
    problems: Vec<(String, String)>,
) -> LunResolution {
    let prefix = prefix(settings, server_id);
    let mut resolved = LunResolution { luns: Vec::new(), problems };
    for (at, share) in settings.shares.iter().enumerate() {
        if share.protocols.contains(&Protocol::Iscsi) {
            let refused = refused.get(at).map(Vec::as_slice).unwrap_or_default();
            let is_refused = |lun: &LunRecord| refused.iter().any(|name| lun.is(&share.name, name));
            let served = file.luns.iter().filter(|lun| lun.share == share.name && !is_refused(lun));
            served.for_each(|record| resolved.add(record, share, &prefix));
        }
    }
    resolved.refuse_same_files(settings);
    resolved
}

impl LunResolution {
    fn add(&mut self, record: &LunRecord, share: &ShareSettings, prefix: &str) {
        let set = share.luns.iter().find(|set| record.is(&share.name, &set.name));
        if record.from_settings && set.is_none() {
            return;
        }
        match target_name(prefix, &record.target_suffix) {
            Some(target) => {
                let (size, address) =
                    (set.and_then(|set| set.size), set.and_then(|set| set.address.as_ref()?.parse().ok()));
                self.luns.push(Lun { record: record.clone(), target, size, address });
            }
            None => {
                let name = record.full_name();
                let line = format!(
                    "the LUN {name} is not served: its target's name would be too long; choose a shorter `iscsi-name`"
                );
                self.problems.push((name, line));
            }
        }
    }

    /// Shares may be inside each other: then two LUNs could have one file, and destroy its
    /// contents.
    fn refuse_same_files(&mut self, settings: &Settings) {
        let path = |lun: &Lun| {
            let share = settings.shares.iter().find(|share| share.name == lun.record.share);
            share.map(|share| share.path.join(lun.file()))
        };
        let mut seen: Vec<(Option<PathBuf>, String)> = Vec::new();
        let problems = &mut self.problems;
        self.luns.retain(|lun| {
            let (path, name) = (path(lun), lun.record.full_name());
            let other = seen.iter().find(|(there, _)| *there == path);
            if let Some((_, other)) = other {
                let line =
                    format!("the LUN {name} is not served: its file is that of {other}; remove one of them");
                problems.push((name, line));
                return false;
            }
            seen.push((path, name));
            true
        });
    }
}

/// Adds the LUNs of a share's settings to the file; returns the names of those that are refused.
fn note_settings<'a>(
    file: &mut LunFile,
    share: &'a ShareSettings,
    problems: &mut Vec<(String, String)>,
) -> Vec<&'a str> {
    // LUNs with a fixed number come first: the others get the remaining numbers.
    let (numbered, free): (Vec<_>, Vec<_>) = share.luns.iter().partition(|lun| lun.number.is_some());
    let mut refused = Vec::new();
    for set in numbered.into_iter().chain(free) {
        if let Err((place, problem)) = note(file, share, set) {
            let name = format!("{}/{}", share.name, set.name);
            problems.push((name.clone(), format!("{place}: the LUN {name} is not served: {problem}")));
            refused.push(&*set.name);
        }
    }
    refused
}

fn note(file: &mut LunFile, share: &ShareSettings, set: &LunSettings) -> Result<(), (Place, String)> {
    let failed = |error: LunError| (set.places.number.clone(), error.to_string());
    let Some(record) = file.find(&share.name, &set.name) else {
        let new = NewLun {
            share: &share.name,
            name: &set.name,
            file: set.file_in(&share.path),
            target: set.target.as_deref(),
            number: set.number,
            options: options(set),
            from_settings: true,
            snapshot_of: None,
            created: now(),
        };
        return file.add(new).map(drop).map_err(failed);
    };
    if let Some(problem) = disagreement(record, set, &share.path) {
        return Err(problem);
    }
    let stays = record.target == set.target() && set.number.is_none_or(|number| number == record.number);
    if !stays {
        file.place(&share.name, &set.name, set.target(), set.number).map_err(failed)?;
    }
    let record = file.find_mut(&share.name, &set.name).map_err(failed)?;
    (record.from_settings, record.options) = (true, options(set));
    Ok(())
}

/// The difference between an existing LUN and its settings in a property that cannot change.
fn disagreement(record: &LunRecord, set: &LunSettings, share: &Path) -> Option<(Place, String)> {
    let has = record.options.block_size;
    if has != set.block_size {
        let what = format!("it has blocks of {has} bytes, which cannot change; write `block-size = {has}`");
        return Some((set.places.block_size.clone(), what));
    }
    if record.file != set.file_in(share) {
        let is = record.file.clone().unwrap_or_else(|| own_file(&record.name));
        let what = format!(
            "it is the file `{}`, and another would be another disk; choose another name, or `fourfold lun remove \
             --keep-file {}` first",
            is.display(),
            quote(&record.full_name())
        );
        return Some((set.places.file.clone(), what));
    }
    None
}

fn options(set: &LunSettings) -> LunOptions {
    LunOptions {
        block_size: set.block_size,
        read_only: set.read_only,
        initiators: set.initiators.clone(),
        readers: set.readers.clone(),
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Arguments;

    const ID: [u8; 16] = [0xab; 16];

    /// A folder with the shares `a` and `c`, and the settings below the first.
    struct Scene(tempfile::TempDir);

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            ["a", "c", "state"]
                .iter()
                .for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
            Self(folder)
        }

        fn settings(&self, below: &str) -> Settings {
            let text = format!(
                "[[share]]\nname = \"A\"\npath = \"a\"\n{below}\n[[share]]\nname = \"C\"\npath = \"c\"\n"
            );
            std::fs::write(self.0.path().join("fourfold.toml"), text).unwrap();
            Settings::load(&Arguments::new(false, self.0.path().into())).unwrap()
        }

        fn resolve(&self, below: &str) -> LunResolution {
            resolve(&LunTable::alone(&self.state()), &self.settings(below), &ID).unwrap()
        }

        fn state(&self) -> PathBuf {
            self.0.path().join("state")
        }

        fn create(&self, share: &str, name: &str) -> Result<u64, LunError> {
            LunFile::edit(&self.state(), |file| {
                let (target, number) = (None, None);
                let (options, from_settings, created) = (LunOptions::default(), false, 7);
                let snapshot_of = None;
                let new = NewLun {
                    share,
                    name,
                    file: None,
                    target,
                    number,
                    options,
                    from_settings,
                    snapshot_of,
                    created,
                };
                Ok(file.add(new)?.naa)
            })
        }
    }

    fn lines(resolved: &LunResolution) -> Vec<&str> {
        resolved.problems.iter().map(|(_, line)| line.as_str()).collect()
    }

    const TWO: &str = "[[share.lun]]\nname = \"one\"\nsize = \"1 GiB\"\ntarget = \"vms\"\n\
                       [[share.lun]]\nname = \"two\"\nsize = \"1 GiB\"\ntarget = \"vms\"\nnumber = 0\n";

    #[test]
    fn a_lun_of_the_settings_is_the_same_disk_after_every_start() {
        let scene = Scene::new();
        let first = scene.resolve(TWO);
        assert_eq!(first.luns.len(), 2);
        let number = |resolved: &LunResolution, name: &str| {
            resolved.luns.iter().find(|lun| lun.record.name == name).map(|lun| lun.record.number)
        };
        assert_eq!((number(&first, "one"), number(&first, "two")), (Some(1), Some(0)));
        assert_eq!(first.luns[0].target, "iqn.2026-11.local.fourfold-abababab:a.vms");
        assert_eq!(first.luns[0].size, Some(1 << 30));
        assert_eq!(scene.resolve(TWO), first);
        assert_eq!(scene.resolve(&format!("users = [\"ada\"]\n{TWO}")), first);
    }

    #[test]
    fn one_that_the_settings_no_longer_name_is_not_served_but_known() {
        let scene = Scene::new();
        let first = scene.resolve(TWO);
        assert!(scene.resolve("").luns.is_empty());
        assert_eq!(scene.resolve(TWO), first);
    }

    #[test]
    fn luns_of_the_command_are_served_beside_those_of_the_settings() {
        let scene = Scene::new();
        let naa = scene.create("C", "Video_1").unwrap();
        let resolved = scene.resolve(TWO);
        let made = resolved.luns.iter().find(|lun| lun.record.share == "C").unwrap();
        assert_eq!((made.record.naa, made.record.naa >> 60, made.size), (naa, 3, None));
        assert_eq!(made.target, "iqn.2026-11.local.fourfold-abababab:c.video-1");
        assert_eq!(made.file(), Path::new(".fourfold-luns/Video_1.img"));
        assert!(scene.resolve("iscsi = false\n").luns.iter().all(|lun| lun.record.share == "C"));
    }

    #[test]
    fn what_cannot_change_is_refused_with_what_to_write() {
        let scene = Scene::new();
        let lun = |more: &str| format!("[[share.lun]]\nname = \"one\"\nsize = \"1 GiB\"\n{more}");
        assert_eq!(scene.resolve(&lun("")).luns.len(), 1);
        let resolved = scene.resolve(&lun("block-size = 4096\n"));
        assert!(resolved.luns.is_empty());
        assert_eq!(
            lines(&resolved),
            [
                "fourfold.toml:7:1: the LUN A/one is not served: it has blocks of 512 bytes, which cannot change; write \
              `block-size = 512`"
            ]
        );
        std::fs::write(scene.0.path().join("a/x.img"), [0; 4096]).unwrap();
        let other = scene.resolve("[[share.lun]]\nname = \"one\"\nfile = \"x.img\"\n");
        assert!(other.problems[0].1.contains("another would be another disk"), "{:?}", other.problems);
    }

    #[test]
    fn two_luns_never_have_one_number_or_one_file() {
        let scene = Scene::new();
        scene.create("A", "vms").unwrap();
        let resolved = scene.resolve(TWO);
        assert!(resolved.problems[0].1.contains("the LUN A/vms has number 0"), "{:?}", resolved.problems);
        assert_eq!(resolved.luns.len(), 2);
        let inside = "[[share]]\nname = \"B\"\npath = \"a\"\n";
        scene.create("B", "vms").unwrap();
        let resolved = scene.resolve(inside);
        assert_eq!(
            lines(&resolved),
            ["the LUN B/vms is not served: its file is that of A/vms; remove one of them"]
        );
    }
}
