//! `fourfold adopt`: what another server has left in a folder, and the settings that serve it.

mod afp_conf;
mod clients;
pub(crate) mod convert;
pub(crate) mod converted;
mod exports;
mod ini;
mod netgroups;
mod passdb;
mod share;
mod share_names;
mod smb_conf;
mod source;
pub(crate) mod survey;
mod translated;

use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, bail, ensure};
use serde::Serialize;
use serde_json::{Value, json};
use vfs::backend::host::{Host, HostOptions};
use vfs::{Volume, VolumeOptions};

use crate::cli::Adopt;
use crate::host::here;
use crate::terminal::out;
use share::Share;
use source::{AcceptedLimits, SourceSetting};
use survey::{Findings, StorageLayout, Survey};
use translated::Translation;

/// SIDs that are named. Those beyond are counted.
const MOST_SIDS: usize = 20;

/// The answer.
#[derive(Debug, Serialize)]
struct Report {
    folders: Vec<Survey>,
    shares: Vec<Share>,
    /// The settings of whole servers, and of shares there that are none here.
    source: Vec<SourceSetting>,
    /// The shares that are not in the settings, because a limit is not kept.
    closed: Vec<String>,
    /// The accounts of Samba, if they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    accounts: Option<passdb::PassdbAccounts>,
    notes: Vec<String>,
    /// `fourfold.toml`.
    settings: String,
}

pub(crate) fn run(adopt: &Adopt) -> anyhow::Result<ExitCode> {
    if adopt.convert || adopt.undo.is_some() {
        return change(adopt);
    }
    let accounts = passdb::asked(adopt)?;
    let mut translated = read(adopt)?;
    let mut folders: Vec<PathBuf> = adopt.folder.iter().cloned().collect();
    if folders.is_empty() {
        let is_one = |share: &&Share| !share.path.ends_with("%U"); // homes are many folders
        let (there, missing): (Vec<&Share>, Vec<&Share>) =
            translated.shares.iter().filter(is_one).partition(|share| share.path.is_dir());
        folders.extend(there.iter().map(|share| share.path.clone()));
        let notes = missing.iter().map(|share| format!("{} is not there", share.path.display()));
        translated.notes.extend(notes.collect::<Vec<_>>());
    }
    let look = |folder: &PathBuf| Survey::of(folder, &convert::progress());
    let surveys: Vec<Survey> = match adopt.settings && !translated.shares.is_empty() {
        true => Vec::new(),
        false => folders.iter().map(look).collect::<anyhow::Result<_>>()?,
    };
    if translated.shares.is_empty() {
        translated.shares = surveys.iter().map(by_survey).collect::<anyhow::Result<_>>()?;
    }
    if let Some((_, accounts)) = &accounts {
        translated.server.extend(accounts.setting());
    }
    let accepted = AcceptedLimits::of(&adopt.accept);
    let (settings, closed) = translated.settings(&accepted)?;
    translated
        .unused(&accepted)
        .iter()
        .for_each(|word| out::error_line(format_args!("--accept {word}: no such limit is lost")));
    closed.iter().for_each(out::error_line);
    let code = if closed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if adopt.json {
        let (Translation { shares, source, notes, .. }, accounts) =
            (translated, accounts.map(|(_, accounts)| accounts));
        out::json(&Report { folders: surveys, shares, source, closed, accounts, notes, settings })?;
    } else if adopt.settings {
        out::print(settings)?;
    } else {
        for survey in &surveys {
            out::print(text(survey))?;
        }
        if let Some((file, accounts)) = &accounts {
            out::print(accounts.text(file))?;
        }
        out::print(translated.text())?;
        out::print(format_args!("\nSettings (fourfold.toml):\n\n{settings}"))?;
    }
    Ok(code)
}

