//! Names of hosts in rules, with a name service that can be changed and stopped.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cache::{Answer, HostNameCache, LONGEST, MOST, Question, RETRY};
use super::*;

/// A name service with a table; a name or address that it does not have makes the look-up fail.
#[derive(Default)]
struct Table {
    names: HashMap<&'static str, Vec<&'static str>>,
    addresses: HashMap<&'static str, Option<&'static str>>,
}

impl HostNameService for Table {
    fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, LookupFailure> {
        let found = self.names.get(name).ok_or_else(|| LookupFailure::Failed("down".into()))?;
        Ok(found.iter().map(|one| one.parse().unwrap()).collect())
    }

    fn name(&self, address: IpAddr) -> Result<String, LookupFailure> {
        match self.addresses.get(&*address.to_string()) {
            Some(Some(name)) => Ok((*name).into()),
            Some(None) => Err(LookupFailure::NoSuchName),
            None => Err(LookupFailure::Failed("down".into())),
        }
    }
}

fn names() -> Arc<HostNames> {
    let names = HashMap::from([
        ("pc.example.org", vec!["10.0.0.5", "fd00::5"]),
        ("forged.example.org", vec!["10.0.0.1"]),
        ("a.lab.example.org", vec!["10.0.0.9"]),
    ]);
    let addresses = HashMap::from([
        ("10.0.0.5", Some("PC.Example.ORG.")),
        ("10.0.0.66", Some("forged.example.org")),
        ("10.0.0.9", Some("a.lab.example.org")),
        ("10.0.0.7", None),
        ("10.0.0.67", Some("10.0.0.67")),
    ]);
    HostNames::new(Arc::new(Table { names, addresses }))
}

/// The answer once the look-ups are over.
fn matched(rule: &HostName, client: &str) -> Match {
    let client = client.parse().unwrap();
    while !rule.0.names.prepare(client) {
        std::thread::yield_now();
    }
    rule.matches(client)
}

#[test]
fn an_exact_name_matches_the_addresses_that_it_has() {
    let names = names();
    let rule = names.rule("PC.example.org");
    for (client, expected) in [
        ("10.0.0.5", Match::Yes),
        ("::ffff:10.0.0.5", Match::Yes),
        ("fd00::5", Match::Yes),
        ("10.0.0.6", Match::No),
    ] {
        assert_eq!(matched(&rule, client), expected, "{client}");
    }
}

#[test]
fn a_pattern_matches_a_name_that_leads_back_to_the_client() {
    let names = names();
    let rule = names.rule("*.example.org");
    for (client, expected) in [
        ("10.0.0.5", Match::Yes),
        ("10.0.0.9", Match::Yes),      // a star stands for dots, exports(5)
        ("10.0.0.66", Match::Unknown), // claims a name of another address
        ("10.0.0.67", Match::Unknown), // claims an address as its name
        ("10.0.0.7", Match::No),       // has no name
        ("192.0.2.1", Match::Unknown), // the look-up fails
    ] {
        assert_eq!(matched(&rule, client), expected, "{client}");
    }
}

#[test]
fn what_may_match_lets_a_client_pass_to_what_allows_no_more() {
    let rules = |first: Match| [(first, 1), (Match::No, 0), (Match::Yes, 2), (Match::Yes, 3)];
    let rights = |first| first_match(&rules(first), |rule| rule.0, |a, b| a.1 <= b.1).map(|rule| rule.1);
    assert_eq!((rights(Match::Yes), rights(Match::No), rights(Match::Unknown)), (Some(1), Some(2), None));
    let falling = [(Match::Unknown, 2), (Match::Yes, 1)];
    assert_eq!(first_match(&falling, |rule| rule.0, |a, b| a.1 <= b.1).map(|rule| rule.1), Some(1));
    assert!(first_match(&[(Match::Unknown, 2)], |rule| rule.0, |a, b| a.1 <= b.1).is_none());
}

#[test]
fn patterns_and_names_of_hosts() {
    for (pattern, name, expected) in [
        ("*.example.org", "a.example.org", true),
        ("*.example.org", "a.b.example.org", true),
        ("*.example.org", "example.org", false),
        ("*.example.org", "a.example.org.evil.net", false),
        ("pc?", "pc1", true),
        ("pc?", "pc12", false),
        ("pc[1-3]", "pc3", true),
        ("pc[!1-3]", "pc3", false),
        ("pc[!1-3]x", "pc4x", true),
        ("*a*b*", "xxaxxb", true),
        ("*a*b*", "xxbxxa", false),
    ] {
        assert_eq!(pattern::fits(pattern, name), expected, "{pattern} {name}");
    }
    for good in ["pc", "pc.example.org.", "*.example.org", "pc[0-9]", "my_pc-2.lan", "1and1.com"] {
        assert_eq!(is_host_pattern(good), Ok(()), "{good}");
    }
    for (bad, why) in [
        ("192.168.1.*", NotAHost::Address),
        ("192.168.1.300", NotAHost::Address),
        ("*.*", NotAHost::Address),
        ("@staff", NotAHost::Netgroup),
        ("pc name", NotAHost::Name),
        ("pc/24", NotAHost::Name),
        ("pc[1", NotAHost::Name),
        ("pc..org", NotAHost::Name),
        ("", NotAHost::Name),
    ] {
        assert_eq!(is_host_pattern(bad), Err(why), "{bad}");
    }
}

#[test]
fn a_failed_look_up_is_repeated_soon_and_old_answers_go_on_to_count() {
    let (mut cache, start) = (HostNameCache::default(), Instant::now());
    let question = Question::Name("pc".into());
    let at = |after: Duration| start + after;
    assert!(cache.begin(&question, start, 4) && !cache.begin(&question, start, 4));
    assert!(cache.is_pending(&question));
    cache.end(&question, Some(Answer::Addresses(Vec::new())), start);
    assert!(!cache.is_pending(&question));
    let later = cache::FRESH;
    assert!(!cache.begin(&question, at(later - Duration::from_secs(1)), 4));
    assert!(cache.begin(&question, at(later), 4));
    cache.end(&question, None, at(later));
    assert!(cache.answer(&question, at(later)).is_some());
    assert!(!cache.begin(&question, at(later), 4) && cache.begin(&question, at(later + RETRY), 4));
    assert!(cache.answer(&question, at(LONGEST)).is_none());
}

#[test]
fn answers_and_look_ups_in_flight_are_limited() {
    let (mut cache, now) = (HostNameCache::default(), Instant::now());
    let question = |number: u32| Question::Address(IpAddr::V4(number.into()));
    for number in 0..MOST as u32 + 20 {
        assert!(cache.begin(&question(number), now, 2));
        cache.end(&question(number), None, now);
    }
    assert_eq!(cache.len(), MOST);
    assert!(cache.begin(&question(90_000), now, 2) && cache.begin(&question(90_001), now, 2));
    assert!(!cache.begin(&question(90_002), now, 2));
    assert!(cache.is_pending(&question(90_002)));
}
