//! Shares with a `from`: their files arrive from another server while clients use them.

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use admin::ShareSettings;
use admin::control::{ArrivingStatus, NotArrived};
use anyhow::{Context as _, bail};
use client::{Protocol, Target};
use migrate::OldServer;
use vfs::Site;
use vfs::arriving::{Arriving, MARK, Progress, is_incomplete};
use vfs::backend::Backend;
use vfs::backend::host::{Host, as_ourselves};
use vfs::streams::Style;

use crate::shares::links::account::LinkAccount;
use crate::shares::snapshots::Live;

/// How long the old server may take for an answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take for an answer when a share is opened.
const PROBING: Duration = Duration::from_secs(2);
/// The pause after a pass that could not go on, after one in which files failed, and after one that left only what cannot be made.
const PAUSES: [Duration; 3] = [Duration::from_secs(5), Duration::from_secs(60), Duration::from_secs(600)];
/// How many of the files that did not arrive are in a line of the log.
const NAMED_IN_LOG: usize = 5;
/// The longest sleep at a time.
const NAP: Duration = Duration::from_millis(200);

/// A share whose files arrive.
#[derive(Clone)]
pub(crate) struct Arrival {
    /// The URL that they come from.
    from: String,
    pub(crate) files: Arc<Arriving>,
}

/// The files of a share, with those that arrive. `None`: the share has no `from`.
///
/// # Errors
/// The URL or the account are wrong. Or files of the folder are not here although the share has no `from`.
pub(crate) fn open(
    share: &ShareSettings,
    host: &Host,
    (style, is_shared): (Style, bool),
    site: &Arc<Site>,
) -> anyhow::Result<Option<Arrival>> {
    let Some(from) = &share.from else {
        return refuse_incomplete(&share.path).map(|()| None);
    };
    if is_shared {
        bail!(
            "files cannot arrive in a folder that other servers change, too: remove `from`, or serve it by one server"
        );
    }
    if let Some(above) = share.path.parent() {
        refuse_incomplete(above)?;
    }
    let target = target(from.reveal(), share.from_credentials.as_deref())?;
    let (from, source) = (target.to_string(), OldServer::new(target.clone(), TIMEOUT));
    let backend: Arc<dyn Backend> = Arc::new(host.clone());
    let arriving = Arriving::over(backend, Arc::new(source), style, site.clone())
        .context("what is not here yet cannot be marked: the folder needs extended attributes")?;
    let arriving = Arc::new(arriving);
    if !arriving.progress().is_done {
        refuse_overlap(&target, &share.path)?;
    }
    if !arriving.progress().is_done {
        let (name, weak) = (share.name.clone(), Arc::downgrade(&arriving));
        std::thread::Builder::new().name("arriving".into()).spawn(move || bring_all(&name, &weak))?;
    }
    Ok(Some(Arrival { from, files: arriving }))
}

/// Files cannot arrive from the folder that they arrive in. An old server that does not answer now is not asked again.
fn refuse_overlap(from: &Target, folder: &Path) -> anyhow::Result<()> {
    let Some(path) = folder.to_str() else { return Ok(()) };
    let here = Target { share: path.to_owned(), ..Target::parse("file:///folder")? };
    match as_ourselves(|| migrate::is_one_folder(from, &here, PROBING)) {
        Ok(Ok(true)) => {
            bail!(
                "{from} and {path} are one folder, or one is inside the other: name another source in `from`"
            )
        }
        _ => Ok(()),
    }
}

/// How far the shares are whose files arrive.
pub(crate) fn status<'a>(shares: impl Iterator<Item = (&'a str, &'a Live)>) -> Vec<ArrivingStatus> {
    let arrivals = shares.filter_map(|(share, live)| match live {
        Live::Host(_, Some(arrival)) => Some((share, arrival)),
        _ => None,
    });
    let mut all: Vec<_> = arrivals.map(|(share, arrival)| arrival.status(share)).collect();
    all.sort_by(|a, b| a.share.cmp(&b.share));
    all
}

impl Arrival {
    fn status(&self, share: &str) -> ArrivingStatus {
        let progress = self.files.progress();
        ArrivingStatus {
            share: share.to_owned(),
            from: self.from.clone(),
            is_done: progress.is_done,
            is_away: progress.is_away,
            files: progress.files,
            bytes: progress.bytes,
            files_left: progress.files_left,
            bytes_left: progress.bytes_left,
            failed: progress.failed,
            missing: progress.missing,
            named: progress
                .named
                .into_iter()
                .map(|one| NotArrived { path: one.path, why: one.why })
                .collect(),
        }
    }
}

fn target(from: &str, credentials: Option<&Path>) -> anyhow::Result<Target> {
    let mut target = Target::parse(from)?;
    if target.protocol == Protocol::Iscsi {
        bail!("{from}: a disk has no files");
    }
    if let Some(file) = credentials {
        let account = LinkAccount::read(file).map_err(anyhow::Error::msg)?;
        (target.user, target.password) = (account.user, account.password);
    }
    Ok(target)
}

/// A folder whose files are not all here has empty ones in their place: it is served with its `from` only, and so is no folder
/// in it.
fn refuse_incomplete(folder: &Path) -> anyhow::Result<()> {
    let name = std::str::from_utf8(MARK)?;
    for folder in folder.ancestors() {
        let mut mark = [0; 32];
        let length = rustix::fs::getxattr(folder, name, &mut mark[..]).unwrap_or_default();
        if is_incomplete(&mark[..length]) {
            bail!(
                "files of {} are still on the server that they come from: give that share its `from` again, and serve no \
                 other share of the folder until `fourfold status` says that all is here",
                folder.display()
            );
        }
    }
    Ok(())
}

fn say_what_is_not_here(share: &str, progress: &Progress) {
    let (failed, missing) = (progress.failed, progress.missing);
    let named: Vec<String> =
        progress.named.iter().take(NAMED_IN_LOG).map(|one| format!("{} ({})", one.path, one.why)).collect();
    let named = named.join(", ");
    if failed > 0 {
        tracing::warn!(share, failed, missing, named, "some files cannot be fetched; trying again");
    } else if missing > 0 {
        tracing::warn!(
            share,
            missing,
            named,
            "all is here but what cannot be made here, which is only on the old server: `fourfold status` names it"
        );
    }
}

/// Brings everything, until all is here or the share is not served any more.
fn bring_all(share: &str, arriving: &Weak<Arriving>) {
    let mut said = None;
    while let Some(now) = arriving.upgrade() {
        let is_last = || Weak::strong_count(arriving) <= 1;
        let pass = as_ourselves(|| now.pass(&is_last)).and_then(|pass| pass);
        drop(now);
        let pause = match pass {
            Ok(progress) if progress.is_done => {
                tracing::info!(share, "all files are here: the old server is not needed any more");
                return;
            }
            Ok(progress) => {
                say_what_is_not_here(share, &progress);
                if progress.failed > 0 { PAUSES[1] } else { PAUSES[2] }
            }
            Err(error) => {
                if said != Some(error) {
                    tracing::warn!(share, %error, "the files of the old server do not arrive; trying again");
                }
                said = Some(error);
                PAUSES[0]
            }
        };
        let naps = pause.as_millis() / NAP.as_millis();
        for _ in 0..naps {
            if arriving.strong_count() == 0 {
                return;
            }
            std::thread::sleep(NAP);
        }
    }
}
