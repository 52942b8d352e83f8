//! What other servers have left in a share, and its conversion to one layout.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use admin::ShareSettings;
use serde_json::json;
use web::jobs::NewJob;

use super::{Outcome, as_server, file, lines};
use crate::adopt::convert::{self, Wanted};
use crate::adopt::converted::{ENDING, Journal};
use crate::adopt::survey::Survey;
use crate::running::Running;

/// Looks at a share.
pub(super) fn job(share: &ShareSettings) -> NewJob {
    let (folder, key) = (share.path.clone(), format!("adopt {}", share.name));
    let what = format!("look at what other servers have left in {}", share.name);
    let work = as_server(move |handle| {
        handle.doing("looking at the folders");
        let survey = Survey::of(&folder).map_err(|error| lines(&error))?;
        handle.progress(survey.files, survey.files);
        serde_json::to_value(survey).map_err(|error| vec![error.to_string()])
    });
    NewJob { kind: "adopt", what, unit: "files", key, work }
}

/// Gives everything in a share one layout.
pub(super) fn convert(
    running: Arc<Running>,
    share: &ShareSettings,
    journals: PathBuf,
    (to, shown_counts, dry_run): (String, bool, bool),
) -> Result<NewJob, Vec<String>> {
    let (to, _) = convert::style(&to).map_err(|error| lines(&error))?;
    let (share, key) = (share.clone(), format!("convert {}", share.name));
    let would = if dry_run { "look at what it takes to " } else { "" };
    let what = format!("{would}convert {} to the layout {to}", share.name);
    let work = as_server(move |handle| {
        let volume = running.volume(&share).map_err(|error| lines(&error))?;
        let wanted = Wanted { to, shown_counts, dry_run };
        let go_on = |done, total| handle.progress(done, total);
        let report = convert::convert(&volume, &share.path, &journals, wanted, &go_on);
        let report = report.map_err(|error| lines(&error))?;
        for one in report.open.iter().chain(&report.conflicts).chain(&report.failed) {
            handle.say(&format!("{}: {}", one.path, one.what));
        }
        let name = report.journal.as_deref().and_then(Path::file_stem).map(|name| name.to_string_lossy());
        let journal = name.map(std::borrow::Cow::into_owned);
        let mut value = serde_json::to_value(&report).map_err(|error| vec![error.to_string()])?;
        value["journal"] = json!(journal);
        Ok(value)
    });
    Ok(NewJob { kind: "convert", what, unit: "files", key, work })
}

/// Takes the changes of a journal back.
pub(super) fn undo(running: Arc<Running>, journals: &Path, name: String) -> Result<NewJob, Vec<String>> {
    let path = file(journals, &name, ENDING, "journal of a converted share")?;
    let folder = Journal::folder(&path).map_err(|error| lines(&error))?;
    let current = running.current();
    let is_it = |share: &&ShareSettings| share.path.canonicalize().is_ok_and(|path| path == folder);
    let Some(share) = current.settings.shares.iter().find(is_it).cloned() else {
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
