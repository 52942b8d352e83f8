//! Checks of targets: real logins, and a look into the folder. One thread starts them; each runs on a thread of its own, as all
//! calls block. A check that takes too long counts as failed at once, and its thread ends later.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant, SystemTime};

use client::Error;
use namespace::{Link, Namespace, Protocol, Target};

use super::Links;
use super::account::LinkAccount;

/// How long a check may take as a whole.
pub(crate) const CHECK_WITHIN: Duration = Duration::from_secs(2);
/// The most checks at a time.
const MOST_AT_ONCE: usize = 64;
/// How often the thread looks what is due.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How often links are looked for in their places.
const PLACE_EVERY: Duration = Duration::from_secs(10);
/// A server that refuses guests is not asked to let one in for so long: it only has to answer.
const GUEST_AGAIN: Duration = Duration::from_secs(300);

/// What a check has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LinkCheckResult {
    /// How long it took, or why the target cannot be used.
    pub(crate) result: Result<Duration, String>,
    /// The server answers and refuses guests.
    pub(crate) refuses_guests: bool,
}

/// A target between its checks.
struct Slot {
    due: Instant,
    /// When the check began that has not ended.
    began: Option<Instant>,
    /// That check counts as failed already.
    is_late: bool,
    /// When the server last refused a guest.
    refused: Option<Instant>,
}

/// Checks until the links are dropped.
pub(super) fn start(links: &Arc<Links>) {
    let links = Arc::downgrade(links);
    let (sender, receiver) = channel();
    let run = move || run(&links, &sender, &receiver);
    if let Err(error) = std::thread::Builder::new().name("links".into()).spawn(run) {
        tracing::error!(target: "link", %error, "targets of links are not checked");
    }
}

type FinishedCheck = (Target, LinkCheckResult);

fn run(links: &Weak<Links>, sender: &Sender<FinishedCheck>, ended: &Receiver<FinishedCheck>) {
    let mut slots: HashMap<Target, Slot> = HashMap::new();
    let mut placed = Instant::now();
    loop {
        let arrived = match ended.recv_timeout(LOOK_EVERY) {
            Ok(arrived) => Some(arrived),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return, // cannot happen: a sender is here
        };
        let Some(links) = links.upgrade() else { return };
        let now = Instant::now();
        if let Some((target, checked)) = arrived {
            end(&links.namespace, &mut slots, target, checked, now);
        }
        if now.duration_since(placed) >= PLACE_EVERY {
            placed = now;
            links.place();
        }
        let Some(interval) = links.interval() else { continue };
        late(&links.namespace, &mut slots, now);
        begin(&links.namespace.table().links, &mut slots, (interval, now), sender);
    }
}

/// Notes the result of a check, unless it came too late.
fn end(
    namespace: &Namespace,
    slots: &mut HashMap<Target, Slot>,
    target: Target,
    checked: LinkCheckResult,
    now: Instant,
) {
    let Some(slot) = slots.get_mut(&target) else { return };
    slot.began = None;
    if checked.refuses_guests {
        slot.refused.get_or_insert(now);
    }
    if !std::mem::take(&mut slot.is_late) {
        tell(namespace, &target, checked.result);
    }
}

/// Checks that take too long count as failed.
fn late(namespace: &Namespace, slots: &mut HashMap<Target, Slot>, now: Instant) {
    for (target, slot) in slots.iter_mut().filter(|(_, slot)| !slot.is_late) {
        if slot.began.is_some_and(|began| now.duration_since(began) >= CHECK_WITHIN) {
            slot.is_late = true;
            tell(namespace, target, Err(format!("no answer within {} s", CHECK_WITHIN.as_secs())));
        }
    }
}

fn tell(namespace: &Namespace, target: &Target, result: Result<Duration, String>) {
    let why = result.as_ref().err().cloned();
    if namespace.checked(target, result, SystemTime::now()) {
        match why {
            Some(why) => {
                tracing::warn!(target: "link", %target, "down: {why}. Clients are not led to it until it answers")
            }
            None => tracing::info!(target: "link", %target, "up again"),
        }
    }
}

