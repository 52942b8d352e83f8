//! Exports as rules: against the text of exports(5), and random ones against a model of its own.

use std::net::IpAddr;

use ipnet::IpNet;

use super::super::netgroups::Member;
use super::super::source::{AcceptedLimits, Outcome};
use super::*;

fn no_netgroups(_: &str) -> Result<Vec<Member>, String> {
    Err("no netgroups here".into())
}

fn translated(text: &str) -> Translation {
    let (mut exports, mut translated) = (Vec::new(), Translation::default());
    read(Path::new("exports"), text, no_netgroups, &mut exports, &mut translated);
    translate_all(exports, &mut translated);
    translated
}

/// What a rule of ours says: `match access squash`, and the rest.
fn rules(share: &Share) -> Vec<String> {
    let plain = |rule: &Vec<(&'static str, String)>| {
        rule.iter().map(|(_, value)| value.replace('"', "")).collect::<Vec<_>>().join(" ")
    };
    share.clients.iter().map(plain).collect()
}

fn lost(translated: &Translation) -> Vec<&'static str> {
    translated
        .shares
        .iter()
        .flat_map(|share| share.lost(&[], &NOTHING))
        .filter_map(SourceSetting::lost)
        .collect()
}

static NOTHING: std::sync::LazyLock<AcceptedLimits> = std::sync::LazyLock::new(AcceptedLimits::default);

#[test]
fn a_host_counts_before_a_network_a_pattern_and_everybody() {
    let all = translated(
        "/srv *(ro) *.example.org(rw) 10.0.0.0/8(ro,insecure) pc.example.org(rw,no_root_squash)\n",
    );
    assert_eq!(
        rules(&all.shares[0]),
        [
            "pc.example.org rw none true [sys]",
            "10.0.0.0/8 ro root [sys]",
            "*.example.org rw root true [sys]",
            "* ro root true [sys]",
        ]
    );
    assert!(lost(&all).is_empty());
}

#[test]
fn an_address_behind_its_network_gets_what_both_orders_allow() {
    // exports(5) has the address first, and nfs-utils takes the first of the two in the file.
    let of = |text: &str| rules(&translated(text).shares[0]).join("; ");
    assert_eq!(
        of("/a 10.0.0.0/8(rw) 10.0.0.5(ro)"),
        "10.0.0.5 ro root true [sys]; 10.0.0.0/8 rw root true [sys]"
    );
    assert_eq!(
        of("/a 10.0.0.0/8(ro) 10.0.0.5(rw)"),
        "10.0.0.5 ro root true [sys]; 10.0.0.0/8 ro root true [sys]"
    );
    assert_eq!(
        of("/a 10.0.0.5(rw) 10.0.0.0/8(ro)"),
        "10.0.0.5 rw root true [sys]; 10.0.0.0/8 ro root true [sys]"
    );
}

#[test]
fn hosts_that_no_rule_can_name_never_open_the_share() {
    // The hosts of the netgroup may not write, and everybody may: without a rule they could.
    let wider = translated("/srv @staff(ro) *(rw)\n");
    assert_eq!(lost(&wider), ["hosts"]);
    for text in ["/srv @staff(rw)\n", "/srv 192.168.1.*(rw)\n", "/srv gss/krb5(rw)\n"] {
        let alone = translated(text);
        assert_eq!(rules(&alone.shares[0]), ["* none"], "{text}");
        assert!(matches!(alone.shares[0].source[0].outcome, Outcome::Kept { .. }), "{text}");
    }
    let narrower = translated("/srv 192.168.1.*(rw) *(ro)\n");
    assert_eq!(
        (rules(&narrower.shares[0]), lost(&narrower).len()),
        (vec!["* ro root true [sys]".to_owned()], 0)
    );
}

