//! The names of the unit, the port and the target, SPC-4 7.8.6.

use super::VENDOR;
use crate::server::scsi::Identity;
use crate::server::target::PORTAL_GROUP;
use crate::wire::scsi::vpd::{Association, Designator, Designators, Name};

/// The only port of every target, and the only group, which has this port (SPC-4 5.16.2).
pub(crate) const PORT: u16 = 1;

/// The names of the unit. The NAA identifier is the one that identifies it.
pub(super) fn of_unit(identity: &Identity) -> Vec<Designator> {
    let vendor = format!("{VENDOR}{}", identity.serial()).into_bytes();
    let of = Association::LogicalUnit;
    vec![Designator { of, name: Name::Naa(identity.naa) }, Designator { of, name: Name::Vendor(vendor) }]
}

/// The names of the port that received the command, and of its group.
pub(super) fn of_port() -> Vec<Designator> {
    let of = Association::TargetPort;
    vec![Designator { of, name: Name::Port(PORT) }, Designator { of, name: Name::Group(PORT) }]
}

/// The port's name, which RFC 7143 4.4.1 derives from the target's.
pub(super) fn port_name(target: &str) -> Designator {
    let name = format!("{target},t,0x{PORTAL_GROUP:04x}");
    Designator { of: Association::TargetPort, name: Name::Text(name) }
}

/// All names: of the unit, the port and the target.
pub(super) fn all(identity: &Identity, target: &str) -> Designators {
    let device = Designator { of: Association::TargetDevice, name: Name::Text(target.to_owned()) };
    let names = [of_unit(identity), of_port(), vec![port_name(target), device]];
    Designators(names.concat())
}
