//! What other servers have left in a share, and its conversion to one layout.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use admin::ShareSettings;
use serde_json::json;
use web::jobs::{ConversionStatus, JobHandle, NewJob};

use super::{Outcome, as_server, conversions, file, lines};
use crate::commands::adopt;
use crate::commands::adopt::convert::{self, ConversionOptions, PathNote, Report};
use crate::commands::adopt::converted::{self, ENDING, JournalWriter};
use crate::commands::adopt::survey::Survey;
use crate::serve::running::Running;

/// Files of a kind that are kept in the result of a conversion.
const MOST_SHOWN: usize = 300;

/// Looks at a share.
pub(super) fn job(share: &ShareSettings) -> NewJob {
    let (folder, key) = (share.path.clone(), format!("adopt {}", share.name));
    let what = format!("look at what other servers have left in {}", share.name);
    let work = as_server(move |handle| {
        let go_on = go_on(handle, "looking at the files");
        let survey = Survey::of(&folder, &go_on).map_err(|error| lines(&error))?;
        adopt::for_console(&survey).map_err(|error| lines(&error))
    });
    NewJob { kind: "adopt", what, unit: "files", key, work }
}

/// Tells how far it is: first it is counted how many files there are.
fn go_on(handle: &JobHandle, doing: &str) -> impl Fn(u64, u64) -> bool {
    let counts = std::cell::Cell::new(None);
    move |done, total| {
        if counts.get() != Some(total == 0) {
            counts.set(Some(total == 0));
            handle.doing(if total == 0 { "counting the files" } else { doing });
        }
        handle.progress(done, total)
    }
}

/// Gives everything in a share one layout.
pub(super) fn convert(
    running: Arc<Running>,
    share: &ShareSettings,
    journals: PathBuf,
    (to, shown_counts, dry_run): (String, bool, bool),
) -> Result<NewJob, Vec<String>> {
    let (to, _) = convert::style(&to).map_err(|error| lines(&error))?;
    let name = &share.name;
    if share.read_only && !dry_run {
        return Err(vec![format!(
            "the share {name} is read-only; `fourfold set read-only=off {name}` changes that"
        )]);
    }
    let (key, would) = (format!("convert {name}"), if dry_run { "look at what it takes to " } else { "" });
    let what = format!("{would}convert {name} to the layout {to}");
    let share = share.clone();
    let work = as_server(move |handle| {
        let volume = running.volume(&share).map_err(|error| lines(&error))?;
        let wanted = ConversionOptions { to, shown_counts, dry_run };
        let go_on = go_on(handle, if dry_run { "looking at the files" } else { "converting the files" });
        let report = convert::convert(&volume, &share.path, &journals, wanted, &go_on);
        told(handle, report.map_err(|error| lines(&error))?)
    });
    Ok(NewJob { kind: "convert", what, unit: "files", key, work })
}

/// The result of a conversion.
fn told(handle: &JobHandle, mut report: Report) -> Outcome {
    let lists = [&report.open, &report.conflicts, &report.failed];
    for one in lists.into_iter().flatten() {
        handle.say(&format!("{}: {}", one.path, one.what));
    }
    let counts = lists.map(Vec::len);
    let name = report.journal.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy());
    let journal = name.map(std::borrow::Cow::into_owned);
    if let Some(journal) = &journal {
        handle.say(&format!("the journal {journal} takes it back"));
    }
    if report.stopped {
        let (looked, converted) = (report.looked, report.converted);
        return Err(vec![format!(
            "ended after {looked} files and folders, of which {converted} have the layout; the next conversion goes on there"
        )]);
    }
    let shorten = |list: &mut Vec<PathNote>| list.truncate(MOST_SHOWN);
    [&mut report.open, &mut report.conflicts, &mut report.failed].into_iter().for_each(shorten);
    let mut value = serde_json::to_value(&report).map_err(|error| vec![error.to_string()])?;
    value["journal"] = json!(journal);
    value["counts"] = json!({ "open": counts[0], "conflicts": counts[1], "failed": counts[2] });
    Ok(value)
}

/// Takes the changes of a journal back.
pub(super) fn undo(running: Arc<Running>, journals: &Path, name: String) -> Result<NewJob, Vec<String>> {
    let path = file(journals, &name, ENDING, "journal of a converted share")?;
    let folder = JournalWriter::folder(&path).map_err(|error| lines(&error))?;
    let Some(share) = share_at(&running, &folder) else {
        return Err(vec![format!("no share has the folder {}", folder.display())]);
    };
    let what = format!("take back the conversion {name} of {}", share.name);
    let key = format!("convert {}", share.name);
    let work = as_server(move |handle| -> Outcome {
        let volume = running.volume(&share).map_err(|error| lines(&error))?;
        let go_on = |done, total| handle.progress(done, total);
        let (back, left) = convert::undo(&volume, &path, &go_on).map_err(|error| lines(&error))?;
        left.iter().for_each(|one| handle.say(&format!("{}: {}", one.path, one.what)));
        if left.is_empty() {
            let _ = std::fs::remove_file(&path); // it has nothing more to take back
        }
        Ok(json!({ "back": back, "left": left.len() }))
    });
    Ok(NewJob { kind: "convert-undo", what, unit: "files", key, work })
}

/// The share with a folder.
fn share_at(running: &Running, folder: &Path) -> Option<ShareSettings> {
    let current = running.current();
    let is_it = |share: &&ShareSettings| share.path.canonicalize().is_ok_and(|path| path == folder);
    current.settings.shares.iter().find(is_it).cloned()
}

/// The conversions that can be taken back or continued.
pub(in super::super) fn kept(running: &Running) -> Vec<ConversionStatus> {
    let status = |kept: converted::ConversionJournal| ConversionStatus {
        share: share_at(running, &kept.folder).map(|share| share.name),
        journal: kept.name,
        folder: kept.folder,
        to: kept.to,
        at: kept.at.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        size: kept.size,
        ended: kept.has_ended,
    };
    converted::kept(&conversions(&running.current())).into_iter().map(status).collect()
}