#[test]
fn a_blank_before_the_options_means_everybody_and_is_said() {
    // exports(5), "Format": the host gets the defaults, and everybody what stands behind the blank.
    let all = translated("/srv pc.example.org (rw)\n");
    assert_eq!(rules(&all.shares[0]), ["pc.example.org ro root true [sys]", "* rw root true [sys]"]);
    assert!(
        all.shares[0].source[1].text().contains("exports(5) means everybody"),
        "{:?}",
        all.shares[0].source
    );
    assert_eq!(rules(&translated("/srv\n").shares[0]), ["* ro root true [sys]"]);
}

#[test]
fn defaults_and_lines_of_one_folder_come_together() {
    let all = translated("/srv -rw,no_root_squash,anonuid=-2 a(ro) b\n/srv/ c(sec=krb5p:sys,xprtsec=mtls)\n");
    assert_eq!(
        rules(&all.shares[0]),
        [
            "a ro none 4294967294 true [sys]",
            "b rw none 4294967294 true [sys]",
            "c ro root true mutual [krb5p, sys]"
        ]
    );
    assert_eq!(all.shares.len(), 1);
    assert_eq!(
        lost(&translated("/srv a(rw) -ro b\n")),
        Vec::<&str>::new(),
        "-ro is taken for a host, which is refused"
    );
}

#[test]
fn file_systems_inside_and_mount_points() {
    let setting = |text: &str| translated(text).shares[0].settings.clone();
    assert_eq!(setting("/srv *(rw)"), [("cross-mounts", "false".to_owned())]);
    assert_eq!(setting("/srv *(rw,crossmnt)"), []);
    assert_eq!(setting("/srv a(rw,crossmnt) b"), [("cross-mounts", "false".to_owned())]);
    assert_eq!(setting("/srv *(mp,crossmnt)"), [("must-be-mounted", "true".to_owned())]);
    assert_eq!(lost(&translated("/srv *(mp=/mnt)")), ["mountpoint"]);
    assert_eq!(lost(&translated("/srv *(rw,refer=/x@other)")), ["refer"]);
    assert_eq!(lost(&translated("/srv *(rw,whatever)")), ["unknown-option"]);
    assert_eq!(lost(&translated("/srv *(rw")), ["syntax"]);
}

/// A generator of small exports files, and the manual's rules for one path: written from exports(5) alone.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    fn options(&mut self) -> String {
        const OPTIONS: &[&str] = &[
            "rw",
            "ro",
            "root_squash",
            "no_root_squash",
            "all_squash",
            "no_all_squash",
            "secure",
            "insecure",
            "sync",
            "anonuid=7",
        ];
        (0..self.below(4)).map(|_| self.one(OPTIONS)).collect::<Vec<_>>().join(",")
    }
}

/// The clients of the model: address and name.
const HOSTS_OF_MODEL: &[(&str, &str)] = &[
    ("10.0.0.5", "pc.example.org"),
    ("10.0.1.6", "a.lab.example.org"),
    ("192.0.2.1", "x.example.net"),
    ("10.0.0.9", ""),
];
const CLIENTS: &[&str] = &[
    "*",
    "10.0.0.5",
    "10.0.0.0/24",
    "10.0.0.0/8",
    "192.0.2.1",
    "pc.example.org",
    "x.example.net",
    "*.example.org",
    "*.example.*",
    "@staff",
    "10.0.0.*",
];

/// Whether a client of the file is this host: exports(5), "Machine Name Formats". The netgroup has the host pc.
fn is_host(client: &str, (address, name): (&str, &str)) -> bool {
    let address: IpAddr = address.parse().unwrap();
    match client {
        "*" => true,
        "@staff" => name == "pc.example.org",
        "*.example.org" => name.ends_with(".example.org"),
        "*.example.*" => name.contains(".example."),
        "10.0.0.*" => false, // patterns are for names
        client => match (client.parse::<IpAddr>(), client.parse::<IpNet>()) {
            (Ok(one), _) => one == address,
            (_, Ok(net)) => net.contains(&address),
            _ => client == name,
        },
    }
}

