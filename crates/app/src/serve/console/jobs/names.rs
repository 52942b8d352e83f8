//! The survey of the names of a share, and their fix.

use std::path::{Path, PathBuf};

use admin::ShareSettings;
use serde_json::json;
use web::jobs::{JobHandle, NewJob};

use super::{Outcome, as_server, file, lines, made, make_room, named};
use crate::commands::names::{self, Survey};
use crate::shares::entries;

/// Names that are kept in the result of a job.
const MOST_SHOWN: usize = 1000;
/// Names with troubles after which a survey ends.
const MOST_FOUND: usize = 100_000;
/// Journals that are kept.
const MOST_JOURNALS: usize = 100;

/// Looks at the names of a share, and renames those that can be fixed if that is wanted.
pub(super) fn job(share: &ShareSettings, journals: PathBuf, fix: bool, windows: bool) -> NewJob {
    let what = format!("{} the names of {}", if fix { "fix" } else { "look at" }, share.name);
    let (key, folder, journal) =
        (format!("names {}", share.name), share.path.clone(), named(share, &journals, "journal"));
    let work =
        as_server(move |handle| survey(handle, &folder, fix.then_some((&journals, &journal)), windows));
    NewJob { kind: "names", what, unit: "names", key, work }
}

fn survey(handle: &JobHandle, folder: &Path, journal: Option<(&PathBuf, &String)>, windows: bool) -> Outcome {
    handle.doing("counting the files");
    let total = entries::count(folder, &vfs::is_own_name, &|| !handle.is_cancelled()).unwrap_or_default();
    handle.doing("looking at the folders");
    let go_on = |looked: u64, found: usize| handle.progress(looked, total.max(looked)) && found < MOST_FOUND;
    let mut survey = Survey::new(windows, &go_on);
    survey.look(folder).map_err(|error| lines(&error))?;
    if handle.is_cancelled() {
        return Err(vec![format!("cancelled after {} names; nothing is renamed", survey.looked)]);
    }
    let Survey { looked, mut found, unreadable, .. } = survey;
    unreadable.iter().for_each(|line| handle.say(line));
    let fixable = found.iter().filter(|one| one.fixed.is_some()).count();
    let mut renamed = names::RenameSummary::default();
    if let Some((journals, name)) = journal.filter(|_| fixable > 0) {
        handle.doing("renaming");
        make_room(&made(journals.clone())?, "journal", MOST_JOURNALS);
        let path = journals.join(format!("{name}.journal"));
        handle.say(&format!("the journal is {}", path.display()));
        let go_on = |done: u64| handle.progress(done, fixable as u64);
        renamed = names::rename(folder, &mut found, &path, &go_on).map_err(|error| lines(&error))?;
        for one in found.iter().filter(|one| one.error.is_some()) {
            let place = one.folder.join(&one.name);
            handle.say(&format!("{}: {}", place.display(), one.error.as_deref().unwrap_or_default()));
        }
        renamed.failed.iter().for_each(|line| handle.say(line));
    } else {
        handle.progress(looked, looked);
    }
    let shown: Vec<_> = found.iter().take(MOST_SHOWN).map(|one| {
        let within = one.folder.strip_prefix(folder).unwrap_or(&one.folder);
        json!({ "folder": within.to_string_lossy(), "name": one.name, "why": one.why, "fixed": one.fixed, "error": one.error })
    }).collect();
    let journal = journal.filter(|_| renamed.names > 0).map(|(_, name)| name);
    Ok(json!({
        "looked": looked, "found": found.len(), "more": found.len() >= MOST_FOUND, "fixable": fixable,
        "renamed": renamed.names, "links": renamed.links, "unreadable": unreadable.len(), "journal": journal, "names": shown,
    }))
}

/// Takes the changes of a journal back.
pub(super) fn undo(journals: &Path, name: String) -> Result<NewJob, Vec<String>> {
    let path = file(journals, &name, "journal", "journal of names")?;
    let what = format!("take the changes of names {name} back");
    let key = format!("undo {name}");
    let work = as_server(move |handle| {
        let go_on = |done, total| handle.progress(done, total);
        let (back, failed) = names::take_back(&path, &go_on).map_err(|error| lines(&error))?;
        failed.iter().for_each(|line| handle.say(line));
        handle.progress(back as u64, (back + failed.len()) as u64);
        if failed.is_empty() {
            let _ = std::fs::remove_file(&path); // it has nothing more to take back
        }
        Ok(json!({ "back": back, "failed": failed.len() }))
    });
    Ok(NewJob { kind: "names-undo", what, unit: "names", key, work })
}
