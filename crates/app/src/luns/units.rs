//! The served LUNs: a logical unit for each, and their targets. They stay the same objects over
//! reloads, so that sessions continue.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::control::MountLine;
use admin::luns::{Lun, LunError, LunFile, Resolved, split};
use admin::{Settings, recipe};
use anyhow::{Context, bail};
use auth::SharePolicy;
use iscsi::server::{Identity, LogicalUnit, Target, UnitOptions};
use lock::{Mutex, rank};
use vfs::state::{ClientId, Modes};
use vfs::{Error, Volume};

use super::file::{self, DENY, READ_WRITE};
use super::kept::Kept;
use crate::accounts;
use crate::volumes::Volumes;

/// The units and targets of a running server.
pub(crate) struct Units {
    state: PathBuf,
    kept: Arc<Kept>,
    known: Mutex<Known, rank::LunUnits>,
}

#[derive(Default)]
struct Known {
    /// By NAA identifier.
    units: HashMap<u64, Served>,
    /// By name.
    targets: BTreeMap<String, Arc<Target>>,
    /// Why LUNs are not served, by their full name.
    problems: HashMap<String, String>,
}

#[derive(Clone)]
struct Served {
    volume: Arc<Volume>,
    unit: Arc<LogicalUnit>,
    /// The identity in whose name its file is open.
    client: ClientId,
}

impl Units {
    /// Without units.
    pub(crate) fn new(state: &Path) -> Self {
        Self { state: state.into(), kept: Arc::new(Kept::new(state)), known: Mutex::default() }
    }

    /// The unit with an NAA identifier.
    pub(crate) fn unit(&self, naa: u64) -> Option<Arc<LogicalUnit>> {
        self.known.lock().units.get(&naa).map(|served| served.unit.clone())
    }

    /// All targets, by name.
    pub(crate) fn targets(&self) -> Vec<Arc<Target>> {
        self.known.lock().targets.values().cloned().collect()
    }

    /// The mount lines of each LUN, by the name of its share.
    pub(crate) fn mounts(&self, at: Option<(IpAddr, u16)>) -> Vec<(String, MountLine)> {
        let Some(at) = at else { return Vec::new() };
        let targets = self.targets();
        let luns = targets.iter().flat_map(|target| target.luns().into_iter().map(move |lun| (target, lun)));
        let mounts = luns.filter_map(|(target, lun)| {
            let (share, name) = split(&lun.unit.identity().name)?;
            Some((share.to_owned(), recipe::lun_url(name, &target.name, lun.number, at)))
        });
        mounts.collect()
    }

    /// The names of the clients that have the LUNs' files open, for people to read.
    pub(crate) fn owners(&self) -> Vec<(ClientId, String)> {
        let known = self.known.lock();
        known
            .units
            .values()
            .map(|served| (served.client, format!("LUN {}", served.unit.identity().name)))
            .collect()
    }

    /// Why a LUN is not served.
    pub(super) fn problem(&self, full_name: &str) -> Option<String> {
        self.known.lock().problems.get(full_name).cloned()
    }

    /// Serves these LUNs and no others; returns lines about those that cannot be served. Not called
    /// concurrently.
    pub(crate) async fn apply(
        &self,
        resolved: &Resolved,
        settings: &Settings,
        volumes: &Volumes,
    ) -> Vec<String> {
        let mut units = HashMap::new();
        let mut problems: HashMap<String, String> = resolved.problems.iter().cloned().collect();
        let mut lines: Vec<String> = resolved.problems.iter().map(|(_, line)| line.clone()).collect();
        for lun in &resolved.luns {
            match self.serve(lun, settings, volumes).await {
                Ok(served) => {
                    units.insert(lun.record.naa, served);
                }
                Err(error) => {
                    let name = lun.record.full_name();
                    lines.push(format!("the LUN {name} is not served: {error:#}"));
                    problems.insert(name, format!("{error:#}"));
                }
            }
        }
        self.put_into_targets(&resolved.luns, &units, settings);
        if let Err(error) = self.note_made(&resolved.luns, &units) {
            lines.push(error.to_string());
        }
        let mut known = self.known.lock();
        (known.units, known.problems) = (units, problems);
        lines
    }

    /// Records for LUNs of the settings that their files exist now.
    fn note_made(&self, luns: &[Lun], units: &HashMap<u64, Served>) -> Result<(), LunError> {
        let naas = luns.iter().filter(|lun| !lun.record.made).map(|lun| lun.record.naa);
        let naas: Vec<u64> = naas.filter(|naa| units.contains_key(naa)).collect();
        match naas.is_empty() {
            true => Ok(()),
            false => LunFile::edit(&self.state, |file| {
                file.are_made(&naas);
                Ok(())
            }),
        }
    }

