//! Client rules that name hosts: exact names, and patterns such as `*.example.org`.
//!
//! An exact name matches the addresses that the name service has for it: the client's side has no say. A pattern matches the
//! name that the name service has for the client's address, if that name leads back to the address.
//!
//! Look-ups are made on threads of their own, and rules ask the answers that are known. [`Match::Unknown`] is an answer, too:
//! [`first_match`] lets a client pass such a rule only to one that allows no more. A rule that denies is never skipped because a
//! look-up failed.

mod cache;
mod pattern;
mod service;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::{Arc, Weak};
use std::time::Instant;

use lock::Mutex;

use cache::{HostNameCache, Question};

use crate::ranks;
pub use pattern::{LONGEST_HOST_NAME, NotAHost, is_host_name, is_host_pattern};
pub use service::{HostNameService, LookupFailure, SystemNames};

/// Look-ups in flight. More wait until a client asks again.
const MOST_LOOKUPS: usize = 16;

/// Whether a rule matches a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Match {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The look-up is not finished, or has failed.
    Unknown,
}

/// The names of hosts, as far as rules have asked for them.
pub struct HostNames {
    service: Arc<dyn HostNameService>,
    clock: fn() -> Instant,
    known: Mutex<HostNameState, ranks::HostNames>,
}

#[derive(Default)]
struct HostNameState {
    cache: HostNameCache,
    /// The names in the rules of the present settings.
    rules: Vec<Weak<HostNameRule>>,
}

struct HostNameRule {
    text: String,
    is_pattern: bool,
    names: Arc<HostNames>,
}

/// A name in a rule.
#[derive(Clone)]
pub struct HostName(Arc<HostNameRule>);

impl HostNames {
    /// No names are known yet.
    pub fn new(service: Arc<dyn HostNameService>) -> Arc<Self> {
        Self::at(service, Instant::now)
    }

    /// The same with another clock.
    pub fn at(service: Arc<dyn HostNameService>, clock: fn() -> Instant) -> Arc<Self> {
        Arc::new(Self { service, clock, known: Mutex::default() })
    }

    /// A name for a rule. The look-up of an exact name begins.
    pub fn rule(self: &Arc<Self>, text: &str) -> HostName {
        let text = pattern::plain(text);
        let named = {
            let mut known = self.known.lock();
            known.rules.retain(|rule| rule.strong_count() > 0);
            let same = known.rules.iter().filter_map(Weak::upgrade).find(|rule| rule.text == text);
            same.unwrap_or_else(|| {
                let is_pattern = pattern::has_wildcard(&text);
                let named = Arc::new(HostNameRule { text, is_pattern, names: self.clone() });
                known.rules.push(Arc::downgrade(&named));
                named
            })
        };
        if !named.is_pattern {
            self.ask(Question::Name(named.text.clone()));
        }
        HostName(named)
    }

    /// Begins the look-ups that the rules need for a client. `true`: all of them have ended, with success or not.
    pub fn prepare(self: &Arc<Self>, client: IpAddr) -> bool {
        let rules: Vec<Arc<HostNameRule>> =
            self.known.lock().rules.iter().filter_map(Weak::upgrade).collect();
        let mut questions: Vec<Question> = Vec::new();
        if rules.iter().any(|rule| rule.is_pattern) {
            questions.push(Question::Address(client.to_canonical()));
        }
        let exact = rules.iter().filter(|rule| !rule.is_pattern);
        questions.extend(exact.map(|rule| Question::Name(rule.text.clone())));
        questions.into_iter().fold(true, |all, question| {
            self.ask(question.clone());
            !self.known.lock().cache.is_pending(&question) && all
        })
    }

    /// The answer that is known, if any. Begins a look-up if there is none or it is old.
    fn ask(self: &Arc<Self>, question: Question) -> Option<cache::Answer> {
        let now = (self.clock)();
        let (answer, begins) = {
            let mut known = self.known.lock();
            let answer = known.cache.answer(&question, now);
            (answer, known.cache.begin(&question, now, MOST_LOOKUPS))
        };
        if begins {
            let (names, asked) = (self.clone(), question.clone());
            let look_up = move || names.look_up(&asked);
            if std::thread::Builder::new().name("host-name".into()).spawn(look_up).is_err() {
                self.known.lock().cache.end(&question, None, now);
            }
        }
        answer
    }

    fn look_up(&self, question: &Question) {
        let answer = match question {
            Question::Name(name) => self.service.addresses(name).map(cache::Answer::Addresses),
            Question::Address(address) => self.confirmed(*address).map(cache::Answer::Name),
        };
        if let Err(failure) = &answer {
            tracing::warn!(host = %question, "the look-up of a host in a client rule failed: {failure}");
        }
        self.known.lock().cache.end(question, answer.ok(), (self.clock)());
    }

    /// The name of an address that leads back to it; `Ok(None)`: it has no name.
    fn confirmed(&self, address: IpAddr) -> Result<Option<String>, LookupFailure> {
        let name = match self.service.name(address) {
            Ok(name) => pattern::plain(&name),
            Err(LookupFailure::NoSuchName) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        if !is_host_name(&name) {
            return Err(LookupFailure::Unconfirmed(name));
        }
        let addresses = self.service.addresses(&name)?;
        let leads_back = addresses.iter().any(|one| one.to_canonical() == address);
        if leads_back { Ok(Some(name)) } else { Err(LookupFailure::Unconfirmed(name)) }
    }
}

impl HostName {
    /// As the settings have it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// Whether the client at this address has the name.
    #[must_use]
    pub fn matches(&self, client: IpAddr) -> Match {
        let HostNameRule { text, is_pattern, names } = &*self.0;
        let client = client.to_canonical();
        let question = match is_pattern {
            true => Question::Address(client),
            false => Question::Name(text.clone()),
        };
        let fits = match names.ask(question) {
            Some(cache::Answer::Addresses(addresses)) => {
                addresses.iter().any(|one| one.to_canonical() == client)
            }
            Some(cache::Answer::Name(name)) => name.is_some_and(|name| pattern::fits(text, &name)),
            None => return Match::Unknown,
        };
        if fits { Match::Yes } else { Match::No }
    }
}

impl PartialEq for HostName {
    fn eq(&self, other: &Self) -> bool {
        self.0.text == other.0.text
    }
}

impl Eq for HostName {}

impl std::fmt::Debug for HostName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.0.text)
    }
}

/// The first rule that matches. One that may match and allows less than a later one (`is_no_wider(later, it)` is false) closes the
/// door: then there is no rule for the client.
pub fn first_match<R>(
    rules: &[R],
    matches: impl Fn(&R) -> Match,
    is_no_wider: impl Fn(&R, &R) -> bool,
) -> Option<&R> {
    let mut unknown: Vec<&R> = Vec::new();
    for rule in rules {
        match matches(rule) {
            Match::Yes => return unknown.iter().all(|passed| is_no_wider(rule, passed)).then_some(rule),
            Match::Unknown => unknown.push(rule),
            Match::No => {}
        }
    }
    None
}