/// 0 host, 1 network, 2 pattern, 3 netgroup, 4 everybody. An address is a host in the manual, and a network in nfs-utils.
fn kind_of(client: &str, address_is: usize) -> usize {
    match client {
        "*" => 4,
        client if client.starts_with('@') => 3,
        client if client.contains('*') => 2,
        client if client.contains('/') => 1,
        client if client.parse::<IpAddr>().is_ok() => address_is,
        _ => 0,
    }
}

/// May write, root is root, somebody is themselves, any port is right.
type ExportRights = (bool, bool, bool, bool);

fn allowed(options: &str) -> ExportRights {
    let last = |on: &str, off: &str, default: bool| {
        let mut of = options.split(',').filter(|one| *one == on || *one == off);
        of.next_back().map_or(default, |one| one == on)
    };
    let all = last("all_squash", "no_all_squash", false);
    (
        last("rw", "ro", false),
        !all && last("no_root_squash", "root_squash", false),
        !all,
        last("insecure", "secure", false),
    )
}

fn by_manual(entries: &[(String, String)], host: (&str, &str), address_is: usize) -> Option<ExportRights> {
    let fits = entries.iter().filter(|(client, _)| is_host(client, host));
    fits.min_by_key(|(client, _)| kind_of(client, address_is)).map(|(_, options)| allowed(options))
}

fn by_rules(share: &Share, host: (&str, &str)) -> Option<ExportRights> {
    let value = |rule: &[(&'static str, String)], name: &str| {
        rule.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.replace('"', ""))
            .unwrap_or_default()
    };
    let rule = share.clients.iter().find(|rule| is_host(&value(rule, "match"), host))?;
    let squash = value(rule, "squash");
    (value(rule, "access") != "none").then(|| {
        (value(rule, "access") == "rw", squash == "none", squash != "all", value(rule, "secure") != "true")
    })
}

fn is_no_wider(ours: Option<ExportRights>, theirs: Option<ExportRights>) -> bool {
    match (ours, theirs) {
        (None, _) => true,
        (Some(_), None) => false,
        (Some(a), Some(b)) => a.0 <= b.0 && a.1 <= b.1 && a.2 <= b.2 && a.3 <= b.3,
    }
}

#[test]
fn random_exports_allow_no_more_than_the_manual_says() {
    let (mut refused, mut same) = (0, 0);
    for seed in 1..=4000_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let entries: Vec<(String, String)> =
            (0..1 + random.below(4)).map(|_| (random.one(CLIENTS).to_owned(), random.options())).collect();
        let line: Vec<String> =
            entries.iter().map(|(client, options)| format!("{client}({options})")).collect();
        let text = format!("/srv {}\n", line.join(" "));
        let translated = translated(&text);
        let share = &translated.shares[0];
        if share.lost(&[], &NOTHING).next().is_some() {
            refused += 1;
            assert!(text.contains('@') || text.contains("10.0.0.*"), "seed {seed}: {text}");
            continue;
        }
        for host in HOSTS_OF_MODEL {
            let ours = by_rules(share, *host);
            let theirs = [0, 1].map(|address_is| by_manual(&entries, *host, address_is));
            // Only a look-up tells that a name and an address are one host: nfs-utils takes the name.
            let has_both = entries.iter().any(|(client, _)| client == host.1)
                && entries.iter().any(|(client, _)| client == host.0);
            for theirs in theirs.into_iter().skip(usize::from(has_both)) {
                assert!(
                    is_no_wider(ours, theirs),
                    "seed {seed}: {host:?}: {ours:?} and {theirs:?}\n{text}{:?}",
                    share.clients
                );
            }
            let is_named =
                text.contains('@') || share.source.iter().any(|one| one.text().contains("both allow"));
            assert!(ours == theirs[1] || is_named, "seed {seed}: {host:?}: {ours:?}, not {theirs:?}\n{text}");
            same += usize::from(ours == theirs[1]);
        }
    }
    println!("4000 files: {refused} refused, {same} hosts with the very same rights");
    assert!(refused < 1500 && same > 9000, "{refused} {same}");
}
