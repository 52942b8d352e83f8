//! The replication of a share, as a job.

use std::ffi::OsString;

use admin::ShareSettings;
use serde_json::Value;
use web::jobs::NewJob;

use super::super::snapshots::share;
use super::as_server;
use super::child::{self, ChildOutput};
use crate::serve::running::Running;

/// Sends a share to another one of this server, or of another host.
pub(super) fn job(
    running: &Running,
    source: &ShareSettings,
    destination: &str,
) -> Result<NewJob, Vec<String>> {
    let current = running.current();
    let settings = current.settings.file.as_ref().map(|file| running.arguments().folder.join(file));
    // A server without a settings file has shares that only it knows: then their folders are named.
    let name = |share: &ShareSettings| match settings {
        Some(_) => OsString::from(&share.name),
        None => share.path.clone().into_os_string(),
    };
    let to = match destination.starts_with("ssh://") {
        true => OsString::from(destination),
        false => {
            let found = share(&current, destination)?;
            if found.name == source.name {
                return Err(vec!["a share does not follow itself: choose another destination".into()]);
            }
            name(found)
        }
    };
    let mut words = vec!["replicate".into(), "--json".into(), "--state".into()];
    words.push(current.settings.server.state.clone().into_os_string());
    if let Some(file) = &settings {
        words.extend(["--config".into(), file.clone().into_os_string()]);
    }
    words.extend(["--".into(), name(source), to]);
    let what = format!("replicate {} to {destination}", source.name);
    let key = format!("replicate to {destination}");
    let work = as_server(move |handle| {
        let (mut result, mut last) = (Value::Null, String::new());
        let ended = child::run(handle, &words, "", |said| match said {
            ChildOutput::Output(line) => match serde_json::from_str::<Value>(&line) {
                Ok(event) if event["event"] == "progress" => {
                    let number = |field: &str| event[field].as_u64().unwrap_or_default();
                    handle.progress(number("done"), number("total"));
                    handle.doing(&format!("snapshot {}", event["snapshot"].as_str().unwrap_or_default()));
                }
                Ok(event) => result = event,
                Err(_) => handle.say(&line),
            },
            ChildOutput::Error(line) => {
                handle.say(&line);
                last = line;
            }
            ChildOutput::Nothing => {}
        })?;
        if ended.success() { Ok(result) } else { Err(vec![format!("fourfold replicate: {ended}")]) }
    });
    Ok(NewJob { kind: "replicate", what, unit: "bytes", key, work })
}
