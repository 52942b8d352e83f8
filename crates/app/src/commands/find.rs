//! `fourfold find`: asks the running server, which has the indexes.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::ExitCode;

use admin::control::{self, AskError, FindAnswer, FindRequest, FoundFile};
use admin::settings::default_state;
use serde::Serialize;

use crate::cli::Find;
use crate::host::here;
use crate::terminal::{exit, out};

/// Nothing was found.
const NOTHING: u8 = 1;

/// A file, as scripts see it.
#[derive(Serialize)]
struct FileRow<'a> {
    share: &'a str,
    path: &'a str,
    host_path: String,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// RFC 3339.
    modified: Option<String>,
    /// The newest snapshot that has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    snapshot: Option<SnapshotRow<'a>>,
}

#[derive(Serialize)]
struct SnapshotRow<'a> {
    name: &'a str,
    /// RFC 3339.
    taken: Option<String>,
}

#[derive(Serialize)]
struct FindRows<'a> {
    files: Vec<FileRow<'a>>,
    more: bool,
    incomplete: &'a [String],
    without_index: &'a [String],
}

pub(crate) fn run(asked: &Find) -> anyhow::Result<ExitCode> {
    let state = match here::state(&asked.place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let request = FindRequest {
        query: asked.query.join(" "),
        share: asked.share.clone(),
        path: asked.folder.as_ref().map(|path| path.as_os_str().as_bytes().to_vec()).unwrap_or_default(),
        account: asked.user.clone(),
        snapshots: asked.snapshots,
        limit: asked.limit as usize,
    };
    let found = match control::find(&state, request.clone()) {
        Err(AskError::NoServer(_)) if !here::privileged() && asked.place.is_default() => {
            control::find(&default_state(true, None, Path::new("/"), None), request)
        }
        found => found,
    };
    match found {
        Ok(answer) => tell(&answer, asked),
        Err(AskError::Refused(lines)) => {
            lines.iter().for_each(|line| out::error_line(format_args!("fourfold: {line}")));
            Ok(ExitCode::from(exit::REFUSED))
        }
        Err(error @ AskError::NoServer(_)) => Ok(exit::no_server(&error)),
        Err(error) => Err(error.into()),
    }
}

fn tell(answer: &FindAnswer, asked: &Find) -> anyhow::Result<ExitCode> {
    if asked.json {
        out::json(&FindRows {
            files: answer.files.iter().map(row).collect(),
            more: answer.more,
            incomplete: &answer.incomplete,
            without_index: &answer.without_index,
        })?;
    } else if asked.print0 {
        let paths = answer.files.iter().flat_map(|file| file.host_path.iter().copied().chain([0]));
        out::bytes(&paths.collect::<Vec<u8>>())?;
    } else {
        for file in &answer.files {
            if let Some(snapshot) = &file.snapshot {
                out::print(format_args!("{}\t", snapshot.name))?;
            }
            out::bytes(&file.host_path)?;
            out::print("\n")?;
        }
    }
    say_what_is_missing(answer, asked);
    Ok(if answer.files.is_empty() { ExitCode::from(NOTHING) } else { ExitCode::SUCCESS })
}

fn say_what_is_missing(answer: &FindAnswer, asked: &Find) {
    if answer.more {
        out::error_line(format_args!(
            "fourfold: there are more than {}; ask for less, or give a --limit",
            asked.limit
        ));
    }
    for share in &answer.incomplete {
        out::error_line(format_args!(
            "fourfold: the index of the share {share} is not complete, so something may be missing; `fourfold status` says more"
        ));
    }
    let is_wanted = asked.share.is_some() || answer.files.is_empty();
    for share in answer.without_index.iter().filter(|_| is_wanted) {
        out::error_line(format_args!(
            "fourfold: the share {share} is not searched; `fourfold set search=names {share}` makes an index"
        ));
    }
}

fn row(file: &FoundFile) -> FileRow<'_> {
    let time = |seconds| jiff::Timestamp::from_second(seconds).ok().map(|at| at.to_string());
    FileRow {
        share: &file.share,
        path: &file.path,
        host_path: String::from_utf8_lossy(&file.host_path).into_owned(),
        kind: &file.kind,
        size: file.size,
        modified: time(file.modified),
        snapshot: file
            .snapshot
            .as_ref()
            .map(|snapshot| SnapshotRow { name: &snapshot.name, taken: time(snapshot.taken) }),
    }
}
