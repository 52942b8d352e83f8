//! `[appletalk]`: what is accepted, and what the person who wrote it gets to read.

use admin::settings::{AppleTalkSettings, Arguments};
use admin::{Protocol, Settings};
use appletalk::links::LinkName;

/// Loads `text` below a good share.
fn load(text: &str, flags: &[&str]) -> Result<Settings, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    let text = format!("[[share]]\nname = \"A\"\npath = \"a\"\n{text}");
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let flags = flags.iter().map(|link| ("appletalk".into(), (*link).into())).collect();
    let arguments = Arguments { flags, ..Arguments::new(false, folder.path().into()) };
    Settings::load(&arguments).map_err(|all| all.iter().map(ToString::to_string).collect())
}

fn appletalk(text: &str) -> Option<AppleTalkSettings> {
    load(text, &[]).unwrap().appletalk
}

fn ltoudp() -> LinkName {
    "ltoudp".parse().unwrap()
}

#[test]
fn there_is_no_appletalk_without_links() {
    assert_eq!(appletalk(""), None);
    assert_eq!(appletalk("[appletalk]\nlinks = []\n"), None);
    let lonely = load("[appletalk]\nzone = \"Museum\"\n", &[]).unwrap();
    let notes: Vec<String> = lonely.notes.iter().map(ToString::to_string).collect();
    let expected = "fourfold.toml:5:1: note: `zone` has no effect without `links`; write `links = [\"ltoudp\"]`, for example";
    assert_eq!((lonely.appletalk, notes), (None, vec![expected.to_owned()]));
}

#[test]
fn a_router_seeds_its_links() {
    let text = "[appletalk]\nlinks = [\"ltoudp\", \"ethertalk:lo\"]\nrouter = true\nzone = \"museum\"\n\
                seed = [\"ltoudp 2 Museum\", \"ethertalk:lo 3-5 Museum, Größe\"]\n";
    let settings = appletalk(text).unwrap();
    assert_eq!(settings.links, [ltoudp(), "ethertalk:lo".parse().unwrap()]);
    let seeds = settings.seeds.iter().map(|seed| {
        let zones: Vec<String> = seed.zones.iter().map(ToString::to_string).collect();
        (seed.networks.to_string(), zones.join("|"))
    });
    let expected =
        [("2", "Museum"), ("3-5", "Museum|Größe")].map(|(one, other)| (one.to_owned(), other.to_owned()));
    assert_eq!(seeds.collect::<Vec<_>>(), expected);
    assert!(settings.router && settings.zone.is_some_and(|zone| zone.to_string() == "museum"));
}

#[test]
fn flags_are_links() {
    let settings = load("[appletalk]\nlinks = [\"ethertalk:lo\"]\n", &["ltoudp", "ltoudp:lo"]).unwrap();
    assert_eq!(settings.appletalk.unwrap().links, [ltoudp(), "ltoudp:lo".parse().unwrap()]);
}

#[test]
fn appletalk_alone_reaches_a_share() {
    let text = "[server]\nnfs-port = \"off\"\nsmb-port = \"off\"\nafp-port = \"off\"\niscsi-port = \"off\"\n";
    assert!(load(text, &[]).is_err());
    let settings = load(&format!("{text}[appletalk]\nlinks = [\"ltoudp\"]\n"), &[]).unwrap();
    assert!(settings.shares[0].protocols.contains(&Protocol::Afp));
}

#[test]
fn users_who_cannot_log_in_are_told_at_the_start() {
    let weak = "only guests log in there";
    let says = |text: &str| {
        let settings = load(text, &[]).unwrap();
        settings.notes.iter().any(|note| note.to_string().contains(weak))
    };
    assert!(says("[appletalk]\nlinks = [\"ltoudp\"]\n"));
    assert!(!says("[server]\nafp-logins = [\"dhx2\", \"randnum\"]\n[appletalk]\nlinks = [\"ltoudp\"]\n"));
}

/// `(what is written below [appletalk], the line)`.
const REFUSED: &[(&str, &str)] = &[
    (
        "links = \"ltoudp\"",
        "fourfold.toml:5:1: error: `links` must be a list of texts, not \"ltoudp\"; write `links = [\"ltoudp\"]`",
    ),
    (
        "links = [\"ltoudp\", \"localtalk\"]",
        "fourfold.toml:5:20: error: \"localtalk\" is no link of AppleTalk: write `ltoudp`, `ltoudp:INTERFACE`, \
         `ethertalk:INTERFACE` or `tashtalk:DEVICE`, where INTERFACE is one that `ip link` lists, and DEVICE a path such \
         as /dev/ttyUSB0",
    ),
    (
        "links = [\"ltoudp\", \"ltoudp\"]",
        "fourfold.toml:5:20: error: the link `ltoudp` is there twice; remove one of them",
    ),
    (
        "links = [\"ltoudp\"]\nzone = \"*\"",
        "fourfold.toml:6:1: error: \"*\" is no zone of AppleTalk; write up to 32 characters of MacRoman without `:`, `@`, \
         `*`, `=`",
    ),
    (
        "links = [\"ltoudp\"]\nname = \"a name that is longer than 31 characters\"",
        "fourfold.toml:6:1: error: \"a name that is longer than 31 characters\" is no name of a server of AppleTalk; write \
         up to 31 characters of MacRoman without `:`, `@`, `*`, `=`",
    ),
    (
        "links = [\"ltoudp\"]\nseed = [\"ltoudp 2 Museum\"]",
        "fourfold.toml:6:1: error: `seed` is set, and `router` is not; write `router = true`, too",
    ),
    (
        "links = [\"ltoudp\"]\nrouter = true\nseed = [\"ltoudp 2-3 Museum\"]",
        "fourfold.toml:7:9: error: `seed`: \"ltoudp 2-3 Museum\" is not understood; a network of LocalTalk has one number",
    ),
    (
        "links = [\"ltoudp\"]\nrouter = true\nseed = [\"ltoudp 65280 Museum\"]",
        "fourfold.toml:7:9: error: `seed`: \"ltoudp 65280 Museum\" is not understood; numbers of networks go from 1 to \
         65279, the smaller one first",
    ),
    (
        "links = [\"ltoudp\"]\nrouter = true\nseed = [\"ltoudp:lo 2 Museum\"]",
        "fourfold.toml:7:9: error: `seed`: `ltoudp:lo` is not in `links`; write one of them: `ltoudp`",
    ),
    (
        "links = [\"ltoudp\", \"ltoudp:lo\"]\nrouter = true\nseed = [\"ltoudp 2 A\", \"ltoudp:lo 2 B\"]",
        "fourfold.toml:7:23: error: `seed`: `ltoudp:lo` and `ltoudp` have a number in common; give each network numbers of \
         its own",
    ),
    (
        "links = [\"ltoudp\"]\nrouter = true\nzone = \"Hall\"\nseed = [\"ltoudp 2 Museum\"]",
        "fourfold.toml:7:1: error: `zone` is \"Hall\", which no network of `seed` has; write one of: Museum",
    ),
];

#[test]
fn what_is_wrong_is_said_with_its_place() {
    for (text, expected) in REFUSED {
        let lines = load(&format!("[appletalk]\n{text}\n"), &[]).expect_err(text);
        let errors: Vec<&String> = lines.iter().filter(|line| line.contains(": error: ")).collect();
        assert_eq!(errors, [expected]);
    }
}