/// Converts a folder, or takes that back.
fn change(adopt: &Adopt) -> anyhow::Result<ExitCode> {
    let state = match here::state(&adopt.place)? {
        Ok(state) => state,
        Err(diagnostics) => {
            diagnostics.iter().for_each(out::error_line);
            return Ok(ExitCode::from(crate::terminal::exit::REFUSED));
        }
    };
    let is_served = UnixStream::connect(state.join(admin::control::SOCKET)).is_ok();
    ensure!(
        !is_served,
        "the server with the state folder {} is running: start the job in its console or API, or stop it",
        state.display()
    );
    let folder = match (&adopt.folder, &adopt.undo) {
        (Some(folder), _) => folder.clone(),
        (None, Some(journal)) => converted::JournalWriter::folder(journal)?,
        (None, None) => bail!("name a folder"),
    };
    let volume = opened(&folder, &state)?;
    let progress = convert::progress();
    if let Some(journal) = &adopt.undo {
        let (back, left) = convert::undo(&volume, journal, &progress)?;
        drop(progress);
        match adopt.json {
            true => out::json(&serde_json::json!({ "back": back, "left": left }))?,
            false => {
                left.iter().for_each(|one| out::error_line(format_args!("{}: {}", one.path, one.what)));
                out::line(format_args!("{back} files have their former layout"))?;
            }
        }
        return Ok(if left.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let (to, _) = convert::style(&adopt.to)?;
    let wanted = convert::ConversionOptions { to, shown_counts: adopt.shown_counts, dry_run: adopt.dry_run };
    let report = convert::convert(&volume, &folder, &state.join("adopt"), wanted, &progress)?;
    drop(progress);
    match adopt.json {
        true => out::json(&report)?,
        false => tell(&report, adopt.dry_run)?,
    }
    Ok(if report.is_whole() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn opened(folder: &Path, state: &Path) -> anyhow::Result<Arc<Volume>> {
    let options = HostOptions { private: Some(state.into()), ..HostOptions::default() };
    let host =
        Host::open(folder, &options).with_context(|| format!("{} cannot be opened", folder.display()))?;
    Ok(Arc::new(Volume::new(Arc::new(host), VolumeOptions::default())))
}

fn tell(report: &convert::Report, dry_run: bool) -> anyhow::Result<()> {
    for (what, list) in [
        ("open", &report.open),
        ("left, because copies differ (--shown-counts takes those that clients see)", &report.conflicts),
        ("not changed", &report.failed),
    ] {
        list.iter().for_each(|one| out::error_line(format_args!("{what}: {}: {}", one.path, one.what)));
    }
    let would = if dry_run { "would get" } else { "have" };
    let convert::Report { to, looked, converted, .. } = report;
    out::line(format_args!("{converted} of {looked} files and folders {would} the layout {to} now"))?;
    match &report.journal {
        Some(journal) => Ok(out::line(format_args!("back: fourfold adopt --undo {}", journal.display()))?),
        None => Ok(()),
    }
}

/// Translates the text of a settings file.
type Translate = fn(&Path, &str) -> Translation;

/// Reads the settings of other servers. Shares of one folder are one.
fn read(adopt: &Adopt) -> anyhow::Result<Translation> {
    let files: [(&Option<PathBuf>, Translate); 3] = [
        (&adopt.smb_conf, smb_conf::translate),
        (&adopt.afp_conf, afp_conf::translate),
        (&adopt.exports, exports::translate),
    ];
    let mut all = Translation::default();
    for (file, translate) in files {
        let Some(file) = file else { continue };
        all.join(translate(file, &ini::read(file)?));
    }
    if adopt.exports.is_some() {
        let exported = all.shares.iter().filter(|share| share.protocols.contains(&"nfs"));
        let note = |share: &Share| {
            format!("exports: clients mount {} as HOST:/{}", share.path.display(), share.name)
        };
        let notes: Vec<String> = exported.map(note).collect();
        all.notes.extend(notes);
    }
    if let Some(folder) = &adopt.folder {
        let path = std::path::absolute(folder)?;
        all.shares.retain(|share| share.path == path || share.path == *folder);
    }
    Ok(all)
}

/// A share that serves a folder as it is, for all protocols.
fn by_survey(survey: &Survey) -> anyhow::Result<Share> {
    let path = std::path::absolute(&survey.folder)?;
    let name = path.file_name().map_or_else(|| "share".into(), |name| name.to_string_lossy().into_owned());
    let mut share = Share::new(&name, &path, "smb");
    share.protocols.extend(["nfs", "afp"]);
    let layout = main_layout(survey);
    if layout != "netatalk" {
        share.set_text("mac-layout", layout);
    }
    if survey.count(StorageLayout::PrivateNames) > 0 {
        share.set_text("name-encoding", "private");
    }
    Ok(share)
}

/// The value of `mac-layout` that fits most of the files.
fn main_layout(survey: &Survey) -> &'static str {
    let count = |layout| survey.count(layout);
    let in_streams = count(StorageLayout::SambaInfo) > count(StorageLayout::Netatalk);
    if in_streams && count(StorageLayout::SambaFork) > 0 {
        "samba-streams"
    } else if count(StorageLayout::SambaStreams) + count(StorageLayout::SambaInfo)
        > count(StorageLayout::PlainAttributes)
    {
        "samba"
    } else {
        "netatalk"
    }
}

/// A survey for the console: as for scripts, with the layouts in words, and the layout that most files have.
pub(crate) fn for_console(survey: &Survey) -> anyhow::Result<Value> {
    let in_words = |(layout, count): (&StorageLayout, &u64)| json!({ "layout": layout, "text": layout.text(), "count": count, "unserved": layout.unserved() });
    let mut value = serde_json::to_value(survey)?;
    value["in_words"] = survey.layouts.iter().map(in_words).collect();
    value["unknown"] = survey.unknown.iter().take(MOST_SIDS).cloned().collect();
    value["unknown_count"] = survey.unknown.len().into();
    value["mac_layout"] = main_layout(survey).into();
    Ok(value)
}

/// A survey for people.
fn text(survey: &Survey) -> String {
    let Survey { folder, files, folders, layouts, damaged, conflicts, orphans, unreadable, unknown } = survey;
    let mut text = format!("{}: {files} files in {folders} folders\n", folder.display());
    let rows = layouts.iter().map(|(layout, count)| {
        let served = layout.unserved().map_or_else(|| "served".into(), |why| format!("not served: {why}"));
        [format!("  {count}"), layout.text().into(), served]
    });
    text.push_str(&out::table(rows));
    if layouts.is_empty() {
        text.push_str("  no other server has left anything in it\n");
    }
    if layouts.contains_key(&StorageLayout::SambaAcl) {
        text.push_str(
            "  set `samba-acls = true` in [server]: such access rights then count for every file\n",
        );
    }
    let kinds = [
        ("damaged", damaged),
        ("there twice, and different", conflicts),
        ("without their file", orphans),
        ("not readable", unreadable),
    ];
    for (what, findings) in kinds {
        text.push_str(&named(what, findings, folder));
    }
    if !unknown.is_empty() {
        let sids = unknown.iter().take(MOST_SIDS).map(|sid| format!("  {sid}\n"));
        text.push_str("users and groups of Samba that its ACLs name, unknown here: they get nothing, and what is taken from them ");
        text.push_str("is taken from everyone, unless `samba-sids` says who they are (`pdbedit -L -v`, `net groupmap list`)\n");
        text.extend(sids);
        let more = unknown.len().saturating_sub(MOST_SIDS);
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
    }
    text
}

fn named(what: &str, findings: &Findings, folder: &Path) -> String {
    if findings.count == 0 {
        return String::new();
    }
    let mut text = format!("{what}: {}\n", findings.count);
    for finding in &findings.named {
        let path = finding.path.strip_prefix(folder).unwrap_or(&finding.path);
        text.push_str(&format!("  {}: {}\n", path.display(), finding.what));
    }
    let more = findings.count.saturating_sub(findings.named.len() as u64);
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}
