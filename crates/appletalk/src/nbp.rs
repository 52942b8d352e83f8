//! The names of this node, and its searches for names of others. "Inside AppleTalk" chapter 7.

use std::time::{Duration, Instant};

use crate::address::{Address, Endpoint};
use crate::limits::{FOUND, LOOKUPS, NAMES};
use crate::name::{EntityName, MacName};
use crate::wire::nbp::{NbpFunction, NbpPacket, NbpTuple};

/// Left to implementations: how often a lookup is sent, and how long answers are awaited each time.
const TRIES: u8 = 4;
const INTERVAL: Duration = Duration::from_millis(750);

/// A name that this node registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(u32);

/// A search for names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LookupId(u32);

/// A name of this node.
///
/// ```text
///   register ──► Checking: 4 lookups, each 750 ms ──no answer──► Registered: answers lookups
///                    │                                               │ a network or zone is new: checked again
///                    └──────── another node has it ──────────────────┴──► removed, and reported as taken
/// ```
#[derive(Debug, Clone)]
pub struct OwnName {
    /// Names this entry.
    pub id: NameId,
    /// Object and type. The zone is `*`: a name is in the zone of its node.
    pub name: EntityName,
    /// The service's socket.
    pub socket: u8,
    /// Tells the names of this node apart.
    pub enumerator: u8,
    /// Whether no other node had it.
    pub is_registered: bool,
}

/// A name that was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundName {
    /// The service's name. Its zone is that of the reply, which can be `*`.
    pub name: EntityName,
    /// Where it is.
    pub endpoint: Endpoint,
    /// Tells names of one socket apart.
    pub enumerator: u8,
}

/// What became of a registration or a lookup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NameOutcome {
    /// The name is ours.
    Registered(NameId),
    /// Another service has this name.
    Taken {
        /// The registration, which has ended.
        id: NameId,
        /// The other service.
        by: Endpoint,
    },
    /// A lookup ended.
    Found {
        /// The lookup.
        id: LookupId,
        /// Each name once.
        names: Vec<FoundName>,
    },
}

/// Why a name cannot be registered, or not be searched for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameError {
    /// It is empty or has a wildcard, chapter 7, "Registering a name".
    Invalid,
    /// This node has it already.
    Taken,
    /// As many as [`NAMES`] or [`LOOKUPS`] are there.
    TooMany,
}

impl std::fmt::Display for NameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Invalid => "the name is empty or has a wildcard",
            Self::Taken => "this node has the name already",
            Self::TooMany => "too many names or lookups",
        })
    }
}

impl std::error::Error for NameError {}

/// A packet that has to be sent now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LookupRequest {
    /// Repeated in replies.
    pub packet_id: u8,
    /// What is searched for.
    pub name: EntityName,
    /// The node that is asked, to confirm a name; `None` for all of the zone.
    pub node: Option<Address>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Search(LookupId),
    Registration(NameId),
}

#[derive(Debug)]
struct Lookup {
    purpose: Purpose,
    request: LookupRequest,
    sent: u8,
    next: Instant,
    most: usize,
    found: Vec<FoundName>,
}

/// Names and lookups.
#[derive(Debug, Default)]
pub struct NameTable {
    names: Vec<OwnName>,
    lookups: Vec<Lookup>,
    last_id: u32,
    last_packet_id: u8,
    last_enumerator: u8,
}

impl NameTable {
    /// The names of this node.
    #[must_use]
    pub fn names(&self) -> &[OwnName] {
        &self.names
    }

    /// Begins to register a name; [`Self::tick`] tells what became of it.
    ///
    /// # Errors
    /// The name is not fit, is here already, or there are too many.
    pub fn register(&mut self, name: EntityName, socket: u8, now: Instant) -> Result<NameId, NameError> {
        if !name.is_registrable() {
            return Err(NameError::Invalid);
        }
        if self.names.iter().any(|own| own.name.object == name.object && own.name.kind == name.kind) {
            return Err(NameError::Taken);
        }
        if self.names.len() >= NAMES {
            return Err(NameError::TooMany);
        }
        let id = NameId(self.fresh_id());
        self.last_enumerator = self.last_enumerator.wrapping_add(1);
        let own_zone = MacName::new(b"*").expect("it is short");
        let name = EntityName { zone: own_zone, ..name };
        self.begin(Purpose::Registration(id), name.clone(), None, 1, now);
        let enumerator = self.last_enumerator;
        self.names.push(OwnName { id, name, socket, enumerator, is_registered: false });
        Ok(id)
    }

    /// Checks registered names again: chapter 8, "Choosing a new zone name", as the new zone may have them already. They
    /// are answered for meanwhile.
    pub fn check_again(&mut self, now: Instant) {
        let is_checked = |id| self.lookups.iter().any(|lookup| lookup.purpose == Purpose::Registration(id));
        let names: Vec<OwnName> = self.names.iter().filter(|own| !is_checked(own.id)).cloned().collect();
        for own in names {
            self.begin(Purpose::Registration(own.id), own.name, None, 1, now);
        }
    }

    /// Removes a name, or ends its registration.
    pub fn unregister(&mut self, id: NameId) {
        self.names.retain(|own| own.id != id);
        self.lookups.retain(|lookup| lookup.purpose != Purpose::Registration(id));
    }

