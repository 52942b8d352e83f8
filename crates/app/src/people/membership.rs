//! `fourfold domain`: this server as a member of an Active Directory domain. A running server changes its own password.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use anyhow::bail;
use domain::{Joining, Machine, Report};
use serde::Serialize;

use crate::cli::{DomainCommand, DomainPassword};
use crate::host::here;
use crate::people::logons;
use crate::serve::running::Running;
use crate::terminal::password::{self, Source};
use crate::terminal::{exit, out};

/// How old a password gets. Windows has the same (MS-ADTS 6.4.2 leaves it to the member).
const LIFE: Duration = Duration::from_secs(30 * 24 * 60 * 60);
/// How often a server asks the directory, and looks at the age of the password.
const LOOK_EVERY: Duration = Duration::from_secs(5 * 60);
/// How often it does so for users that it does not know, and when the settings are read again.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_secs(10);
const LOOK_FOR_WISHES_EVERY: Duration = Duration::from_secs(2);

/// Joins, leaves, renews or shows.
pub(crate) fn run(command: &DomainCommand) -> anyhow::Result<ExitCode> {
    let place = match command {
        DomainCommand::Join { state, .. }
        | DomainCommand::Leave { state, .. }
        | DomainCommand::Renew { state }
        | DomainCommand::Status { state, .. } => state,
    };
    let state = match here::state(place)? {
        Ok(state) => state,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    match command {
        DomainCommand::Join { domain, by, controller, container, host, json, .. } => {
            let password = of(&by.user, &by.password)?;
            let host = host.clone().unwrap_or_else(|| host_in(domain));
            let joining = Joining {
                domain,
                host: &host,
                controller: controller.as_deref(),
                container: container.as_deref(),
                user: &by.user,
                password: &password,
            };
            join(&state, &joining, *json)?;
        }
        DomainCommand::Leave { by, local, caution, .. } => {
            let of_domain = if *local { "" } else { ", and the account of this server from its domain" };
            if !caution.permits_script(&format!("the keys of the domain are removed here{of_domain}"))? {
                return Ok(ExitCode::SUCCESS);
            }
            let password = by.user.as_ref().map(|user| of(user, &by.password)).transpose()?;
            let by = by.user.as_deref().zip(password.as_deref()).filter(|_| !local);
            let machine = domain::leave(&state, by)?;
            let Machine { account, domain, .. } = machine;
            match by {
                Some(_) => out::done(format_args!("{account}: removed from {domain}"))?,
                None => out::done(format_args!("{account}: forgotten here; {domain} still has the account"))?,
            }
        }
        DomainCommand::Renew { .. } => {
            let machine = domain::renew(&state)?;
            let Machine { account, version, .. } = machine;
            out::done(format_args!("{account}: new password, keys of version {version}"))?;
        }
        DomainCommand::Status { json, .. } => return status(&state, *json),
    }
    Ok(ExitCode::SUCCESS)
}

fn of(user: &str, flags: &DomainPassword) -> anyhow::Result<String> {
    password::once(user, Source::new(flags.password_stdin, flags.password_file.as_deref()))
}

/// The host's name with a domain.
fn host_in(domain: &str) -> String {
    let name = here::host_name();
    if name.contains('.') { name } else { format!("{name}.{}", domain.to_lowercase()) }
}

/// The membership for scripts.
#[derive(Serialize)]
struct Row<'a> {
    domain: &'a str,
    sid: &'a str,
    account: &'a str,
    host: &'a str,
    keytab: PathBuf,
    key_version: u32,
    password_age_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    works: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    controller: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// The controller that verifies passwords of users.
    #[serde(skip_serializing_if = "Option::is_none")]
    passwords: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passwords_error: Option<&'a str>,
}

fn row<'a>(state: &Path, machine: &'a Machine) -> Row<'a> {
    Row {
        domain: &machine.domain,
        sid: &machine.sid,
        account: &machine.account,
        host: &machine.host,
        keytab: domain::keytab(state),
        key_version: machine.version,
        password_age_s: machine.age(SystemTime::now()).as_secs(),
        works: None,
        controller: None,
        error: None,
        passwords: None,
        passwords_error: None,
    }
}

