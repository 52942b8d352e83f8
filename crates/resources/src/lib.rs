//! What the tree and the connections share of the host: threads that wait for disks, the memory of caches, data on its way
//! to a client, and what is reserved for streams. It knows neither the tree nor a connection.

pub mod caches;
mod line_limiter;
mod payload;
mod pool;
mod ranks;
pub mod reserved;

pub use line_limiter::LineLimiter;
pub use payload::Payload;
pub use pool::{DiskCalls, Pool, disk_calls};
