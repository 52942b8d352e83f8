//! `fourfold namespace`: the links to other servers, whether their targets can be used, and where a path leads.

use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use admin::Settings;
use admin::control::{self, LinkStatus, LinkTargetStatus};
use namespace::{
    Automount, Client, Document, Lead, Link, Namespace as Links, Protocol, Standing, Target, TargetOrder,
    text,
};
use serde::Serialize;

use crate::cli::{ExplainLink, ListLinks, MapLinks, Namespace, TestLinks, Where};
use crate::host::here;
use crate::shares::links::checks::check;
use crate::shares::links::{of_target, share_of};
use crate::terminal::{exit, out};

/// The most checks of `test` at a time.
const MOST_AT_ONCE: usize = 16;

/// Executes a command.
pub(crate) fn run(command: &Namespace) -> anyhow::Result<ExitCode> {
    match command {
        Namespace::List(asked) => with_settings(&asked.place, |settings| list(asked, settings)),
        Namespace::Test(asked) => with_settings(&asked.place, |settings| test(asked, settings)),
        Namespace::Explain(asked) => with_settings(&asked.place, |settings| explain(asked, settings)),
        Namespace::Map(asked) => with_settings(&asked.place, |settings| map(asked, settings)),
    }
}

fn with_settings(
    place: &Where,
    then: impl FnOnce(&Settings) -> anyhow::Result<ExitCode>,
) -> anyhow::Result<ExitCode> {
    match Settings::load(&here::of_server(place)?) {
        Ok(settings) => then(&settings),
        Err(diagnostics) => Ok(exit::refused(&diagnostics)),
    }
}

/// The links, with what a running server has found.
fn known(settings: &Settings) -> (Links, Vec<LinkStatus>) {
    let links = Links::default();
    links.set(settings.links.clone());
    let status = control::status(&settings.server.state).map(|status| status.links).unwrap_or_default();
    for target in status.iter().flat_map(|link| &link.targets) {
        let result = match target.up {
            Some(true) => Ok(Duration::from_millis(target.took_ms.unwrap_or_default())),
            Some(false) => Err(target.error.clone().unwrap_or_default()),
            None => continue,
        };
        if let Ok(known) = Target::of_url(&target.url) {
            links.checked(&known, result, SystemTime::now());
        }
    }
    let of_settings = || settings.links.links.iter().map(|link| unchecked(&links, link)).collect();
    let status = if status.is_empty() { of_settings() } else { status };
    (links, status)
}

fn unchecked(links: &Links, link: &Link) -> LinkStatus {
    LinkStatus {
        path: link.path.clone(),
        comment: link.comment.clone(),
        problem: None,
        targets: link.targets.iter().map(|target| of_target(links, target)).collect(),
    }
}

fn list(asked: &ListLinks, settings: &Settings) -> anyhow::Result<ExitCode> {
    let (_, links) = known(settings);
    show(&links, asked.json)?;
    Ok(ExitCode::SUCCESS)
}

fn show(links: &[LinkStatus], json: bool) -> anyhow::Result<()> {
    if json {
        return out::json(&links);
    }
    if links.is_empty() {
        return Ok(out::line("There are no links. A `[[link]]` of the settings file makes one.")?);
    }
    let heading = ["LINK", "TARGET", "STATE", "TOOK", "WHY"].map(str::to_owned);
    let row = |link: &LinkStatus, target: &LinkTargetStatus| {
        let took = target.took_ms.map(|ms| format!("{ms} ms")).unwrap_or_default();
        let why = link.problem.clone().or_else(|| target.error.clone()).unwrap_or_default();
        [link.path.clone(), target.url.clone(), target.word().to_owned(), took, why]
    };
    let rows = links.iter().flat_map(|link| link.targets.iter().map(move |target| row(link, target)));
    Ok(out::print(out::table(std::iter::once(heading).chain(rows)))?)
}

