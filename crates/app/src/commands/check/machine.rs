//! What `fourfold check` looks at beyond the settings themselves: files, folders, file systems and ports that `serve` will need.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::path::Path;

use admin::control::{self, Listener, Status};
use admin::settings::{Place, Severity, candidates};
use admin::{Diagnostic, Port, Protocol, ServerSettings, Settings, ShareSettings};
use rustix::fs::Access;

use crate::commands::dataset;
use crate::fronts::bind;
use crate::host::here;
use crate::serve::api;

/// What `serve` would fail at or do without. Errors refuse; notes only inform.
pub(super) fn look(settings: &Settings) -> Vec<Diagnostic> {
    let server = &settings.server;
    let mut found: Vec<Diagnostic> = Vec::new();
    found.extend(
        api::check(server).into_iter().map(|why| error(why, "correct the file, or name another one")),
    );
    let none = none_served(settings);
    found.extend(none.map(|why| error(why, "make their folders, or mount their disks")));
    found.extend(settings.shares.iter().filter_map(schedule));
    found.extend(folders(settings));
    found.extend(ports(server));
    found
}

fn error(what: String, instead: &str) -> Diagnostic {
    Diagnostic { severity: Severity::Error, place: Place::Default, what, instead: instead.to_owned() }
}

fn note(what: String, instead: &str) -> Diagnostic {
    Diagnostic { severity: Severity::Note, ..error(what, instead) }
}

/// Why no share can be served, although there are some. Those on disks that are mounted later (`must-be-mounted`) are waited for.
pub(crate) fn none_served(settings: &Settings) -> Option<String> {
    let is_waited_for = |share: &ShareSettings| share.must_be_mounted;
    if !settings.shares.is_empty() || settings.absent.is_empty() || settings.absent.iter().any(is_waited_for)
    {
        return None;
    }
    let why = |share: &ShareSettings| {
        let why = share.absence.as_ref().map(|absence| absence.why.as_str()).unwrap_or_default();
        format!("{} ({why})", share.name)
    };
    let all = settings.absent.iter().map(why).collect::<Vec<_>>().join(", ");
    Some(format!("none of the shares can be served: {all}"))
}

fn schedule(share: &ShareSettings) -> Option<Diagnostic> {
    if share.snapshot_schedule.rows.is_empty() || share.is_in_store() {
        return None;
    }
    let why = dataset::can_be_kept(share).err()?;
    Some(error(
        format!("`snapshot-schedule` of {:?}: {why:#}", share.name),
        "remove it, or put the share on such a file system",
    ))
}

/// The folders that the server writes to exist or can be made.
fn folders(settings: &Settings) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let state = &settings.server.state;
    let exists = state.ancestors().find(|folder| folder.exists()).unwrap_or(Path::new("/"));
    if let Some(why) = not_writable(exists) {
        found.push(error(
            format!("the state folder {}: {why}", state.display()),
            "name another one with `state`",
        ));
    }
    let log = &settings.server.told.audit_log;
    let beside = log.parent().filter(|beside| *beside != state.as_path());
    if let Some(why) = beside.and_then(not_writable) {
        found.push(error(
            format!("`audit-log`, {}: {why}", log.display()),
            "make its folder, or name another file",
        ));
    }
    found
}

fn not_writable(folder: &Path) -> Option<String> {
    let shown = folder.display();
    match folder.metadata() {
        Err(error) => Some(format!("{shown}: {error}")),
        Ok(found) if !found.is_dir() => Some(format!("{shown} is not a folder")),
        Ok(_) => {
            let may = rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK);
            may.err().map(|error| format!("{shown} cannot be written to: {error}"))
        }
    }
}

/// The ports that another program has. Those of our own server, which runs, are as they should be.
fn ports(server: &ServerSettings) -> Vec<Diagnostic> {
    let running = control::status(&server.state).ok();
    let api = match server.api.port {
        Port::Number(port) => vec![port],
        _ => Vec::new(),
    };
    let of = |protocol| {
        let ports = candidates(server.ports.of(protocol), protocol, here::privileged()).to_vec();
        (Listener::Protocol(protocol), protocol.title(), protocol.word(), &server.listen, ports)
    };
    let protocols = Protocol::SERVED.into_iter().map(of);
    let all = protocols.chain([(Listener::Api, "the API", "admin", &server.api.listen, api)]);
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        return Vec::new();
    };
    let _entered = runtime.enter();
    let mut found = Vec::new();
    for (listener, title, word, addresses, ports) in all {
        let fixed = match listener {
            Listener::Protocol(protocol) => matches!(server.ports.of(protocol), Port::Number(_)),
            _ => true,
        };
        if let Some(own) = running.as_ref().filter(|status| listens(status, listener)) {
            found.push(note(format!("{title}: our own server (process {}) has its port", own.pid), ""));
        } else {
            found.extend(taken((title, word), addresses, &ports, fixed));
        }
    }
    found
}

fn listens(status: &Status, listener: Listener) -> bool {
    status.listeners.iter().any(|one| one.protocol == listener)
}

/// None of the ports can be had. One that the settings name is an error; the usual ones may be free at the start.
fn taken(
    (title, word): (&str, &str),
    addresses: &[IpAddr],
    ports: &[u16],
    fixed: bool,
) -> Option<Diagnostic> {
    let mut last = None;
    for port in ports {
        match bind::bind(addresses, *port, false) {
            Ok(_) => return None,
            Err((address, error)) => last = Some((address, *port, error)),
        }
    }
    let (address, port, why) = last?;
    let what = match why.kind() {
        ErrorKind::AddrInUse => format!("{title}: another program has port {port} of {address}"),
        _ => format!("{title} cannot listen on port {port} of {address}: {why}"),
    };
    let instead = format!("stop that program, or choose another port with `{word}-port`");
    Some(if fixed && why.kind() == ErrorKind::AddrInUse {
        error(what, &instead)
    } else {
        note(what, &instead)
    })
}
