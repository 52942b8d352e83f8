//! The value of a setting of a port.

/// The setting of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// Not set: see [`super::default_port`].
    Standard,
    /// The protocol is off.
    Off,
    /// This port; 0 is any free one.
    Number(u16),
}