    /// The existing unit, or a new one for the LUN's file.
    async fn serve(&self, lun: &Lun, settings: &Settings, volumes: &Volumes) -> anyhow::Result<Served> {
        let share = settings.shares.iter().find(|share| share.name == lun.record.share);
        let share = share.context("its share is gone")?;
        let volume = volumes.open(share, settings)?;
        // The volume of a read-only share is not read-only if another share of the folder is
        // writable: then the policy of the target keeps initiators from writing.
        let read_only = volume.is_read_only();
        let known = self.known.lock().units.get(&lun.record.naa).cloned();
        if let Some(known) = known.filter(|known| Arc::ptr_eq(&known.volume, &volume)) {
            if let Some(size) = lun.size.filter(|size| *size > known.unit.size()) {
                known.unit.resize(size).await.context("it cannot grow")?;
            }
            return Ok(known);
        }
        let found = match file::find(&volume, &lun.record) {
            Err(Error::NotFound) => {
                match lun.size.filter(|_| !lun.record.made && lun.record.file.is_none()) {
                    Some(size) => {
                        file::make(&volume, &lun.record.name, size).await?;
                        file::find(&volume, &lun.record)?
                    }
                    None => {
                        bail!("its file {} is not there; is its file system mounted?", lun.file().display())
                    }
                }
            }
            other => other.with_context(|| format!("its file {} cannot be opened", lun.file().display()))?,
        };
        let access = if read_only { Modes::READ } else { READ_WRITE };
        let open = file::open(&volume, &found, access, DENY).await?;
        let there = found.attributes.size;
        let size = lun.size.filter(|_| !share.read_only).map_or(there, |size| size.max(there));
        if size > there {
            open.resize(size).await.context("it cannot grow")?;
        }
        let record = &lun.record;
        let client = open.guard().client();
        let identity = Identity { naa: record.naa, name: record.full_name() };
        let options = UnitOptions { block_size: record.options.block_size, read_only };
        let unit = LogicalUnit::new(identity, options, open, size, self.kept.clone());
        Ok(Served { volume, unit, client })
    }

    fn put_into_targets(&self, luns: &[Lun], units: &HashMap<u64, Served>, settings: &Settings) {
        let mut wanted: BTreeMap<&str, Vec<&Lun>> = BTreeMap::new();
        for lun in luns.iter().filter(|lun| units.contains_key(&lun.record.naa)) {
            wanted.entry(&lun.target).or_default().push(lun);
        }
        let targets = &mut self.known.lock().targets;
        let names: HashSet<&str> = wanted.keys().copied().collect();
        targets.iter().filter(|(name, _)| !names.contains(name.as_str())).for_each(|(_, gone)| {
            gone.set(SharePolicy::default(), Vec::new());
        });
        targets.retain(|name, _| names.contains(name.as_str()));
        for (name, luns) in wanted {
            let share = &luns[0].record.share; // a target has at least one LUN, all of one share
            let target = targets
                .entry(name.to_owned())
                .or_insert_with(|| Target::new(name, &format!("{share}/{}", luns[0].record.target)));
            let luns = luns.iter().filter_map(|lun| place(lun, units));
            target.set(policy(share, settings), luns.collect());
        }
    }
}

fn place(lun: &Lun, units: &HashMap<u64, Served>) -> Option<iscsi::server::Lun> {
    let options = &lun.record.options;
    let everybody = options.read_only.then(|| "*".to_owned());
    Some(iscsi::server::Lun {
        number: lun.record.number,
        unit: units.get(&lun.record.naa)?.unit.clone(),
        initiators: options.initiators.clone(),
        readers: options.readers.iter().cloned().chain(everybody).collect(),
    })
}

