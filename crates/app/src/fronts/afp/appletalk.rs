//! AFP over AppleTalk: one thread has the links, the stack and the sessions, and joins each session to a connection of the AFP
//! server.
//!
//! ```text
//! links ─ frames ─ Stack ─ datagrams ─ ASP ─ commands ─ Bridge ─ a pair of sockets ─ conn ─ AFP server
//! ```
//!
//! The thread begins before the process gives up the right to use frames of Ethernet, keeps that right and no other, and waits for
//! its work.

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
use afp::server::Service;
use anyhow::Context;
use appletalk::MacName;
use rustix::event::{EventfdFlags, eventfd};

use self::bridge::Adopt;
use crate::host::privileges;

/// Characters of the longest name of an AFP server.
const MAX_NAME: usize = 31;
/// How long a status may take.
const STATUS_WITHIN: Duration = Duration::from_millis(500);
/// How long the end may take: workstations hear of it.
const END_WITHIN: Duration = Duration::from_secs(3);

/// The thread that speaks AppleTalk.
pub(crate) struct AppleTalk {
    orders: Sender<Order>,
    wake: Arc<OwnedFd>,
}

/// What the thread is to do.
enum Order {
    /// Begin.
    Serve(Work),
    /// The AFP server has other settings or addresses.
    Refresh,
    /// Tell what is known.
    Report(Sender<AppleTalkStatus>),
    /// End. The sender is dropped when it is done.
    Stop(Sender<()>),
}

/// What the thread works with.
pub(super) struct Work {
    pub(super) settings: AppleTalkSettings,
    /// The name that the Chooser shows.
    pub(super) name: String,
    pub(super) service: Arc<Service>,
    pub(super) adopt: Adopt,
}

impl AppleTalk {
    /// Starts the thread; `None`: the settings have no links.
    pub(crate) fn start(settings: &Settings) -> anyhow::Result<Option<Arc<Self>>> {
        if settings.appletalk.is_none() {
            return Ok(None);
        }
        let (orders, received) = channel();
        let wake = Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        let its_wake = wake.clone();
        let thread = std::thread::Builder::new().name("appletalk".into());
        thread
            .spawn(move || run(&received, &its_wake))
            .context("the thread for AppleTalk cannot be started")?;
        privileges::leave_to_appletalk(settings)
            .context("the right to use frames of Ethernet cannot be given up")?;
        Ok(Some(Arc::new(Self { orders, wake })))
    }

    pub(super) fn serve(&self, work: Work) {
        self.order(Order::Serve(work));
    }

    /// The AFP server has other settings or addresses.
    pub(super) fn refresh(&self) {
        self.order(Order::Refresh);
    }

    /// What is known; `None`: the thread is busy, or has ended.
    pub(super) fn report(&self) -> Option<AppleTalkStatus> {
        let (sender, receiver) = channel();
        self.order(Order::Report(sender));
        receiver.recv_timeout(STATUS_WITHIN).ok()
    }

    /// Ends all sessions and the thread. Waits for it.
    pub(super) fn stop(&self) {
        let (sender, receiver) = channel();
        self.order(Order::Stop(sender));
        if receiver.recv_timeout(END_WITHIN) == Err(RecvTimeoutError::Timeout) {
            tracing::warn!("AppleTalk has not ended in time");
        }
    }

    fn order(&self, order: Order) {
        // A thread that has ended needs no orders.
        if self.orders.send(order).is_ok() {
            let _ = rustix::io::write(&*self.wake, &1_u64.to_ne_bytes());
        }
    }
}

/// The name of the server as names of AppleTalk can be: 31 bytes of MacRoman, without the signs that have a meaning there.
pub(super) fn fitting(name: &str) -> String {
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
    fn any_name_of_a_server_becomes_one_of_appletalk() {
        for (name, expected) in
            [("Museum", "Museum"), (" Zoë: *1* @Home ", "Zoë- -1- -Home"), ("日本", "--"), ("", "Fourfold")]
        {
            assert_eq!(fitting(name), expected);
        }
        assert_eq!(fitting(&"é".repeat(40)), "é".repeat(31));
    }
}
