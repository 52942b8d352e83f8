//! The zones of networks, "Inside AppleTalk" chapter 8, "Network-to-zone-name mapping".

use std::time::Duration;

use crate::address::HardwareAddress;
use crate::limits::ZONES_PER_NETWORK;
use crate::name::MacName;
use crate::wire::ddp::{Datagram, checksum};
use crate::wire::zip::ZipMessage;

/// How often a router asks for zones that it does not know, "Timer values".
pub const QUERY_INTERVAL: Duration = Duration::from_secs(10);

/// The zones of one network.
///
/// ```text
///   unknown ── a part of an extended reply ──► incomplete ── as many as it announced ──► complete
///      └─────────────────────────── a reply ─────────────────────────────────────────────►┘
/// ```
#[derive(Debug, Clone, Default)]
pub struct ZoneList {
    zones: Vec<MacName>,
    is_complete: bool,
}

impl ZoneList {
    /// Settings, or a reply, have all zones. The first one is the default zone of an own port's network.
    #[must_use]
    pub fn whole(zones: &[MacName]) -> Self {
        let mut list = Self::default();
        list.add(zones.iter().cloned());
        list.is_complete = !list.zones.is_empty();
        list
    }

    /// All zones; `None` as long as some are not known. An incomplete list is not used, "ZIT maintenance".
    #[must_use]
    pub fn complete(&self) -> Option<&[MacName]> {
        self.is_complete.then_some(&self.zones)
    }

    /// Whether it is complete and has this zone.
    #[must_use]
    pub fn has(&self, zone: &MacName) -> bool {
        self.is_complete && self.zones.contains(zone)
    }

    /// A part arrived of a list that has `count` zones in all.
    pub fn learn_part(&mut self, count: u8, zones: impl IntoIterator<Item = MacName>) {
        if !self.is_complete {
            self.add(zones);
            self.is_complete = !self.zones.is_empty() && self.zones.len() >= usize::from(count);
        }
    }

    /// The whole list arrived.
    pub fn learn_all(&mut self, zones: impl IntoIterator<Item = MacName>) {
        if !self.is_complete {
            self.add(zones);
            self.is_complete = !self.zones.is_empty();
        }
    }

    /// Makes a zone the first one, if the list has it.
    pub fn set_default(&mut self, zone: &MacName) {
        if let Some(at) = self.zones.iter().position(|other| other == zone) {
            self.zones[..=at].rotate_right(1);
        }
    }

    fn add(&mut self, zones: impl IntoIterator<Item = MacName>) {
        for zone in zones {
            let is_zone = !zone.is_empty() && !zone.is_own_zone();
            if is_zone && !self.zones.contains(&zone) && self.zones.len() < ZONES_PER_NETWORK {
                self.zones.push(zone);
            }
        }
    }
}

/// The group of Ethernet stations of a zone, "Zone multicast address computation".
#[must_use]
pub fn zone_group(zone: &MacName) -> HardwareAddress {
    HardwareAddress::zone_group(checksum(&zone.folded()) % HardwareAddress::ZONE_GROUPS)
}

/// The replies to a query for one network: one if its zones fit, else a series of extended replies.
#[must_use]
pub fn replies(network: u16, zones: &[MacName]) -> Vec<ZipMessage> {
    const HEADER: usize = 2;
    let mut parts: Vec<Vec<(u16, MacName)>> = Vec::new();
    let mut room = 0;
    for zone in zones {
        let length = 3 + zone.as_bytes().len();
        if length > room {
            parts.push(Vec::new());
            room = Datagram::MAX_PAYLOAD - HEADER;
        }
        room -= length;
        parts.last_mut().expect("one was pushed when there was no room").push((network, zone.clone()));
    }
    match parts.len() {
        1 => parts.into_iter().map(ZipMessage::Reply).collect(),
        _ => {
            let count = zones.len() as u8;
            parts.into_iter().map(|zones| ZipMessage::ExtendedReply { count, zones }).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(text: &str) -> MacName {
        MacName::from_text(text).unwrap()
    }

    #[test]
    fn the_group_of_a_zone_is_the_one_that_routers_compute() {
        // "WAN": a capture of two Cisco routers. "EBC EtherTlkPhase2": a trace in Miller, "LAN Protocol Handbook".
        assert_eq!(zone_group(&zone("WAN")).to_string(), "09:00:07:00:00:64");
        assert_eq!(zone_group(&zone("EBC EtherTlkPhase2")).to_string(), "09:00:07:00:00:88");
        assert_eq!(zone_group(&zone("ébc")), zone_group(&zone("ÉBC")));
    }

    #[test]
    fn a_list_is_complete_with_as_many_zones_as_announced() {
        let mut list = ZoneList::default();
        list.learn_part(3, [zone("Hall"), zone("Attic")]);
        list.learn_part(3, [zone("hall")]);
        assert_eq!(list.complete(), None, "the same zone twice counts once");
        list.learn_part(3, [zone("Cellar")]);
        assert_eq!(list.complete(), Some(&[zone("Hall"), zone("Attic"), zone("Cellar")][..]));
        list.learn_part(9, [zone("Roof")]);
        assert!(!list.has(&zone("Roof")), "a complete list does not grow");
    }

    #[test]
    fn the_default_zone_becomes_the_first() {
        let mut list = ZoneList::whole(&[zone("Hall"), zone("Attic"), zone("Cellar")]);
        list.set_default(&zone("CELLAR"));
        assert_eq!(list.complete().unwrap(), [zone("Cellar"), zone("Hall"), zone("Attic")]);
        list.set_default(&zone("Roof"));
        assert_eq!(list.complete().unwrap()[0], zone("Cellar"));
    }

    #[test]
    fn zones_that_do_not_fit_are_sent_as_extended_replies() {
        let few = [zone("Hall"), zone("Attic")];
        assert_eq!(replies(3, &few), [ZipMessage::Reply(vec![(3, few[0].clone()), (3, few[1].clone())])]);
        let many: Vec<MacName> = (0..100).map(|number| zone(&format!("{number:032}"))).collect();
        let parts = replies(3, &many);
        assert_eq!(parts.len(), 7, "16 zones of 35 bytes in each");
        let mut list = ZoneList::default();
        for part in parts {
            assert!(part.encode().len() <= Datagram::MAX_PAYLOAD);
            let ZipMessage::ExtendedReply { count, zones } = part else { panic!("an extended reply") };
            assert_eq!(count, 100);
            list.learn_part(count, zones.into_iter().map(|(_, zone)| zone));
        }
        assert_eq!(list.complete().unwrap(), many);
    }

    #[test]
    fn a_network_has_at_most_255_zones() {
        let mut list = ZoneList::default();
        list.learn_all((0..1_000).map(|number| zone(&number.to_string())));
        assert_eq!(list.complete().unwrap().len(), 255);
    }
}
