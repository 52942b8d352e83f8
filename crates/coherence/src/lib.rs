//! What the clients of all protocols hold of files, and who is notified of changes. It knows files by their ids only:
//! no tree, no store, no protocol.
//!
//! [`state::State`] decides each conflict between two clients. [`events::Hub`] delivers changes to subscribers.
//! [`guarding`] has what is agreed with a backend about local processes, and [`noted`] what is noted of an operation
//! for the log and for metrics. [`served`] and [`recount`] are what the servers of a cluster ask of each other's tree.

pub mod events;
pub mod guarding;
pub mod noted;
mod ranks;
pub mod recount;
pub mod served;
pub mod state;