/// Begins the checks that are due, those that wait longest first.
fn begin(
    links: &[Link],
    slots: &mut HashMap<Target, Slot>,
    (interval, now): (Duration, Instant),
    sender: &Sender<FinishedCheck>,
) {
    let wanted: HashMap<&Target, Option<&PathBuf>> = links
        .iter()
        .filter(|link| link.checked)
        .flat_map(|link| link.targets.iter().map(|target| (target, link.credentials.as_ref())))
        .collect();
    slots.retain(|target, slot| wanted.contains_key(target) || slot.began.is_some());
    for target in wanted.keys() {
        slots.entry((*target).clone()).or_insert(Slot {
            due: now,
            began: None,
            is_late: false,
            refused: None,
        });
    }
    let running = slots.values().filter(|slot| slot.began.is_some()).count();
    let mut due: Vec<(&Target, &mut Slot)> = slots
        .iter_mut()
        .filter(|(target, slot)| slot.began.is_none() && slot.due <= now && wanted.contains_key(target))
        .collect();
    due.sort_by_key(|(_, slot)| slot.due);
    for (target, slot) in due.into_iter().take(MOST_AT_ONCE.saturating_sub(running)) {
        slot.refused = slot.refused.filter(|at| now.duration_since(*at) < GUEST_AGAIN);
        let only_greet = slot.refused.is_some();
        let (sender, target) = (sender.clone(), target.clone());
        let credentials = wanted.get(&target).copied().flatten().cloned();
        let check = move || {
            let checked = check(&target, credentials.as_deref(), only_greet);
            let _ = sender.send((target, checked)); // the server ends
        };
        slot.due = now + interval;
        if std::thread::Builder::new().name("link-check".into()).spawn(check).is_ok() {
            slot.began = Some(now);
        } // else the machine has no threads left, which is not the target's fault
    }
}

/// Checks one target. May take longer than [`CHECK_WITHIN`]: each answer may take so long.
pub(crate) fn check(target: &Target, credentials: Option<&Path>, only_greet: bool) -> LinkCheckResult {
    let began = Instant::now();
    let account = match credentials.map(LinkAccount::read).transpose() {
        Ok(account) => account,
        Err(why) => return LinkCheckResult { result: Err(why), refuses_guests: false },
    };
    let is_guest = account.is_none();
    let account = account.unwrap_or_default();
    let tried = match spoken(target.protocol).users_log_in() {
        true if is_guest && only_greet => client::check::greet(&place(target, &account, None), CHECK_WITHIN),
        true => client::check::visit(&place(target, &account, None), CHECK_WITHIN),
        false => visit_export(target, &account),
    };
    // Without an account the login may be refused: the server is there and answers.
    let refuses_guests = is_guest && matches!(tried, Err(Error::Login(_) | Error::Refused(_)));
    let result = match tried {
        Err(error) if !refuses_guests => Err(said(error)),
        _ => Ok(began.elapsed()),
    };
    LinkCheckResult { result, refuses_guests }
}

/// By version 4.1, else by version 3, for servers that have only one of them.
fn visit_export(target: &Target, account: &LinkAccount) -> client::Result<()> {
    match client::check::visit(&place(target, account, Some("4.1")), CHECK_WITHIN) {
        Ok(()) => Ok(()),
        Err(error @ (Error::Unreachable(..) | Error::Silent(_))) => Err(error),
        Err(error) => {
            client::check::visit(&place(target, account, Some("3")), CHECK_WITHIN).map_err(|_| error)
        }
    }
}

/// The protocol as the clients know it.
fn spoken(protocol: Protocol) -> client::Protocol {
    let has_its_scheme = |spoken: &client::Protocol| spoken.name() == protocol.scheme();
    client::Protocol::ALL
        .into_iter()
        .find(has_its_scheme)
        .expect("there is a client of each protocol of links")
}

