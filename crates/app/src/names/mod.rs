//! `fourfold names`: names that will hurt some client, and their fix, which can be taken back.

mod fix;
mod journal;

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use serde::Serialize;
use vfs::mac::layout::is_sidecar_name;
use vfs::names::{FoldedKey, Trouble, report};

use crate::cli::Names;
use crate::out;
use journal::Journal;

/// Folders in each other. A tree that is deeper has a loop of bind mounts.
const DEEPEST: usize = 1_000;

/// A name with troubles.
#[derive(Debug, Serialize)]
struct Named {
    /// The folder.
    folder: PathBuf,
    /// The name; what is not UTF-8 is replaced here.
    name: String,
    /// What is wrong with it.
    why: Vec<String>,
    /// The name that it gets, if it can be fixed.
    fixed: Option<String>,
    /// Why it could not be renamed.
    error: Option<String>,
    #[serde(skip)]
    change: Option<(OsString, OsString)>,
}

pub(crate) fn run(names: &Names) -> anyhow::Result<ExitCode> {
    if let Some(file) = &names.undo {
        return undo(file, names.json);
    }
    let Some(folder) = &names.folder else { return Ok(ExitCode::from(crate::exit::REFUSED)) };
    fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    let mut found = Vec::new();
    let mut unreadable = Vec::new();
    look(folder, 0, names.windows, &mut found, &mut unreadable);
    let mut journal = match (&names.journal, names.fix) {
        (Some(file), true) => Some(Journal::new(file)?),
        _ => None,
    };
    if let Some(journal) = &mut journal {
        for one in &mut found {
            if let Some((from, to)) = &one.change {
                one.error = journal.rename(&one.folder, from, to).err().map(|error| format!("{error:#}"));
            }
        }
    }
    let failed = !unreadable.is_empty() || found.iter().any(|one| one.error.is_some());
    if names.json {
        out::json(&serde_json::json!({ "names": found, "unreadable": unreadable, "fixed": names.fix }))?;
    } else {
        tell(&found, &unreadable, names.fix)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Looks at a folder. The names in it come after those below it: in this order they can be changed.
fn look(folder: &Path, depth: usize, windows: bool, found: &mut Vec<Named>, unreadable: &mut Vec<String>) {
    let entries = match fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
        Ok(entries) if depth < DEEPEST => entries,
        Ok(_) => return unreadable.push(format!("{}: too deep", folder.display())),
        Err(error) => return unreadable.push(format!("{}: {error}", folder.display())),
    };
    let mut names: Vec<OsString> = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        if vfs::is_own_name(name.as_bytes()) {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look(&entry.path(), depth + 1, windows, found, unreadable);
        }
        names.push(name);
    }
    names.sort();
    let plain: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
    let mut taken: HashSet<FoldedKey> = plain.iter().map(|name| fix::key(name)).collect();
    let troubles = report(&plain);
    for (at, name) in plain.iter().enumerate() {
        let own: Vec<&Trouble> = troubles.iter().filter(|trouble| trouble.name == at).collect();
        let has_file = is_sidecar_name(name) && plain.contains(&name.get(2..).unwrap_or_default());
        if own.is_empty() || has_file {
            continue; // a sidecar has the name of its file
        }
        let fixed = fix::name(name, &own, windows, &mut taken);
        found.push(Named {
            folder: folder.into(),
            name: String::from_utf8_lossy(name).into_owned(),
            why: own.iter().map(|trouble| fix::why(trouble, &plain)).collect(),
            fixed: fixed.as_ref().map(|fixed| String::from_utf8_lossy(fixed).into_owned()),
            error: None,
            change: fixed.map(|fixed| (OsStr::from_bytes(name).to_owned(), OsString::from_vec(fixed))),
        });
    }
}

fn tell(found: &[Named], unreadable: &[String], fixed: bool) -> anyhow::Result<()> {
    for one in found {
        let place = one.folder.join(&one.name);
        out::line(format_args!("{:?}: {}", place, one.why.join("; ")))?;
        match (&one.fixed, &one.error) {
            (_, Some(error)) => out::error_line(format_args!("{place:?}: {error}")),
            (Some(name), None) if fixed => out::line(format_args!("  is now {name:?}"))?,
            (Some(name), None) => out::line(format_args!("  would become {name:?}"))?,
            (None, None) => {}
        }
    }
    unreadable.iter().for_each(out::error_line);
    let many = found.iter().filter(|one| one.fixed.is_some()).count();
    match (fixed, many) {
        (false, 1..) => out::line(format_args!(
            "{} names, {many} with a fix. Rename them with --fix --journal FILE",
            found.len()
        ))?,
        _ => out::line(format_args!("{} names", found.len()))?,
    }
    Ok(())
}

fn undo(file: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let (back, failed) = journal::undo(file)?;
    match json {
        true => out::json(&serde_json::json!({ "back": back, "failed": failed }))?,
        false => {
            failed.iter().for_each(out::error_line);
            out::line(format_args!("{back} names are as they were"))?;
        }
    }
    Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
