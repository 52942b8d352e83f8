//! AFP over AppleTalk: one thread has the links, the stack and the sessions, and joins each session to a connection of the AFP
//! server.
//!
//! ```text
//! links ─ frames ─ Stack ─ datagrams ─ ASP ─ commands ─ Bridge ─ a pair of sockets ─ conn ─ AFP server
//! ```
//!
//! The thread begins before the process gives up the right to use frames of Ethernet, keeps that right and no other, and waits for
//! its work. A reload of the settings changes its work. If `[appletalk]` comes with a reload, the thread begins then, without that
//! right.

mod bridge;
mod cables;
mod network;
mod pipe;
mod report;
mod runtime;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use admin::Settings;
use admin::control::AppleTalkStatus;
use admin::settings::AppleTalkSettings;
use anyhow::Context;
use appletalk::MacName;
use appletalk::links::LinkName;
use lock::Mutex;
use rustix::event::{EventfdFlags, eventfd};

use self::bridge::Adopt;
use crate::host::{here, privileges};
use crate::ranks;

/// Characters of the longest name of an AFP server.
const MAX_NAME: usize = 31;
/// How long a status may take.
const STATUS_WITHIN: Duration = Duration::from_millis(500);
/// How long the end may take: workstations hear of it.
const END_WITHIN: Duration = Duration::from_secs(3);

/// AppleTalk of the server: a thread that speaks it, as long as the settings have links.
pub(crate) struct AppleTalk(Mutex<Option<RunningThread>, ranks::AppleTalkThread>);

/// The thread, and what it has been given.
#[derive(Clone)]
struct RunningThread {
    settings: AppleTalkSettings,
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
    /// Whether it may use frames of Ethernet.
    has_raw_network: bool,
}

/// What the thread is to do.
enum Order {
    /// Begin, or go on with this work.
    Serve(Work),
    /// The AFP server has other settings or addresses.
    Refresh,
    /// Tell what is known.
    Report(Sender<AppleTalkStatus>),
    /// End. The sender is dropped when it is done.
    Stop(Sender<()>),
}

/// Makes the block of a server's status, which GetStatus of ASP returns.
pub(super) type StatusBlock = Box<dyn Fn(&str) -> Vec<u8> + Send>;

/// What the thread works with.
pub(super) struct Work {
    pub(super) settings: AppleTalkSettings,
    /// The name that the Chooser shows.
    pub(super) name: String,
    /// What workstations are told of a server with this name before a session.
    pub(super) status: StatusBlock,
    pub(super) adopt: Adopt,
}

impl AppleTalk {
    /// Starts the thread if the settings have links.
    pub(crate) fn start(settings: &Settings) -> anyhow::Result<Arc<Self>> {
        let thread = settings.appletalk.clone().map(RunningThread::start).transpose()?;
        privileges::leave_to_appletalk(settings)
            .context("the right to use frames of Ethernet cannot be given up")?;
        Ok(Arc::new(Self(Mutex::new(thread))))
    }

    /// Speaks AppleTalk as these settings say, or no longer.
    ///
    /// # Errors
    /// It goes on as before; a line for the log says why, and what to do.
    pub(super) fn apply(
        &self,
        settings: Option<&AppleTalkSettings>,
        work: impl FnOnce(AppleTalkSettings) -> Work,
    ) -> Result<(), String> {
        let before = self.thread();
        let Some(settings) = settings.cloned() else {
            self.stop();
            return Ok(());
        };
        let mut thread = match before {
            Some(thread) => thread,
            None => RunningThread::start(AppleTalkSettings { links: Vec::new(), ..settings.clone() })
                .map_err(|error| format!("AppleTalk stays off: {error:#}"))?,
        };
        thread.refuse(&settings)?;
        thread.settings = settings.clone();
        thread.order(Order::Serve(work(settings)));
        *self.0.lock() = Some(thread);
        Ok(())
    }

    /// Whether the server speaks AppleTalk.
    pub(super) fn is_on(&self) -> bool {
        self.thread().is_some()
    }

    /// The AFP server has other settings or addresses.
    pub(super) fn refresh(&self) {
        if let Some(thread) = self.thread() {
            thread.order(Order::Refresh);
        }
    }

    /// What is known; `None`: the server does not speak AppleTalk, or the thread is busy.
    pub(super) fn report(&self) -> Option<AppleTalkStatus> {
        let (sender, receiver) = channel();
        self.thread()?.order(Order::Report(sender));
        receiver.recv_timeout(STATUS_WITHIN).ok()
    }

    /// Ends all sessions and the thread. Waits for it.
    pub(super) fn stop(&self) {
        let thread = self.0.lock().take();
        let Some(thread) = thread else { return };
        let (sender, receiver) = channel();
        thread.order(Order::Stop(sender));
        if receiver.recv_timeout(END_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("AppleTalk has not ended in time");
        }
    }

    fn thread(&self) -> Option<RunningThread> {
        self.0.lock().clone()
    }
}

impl RunningThread {
    fn start(settings: AppleTalkSettings) -> anyhow::Result<Self> {
        let (orders, received) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let its_wake = wake.clone();
        let has_raw_network = privileges::has_raw_network();
        let thread = std::thread::Builder::new().name("appletalk".into());
        thread
            .spawn(move || run(&received, &its_wake))
            .context("the thread for AppleTalk cannot be started")?;
        Ok(Self { settings, orders, wake, has_raw_network })
    }

