//! The edges of AppleTalk: what carries its frames. A link sends and receives whole frames and never waits; the caller
//! polls its descriptor. Only this module of the crate does I/O.
//!
//! | link | a frame is | carried by |
//! |---|---|---|
//! | [`EtherTalkLink`] | an [`ElapFrame`](crate::wire::elap::ElapFrame) | a packet socket of Linux |
//! | [`LToUdpLink`] | an [`LlapFrame`] | UDP multicast |
//! | [`TashTalkLink`] | an [`LlapFrame`] | a serial line to the firmware of TashTalk |
//!
//! A frame that a link cannot take at once waits in a short queue. If the queue is full, the frame is lost, as on a
//! cable: every protocol above repeats what is lost.

mod backlog;
mod error;
mod ethertalk;
mod ltoudp;
mod monitor;
mod name;
mod packet;
mod tashtalk;

#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::os::fd::AsFd;

pub use error::LinkError;
pub use ethertalk::EtherTalkLink;
pub use ltoudp::{LToUdpDatagram, LToUdpLink};
pub use monitor::InterfaceMonitor;
pub use name::{LinkName, UnknownLink};
pub use tashtalk::{FrameReader, TashTalkLink};

use crate::address::HardwareAddress;
use crate::wire::llap::{LlapFrame, LlapKind};

/// How many frames one call of [`Link::receive`] looks at to find one for the caller. A link that carries much else
/// cannot keep the caller from its other links.
const MOST_FOREIGN: usize = 64;

/// A cable, as the protocols see it.
pub trait Link: AsFd + Debug + Send {
    /// The name that the settings have for it.
    fn name(&self) -> &LinkName;

    /// The address of the network interface. `None` for links whose frames are LLAP's.
    fn hardware_address(&self) -> Option<HardwareAddress>;

    /// Sends a frame now, or as soon as the link takes it.
    ///
    /// # Errors
    ///
    /// [`LinkError::is_lasting`] says whether the link has to be opened again.
    fn send(&mut self, frame: &[u8]) -> Result<(), LinkError>;

    /// Lets the link receive a zone's multicast address, too, as long as it is open. Links without hardware addresses
    /// receive everything anyway.
    ///
    /// # Errors
    ///
    /// As for [`Link::send`].
    fn join(&mut self, group: HardwareAddress) -> Result<(), LinkError>;

    /// No longer receives frames to this multicast address.
    ///
    /// # Errors
    ///
    /// As for [`Link::send`].
    fn leave(&mut self, group: HardwareAddress) -> Result<(), LinkError>;

    /// The next frame that arrived. `None`: poll the descriptor again.
    ///
    /// # Errors
    ///
    /// As for [`Link::send`].
    fn receive(&mut self) -> Result<Option<&[u8]>, LinkError>;

    /// Whether frames wait until the descriptor can be written. Then the caller polls for that, and calls [`Link::flush`].
    fn has_backlog(&self) -> bool;

    /// Sends what waits, as far as the link takes it now.
    ///
    /// # Errors
    ///
    /// As for [`Link::send`].
    fn flush(&mut self) -> Result<(), LinkError>;

    /// Whether it still leads where its name does, and its cable is plugged in. A link that only receives does not notice that its
    /// interface was replaced by another one, and one that sends does not notice a pulled cable: the caller asks from time to time,
    /// and when an [`InterfaceMonitor`] says so. A cable counts for EtherTalk only: LToUDP joins programs of this host without one.
    ///
    /// # Errors
    ///
    /// As for [`Link::send`].
    fn check(&mut self) -> Result<(), LinkError> {
        Ok(())
    }

    /// What has passed so far.
    fn counters(&self) -> LinkCounters;
}

/// Frames that a link has carried since it was opened.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LinkCounters {
    /// Frames that were received and given to the caller.
    pub received: u64,
    /// Frames that were sent.
    pub sent: u64,
    /// Frames that could not be sent, because the link did not take them in time.
    pub lost: u64,
    /// Received frames that are damaged, too long or of a form that AppleTalk does not have.
    pub malformed: u64,
}

/// The longest LLAP frame, in bytes, without its check sequence.
const MAX_LLAP_FRAME: usize = 3 + LlapFrame::MAX_DATA;

/// Whether the protocols above want a frame. Requests to send and their replies are for the hardware.
fn is_for_hosts(frame: &LlapFrame<'_>) -> bool {
    !matches!(frame.kind, LlapKind::REQUEST_TO_SEND | LlapKind::CLEAR_TO_SEND)
}

/// Opens the link of this name.
///
/// # Errors
///
/// The error says what to do next.
pub fn open(name: &LinkName) -> Result<Box<dyn Link>, LinkError> {
    Ok(match name {
        LinkName::EtherTalk { interface } => Box::new(EtherTalkLink::open(interface)?),
        LinkName::LToUdp { interface } => Box::new(LToUdpLink::open(interface.as_deref())?),
        LinkName::TashTalk { device } => Box::new(TashTalkLink::open(device)?),
    })
}