/// The target in the words of the clients.
fn place(target: &Target, account: &LinkAccount, version: Option<&str>) -> client::Target {
    let protocol = spoken(target.protocol);
    let (share, path) = match protocol.users_log_in() {
        false => (target.parts.join("/"), String::new()),
        true => (
            target.parts.first().cloned().unwrap_or_default(),
            target.parts.get(1..).unwrap_or_default().join("/"),
        ),
    };
    client::Target {
        protocol,
        host: target.host.clone(),
        port: target.port(),
        user: account.user.clone(),
        password: account.password.clone(),
        share,
        path,
        options: version.map(|version| ("vers".to_owned(), version.to_owned())).into_iter().collect(),
    }
}

/// What failed, without the advice for measurements.
fn said(error: Error) -> String {
    match error {
        Error::Unreachable(address, error) => format!("{address} cannot be reached: {error}"),
        Error::Silent(seconds) => format!("no answer within {seconds} s"),
        Error::Lost(why) => format!("the connection was lost: {why}"),
        Error::Login(why) => format!("the login is refused: {why}"),
        Error::Refused(what) if what.is_empty() => "access to the folder is refused".into(),
        Error::Refused(what) => format!("access is refused: {what}"),
        Error::Missing(what) if what.is_empty() => "the folder does not exist".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use namespace::{Table, TargetOrder};

    fn links(urls: &[&str]) -> Vec<Link> {
        let targets = urls.iter().map(|url| Target::of_url(url).unwrap()).collect();
        let (ttl, path) = (Duration::from_secs(1), "s/a".to_owned());
        let comment = String::new();
        vec![Link {
            path,
            targets,
            comment,
            ttl,
            order: TargetOrder::Listed,
            failback: true,
            checked: true,
            credentials: None,
        }]
    }

    /// A server that accepts connections and never answers.
    #[test]
    fn a_silent_server_is_down_after_the_limit_and_not_checked_twice_at_a_time() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("afp://127.0.0.1:{}/a", listener.local_addr().unwrap().port());
        let (links, namespace, mut slots) = (links(&[&url]), Namespace::default(), HashMap::new());
        namespace.set(Table { links: links.clone(), sites: Vec::new() });
        let (sender, receiver) = channel();
        let now = Instant::now();
        begin(&links, &mut slots, (Duration::from_secs(2), now), &sender);
        let target = &links[0].targets[0];
        late(&namespace, &mut slots, now + CHECK_WITHIN - LOOK_EVERY);
        assert_eq!(namespace.health(target), None);
        late(&namespace, &mut slots, now + CHECK_WITHIN);
        assert!(!namespace.health(target).unwrap().is_up);
        begin(&links, &mut slots, (Duration::from_secs(2), now + CHECK_WITHIN), &sender);
        late(&namespace, &mut slots, now + CHECK_WITHIN * 2);
        assert_eq!(namespace.health(target).unwrap().checks, 1);
        let (target, checked) = receiver.recv_timeout(Duration::from_secs(30)).unwrap();
        assert!(checked.result.is_err());
        end(&namespace, &mut slots, target.clone(), checked, now + CHECK_WITHIN * 2);
        assert_eq!(namespace.health(&target).unwrap().checks, 1, "it counted when it was late");
        assert!(receiver.try_recv().is_err(), "there was one check");
    }

    #[test]
    fn not_more_than_the_limit_run_at_a_time() {
        let urls: Vec<String> =
            (0..MOST_AT_ONCE + 20).map(|number| format!("smb://127.0.0.1/{number}")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let (sender, _receiver) = channel();
        let mut slots = HashMap::new();
        for _ in 0..2 {
            begin(&links(&urls), &mut slots, (Duration::from_secs(2), Instant::now()), &sender);
            assert_eq!(slots.values().filter(|slot| slot.began.is_some()).count(), MOST_AT_ONCE);
        }
    }

    #[test]
    fn a_closed_port_is_said_in_plain_words() {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let target = Target::of_url(&format!("nfs://127.0.0.1:{free}/a")).unwrap();
        let why = check(&target, None, false).result.unwrap_err();
        assert!(why.contains(&format!("127.0.0.1:{free} cannot be reached")), "{why}");
    }
}