    /// Refuses links that this thread cannot use, and one that starts with the server can.
    fn refuse(&self, newer: &AppleTalkSettings) -> Result<(), String> {
        let is_ethernet = |link: &&LinkName| matches!(link, LinkName::EtherTalk { .. });
        let added = newer.links.iter().filter(is_ethernet).find(|link| !self.settings.links.contains(link));
        match added.filter(|_| !self.has_raw_network) {
            None => Ok(()),
            Some(link) => Err(format!(
                "`[appletalk]` stays as it was, because of `{link}`: a server that started without EtherTalk has given up the right \
                 to use it (CAP_NET_RAW). Restart the server"
            )),
        }
    }

    fn order(&self, order: Order) {
        // A thread that has ended needs no orders.
        if self.orders.send(order).is_ok() {
            let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        }
    }
}

/// The line about AppleTalk for the output of `serve`.
pub(crate) fn line(settings: &Settings) -> Option<String> {
    let appletalk = settings.appletalk.as_ref()?;
    let zone = appletalk.zone.as_ref().map(|zone| format!(" in the zone {zone}")).unwrap_or_default();
    let links: Vec<String> = appletalk.links.iter().map(LinkName::to_string).collect();
    let router = if appletalk.router { ", as a router" } else { "" };
    let name = name(settings, appletalk);
    Some(format!("AppleTalk: the Chooser shows {name}{zone}, over {}{router}", links.join(" and ")))
}

/// The name that the Chooser shows.
pub(super) fn name(settings: &Settings, appletalk: &AppleTalkSettings) -> String {
    fitting(&appletalk.name.clone().unwrap_or_else(|| here::server_name(&settings.server)))
}

/// The name of the server as names of AppleTalk can be: 31 bytes of MacRoman, without the signs that have a meaning there.
fn fitting(name: &str) -> String {
    let is_known = |c: char| MacName::from_text(c.encode_utf8(&mut [0; 4])).is_some();
    let plain = |c: char| if is_known(c) && !c.is_control() && !":@*=\u{2248}".contains(c) { c } else { '-' };
    let name: String = name.trim().chars().map(plain).take(MAX_NAME).collect();
    if name.is_empty() { "Fourfold".into() } else { name }
}

/// The thread.
fn run(orders: &Receiver<Order>, wake: &OwnedFd) {
    if let Err(error) = privileges::keep_only_raw_network() {
        return tracing::error!(%error, "AppleTalk is off: the thread for it cannot give up its privileges");
    }
    while let Ok(order) = orders.recv() {
        match order {
            Order::Serve(work) => return runtime::run(work, orders, wake),
            Order::Report(to) => drop(to.send(AppleTalkStatus::default())),
            Order::Refresh => {}
            Order::Stop(_) => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serve_says_what_the_chooser_shows() {
        let line = |text: &str| {
            let folder = tempfile::tempdir().unwrap();
            std::fs::create_dir(folder.path().join("a")).unwrap();
            let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{text}");
            std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
            super::line(&Settings::load(&admin::Arguments::new(false, folder.path().into())).unwrap())
        };
        assert_eq!(line(""), None);
        let plain = line("[appletalk]\nlinks = [\"ltoudp\"]\nname = \"Studio\"\n");
        assert_eq!(plain.as_deref(), Some("AppleTalk: the Chooser shows Studio, over ltoudp"));
        let router = line(
            "[appletalk]\nlinks = [\"ltoudp\", \"ethertalk:lo\"]\nname = \"Studio\"\nzone = \"Museum\"\nrouter = true\n",
        );
        let expected = "AppleTalk: the Chooser shows Studio in the zone Museum, over ltoudp and ethertalk:lo, as a router";
        assert_eq!(router.as_deref(), Some(expected));
    }

    #[test]
    fn a_link_of_ethertalk_needs_a_server_that_started_with_one() {
        let settings = |links: &[&str]| AppleTalkSettings {
            links: links.iter().map(|link| link.parse().unwrap()).collect(),
            zone: None,
            name: None,
            router: false,
            seeds: Vec::new(),
        };
        let (orders, _received) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let old = settings(&["ltoudp", "ethertalk:eth0"]);
        let thread = |has_raw_network| RunningThread {
            settings: old.clone(),
            orders: orders.clone(),
            wake: wake.clone(),
            has_raw_network,
        };
        assert_eq!(thread(false).refuse(&settings(&["ethertalk:eth0", "tashtalk:/dev/ttyS0"])), Ok(()));
        assert_eq!(thread(true).refuse(&settings(&["ethertalk:eth1"])), Ok(()));
        let refused = thread(false).refuse(&settings(&["ltoudp:eth0", "ethertalk:eth1"])).unwrap_err();
        assert!(refused.contains("`ethertalk:eth1`") && refused.contains("Restart"), "{refused}");
    }

    #[test]
    fn any_name_of_a_server_becomes_one_of_appletalk() {
        for (name, expected) in
            [("Museum", "Museum"), (" Zoë: *1* @Home ", "Zoë- -1- -Home"), ("日本", "--"), ("", "Fourfold")]
        {
            assert_eq!(fitting(name), expected);
        }
        assert_eq!(fitting(&"é".repeat(40)), "é".repeat(31));
    }
}
