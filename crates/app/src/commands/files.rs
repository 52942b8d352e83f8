//! `fourfold ls`, `cat`, `cp` and `rm`: files of any server.

use std::process::ExitCode;
use std::time::Duration;

use ::migrate::{Mode, Plan};
use admin::control::Progress;
use anyhow::{Context as _, ensure};
use client::tree::{Kind, Tree, TreeEntry, below};
use client::{Connector, OpenIntent, Protocol, Reach, Target, without_password};
use serde::Serialize;

use crate::cli::{Cat, Copy, ListFolder, Login, RemoveFiles};
use crate::commands::migrate::{destination, target, text, with_progress};
use crate::terminal::looked_at_bar::LookedAtBar;
use crate::terminal::{exit, loudness, out};

/// Bytes of one read.
const PIECE: usize = 1 << 20;
/// Files that `cp` copies at the same time.
const STREAMS: usize = 4;
/// Folders in each other.
const DEEPEST: usize = 200;

#[derive(Serialize)]
struct FileRow<'a> {
    name: &'a str,
    kind: &'static str,
    length: u64,
    /// RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    modified: Option<String>,
}

pub(crate) fn list(asked: &ListFolder) -> anyhow::Result<ExitCode> {
    let target = target(&asked.url, &asked.login)?;
    let mut tree = session(&target, &asked.login)?;
    let mut listing = tree.entries("")?;
    listing.entries.sort_by(|a, b| a.name.cmp(&b.name));
    let listed: Vec<FileRow<'_>> = listing.entries.iter().map(listed).collect();
    if asked.json {
        out::json(&listed)?;
    } else {
        for one in &listed {
            match asked.long {
                true => out::line(format_args!(
                    "{:6} {:>15}  {:20}  {}",
                    one.kind,
                    one.length,
                    one.modified.as_deref().unwrap_or("-"),
                    one.name
                ))?,
                false => out::line(one.name)?,
            }
        }
    }
    for name in &listing.unreadable {
        out::error_line(format_args!(
            "{name}: its name is not UTF-8, or none that a file can have, or there twice"
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn listed(entry: &TreeEntry) -> FileRow<'_> {
    let kind = match entry.kind {
        Kind::File => "file",
        Kind::Folder => "folder",
        Kind::Link => "link",
        Kind::Other => "other",
    };
    let modified = entry.modified.and_then(|(secs, _)| jiff::Timestamp::new(secs, 0).ok());
    FileRow { name: &entry.name, kind, length: entry.length, modified: modified.map(|time| time.to_string()) }
}

pub(crate) fn cat(asked: &Cat) -> anyhow::Result<ExitCode> {
    let (folder, name) = parted(target(&asked.url, &asked.login)?)?;
    let mut tree = session(&folder, &asked.login)?;
    let path = tree.native(&name);
    if asked.fork {
        out::bytes(&tree.extra(&path, Kind::File)?.fork)?;
        return Ok(ExitCode::SUCCESS);
    }
    let file = tree.open(&path, OpenIntent::Read)?;
    let mut offset = 0;
    loop {
        let bytes = tree.read(file, offset, PIECE.min(tree.largest()))?;
        if bytes.is_empty() {
            break;
        }
        out::bytes(&bytes)?;
        offset += bytes.len() as u64;
    }
    tree.close(file)?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn copy(asked: &Copy) -> anyhow::Result<ExitCode> {
    let Some((to, from)) = asked.urls.split_last() else {
        return Err(exit::usage_error("nothing to copy: name files, then the folder that they go to"));
    };
    let is_folder = to.ends_with('/');
    let to = destination(to, &asked.login, asked.to_password_file.as_deref())?;
    let (to, as_name) = if is_folder { (to, None) } else { place(to, &asked.login, from.len())? };
    let mode = match asked.dry_run {
        true => Mode::Plan { delete: false },
        false => Mode::Copy { verify: !asked.no_verify, delete: false },
    };
    let mut groups: Vec<(Target, Vec<String>)> = Vec::new();
    for url in from {
        let (folder, name) = parted(target(url, &asked.login)?)?;
        match groups.iter_mut().find(|(other, _)| *other == folder) {
            Some((_, names)) => names.push(name),
            None => groups.push((folder, vec![name])),
        }
    }
    let mut reports = Vec::new();
    for (folder, only) in groups {
        let plan = Plan {
            from: folder,
            to: to.clone(),
            only,
            as_name: as_name.clone(),
            mode,
            streams: STREAMS,
            limits: Vec::new(),
            accounts: ::migrate::Accounts::default(),
            journal: None,
            timeout: Duration::from_secs(asked.login.timeout),
        };
        reports.push(with_progress(&plan)?);
    }
    match asked.json {
        true => out::json(&reports)?,
        false => {
            let is_said =
                |report: &&::migrate::Report| !loudness::is_quiet() || asked.dry_run || !report.is_whole();
            reports.iter().filter(is_said).try_for_each(|report| out::print(text(report, mode)))?
        }
    }
    let is_whole = reports.iter().all(::migrate::Report::is_whole);
    Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The folder that copies go to, and the name that a single one gets if the destination is no folder yet.
fn place(to: Target, login: &Login, copies: usize) -> anyhow::Result<(Target, Option<String>)> {
    let Ok((folder, name)) = parted(to.clone()) else { return Ok((to, None)) }; // a whole share
    let connector = Connector::new(folder.clone(), Reach::direct(Duration::from_secs(login.timeout)), 1, 0);
    let mut tree = match connector.tree() {
        Err(error) if error.ends_session() => return Err(error).context(folder.to_string()),
        Err(_) => return Ok((to, None)), // some may only use folders below
        Ok(tree) => tree,
    };
    let is_new = match tree.entry(&tree.native(&name)) {
        Ok(entry) => !matches!(entry.kind, Kind::Folder | Kind::Link),
        Err(client::Error::Missing(_)) => true,
        Err(_) => false,
    };
    ensure!(!is_new || copies == 1, "{to} is no folder: several files need a folder that they go to");
    Ok(if is_new { (folder, Some(name)) } else { (to, None) })
}

pub(crate) fn remove(asked: &RemoveFiles) -> anyhow::Result<ExitCode> {
    let places = asked
        .urls
        .iter()
        .map(|url| parted(target(url, &asked.login)?))
        .collect::<anyhow::Result<Vec<_>>>()?;
    let named: Vec<String> = asked.urls.iter().map(|url| without_password(url)).collect();
    let inside = if asked.recursive { ", folders with all that is in them" } else { "" };
    if !asked.caution.dry_run
        && !asked.caution.permits_script(&format!("{} is removed{inside}", named.join(" and ")))?
    {
        return Ok(ExitCode::SUCCESS);
    }
    let (mut code, mut all) = (ExitCode::SUCCESS, TreeRemoval::new(asked.caution.dry_run));
    for (place, url) in places.iter().zip(&named) {
        if let Err(error) = remove_one(place, asked, &mut all) {
            all.progress.end();
            out::error_line(format_args!("{url}: {error:#}"));
            code = ExitCode::FAILURE;
        }
    }
    all.progress.end();
    if asked.caution.dry_run {
        out::line(format_args!("dry run: {} files and folders would be removed", all.count))?;
    }
    Ok(code)
}

fn remove_one(
    (folder, name): &(Target, String),
    asked: &RemoveFiles,
    all: &mut TreeRemoval,
) -> anyhow::Result<()> {
    let mut tree = session(folder, &asked.login)?;
    let entries = tree.entries("")?.entries;
    let entry = entries.into_iter().find(|entry| entry.name == *name).context("it does not exist")?;
    ensure!(
        entry.kind != Kind::Folder || asked.recursive,
        "it is a folder; -r removes it with all that is in it"
    );
    all.take_away(&mut *tree, name, entry.kind, 0)
}

/// The removal of trees, or its count.
struct TreeRemoval {
    is_dry: bool,
    count: u64,
    progress: LookedAtBar,
}

impl TreeRemoval {
    fn new(is_dry: bool) -> Self {
        Self { is_dry, count: 0, progress: LookedAtBar::new() }
    }

    fn take_away(&mut self, tree: &mut dyn Tree, path: &str, kind: Kind, depth: usize) -> anyhow::Result<()> {
        let native = tree.native(path);
        if kind == Kind::Folder {
            ensure!(depth < DEEPEST, "more than {DEEPEST} folders in each other");
            for entry in tree.entries(&native)?.entries {
                self.take_away(tree, &below(path, &entry.name), entry.kind, depth + 1)?;
            }
        }
        match (self.is_dry, kind) {
            (true, _) => tracing::info!("would remove {path:?}"),
            (false, Kind::Folder) => tree.remove_folder(&native).with_context(|| path.to_owned())?,
            (false, _) => tree.remove(&native).with_context(|| path.to_owned())?,
        }
        self.count += 1;
        self.progress.show("removal", Progress { done: self.count, total: 0 });
        Ok(())
    }
}

fn session(target: &Target, login: &Login) -> anyhow::Result<Box<dyn Tree>> {
    let reach = Reach::direct(Duration::from_secs(login.timeout));
    Connector::new(target.clone(), reach, 1, 0).tree().with_context(|| target.to_string())
}

/// The folder of a file, and the file's name.
fn parted(mut target: Target) -> anyhow::Result<(Target, String)> {
    let whole = target.to_string();
    let of = if target.protocol == Protocol::File { &mut target.share } else { &mut target.path };
    let trimmed = of.trim_end_matches('/').to_owned();
    let (folder, name) = trimmed.rsplit_once('/').unwrap_or(("", &trimmed));
    if name.is_empty() {
        return Err(exit::usage_error(format!("{whole} is a whole share; name a file or a folder in it")));
    }
    *of = folder.to_owned();
    if target.protocol == Protocol::File && target.share.is_empty() {
        target.share.push('/');
    }
    Ok((target, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_folder_and_a_share_has_none() {
        let parts = |url: &str| parted(Target::parse(url).unwrap());
        let (folder, name) = parts("smb://ada@nas/files/a/b.txt").unwrap();
        assert_eq!((folder.path.as_str(), name.as_str()), ("a", "b.txt"));
        let (folder, name) = parts("nfs://nas/files/b").unwrap();
        assert_eq!((folder.path.as_str(), name.as_str()), ("", "b"));
        let (folder, name) = parts("file:///b").unwrap();
        assert_eq!((folder.share.as_str(), name.as_str()), ("/", "b"));
        assert!(parts("smb://nas/files").is_err());
    }
}
