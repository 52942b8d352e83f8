//! Whole nodes on links that are not there: what they say, and what comes of it.

mod capture;
mod conflicts;
mod end_node;
mod hostile;
mod network;
mod router;
mod zones;
