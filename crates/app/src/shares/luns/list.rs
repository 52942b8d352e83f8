//! The list of LUNs.

use admin::control::{LunStatus, MountLine};
use admin::luns::{LunFile, LunRecord, own_file, own_prefix, prefix, resolve};
use admin::{Protocol, ShareSettings, State, recipe};

use super::desk::Desk;
use super::file;

/// Every LUN of a state folder, if the folders of its shares are unknown.
pub(crate) fn remembered(state: &State) -> anyhow::Result<Vec<LunStatus>> {
    let prefix = own_prefix(state.server_id());
    let mut luns: Vec<LunStatus> =
        LunFile::read(state.path())?.luns.iter().map(|lun| remembered_one(lun, &prefix)).collect();
    luns.sort_by(|a, b| (&a.share, &a.name).cmp(&(&b.share, &b.name)));
    Ok(luns)
}

fn remembered_one(lun: &LunRecord, prefix: &str) -> LunStatus {
    LunStatus {
        share: lun.share.clone(),
        name: lun.name.clone(),
        target: format!("{prefix}:{}", lun.target_suffix),
        number: lun.number,
        naa: format!("{:016x}", lun.naa),
        block_size: lun.options.block_size,
        read_only: lun.options.read_only,
        file: lun.file.clone().unwrap_or_else(|| own_file(&lun.name)),
        own_file: lun.file.is_none(),
        initiators: lun.options.initiators.clone(),
        readers: lun.options.readers.clone(),
        from_settings: lun.from_settings,
        snapshot_of: lun.snapshot_of.clone(),
        created: lun.created,
        problem: Some("no server runs, and no settings file says where its share is".into()),
        ..LunStatus::default()
    }
}

impl Desk<'_> {
    /// Every LUN of the state folder and the settings.
    pub(super) fn list(&self) -> anyhow::Result<Vec<LunStatus>> {
        let resolved = resolve(self.table, self.settings, self.server_id)?;
        let mut luns: Vec<LunStatus> = self.table.read()?.luns.iter().map(|lun| self.status(lun)).collect();
        for status in &mut luns {
            let name = status.full_name();
            let said =
                resolved.problems.iter().find(|(other, _)| *other == name).map(|(_, line)| line.clone());
            status.problem = status.problem.take().or(said);
        }
        luns.sort_by(|a, b| (&a.share, &a.name).cmp(&(&b.share, &b.name)));
        Ok(luns)
    }

    fn status(&self, lun: &LunRecord) -> LunStatus {
        let share = self.share(&lun.share).ok();
        let found = self.volume(&lun.share).ok().and_then(|volume| file::find(&volume, lun).ok());
        let attributes = found.map(|found| found.attributes);
        let own = own_file(&lun.name);
        LunStatus {
            share: lun.share.clone(),
            name: lun.name.clone(),
            target: format!("{}:{}", prefix(self.settings, self.server_id), lun.target_suffix),
            number: lun.number,
            naa: format!("{:016x}", lun.naa),
            size: attributes.map_or(0, |attributes| attributes.size),
            used: attributes.map(|attributes| attributes.allocated),
            block_size: lun.options.block_size,
            read_only: lun.options.read_only || share.is_some_and(|share| share.read_only),
            file: share
                .map(|share| share.path.clone())
                .unwrap_or_default()
                .join(lun.file.as_ref().unwrap_or(&own)),
            own_file: lun.file.is_none(),
            initiators: lun.options.initiators.clone(),
            readers: lun.options.readers.clone(),
            from_settings: lun.from_settings,
            snapshot_of: lun.snapshot_of.clone(),
            created: lun.created,
            served: self.unit(lun).is_some(),
            problem: self.problem(lun, share),
            active_at: self.active_at(lun),
            sessions: self.sessions(lun),
            connect: share.map(|share| self.connect(lun, share)).unwrap_or_default(),
        }
    }

    fn problem(&self, lun: &LunRecord, share: Option<&ShareSettings>) -> Option<String> {
        let Some(share) = share else {
            let why =
                self.absence(&lun.share).map(|absence| format!("its share is not served: {}", absence.why));
            return why.or_else(|| Some("no share of this name is served".into()));
        };
        if lun.from_settings && self.set(lun).is_none() {
            return Some("the settings no longer name it".into());
        }
        if !share.protocols.contains(&Protocol::Iscsi) {
            return Some("the share is not shown over iSCSI: see its setting `iscsi`".into());
        }
        let (units, _) = self.served?;
        let is_waiting =
            self.unit(lun).is_some_and(|unit| unit.is_standby()) && self.active_at(lun).is_none();
        let waiting = || "no server of the cluster serves it at this moment".to_owned();
        units.problem(&lun.full_name()).or_else(|| is_waiting.then(waiting))
    }

    /// The mount lines for initiators.
    pub(super) fn connect(&self, lun: &LunRecord, share: &ShareSettings) -> Vec<MountLine> {
        let target = format!("{}:{}", prefix(self.settings, self.server_id), lun.target_suffix);
        let home = self.served.and_then(|(units, _)| units.home(&target));
        let at = self.at.map(|(ip, port)| (home.unwrap_or(ip), port));
        at.map(|at| recipe::lun(&target, lun.number, at, share.guests)).unwrap_or_default()
    }
}
