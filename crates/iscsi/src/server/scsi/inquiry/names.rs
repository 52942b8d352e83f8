//! The names of the unit, the port and the target, SPC-4 7.8.6.

use super::VENDOR;
use crate::server::scsi::Identity;
use crate::wire::scsi::vpd::{Designator, DesignatorAssociation, DesignatorName, Designators};

/// The names of the unit. The NAA identifier is the one that identifies it.
pub(super) fn of_unit(identity: &Identity) -> Vec<Designator> {
    let vendor = format!("{VENDOR}{}", identity.serial()).into_bytes();
    let of = DesignatorAssociation::LogicalUnit;
    vec![
        Designator { of, name: DesignatorName::Naa(identity.naa) },
        Designator { of, name: DesignatorName::Vendor(vendor) },
    ]
}

/// The names of a port, and of its group, which has this port only (SPC-4 5.16.2).
pub(super) fn of_port(port: u16) -> Vec<Designator> {
    let of = DesignatorAssociation::TargetPort;
    vec![
        Designator { of, name: DesignatorName::Port(port) },
        Designator { of, name: DesignatorName::Group(port) },
    ]
}

/// A port's name, which RFC 7143 4.4.1 derives from the target's and the number of its portal
/// group.
pub(super) fn port_name(target: &str, port: u16) -> Designator {
    let name = format!("{target},t,0x{port:04x}");
    Designator { of: DesignatorAssociation::TargetPort, name: DesignatorName::Text(name) }
}

/// All names: of the unit, the port that received the command, and the target.
pub(super) fn all(identity: &Identity, target: &str, port: u16) -> Designators {
    let device =
        Designator { of: DesignatorAssociation::TargetDevice, name: DesignatorName::Text(target.to_owned()) };
    let names = [of_unit(identity), of_port(port), vec![port_name(target, port), device]];
    Designators(names.concat())
}