fn test(asked: &TestLinks, settings: &Settings) -> anyhow::Result<ExitCode> {
    let path = asked.path.as_ref().map(|path| path.trim_matches('/'));
    let links: Vec<&Link> =
        settings.links.links.iter().filter(|link| path.is_none_or(|path| link.path == path)).collect();
    if let (Some(path), true) = (path, links.is_empty()) {
        anyhow::bail!("there is no link {path:?}; `fourfold namespace list` shows all");
    }
    let known = Links::default();
    let mut table = settings.links.clone();
    table.links.iter_mut().for_each(|link| link.checked = true);
    known.set(table);
    let all: Vec<(&Link, &Target)> =
        links.iter().flat_map(|link| link.targets.iter().map(move |target| (*link, target))).collect();
    for some in all.chunks(MOST_AT_ONCE) {
        std::thread::scope(|scope| {
            for (link, target) in some {
                let known = &known;
                scope.spawn(move || {
                    let checked = check(target, link.credentials.as_deref(), false);
                    known.checked(target, checked.result, SystemTime::now());
                });
            }
        });
    }
    let status: Vec<LinkStatus> = links.iter().map(|link| unchecked(&known, link)).collect();
    show(&status, asked.json)?;
    let is_good = status.iter().flat_map(|link| &link.targets).all(|target| target.up == Some(true));
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Where a path leads.
#[derive(Debug, Serialize)]
struct LinkExplanation {
    /// The share, and the path of the link in it.
    link: String,
    /// What of the path follows the link.
    rest: String,
    /// It is in the table of the settings.
    in_settings: bool,
    comment: String,
    client: std::net::IpAddr,
    /// The site of the client.
    site: Option<String>,
    ttl_s: u64,
    failback: bool,
    spread: bool,
    targets: Vec<Place>,
    /// What clients of AFP open.
    document: Option<String>,
}

/// A target in the order for the client.
#[derive(Debug, Serialize)]
struct Place {
    protocol: &'static str,
    url: String,
    near: bool,
    used: bool,
    why: String,
}

fn explain(asked: &ExplainLink, settings: &Settings) -> anyhow::Result<ExitCode> {
    let path = asked.path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    let (links, _) = known(settings);
    let Some((link, in_settings)) = find(&path, settings)? else {
        anyhow::bail!(
            "{path:?} leads to no other server: there is no link on the way; `fourfold namespace list` shows all"
        );
    };
    let client = Client::at(asked.client);
    let table = links.table();
    let standings = links.standings(&link, client);
    let text = link.text();
    let explanation = LinkExplanation {
        rest: path[link.path.len()..].trim_start_matches('/').to_owned(),
        in_settings,
        comment: link.comment.clone(),
        client: asked.client,
        site: table.site_of(asked.client).map(|site| site.name.clone()),
        ttl_s: link.ttl.as_secs(),
        failback: link.failback,
        spread: link.order == TargetOrder::Spread,
        targets: standings.iter().map(place).collect(),
        document: Document::of(&links, text.as_bytes(), asked.client).map(|document| document.url),
        link: link.path,
    };
    match asked.json {
        true => out::json(&explanation)?,
        false => out::print(said(&explanation))?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The link on the way of a path: of the table, or on the disk.
fn find(path: &str, settings: &Settings) -> anyhow::Result<Option<(Link, bool)>> {
    let leads = |link: &&Link| {
        path.strip_prefix(&link.path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if let Some(link) = settings.links.links.iter().find(leads) {
        return Ok(Some((link.clone(), true)));
    }
    let Some((share, below)) = share_of(settings, path) else {
        anyhow::bail!("{path:?} is in no share; `fourfold list` shows the shares");
    };
    let (mut folder, mut way) = (share.path.clone(), share.name.clone());
    for name in below.split('/').filter(|name| !name.is_empty() && share.dfs) {
        folder.push(name);
        way = format!("{way}/{name}");
        let Ok(found) = std::fs::read_link(&folder) else { continue };
        let targets = text::read(std::os::unix::ffi::OsStrExt::as_bytes(found.as_os_str()));
        if targets.is_empty() {
            return Ok(None); // an ordinary link: where it leads is not known here
        }
        return Ok(Some((unlisted(way, targets), false)));
    }
    Ok(None)
}

/// A link that is not in the table.
fn unlisted(path: String, targets: Vec<Target>) -> Link {
    let ttl = namespace::DEFAULT_TTL;
    let (comment, order, credentials) = (String::new(), TargetOrder::Listed, None);
    Link { path, targets, comment, ttl, order, failback: true, checked: false, credentials }
}

fn place(standing: &Standing) -> Place {
    let health = standing.health.as_ref();
    let why = match health {
        None => "it was not checked".to_owned(),
        Some(health) if health.is_up => "its last check succeeded".to_owned(),
        Some(health) => {
            let why = health.error.clone().unwrap_or_default();
            let tried = if standing.is_used { "; all are down, so clients may try it" } else { "" };
            format!("down: {why}{tried}")
        }
    };
    Place {
        protocol: standing.target.protocol.scheme(),
        url: standing.target.to_string(),
        near: standing.is_near,
        used: standing.is_used,
        why,
    }
}

fn said(explanation: &LinkExplanation) -> String {
    let LinkExplanation { link, rest, comment, client, ttl_s, .. } = explanation;
    let mut lines = vec![match explanation.in_settings {
        true => format!("{link} is a link of the settings."),
        false => format!(
            "{link} is a link on the disk that the settings do not have: its targets are not checked."
        ),
    }];
    if !comment.is_empty() {
        lines.push(comment.clone());
    }
    if !rest.is_empty() {
        lines.push(format!("Clients go on with {rest} at the target."));
    }
    lines.push(match &explanation.site {
        Some(site) => format!("A client at {client} is in the site {site}."),
        None => format!("A client at {client} is in no site."),
    });
    for protocol in Protocol::ALL {
        let of: Vec<&Place> =
            explanation.targets.iter().filter(|place| place.protocol == protocol.scheme()).collect();
        lines.push(match (protocol.lead(), of.is_empty()) {
            (Lead::Referral, false) => format!("SMB: a referral, kept for {ttl_s} s, to"),
            (Lead::Locations, false) => "NFSv4: fs_locations, with".to_owned(),
            (Lead::Document, _) => match &explanation.document {
                Some(url) => format!("AFP: a document that opens {url}"),
                None => "AFP: a symbolic link that leads nowhere".to_owned(),
            },
            (_, true) => format!(
                "{}: a symbolic link that leads nowhere: it has no target of the protocol",
                protocol.scheme().to_uppercase()
            ),
        });
        lines.extend(of.iter().map(|place| {
            let near = if place.near { ", near the client" } else { "" };
            let mark = if place.used { " " } else { "-" };
            format!("  {mark} {}{near}: {}", place.url, place.why)
        }));
    }
    lines.join("\n") + "\n"
}

fn map(asked: &MapLinks, settings: &Settings) -> anyhow::Result<ExitCode> {
    let how = Automount { at: &asked.at, prefers: asked.prefer, credentials: asked.credentials.as_deref() };
    let map = namespace::automount(&settings.links, &how);
    match asked.json {
        true => out::json(&serde_json::json!({ "map": map }))?,
        false => out::print(map)?,
    }
    Ok(ExitCode::SUCCESS)
}
