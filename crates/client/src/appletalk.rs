//! AFP over AppleTalk: a stream of AFP's frames that go through a session of ASP. Only tests, measurements and the interop suite use it.

mod frames;
mod node;
#[cfg(test)]
mod tests;

pub use frames::{AspFrames, Ended};
pub use node::{AspStream, Workstation};