    /// Begins to search for at most `most` names; [`Self::tick`] tells the result. With a node, only that is asked.
    ///
    /// # Errors
    /// There are too many lookups.
    pub fn lookup(
        &mut self,
        name: EntityName,
        node: Option<Address>,
        most: usize,
        now: Instant,
    ) -> Result<LookupId, NameError> {
        let searches = self.lookups.iter().filter(|lookup| matches!(lookup.purpose, Purpose::Search(_)));
        if searches.count() >= LOOKUPS {
            return Err(NameError::TooMany);
        }
        let id = LookupId(self.fresh_id());
        self.begin(Purpose::Search(id), name, node, most.clamp(1, FOUND), now);
        Ok(id)
    }

    fn fresh_id(&mut self) -> u32 {
        self.last_id = self.last_id.wrapping_add(1);
        self.last_id
    }

    /// At most `NAMES` and `LOOKUPS` of them run, so that one of 256 numbers is free.
    fn begin(
        &mut self,
        purpose: Purpose,
        name: EntityName,
        node: Option<Address>,
        most: usize,
        now: Instant,
    ) {
        loop {
            self.last_packet_id = self.last_packet_id.wrapping_add(1);
            if self.lookups.iter().all(|lookup| lookup.request.packet_id != self.last_packet_id) {
                break;
            }
        }
        let request = LookupRequest { packet_id: self.last_packet_id, name, node };
        self.lookups.push(Lookup { purpose, request, sent: 0, next: now, most, found: Vec::new() });
    }

    /// Does what is due: requests to send, and outcomes.
    pub fn tick(&mut self, now: Instant) -> (Vec<LookupRequest>, Vec<NameOutcome>) {
        let (mut requests, mut outcomes) = (Vec::new(), Vec::new());
        for lookup in self.lookups.iter_mut().filter(|lookup| lookup.next <= now) {
            if lookup.sent < TRIES && lookup.found.len() < lookup.most {
                lookup.sent += 1;
                lookup.next = now + INTERVAL;
                requests.push(lookup.request.clone());
            } else {
                outcomes.push(self::outcome(lookup));
                lookup.sent = u8::MAX;
            }
        }
        self.lookups.retain(|lookup| lookup.sent != u8::MAX);
        outcomes.retain(|outcome| self.is_news(outcome));
        (requests, outcomes)
    }

    /// Takes over an outcome. A name that was registered already, and was checked again, is no news.
    fn is_news(&mut self, outcome: &NameOutcome) -> bool {
        match outcome {
            NameOutcome::Registered(id) => {
                let own = self.names.iter_mut().find(|own| own.id == *id);
                own.is_some_and(|own| !std::mem::replace(&mut own.is_registered, true))
            }
            NameOutcome::Taken { id, .. } => {
                self.unregister(*id);
                true
            }
            NameOutcome::Found { .. } => true,
        }
    }

    /// A reply arrived. A registration whose name another node has ends at the next [`Self::tick`]; an answer of this node
    /// itself is no conflict.
    pub fn receive_reply(&mut self, packet: &NbpPacket, is_own: impl Fn(Address) -> bool, now: Instant) {
        let lookup = self.lookups.iter_mut().find(|lookup| lookup.request.packet_id == packet.id);
        let Some(lookup) = lookup.filter(|_| packet.function == NbpFunction::REPLY) else { return };
        for tuple in &packet.tuples {
            let wanted = &lookup.request.name;
            let is_wanted =
                wanted.object.matches(&tuple.name.object) && wanted.kind.matches(&tuple.name.kind);
            let is_check = matches!(lookup.purpose, Purpose::Registration(_));
            if is_check && is_own(tuple.endpoint.address) {
                continue;
            }
            let is_new = lookup.found.iter().all(|found| !is_same(found, tuple));
            if is_wanted && is_new && tuple.endpoint.address.is_unicast() && lookup.found.len() < lookup.most
            {
                let NbpTuple { endpoint, enumerator, name } = tuple.clone();
                lookup.found.push(FoundName { name, endpoint, enumerator });
            }
        }
        if lookup.found.len() >= lookup.most {
            lookup.next = now;
        }
    }

    /// The registered names that a request asks for, without regard to its zone.
    pub fn matching<'a>(&'a self, wanted: &'a EntityName) -> impl Iterator<Item = &'a OwnName> {
        let is_wanted =
            |own: &&OwnName| wanted.object.matches(&own.name.object) && wanted.kind.matches(&own.name.kind);
        self.names.iter().filter(|own| own.is_registered).filter(is_wanted)
    }

    /// When [`Self::tick`] has something to do.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.lookups.iter().map(|lookup| lookup.next).min()
    }
}

fn outcome(lookup: &mut Lookup) -> NameOutcome {
    let names = std::mem::take(&mut lookup.found);
    match (lookup.purpose, names.first()) {
        (Purpose::Search(id), _) => NameOutcome::Found { id, names },
        (Purpose::Registration(id), Some(other)) => NameOutcome::Taken { id, by: other.endpoint },
        (Purpose::Registration(id), None) => NameOutcome::Registered(id),
    }
}

/// A reply that came twice: chapter 7, "NBP on a single network". Address and enumerator tell names apart.
fn is_same(found: &FoundName, tuple: &NbpTuple) -> bool {
    found.endpoint == tuple.endpoint && found.enumerator == tuple.enumerator && found.name == tuple.name
}

#[cfg(test)]
mod tests;
