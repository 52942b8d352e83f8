//! The served LUNs: a logical unit for each, and their targets. They stay the same objects over
//! reloads, so that sessions continue.
//!
//! In a cluster, one server serves a LUN ([`Roles`]): it has the LUN's file open and denies others to
//! write to it, which all servers enforce (`vfs::state`). So the next server can begin only after
//! the one before has closed the file, or may not answer any more. The other servers have a unit
//! without a file, in the standby state.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use admin::control::MountLine;
use admin::luns::{Lun, LunError, LunResolution, LunTable, split};
use admin::{Settings, ShareSettings, recipe};
use anyhow::{Context, bail};
use auth::SharePolicy;
use iscsi::server::stored::{ReadOnlyKeeper, UnitRecord};
use iscsi::server::{Identity, LogicalUnit, Target, UnitOptions, UnitStateStore};
use lock::Mutex;
use vfs::backend::Found;
use vfs::state::{ClientId, Modes};
use vfs::{Error, Open, Volume};

use super::file::{self, DENY, READ_WRITE};
use super::kept::LunStore;
use super::roles::Roles;
use crate::people::accounts;
use crate::ranks;
use crate::shares::volumes::Volumes;

/// How long it may take to open a LUN's file while the server before still has it. Then it is tried again.
const OPEN_WITHIN: Duration = Duration::from_secs(2);

/// The units and targets of a running server.
pub(crate) struct Units {
    table: LunTable,
    kept: Arc<LunStore>,
    /// What this server is to serve of a cluster; `None`: it is alone.
    roles: Option<Arc<Roles>>,
    known: Mutex<UnitTable, ranks::LunUnits>,
    /// LUNs that this server is to serve are not served yet.
    pending: AtomicBool,
    /// Counts the changes of units.
    changes: AtomicU64,
}

#[derive(Default)]
struct UnitTable {
    /// By NAA identifier.
    units: HashMap<u64, UnitEntry>,
    /// By name.
    targets: BTreeMap<String, Arc<Target>>,
    /// Why LUNs are not served, by their full name.
    problems: HashMap<String, String>,
    /// What was to be served last.
    resolved: LunResolution,
    /// The servers of the targets, by the targets' names.
    servers: HashMap<String, Option<u16>>,
}

#[derive(Clone)]
struct UnitEntry {
    volume: Arc<Volume>,
    unit: Arc<LogicalUnit>,
    /// The target's name.
    target: String,
    /// The identity in whose name its file is open.
    client: Option<ClientId>,
}

/// The LUNs that this server is to serve, and cannot serve yet.
#[derive(Default)]
struct Waiting {
    /// A file could not be opened in time: it is not tried with others now.
    is_slow: bool,
    /// Why, by the full names of the LUNs.
    why: Vec<(String, String)>,
}

/// What this server does for a LUN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It is alone, and serves it.
    Alone,
    /// It serves it, as the only server of the cluster.
    Active,
    /// Another server does.
    Standby,
}

impl Units {
    /// Without units.
    pub(crate) fn new(table: LunTable, roles: Option<Arc<Roles>>) -> Self {
        let (kept, known) = (Arc::new(LunStore::new(table.state())), Mutex::default());
        Self { table, kept, roles, known, pending: AtomicBool::new(false), changes: AtomicU64::new(0) }
    }

    /// The unit with an NAA identifier.
    pub(crate) fn unit(&self, naa: u64) -> Option<Arc<LogicalUnit>> {
        self.known.lock().units.get(&naa).map(|served| served.unit.clone())
    }

    /// The unit with an NAA identifier, and the name of its target.
    pub(crate) fn unit_of_target(&self, naa: u64) -> Option<(Arc<LogicalUnit>, String)> {
        self.known.lock().units.get(&naa).map(|served| (served.unit.clone(), served.target.clone()))
    }

    /// The other server of the cluster that serves the LUN with an NAA identifier. `None` if it is this one or, for the
    /// moment, no server.
    pub(super) fn active_at(&self, naa: u64) -> Option<String> {
        let served = self.known.lock().units.get(&naa).filter(|served| served.unit.is_standby()).cloned()?;
        self.roles.as_ref()?.elsewhere(&served.target)
    }

    /// The virtual address of a target.
    pub(super) fn home(&self, target: &str) -> Option<IpAddr> {
        self.roles.as_ref()?.home(target)
    }

