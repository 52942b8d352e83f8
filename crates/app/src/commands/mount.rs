//! `fourfold mount`: a tree of any server as a folder of this machine.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use ::mount::{MountedTree, Options};
use anyhow::{Context as _, bail};
use client::{Protocol, Target};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::MountCommand;
use crate::commands::migrate::target;
use crate::terminal::out;

pub(crate) fn run(asked: &MountCommand) -> anyhow::Result<ExitCode> {
    let options = Options {
        timeout: Duration::from_secs(asked.login.timeout),
        sessions: asked.sessions.into(),
        read_only: asked.read_only,
        all_users: asked.all_users,
    };
    let target = target(&asked.url, &asked.login)?;
    refuse_overlap(&target, &asked.folder, options.timeout)?;
    let mut mounted = MountedTree::new(target, &asked.folder, &options)?;
    let mut unmounter = mounted.unmounter();
    let signals = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (mut interrupt, mut terminate) = {
        let _entered = signals.enter();
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?)
    };
    signals.spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        let done = tokio::task::spawn_blocking(move || unmounter.unmount()).await;
        if let Ok(Err(error)) = done {
            out::error_line(format_args!(
                "it cannot be unmounted: {error}. End the programs that use it, then `umount`"
            ));
        }
    });
    out::line(format_args!(
        "{} is mounted; Ctrl-C or `umount {}` ends it",
        asked.folder.display(),
        asked.folder.display()
    ))?;
    mounted.run().with_context(|| format!("the mount on {} failed", asked.folder.display()))?;
    signals.shutdown_background();
    Ok(ExitCode::SUCCESS)
}

/// A tree that is mounted inside of itself has no end. A folder that cannot be written to is not in a tree that this user could loop.
fn refuse_overlap(from: &Target, folder: &Path, timeout: Duration) -> anyhow::Result<()> {
    let path = std::path::absolute(folder)?.to_str().map(str::to_owned);
    let Some(path) = path.filter(|_| from.protocol != Protocol::File) else { return Ok(()) };
    let here = Target { share: path, ..Target::parse("file:///folder")? };
    if let Ok(true) = ::migrate::is_one_folder(from, &here, timeout) {
        bail!("{from} is the folder {} or has it in it: mount it elsewhere", folder.display());
    }
    Ok(())
}
