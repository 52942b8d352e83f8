//! AppleTalk in user space, without a kernel module: the protocols of "Inside AppleTalk", second edition (Apple, 1990).
//! The comments cite its chapters.
//!
//! ```text
//! links      frames of EtherTalk, LToUDP, TashTalk: the only I/O
//!   │ bytes
//! wire       bytes to values and back, of every protocol here
//!   │ values
//! aarp, llap, rtmp, zip, nbp      the tables and state machines of each protocol
//!   │
//! stack      ports, addresses, sockets; a router when asked
//!   │ datagrams
//! atp, asp   transactions and sessions
//! ```
//!
//! Only `links` does I/O. Everything else gets the time as an argument, frames and datagrams as values, and gives back what
//! is to be sent: its tests need no socket and no sleep.

pub mod aarp;
pub mod address;
pub mod asp;
pub mod atp;
pub mod candidates;
pub mod limits;
pub mod links;
pub mod llap;
pub mod name;
pub mod nbp;
pub mod rtmp;
pub mod stack;
pub mod wire;
pub mod zip;

pub use address::{Address, Endpoint, HardwareAddress, NetworkRange};
pub use name::{EntityName, MacName};
pub use stack::{Output, PortId, Stack, StackConfig, StackEvent};
pub use wire::ddp::{Datagram, DatagramKind};