    /// What was to be served last.
    pub(super) fn resolved(&self) -> LunResolution {
        self.known.lock().resolved.clone()
    }

    /// Whether LUNs that this server is to serve are not served yet.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Acquire)
    }

    /// How often units have changed.
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
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
            let at = (self.home(&target.name).unwrap_or(at.0), at.1);
            Some((share.to_owned(), recipe::lun_url(name, &target.name, lun.number, at)))
        });
        mounts.collect()
    }

    /// The names of the clients that have the LUNs' files open, for people to read.
    pub(crate) fn owners(&self) -> Vec<(ClientId, String)> {
        let known = self.known.lock();
        let owner = |served: &UnitEntry| {
            served.client.map(|client| (client, format!("LUN {}", served.unit.identity().name)))
        };
        known.units.values().filter_map(owner).collect()
    }

    /// Why a LUN is not served.
    pub(super) fn problem(&self, full_name: &str) -> Option<String> {
        self.known.lock().problems.get(full_name).cloned()
    }

    /// Serves these LUNs and no others; returns lines about those that cannot be served, except for those of the last time.
    /// Not called concurrently.
    pub(crate) async fn apply(
        &self,
        resolved: LunResolution,
        settings: &Settings,
        volumes: &Volumes,
    ) -> Vec<String> {
        self.pending.store(false, Ordering::Release);
        if let Some(roles) = &self.roles {
            let address = |lun: &Lun| Some((lun.target.clone(), lun.address?));
            roles.set_addresses(resolved.luns.iter().filter_map(address).collect());
        }
        let (mut units, mut waiting) = (HashMap::new(), Waiting::default());
        let mut problems: HashMap<String, String> = resolved.problems.iter().cloned().collect();
        let mut lines: Vec<String> = resolved.problems.iter().map(|(_, line)| line.clone()).collect();
        for lun in &resolved.luns {
            match self.serve(lun, (settings, volumes), &mut waiting).await {
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
        problems.extend(waiting.why);
        if let Err(error) = self.note_made(&resolved.luns, &units) {
            lines.push(error.to_string());
        }
        self.put_into_targets(&resolved.luns, &units, settings);
        self.tell_roles(&units);
        let mut known = self.known.lock();
        let is_same = |naa: &u64, served: &UnitEntry| {
            known.units.get(naa).is_some_and(|before| Arc::ptr_eq(&before.unit, &served.unit))
        };
        if known.units.len() != units.len() || !units.iter().all(|(naa, served)| is_same(naa, served)) {
            self.changes.fetch_add(1, Ordering::AcqRel);
        }
        (known.units, known.problems, known.resolved) = (units, problems, resolved);
        lines
    }

    /// Records for LUNs of the settings that their files exist now.
    fn note_made(&self, luns: &[Lun], units: &HashMap<u64, UnitEntry>) -> Result<(), LunError> {
        let is_open = |naa: &u64| units.get(naa).is_some_and(|served| !served.unit.is_standby());
        let naas = luns.iter().filter(|lun| !lun.record.made).map(|lun| lun.record.naa);
        let naas: Vec<u64> = naas.filter(is_open).collect();
        match naas.is_empty() {
            true => Ok(()),
            false => self.table.edit_again(|file| {
                file.are_made(&naas);
                Ok(())
            }),
        }
    }

    /// Which targets this server serves. Initiators with a session are told of targets that have moved between other
    /// servers.
    fn tell_roles(&self, units: &HashMap<u64, UnitEntry>) {
        let Some(roles) = &self.roles else { return };
        let of = |target: &str| units.values().filter(|served| served.target == target).collect::<Vec<_>>();
        let targets: HashSet<&str> = units.values().map(|served| served.target.as_str()).collect();
        let is_active = |target: &&&str| of(target).iter().all(|served| !served.unit.is_standby());
        let servers: HashMap<String, Option<u16>> =
            targets.iter().map(|target| ((*target).to_owned(), roles.server(target))).collect();
        let before = std::mem::replace(&mut self.known.lock().servers, servers.clone());
        for (target, server) in &servers {
            if before.get(target).is_some_and(|before| before != server) {
                of(target).iter().for_each(|served| served.unit.access_changed());
            }
        }
        roles.set_active(targets.iter().filter(is_active).map(|target| (*target).to_owned()).collect());
    }

    fn part(&self, lun: &Lun, known: Option<&UnitEntry>) -> Part {
        let Some(roles) = &self.roles else { return Part::Alone };
        match roles.server(&lun.target) {
            Some(server) if server == roles.me() => Part::Active,
            // Its address is on the way to the next server: this one, which had it, goes on until that has it.
            None if known.is_some_and(|known| !known.unit.is_standby()) => Part::Active,
            _ => Part::Standby,
        }
    }

    /// The existing unit, or a new one for the LUN's file.
    async fn serve(
        &self,
        lun: &Lun,
        (settings, volumes): (&Settings, &Volumes),
        waiting: &mut Waiting,
    ) -> anyhow::Result<UnitEntry> {
        let share = settings.shares.iter().find(|share| share.name == lun.record.share);
        let share = share.context("its share is gone")?;
        let volume = volumes.open(share, settings)?;
        let known = self.known.lock().units.get(&lun.record.naa).cloned();
        let known = known.filter(|known| is_one_folder(&known.volume, &volume));
        let part = self.part(lun, known.as_ref());
        let stays = |known: &UnitEntry| {
            known.unit.is_standby() == (part == Part::Standby) && known.may_write_as(&volume)
        };
        if let Some(known) = known.as_ref().filter(|known| stays(known)) {
            self.go_on(lun, known).await?;
            return Ok(UnitEntry { target: lun.target.clone(), ..known.clone() });
        }
        if let Some(known) = &known {
            known.unit.stop_denying().context("its file is open")?; // to the unit that follows
        }
        if part == Part::Alone {
            return self.open(lun, (share, &volume), part).await;
        }
        if part == Part::Active {
            let name = lun.record.full_name();
            let why = match self.open_in_time(lun, (share, &volume), waiting).await {
                Ok(served) => {
                    tracing::info!(lun = name, "this server serves the LUN from now on");
                    return Ok(served);
                }
                Err(why) => format!("this server is to serve it, and cannot yet: {why:#}"),
            };
            if self.problem(&name).as_ref() != Some(&why) {
                tracing::info!(lun = name, "{why}");
            }
            waiting.why.push((name, why));
            self.pending.store(true, Ordering::Release);
        }
        match known.filter(|known| known.unit.is_standby()) {
            Some(known) => Ok(known),
            None => standby(lun, &volume),
        }
    }

    /// A new unit with the LUN's file open, unless that takes too long.
    async fn open_in_time(
        &self,
        lun: &Lun,
        (share, volume): (&ShareSettings, &Arc<Volume>),
        waiting: &mut Waiting,
    ) -> anyhow::Result<UnitEntry> {
        if waiting.is_slow {
            bail!("the file of another LUN could not be opened in time");
        }
        let opened = tokio::time::timeout(OPEN_WITHIN, self.open(lun, (share, volume), Part::Active)).await;
        opened.unwrap_or_else(|_| {
            waiting.is_slow = true;
            bail!("its file could not be opened in {} s", OPEN_WITHIN.as_secs())
        })
    }

    /// A unit that stays: its size follows the settings, or that of the file that another server has made longer.
    async fn go_on(&self, lun: &Lun, known: &UnitEntry) -> anyhow::Result<()> {
        if known.unit.is_standby() {
            known.unit.set_size(found(lun, &known.volume)?.attributes.size);
        } else if let Some(size) = lun.size.filter(|size| *size > known.unit.size()) {
            known.unit.resize(size).await.context("it cannot grow")?;
        }
        Ok(())
    }

    /// A new unit with the LUN's file open. The file is made if it was never there.
    async fn open(
        &self,
        lun: &Lun,
        (share, volume): (&ShareSettings, &Arc<Volume>),
        part: Part,
    ) -> anyhow::Result<UnitEntry> {
        // The volume of a read-only share is not read-only if another share of the folder is
        // writable: then the policy of the target keeps initiators from writing.
        let read_only = volume.is_read_only();
        let is_new = !lun.record.made && lun.record.file.is_none();
        let found = match (file::find(volume, &lun.record), lun.size.filter(|_| is_new)) {
            (Err(Error::NotFound), Some(size)) => {
                file::make(volume, &lun.record.name, size).await?;
                file::find(volume, &lun.record)?
            }
            _ => found(lun, volume)?,
        };
        let access = if read_only { Modes::READ } else { READ_WRITE };
        let open = file::open(volume, &found, access, DENY).await?;
        let there = open.size().await?; // another server may have made it longer since it was found
        let size = lun.size.filter(|_| !share.read_only).map_or(there, |size| size.max(there));
        if size > there {
            open.resize(size).await.context("it cannot grow")?;
        }
        self.unit_of(lun, volume, (open, size), part)
    }

    fn unit_of(
        &self,
        lun: &Lun,
        volume: &Arc<Volume>,
        (open, size): (Open, u64),
        part: Part,
    ) -> anyhow::Result<UnitEntry> {
        let client = Some(open.guard().client());
        let (identity, options) = described(lun, volume);
        let unit = match &self.roles {
            Some(roles) if part == Part::Active => {
                let kept: Arc<dyn UnitStateStore> = match volume.is_read_only() {
                    true => Arc::new(ReadOnlyKeeper(volume.clone())),
                    false => UnitRecord::begin(volume, lun.record.naa, roles.me())
                        .context("its reservations cannot be stored in the share")?,
                };
                LogicalUnit::shared(identity, options, Some(open), size, kept)
            }
            _ => LogicalUnit::new(identity, options, open, size, self.kept.clone()),
        };
        Ok(UnitEntry { volume: volume.clone(), unit, target: lun.target.clone(), client })
    }

    fn put_into_targets(&self, luns: &[Lun], units: &HashMap<u64, UnitEntry>, settings: &Settings) {
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

impl UnitEntry {
    /// Whether the unit's file is open for all that initiators may do to a volume. If the share became read-only, the policy of the
    /// target keeps initiators from writing.
    fn may_write_as(&self, volume: &Volume) -> bool {
        !self.volume.is_read_only() || volume.is_read_only()
    }
}

/// Whether two volumes are of one folder, with other settings. A unit's open file is not concerned by these: it stays.
fn is_one_folder(one: &Arc<Volume>, other: &Arc<Volume>) -> bool {
    let key = |volume: &Volume| volume.root().map(|root| root.object.key());
    Arc::ptr_eq(one, other) || key(one).is_ok_and(|one| key(other) == Ok(one))
}

/// The file of a LUN, which must be there.
fn found(lun: &Lun, volume: &Arc<Volume>) -> anyhow::Result<Found> {
    match file::find(volume, &lun.record) {
        Err(Error::NotFound) if !lun.record.made => {
            bail!(
                "the server of the cluster that is to serve it has not made its file {} yet",
                lun.file().display()
            )
        }
        Err(Error::NotFound) => {
            bail!("its file {} is not there; is its file system mounted?", lun.file().display())
        }
        other => other.with_context(|| format!("its file {} cannot be opened", lun.file().display())),
    }
}

/// A unit of a LUN that another server serves.
fn standby(lun: &Lun, volume: &Arc<Volume>) -> anyhow::Result<UnitEntry> {
    let size = found(lun, volume)?.attributes.size;
    let (identity, options) = described(lun, volume);
    let unit = LogicalUnit::shared(identity, options, None, size, Arc::new(ReadOnlyKeeper(volume.clone())));
    Ok(UnitEntry { volume: volume.clone(), unit, target: lun.target.clone(), client: None })
}

fn described(lun: &Lun, volume: &Volume) -> (Identity, UnitOptions) {
    let record = &lun.record;
    let options = UnitOptions { block_size: record.options.block_size, read_only: volume.is_read_only() };
    (Identity { naa: record.naa, name: record.full_name() }, options)
}

fn place(lun: &Lun, units: &HashMap<u64, UnitEntry>) -> Option<iscsi::server::TargetLun> {
    let options = &lun.record.options;
    let everybody = options.read_only.then(|| "*".to_owned());
    Some(iscsi::server::TargetLun {
        number: lun.record.number,
        unit: units.get(&lun.record.naa)?.unit.clone(),
        initiators: options.initiators.clone(),
        readers: options.readers.iter().cloned().chain(everybody).collect(),
    })
}

/// The access rules of a share's targets.
fn policy(share: &str, settings: &Settings) -> SharePolicy {
    let share = settings.shares.iter().find(|other| other.name == share);
    share.map(accounts::policy_of_luns).unwrap_or_default()
}

#[cfg(test)]
mod tests;
