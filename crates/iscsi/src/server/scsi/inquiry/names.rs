//! What the unit, the port and the target are called, SPC-4 7.8.6.

use super::VENDOR;
use crate::server::scsi::Identity;
use crate::server::target::PORTAL_GROUP;
use crate::wire::scsi::vpd::{Association, Designator, Designators, Name};

/// The one port of every target, and the one group that it is in (SPC-4 5.16.2).
pub(crate) const PORT: u16 = 1;

/// What the unit is called. The NAA identifier is the one to know it by.
pub(super) fn of_unit(identity: &Identity) -> Vec<Designator> {
    let vendor = format!("{VENDOR}{}", identity.serial()).into_bytes();
    let of = Association::LogicalUnit;
    vec![Designator { of, name: Name::Naa(identity.naa) }, Designator { of, name: Name::Vendor(vendor) }]
}

/// What the port is called through which the command came, and the group that it is in.
pub(super) fn of_port() -> Vec<Designator> {
    let of = Association::TargetPort;
    vec![Designator { of, name: Name::Port(PORT) }, Designator { of, name: Name::Group(PORT) }]
}

/// The port's name as RFC 7143 4.4.1 makes it of the target's.
pub(super) fn port_name(target: &str) -> Designator {
    let name = format!("{target},t,0x{PORTAL_GROUP:04x}");
    Designator { of: Association::TargetPort, name: Name::Text(name) }
}

/// All of the unit, its port and its target.
pub(super) fn all(identity: &Identity, target: &str) -> Designators {
    let device = Designator { of: Association::TargetDevice, name: Name::Text(target.to_owned()) };
    let names = [of_unit(identity), of_port(), vec![port_name(target), device]];
    Designators(names.concat())
}