fn join(state: &Path, joining: &Joining<'_>, json: bool) -> anyhow::Result<()> {
    admin::State::folder(state)?;
    if let Ok(before) = Machine::read(state)
        && before.domain != joining.domain.to_lowercase()
    {
        bail!("this server is a member of {}; `fourfold domain leave` first", before.domain);
    }
    let machine = domain::join(state, joining)?;
    if json {
        return out::json(&row(state, &machine));
    }
    let keytab = domain::keytab(state);
    let lines = [
        format!("{} is a member of {} ({})", machine.account, machine.domain, machine.sid),
        format!("the keys of its services are in {}", keytab.display()),
        format!(
            "`domain = \"{}\"` in [server] lets users of the domain log in; then reload or start the server",
            machine.domain
        ),
    ];
    Ok(out::lines(lines)?)
}

fn status(state: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let Report { machine, controller } = domain::report(state)?;
    let channel = logons::channel(state);
    let passwords = channel.as_ref().and_then(|found| found.as_deref().ok());
    let passwords_error = channel.as_ref().and_then(|found| found.as_ref().err()).map(String::as_str);
    let works = controller.is_ok() && passwords_error.is_none();
    if json {
        let (found, error) = (controller.as_deref().ok(), controller.as_ref().err().map(ToString::to_string));
        let works = Some(controller.is_ok());
        out::json(&Row {
            works,
            controller: found,
            error,
            passwords,
            passwords_error,
            ..row(state, &machine)
        })?;
    } else {
        let days = machine.age(SystemTime::now()).as_secs() / (24 * 60 * 60);
        let login = match &controller {
            Ok(host) => format!("logs in at {host}"),
            Err(error) => format!("cannot log in: {error}"),
        };
        out::lines([
            format!("domain    {} ({})", machine.domain, machine.sid),
            format!("account   {} of {}; {login}", machine.account, machine.host),
            format!("password  {days} days old, keys of version {}", machine.version),
            match (passwords, passwords_error) {
                (Some(controller), _) => format!("users     {controller} verifies their passwords"),
                (None, Some(why)) => format!("users     no controller verifies their passwords: {why}"),
                (None, None) => {
                    "users     need tickets: the running server has `domain-ntlm = false`".to_owned()
                }
            },
        ])?;
    }
    Ok(if works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Gives the account of the server a new password in time, and asks the directory for users and groups, in a thread of its own.
pub(crate) fn kept(running: Running) -> Arc<Running> {
    let running = Arc::new(running);
    keep(&running);
    running
}

fn keep(running: &Arc<Running>) {
    let current = running.current();
    let state = current.settings.server.state.clone();
    let domain = current.accounts.domain().filter(|_| Machine::read(&state).is_ok());
    let (Some(domain), running) = (domain.cloned(), Arc::downgrade(running)) else { return };
    let runtime = tokio::runtime::Handle::current();
    let work = move || {
        let _entered = runtime.enter();
        while let Some(running) = running.upgrade() {
            renew_in_time(&state, SystemTime::now());
            list(&state, &domain, &running);
            drop(running);
            wait(&domain);
        }
    };
    if let Err(error) = std::thread::Builder::new().name("domain".into()).spawn(work) {
        tracing::warn!(%error, "no thread for the machine account");
    }
}

/// Until the directory should be asked again.
fn wait(domain: &auth::Domain) {
    let since = Instant::now();
    while since.elapsed() < LOOK_EVERY {
        std::thread::sleep(LOOK_FOR_WISHES_EVERY);
        if since.elapsed() >= LOOK_AT_MOST_EVERY && domain.is_list_wanted() {
            return;
        }
    }
}

fn renew_in_time(state: &Path, now: SystemTime) {
    match Machine::read(state) {
        Ok(machine) if machine.age(now) >= LIFE => match domain::renew(state) {
            Ok(machine) => {
                tracing::info!(account = machine.account, "the machine account has a new password")
            }
            Err(error) => tracing::warn!(%error, "the machine account keeps its old password"),
        },
        _ => {}
    }
}

/// If the directory does not answer, what it listed before stays. Sessions of users that it has disabled or removed end.
fn list(state: &Path, domain: &auth::Domain, running: &Running) {
    match domain::directory(state) {
        Ok(entries) => {
            tracing::debug!(count = entries.len(), "users and groups of the directory");
            let (refused, kept) = domain.list(entries);
            if let Err(error) = kept {
                tracing::warn!(%error, "the users and groups of the directory are not kept");
            }
            if !refused.is_empty() {
                tracing::info!(users = ?refused, "the directory has disabled or removed users: their sessions end");
                running.admit_again();
            }
        }
        Err(error) => tracing::warn!(%error, "the users and groups of the directory stay as they were"),
    }
}
