//! `fourfold adopt`: what another server has left in a folder, and the settings that serve it.

mod afp_conf;
mod clients;
mod exports_file;
mod ini;
mod share;
mod smb_conf;
mod survey;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;

use crate::cli::Adopt;
use crate::out;
use share::Share;
use survey::{Findings, Layout, Survey};

/// What the settings of another server become.
#[derive(Debug, Default)]
struct Translated {
    shares: Vec<Share>,
    /// What concerns no share, or a share that cannot be translated.
    notes: Vec<String>,
}

/// The answer.
#[derive(Debug, Serialize)]
struct Report {
    folders: Vec<Survey>,
    shares: Vec<Share>,
    notes: Vec<String>,
    /// `fourfold.toml`.
    settings: String,
}

pub(crate) fn run(adopt: &Adopt) -> anyhow::Result<ExitCode> {
    let mut translated = read(adopt)?;
    let mut folders: Vec<PathBuf> = adopt.folder.iter().cloned().collect();
    if folders.is_empty() {
        let (there, missing): (Vec<&Share>, Vec<&Share>) =
            translated.shares.iter().partition(|share| share.path.is_dir());
        folders.extend(there.iter().map(|share| share.path.clone()));
        let notes = missing.iter().map(|share| format!("{} is not there", share.path.display()));
        translated.notes.extend(notes.collect::<Vec<_>>());
    }
    let surveys: Vec<Survey> = match adopt.settings && !translated.shares.is_empty() {
        true => Vec::new(),
        false => folders.iter().map(|folder| Survey::of(folder)).collect::<anyhow::Result<_>>()?,
    };
    if translated.shares.is_empty() {
        translated.shares = surveys.iter().map(by_survey).collect::<anyhow::Result<_>>()?;
    }
    let settings = settings(&translated);
    if adopt.json {
        let Translated { shares, notes } = translated;
        out::json(&Report { folders: surveys, shares, notes, settings })?;
    } else if adopt.settings {
        out::print(settings)?;
    } else {
        for survey in &surveys {
            out::print(text(survey))?;
        }
        out::print(format_args!("\nSettings (fourfold.toml):\n\n{settings}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Translates the text of a settings file.
type Translate = fn(&str) -> Translated;

/// Reads the settings of other servers. Shares of one folder are one.
fn read(adopt: &Adopt) -> anyhow::Result<Translated> {
    let files: [(&Option<PathBuf>, Translate); 3] = [
        (&adopt.smb_conf, smb_conf::translate),
        (&adopt.afp_conf, afp_conf::translate),
        (&adopt.exports, exports_file::translate),
    ];
    let mut all = Translated::default();
    for (file, translate) in files {
        let Some(file) = file else { continue };
        let translated = translate(&ini::read(file)?);
        all.notes.extend(translated.notes);
        for share in translated.shares {
            match all.shares.iter_mut().find(|known| known.path == share.path) {
                Some(known) => known.join(share),
                None => all.shares.push(share),
            }
        }
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
    let count = |layout| survey.count(layout);
    let in_streams = count(Layout::SambaInfo) > count(Layout::Netatalk);
    if in_streams && count(Layout::SambaFork) > 0 {
        share.set_text("mac-layout", "samba-streams");
    } else if count(Layout::SambaStreams) + count(Layout::SambaInfo) > count(Layout::PlainAttributes) {
        share.set_text("mac-layout", "samba");
    }
    Ok(share)
}

fn settings(translated: &Translated) -> String {
    let notes = translated.notes.iter().map(|note| format!("# {note}\n"));
    let shares = translated.shares.iter().map(Share::toml);
    let notes: String = notes.collect();
    let parts = std::iter::once(notes).filter(|notes| !notes.is_empty()).chain(shares);
    parts.collect::<Vec<_>>().join("\n")
}

/// A survey for people.
fn text(survey: &Survey) -> String {
    let Survey { folder, files, folders, layouts, damaged, conflicts, orphans, unreadable } = survey;
    let mut text = format!("{}: {files} files in {folders} folders\n", folder.display());
    let rows = layouts.iter().map(|(layout, count)| {
        let served = layout.unserved().map_or_else(|| "served".into(), |why| format!("not served: {why}"));
        [format!("  {count}"), layout.text().into(), served]
    });
    text.push_str(&out::table(rows));
    if layouts.is_empty() {
        text.push_str("  no other server has left anything in it\n");
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