/// The access rules of a share's targets.
fn policy(share: &str, settings: &Settings) -> SharePolicy {
    let share = settings.shares.iter().find(|other| other.name == share);
    share.map(accounts::policy).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use admin::Arguments;
    use admin::luns::resolve;
    use vfs::backend::RenameMode;
    use vfs::index::Index;
    use vfs::state::Party;
    use vfs::{Actor, Caller, OpenOptions};

    use super::*;

    /// A state folder and the share "A".
    struct Scene {
        folder: tempfile::TempDir,
        volumes: Arc<Volumes>,
        units: Units,
    }

    impl Scene {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let state = folder.path().join("state");
            ["a", "state"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
            std::fs::write(folder.path().join("a/x.img"), vec![7; 1 << 20]).unwrap();
            let volumes = Volumes::new(Index::open(&state).unwrap(), &state);
            let units = Units::new(&state);
            Self { folder, volumes, units }
        }

        fn state(&self) -> PathBuf {
            self.folder.path().join("state")
        }

        fn settings(&self, below: &str) -> Settings {
            let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{below}\n");
            std::fs::write(self.folder.path().join("fourfold.toml"), text).unwrap();
            Settings::load(&Arguments::new(false, self.folder.path().into())).unwrap()
        }

        async fn apply(&self, below: &str) -> Vec<String> {
            let settings = self.settings(below);
            let resolved = resolve(&self.state(), &settings, &[1; 16]).unwrap();
            self.units.apply(&resolved, &settings, &self.volumes).await
        }

        fn volume(&self) -> Arc<Volume> {
            let settings = self.settings("");
            self.volumes.open(&settings.shares[0], &settings).unwrap()
        }

        fn only(&self) -> iscsi::server::Lun {
            let [target] = &self.units.targets()[..] else { panic!("not one target") };
            let [lun] = &target.luns()[..] else { panic!("not one LUN") };
            lun.clone()
        }
    }

    const ONE: &str = "[[share.lun]]\nname = \"one\"\nsize = \"1 MiB\"\n";

    #[tokio::test]
    async fn what_does_not_change_stays_the_same_unit_over_a_reload() {
        let scene = Scene::new();
        assert_eq!(scene.apply(ONE).await, Vec::<String>::new());
        let (target, lun) = (scene.units.targets()[0].clone(), scene.only());
        assert_eq!(lun.unit.size(), 1 << 20);
        scene.apply(&format!("guests = true\n{ONE}read-only = true\ninitiators = [\"iqn.a\"]\n")).await;
        let after = scene.only();
        assert!(Arc::ptr_eq(&lun.unit, &after.unit) && Arc::ptr_eq(&target, &scene.units.targets()[0]));
        assert_eq!((after.initiators, after.readers), (vec!["iqn.a".to_owned()], vec!["*".to_owned()]));
        assert!(target.policy().guests);
        scene.apply(&ONE.replace("1 MiB", "3 MiB")).await;
        assert!(Arc::ptr_eq(&lun.unit, &scene.only().unit));
        assert_eq!(lun.unit.size(), 3 << 20);
        let file = scene.folder.path().join("a/.fourfold-luns/one.img");
        assert_eq!(std::fs::metadata(file).unwrap().len(), 3 << 20);
        scene.apply("").await;
        assert!(scene.units.targets().is_empty() && target.luns().is_empty());
    }

    #[tokio::test]
    async fn clients_can_read_but_not_spoil_an_image_that_is_served() {
        let scene = Scene::new();
        let before = std::fs::read(scene.folder.path().join("a/x.img")).unwrap();
        scene.apply("[[share.lun]]\nname = \"x\"\nfile = \"x.img\"\n").await;
        assert_eq!(scene.only().unit.size(), 1 << 20);
        let (volume, ada) = (scene.volume(), Actor::new(Caller::root(), Party::client(ClientId::unused())));
        let root = volume.root().unwrap();
        let found = volume.lookup(&ada.caller, &root.object, b"x.img").unwrap();
        let open = |access| volume.open(&ada, &found, OpenOptions::data(access));
        assert_eq!(open(READ_WRITE).await.err(), Some(Error::ShareConflict));
        assert!(open(Modes::READ).await.is_ok());
        assert!(volume.remove(&ada, &root, b"x.img", vfs::Kind::File).is_err());
        assert!(volume.rename(&ada, (&root, b"x.img"), (&root, b"y"), RenameMode::Keep).is_err());
        assert_eq!(std::fs::read(scene.folder.path().join("a/x.img")).unwrap(), before);
    }

    #[tokio::test]
    async fn one_that_cannot_be_served_does_not_stop_the_others() {
        let scene = Scene::new();
        scene.apply(ONE).await;
        std::fs::remove_file(scene.folder.path().join("a/x.img")).unwrap();
        let volume = scene.volume();
        iscsi::disks::remove(&volume, b"one.img").unwrap();
        let two = "[[share.lun]]\nname = \"two\"\nsize = \"1 MiB\"\n";
        let fresh = Scene { units: Units::new(&scene.state()), ..scene };
        let settings = fresh.settings(&format!("{ONE}{two}"));
        let resolved = resolve(&fresh.state(), &settings, &[1; 16]).unwrap();
        let lines = fresh.units.apply(&resolved, &settings, &fresh.volumes).await;
        assert_eq!(
            lines,
            [
                "the LUN A/one is not served: its file .fourfold-luns/one.img is not there; is its file system mounted?"
            ]
        );
        assert_eq!(fresh.only().unit.identity().name, "A/two");
        assert!(fresh.units.problem("A/one").is_some());
    }
}
