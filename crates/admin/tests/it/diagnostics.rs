//! What the person who wrote the settings gets to read: the exact lines.

use std::path::Path;

use admin::settings::protocol::afp::Login;
use admin::settings::{Arguments, Severity, ShareSettings, VolumePassword};
use admin::{Access, Bonjour, ClientMatch, ClientRule, Encryption, Port, Protocol, Settings, Squash};

/// Loads `text` as `fourfold.toml` in a folder that has the folders `a`, `a/b`, `c` and the file `f`.
fn load(text: &str, flags: &[(&str, &str)], shares: &[&str]) -> Result<Settings, Vec<String>> {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "a/b", "c"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::fs::write(folder.path().join("f"), "").unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let arguments = Arguments {
        flags: flags.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
        shares: shares.iter().map(Into::into).collect(),
        ..Arguments::new(false, folder.path().into())
    };
    Settings::load(&arguments)
        .map_err(|all| all.iter().map(|d| plain(&d.to_string(), folder.path())).collect())
}

fn plain(line: &str, folder: &Path) -> String {
    line.replace(&folder.canonicalize().unwrap().display().to_string(), "TMP")
}

fn errors(text: &str) -> Vec<String> {
    load(text, &[], &[]).expect_err("must be refused")
}

const SHARE: &str = "[[share]]\nname = \"A\"\npath = \"a\"\n";

/// `(what is written below a good share, the lines)`.
const TABLE: &[(&str, &[&str])] = &[
    ("pahts = 1", &["fourfold.toml:4:1: error: [[share]] has no setting `pahts`; write `path`"]),
    (
        "read_only = true",
        &["fourfold.toml:4:1: error: [[share]] has no setting `read_only`; write `read-only`"],
    ),
    (
        "writable = true",
        &["fourfold.toml:4:1: error: [[share]] has no setting `writable`; write `read-only = false`"],
    ),
    (
        "nfs-port = 1",
        &["fourfold.toml:4:1: error: [[share]] has no setting `nfs-port`; write it below `[server]`"],
    ),
    (
        "continuous = true",
        &[
            "fourfold.toml:4:1: error: `continuous` is set, and `cluster` is not: no other server can go on with what clients \
           have open; write `cluster` below `[server]` (docs/cluster.md), or remove the line",
        ],
    ),
    (
        "read-only = \"yes\"",
        &[
            "fourfold.toml:4:1: error: `read-only` must be true or false, not \"yes\"; write `read-only = true`",
        ],
    ),
    (
        "protocols = [\"nfs\"]",
        &["fourfold.toml:4:1: error: [[share]] has no setting `protocols`; write `afp = false`"],
    ),
    (
        "[[share.client]]\nmatch = \"192.168.1.0/33\"",
        &[
            "fourfold.toml:5:1: error: `match` must be an IP address, a network such as \"192.168.1.0/24\", the name of a host, a pattern such as \
           \"*.example.org\", or \"*\" for everyone, not \"192.168.1.0/33\"; write `match = \"192.168.1.0/32\"`",
        ],
    ),
    (
        "[[share.client]]\nmatch = \"10.0.0.0/255.255.0.0\"",
        &[
            "fourfold.toml:5:1: error: `match` must be an IP address, a network such as \"192.168.1.0/24\", the name of a host, a pattern such as \
           \"*.example.org\", or \"*\" for everyone, not \"10.0.0.0/255.255.0.0\"; write `match = \"10.0.0.0/16\"`",
        ],
    ),
    (
        "[[share.client]]\naccess = \"rw\"",
        &["fourfold.toml:4:1: error: [[share.client]] has no `match`; add `match = \"192.168.1.0/24\"`"],
    ),
    (
        "[[share.client]]\nmatch = \"*\"\nsquash = \"rot\"",
        &[
            "fourfold.toml:6:1: error: `squash` must be one of \"root\", \"all\" or \"none\", not \"rot\"; write \
           `squash = \"root\"`",
        ],
    ),
    (
        "[[share]]\nname = \"a\"\npath = \"c\"",
        &[
            "fourfold.toml:5:1: error: the share \"a\" is the same as \"A\" at fourfold.toml:2:1 to SMB and AFP; give \
           one of them another name",
        ],
    ),
    (
        "[[share]]\nname = \"A\"\npath = \"c\"",
        &[
            "fourfold.toml:5:1: error: there are two shares \"A\"; the other is at fourfold.toml:2:1; give one of \
           them another name",
        ],
    ),
    (
        "[[share]]\nname = \"B\"\npath = \"~/x\"",
        &[
            "fourfold.toml:6:1: error: the folder `~/x` does not exist; write the whole path: `~` means a home folder \
           only to a shell",
        ],
    ),
    (
        "[[share]]\nname = \"B\"\npath = \"\"",
        &[
            "fourfold.toml:6:1: error: `path` must be the path of a folder, in quotes, not \"\"; write `path = \"/srv/share\"`",
        ],
    ),
    (
        "must-be-mounted = 1",
        &[
            "fourfold.toml:4:1: error: `must-be-mounted` must be true or false, not 1; write `must-be-mounted = true`",
        ],
    ),
    (
        "[[share]]\nname = \"x//y\"\npath = \"c\"",
        &[
            "fourfold.toml:5:1: error: `name` must be a name of 1 to 80 characters with none of \\ : * ? \" < > | + \
             = ; , [ ] and no spaces at its ends, or up to 16 such names with / between them, not \"x//y\"; write `name = \"Share\"`",
        ],
    ),
    (
        "[[share]]\npath = \"c\"",
        &["fourfold.toml:4:1: error: [[share]] has no `name`; add `name = \"Share\"`"],
    ),
    (
        "[server]\nnfs-port = 70000",
        &[
            "fourfold.toml:5:1: error: `nfs-port` must be a port from 1 to 65535, 0 for any free one, or \"off\", not \
           70000; write `nfs-port = 2049`",
        ],
    ),
    (
        "[server]\nnfs-port = 2049\nsmb-port = 2049",
        &[
            "fourfold.toml:6:1: error: `smb-port` is 2049, which `nfs-port` has already; write another port, 0 for \
           any free one, or \"off\"",
        ],
    ),
    (
        "[server]\nlisten = [\"localhost\"]",
        &["fourfold.toml:5:11: error: `listen` must be a list of IP addresses, not \"localhost\"; write \
           `\"127.0.0.1\"`"],
    ),
    (
        "[server]\ncache-size = \"lots\"",
        &["fourfold.toml:5:1: error: `cache-size` must be a size such as \"256 MiB\", not \"lots\"; write \
           `cache-size = \"256 MiB\"`"],
    ),
    (
        "[server]\nstate = \"a/state\"",
        &[
            "fourfold.toml:5:1: error: the state folder `TMP/a/state` lies inside the share \"A\"; choose one \
           elsewhere with `--state DIR` (or `state` in `[server]`): it holds secrets",
        ],
    ),
    ("[sever]\nx = 1", &["fourfold.toml:4:1: error: there is no table `sever`; write `[server]`"]),
    (
        "[user]\nname = \"ada\"",
        &["fourfold.toml:4:1: error: `user` can be given several times, so it is a list of tables; write \
           `[[user]]`, with two brackets"],
    ),
    (
        "[[user]]\nname = \"ada\"\n[[user]]\nname = \"ada\"",
        &["fourfold.toml:7:1: error: there are two accounts \"ada\"; remove one, or give it another name"],
    ),
    (
        "[[user]]\nname = \"ada\"\npassword = \"x\"",
        &[
            "fourfold.toml:6:1: error: [[user]] has no setting `password`; the settings are: name, uid, gid, disabled, admin",
        ],
    ),
];

#[test]
fn every_mistake_has_its_line() {
    for (written, expected) in TABLE {
        let text = format!("{SHARE}{written}\n");
        assert_eq!(errors(&text), *expected, "{text}");
    }
}

#[test]
fn all_mistakes_are_said_at_once_in_the_order_of_the_file() {
    let lines = errors(
        "listen = 3\n[server]\nafp-port = \"no\"\n[[share]]\nname = \"A\"\npath = \"gone\"\nguests = 1\n",
    );
    let starts: Vec<&str> = lines.iter().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(starts, ["fourfold.toml:1:1", "fourfold.toml:3:1", "fourfold.toml:6:1", "fourfold.toml:7:1"]);
}

#[test]
fn a_syntax_error_has_its_line() {
    let lines = errors("[server]\nlisten = [\n");
    assert!(lines[0].starts_with("fourfold.toml:") && lines[0].contains(": error: "), "{lines:?}");
    assert!(lines[0].starts_with("fourfold.toml:2") || lines[0].starts_with("fourfold.toml:3"), "{lines:?}");
}

#[test]
fn a_share_inside_another_is_accepted_and_said() {
    let settings = load(&format!("{SHARE}[[share]]\nname = \"B\"\npath = \"a/b\"\n"), &[], &[]).unwrap();
    let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "fourfold.toml:6:1: note: the folder of share \"B\" lies inside the folder of \"A\"; what the one forbids, \
             the other may allow"
        ]
    );
    assert!(settings.notes.iter().all(|note| note.severity == Severity::Note));
}

#[test]
fn afp_logins_that_give_something_away_are_only_there_when_named_and_said() {
    let with = |server: &str| load(&format!("[server]\n{server}\n{SHARE}"), &[], &[]).unwrap();
    assert_eq!(with("").server.protocols.afp.logins, [Login::Dhx2, Login::Srp]);
    assert!(with("").notes.is_empty());
    let settings = with("afp-logins = [\"cleartext\", \"dhx2\"]");
    assert_eq!(settings.server.protocols.afp.logins, [Login::Dhx2, Login::Cleartext]);
    let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
    assert_eq!(
        notes,
        [
            "fourfold.toml:2:1: note: AFP logins by \"cleartext\": who listens on the network reads the password; keep it \
          to networks you trust"
        ]
    );
    assert!(with("afp-logins = [\"cleartext\"]\nafp-port = \"off\"").notes.is_empty());
    assert_eq!(Login::ALL.iter().filter(|login| login.gives_away().is_some()).count(), 4);
}

#[test]
fn ids_of_other_servers_are_taken_over_as_they_are_written() {
    let id = Some(*b"\x15\x73\x97\x4f\x0a\xbd\x69\xcc\xc4\x0a\x85\x19\xb6\x81\xa0\xe1");
    let text = format!(
        "[server]\nafp-signature = \"1573974f0abd69ccc40a8519b681a0e1\"\n{SHARE}\
         volume-id = \"1573974F-0ABD-69CC-C40A-8519B681A0E1\"\n"
    );
    let settings = load(&text, &[], &[]).unwrap();
    assert_eq!((settings.server.protocols.afp.signature, settings.shares[0].volume_id), (id, id));
    let lines = errors(&format!("{SHARE}volume-id = \"1573\"\n"));
    assert!(lines[0].contains("must be 32 hexadecimal digits"), "{lines:?}");
}

#[test]
fn an_volume_password_has_at_most_eight_characters_as_old_macs_know_them() {
    let with = |text: &str| load(&format!("{SHARE}afp-password = {text:?}\n"), &[], &[]);
    assert_eq!(
        with("plans").unwrap().shares[0].volume_password.map(VolumePassword::reveal),
        Some(*b"plans\0\0\0")
    );
    assert_eq!(
        with("12345678").unwrap().shares[0].volume_password.map(VolumePassword::reveal),
        Some(*b"12345678")
    );
    for wrong in ["", "123456789", "größe"] {
        assert!(with(wrong).unwrap_err()[0].contains("must be 1 to 8 characters of ASCII"), "{wrong}");
    }
    assert_eq!(load(SHARE, &[], &[]).unwrap().shares[0].volume_password, None);
}

#[test]
fn bonjour_announces_what_others_reach_unless_it_is_told_otherwise() {
    let with = |flags: &[(&str, &str)]| load(SHARE, flags, &[]).unwrap().server.bonjour;
    assert_eq!(with(&[]), Bonjour::Auto);
    assert_eq!(with(&[("bonjour", "on")]), Bonjour::On);
    assert_eq!(with(&[("bonjour", "off")]), Bonjour::Off);
}

#[test]
fn what_is_not_set_has_its_default() {
    let settings = load(SHARE, &[], &[]).unwrap();
    let server = &settings.server;
    assert_eq!(server.listen, ["0.0.0.0", "::"].map(|a| a.parse::<std::net::IpAddr>().unwrap()));
    assert_eq!(
        (server.ports.of(Protocol::Nfs), server.ports.of(Protocol::Portmap)),
        (Port::Standard, Port::Standard)
    );
    assert_eq!((server.cache_size, server.grace_period.as_secs()), (None, 45));
    assert!(server.state.ends_with(".fourfold"));
    let share = &settings.shares[0];
    assert_eq!(share.protocols, [Protocol::Nfs, Protocol::Smb, Protocol::Afp, Protocol::Iscsi]);
    assert!(
        share.luns.is_empty()
            && server.protocols.iscsi.name.is_none()
            && server.protocols.iscsi.account.is_none()
    );
    assert!(share.mac_sidecars && !share.read_only && !share.guests && !share.device_nodes);
    assert_eq!(
        (server.protocols.smb.signing_required, server.protocols.smb.encryption),
        (false, Encryption::Optional)
    );
    assert!(server.protocols.smb.directory_leases && server.protocols.smb.posix);
    assert!(!share.encryption_required && !share.time_machine && share.time_machine_size.is_none());
    assert_eq!(share.comment, "");
    assert!(share.clients.is_empty() && server.audience(share).is_nobody());
    let rule = ClientRule::for_hosts(vec![ClientMatch::Any]);
    assert_eq!((rule.access, rule.squash, rule.secure), (Access::ReadWrite, Squash::Root, false));
    assert_eq!((rule.anon_uid, rule.anon_gid), (65534, 65534));
}

#[test]
fn what_must_be_encrypted_cannot_be_where_encryption_is_off() {
    let written =
        |server: &str| format!("{SHARE}encryption = \"required\"\n[server]\nsmb-encryption = \"{server}\"\n");
    let settings = load(&written("optional"), &[], &[]).unwrap();
    assert!(settings.shares[0].encryption_required);
    let expected = "fourfold.toml:6:1: error: `smb-encryption` is \"off\", and the share \"A\" requires encryption; \
                    write `smb-encryption = \"optional\"`, or take `encryption` of the share away";
    assert_eq!(errors(&written("off")), [expected]);
}

/// The first rule that matches a client's address. `None`: the client is refused.
fn rule_for<'a>(share: &'a ShareSettings, client: &str) -> Option<&'a ClientRule> {
    let client = client.parse().unwrap();
    share.clients.iter().find(|rule| rule.matches.iter().any(|matched| matched.matches(client) == Some(true)))
}

#[test]
fn the_first_client_rule_that_matches_counts_and_no_match_is_a_refusal() {
    let rules = "client = [{ match = \"10.0.0.5\", access = \"none\" }, { match = [\"10.0.0.0/8\", \"fd00::/8\"], \
                 access = \"ro\", squash = \"all\", anon-uid = 99 }]\n";
    let settings = load(&format!("{SHARE}{rules}"), &[], &[]).unwrap();
    let access = |address: &str| rule_for(&settings.shares[0], address).map(|rule| rule.access);
    assert_eq!(access("10.0.0.5"), Some(Access::None));
    assert_eq!(access("10.0.0.6"), Some(Access::ReadOnly));
    assert_eq!(access("::ffff:10.0.0.6"), Some(Access::ReadOnly));
    assert_eq!(access("fd00::1"), Some(Access::ReadOnly));
    assert_eq!(access("192.0.2.1"), None);
    assert!(matches!(settings.shares[0].clients[1].matches[0], ClientMatch::Net(_)));
}

#[test]
fn the_command_line_wins_over_the_file() {
    let text = format!("[server]\nnfs-port = 2049\nsmb-port = \"off\"\n{SHARE}");
    let flags = [("nfs-port", "0"), ("listen", "127.0.0.1"), ("listen", "::1"), ("read-only", "")];
    let settings = load(&text, &flags, &["Cee=c", "a=c"]).unwrap();
    assert_eq!(
        (settings.server.ports.of(Protocol::Nfs), settings.server.ports.of(Protocol::Smb)),
        (Port::Number(0), Port::Off)
    );
    assert_eq!(settings.server.listen.len(), 2);
    let shares: Vec<(&str, &str, bool)> = settings
        .shares
        .iter()
        .map(|s| (s.name.as_str(), s.path.file_name().unwrap().to_str().unwrap(), s.read_only))
        .collect();
    assert_eq!(shares, [("A", "c", true), ("Cee", "c", true)]);
}

#[test]
fn mistakes_on_the_command_line_name_the_flag_or_argument() {
    let flags = [("nfs-port", "99999"), ("listen", "nowhere")];
    let lines = load("", &flags, &["a", "A=c", "=c", "X=", "gone", "b:d=c"]).unwrap_err();
    assert_eq!(
        lines,
        [
            "command line: --listen nowhere: error: `--listen` must be a list of IP addresses, not \"nowhere\"; \
             write `--listen 0.0.0.0`",
            "command line: --nfs-port 99999: error: `--nfs-port` must be a port from 1 to 65535, 0 for any free \
             one, or \"off\", not 99999; write `--nfs-port 2049`",
            "command line: =c: error: the name is missing; write `NAME=DIR`, or `./a=b` for a folder named `a=b`",
            "command line: X=: error: the folder is missing; write `NAME=DIR`, or `./a=b` for a folder named `a=b`",
            "command line: gone: error: the folder `gone` does not exist; make it with `mkdir -p gone`, or write \
             the path of a folder that exists",
            "command line: b:d=c: error: the name must be a name of 1 to 80 characters with none of \\ : * ? \" < > \
             | + = ; , [ ] and no spaces at its ends, or up to 16 such names with / between them: \"b:d\"; write `Share=TMP/c`",
            "command line: A=c: error: the share \"A\" is the same as \"a\" at command line: a to SMB and AFP; give \
             it another name: `NAME=TMP/c`",
        ]
    );
}

#[test]
fn nothing_to_share_is_refused_without_a_settings_file() {
    let folder = tempfile::tempdir().unwrap();
    let lines = Settings::load(&Arguments::new(false, folder.path().into())).unwrap_err();
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "settings: error: nothing is shared; name a folder, `fourfold serve ~/Share`, or write a `[[share]]` \
          with `name` and `path`"
        ]
    );
}

#[test]
fn a_settings_file_without_shares_is_accepted() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), "[server]\n").unwrap();
    let settings = Settings::load(&Arguments::new(false, folder.path().into())).unwrap();
    let notes: Vec<String> = settings.notes.iter().map(ToString::to_string).collect();
    assert!(settings.shares.is_empty());
    assert_eq!(
        notes,
        ["fourfold.toml:1:1: note: nothing is shared; make a share: `fourfold create NAME --path DIR`"]
    );
}

#[test]
fn a_share_without_a_name_is_called_like_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("Notes")).unwrap();
    let arguments =
        Arguments { shares: vec!["Notes/".into()], ..Arguments::new(false, folder.path().into()) };
    let settings = Settings::load(&arguments).unwrap();
    assert_eq!(settings.shares[0].name, "Notes");
    assert_eq!(settings.server.state, folder.path().join(".fourfold"));
}

#[test]
fn a_password_is_never_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let users = vec!["ada:hunter2".into(), ":hunter2".into(), "a/b:hunter2".into(), "hunter2".into()];
    let arguments = Arguments { users, ..Arguments::new(false, folder.path().into()) };
    let lines = Settings::load(&arguments).unwrap_err();
    assert_eq!(lines.len(), 5); // the three, that a password can be seen, and that nothing is shared
    assert!(lines.iter().all(|line| !line.to_string().contains("hunter2")), "{lines:?}");
}

#[test]
fn whatever_is_written_gets_settings_or_lines_of_the_file_and_never_a_panic() {
    let good = format!(
        "[server]\nlisten = [\"::1\"]\ncache-size = \"1 GiB\"\n{SHARE}client = [{{ match = \"*\" }}]\n\
         [[user]]\nname = \"ädä\"\nuid = 7\n"
    );
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    let arguments = Arguments::new(false, folder.path().into());
    let try_bytes = |bytes: &[u8]| {
        std::fs::write(folder.path().join("fourfold.toml"), bytes).unwrap();
        let lines = Settings::load(&arguments).err().unwrap_or_default();
        for line in lines {
            assert!(line.to_string().starts_with("fourfold.toml:"), "{line}");
        }
    };
    try_bytes(good.as_bytes());
    for at in 0..good.len() {
        try_bytes(&good.as_bytes()[..at]);
        for odd in [b'[', b'"', b'=', b'\n', b'9', 0xff, 0] {
            let mut bytes = good.clone().into_bytes();
            bytes[at] = odd;
            try_bytes(&bytes);
        }
    }
}

#[test]
fn a_share_whose_folder_cannot_be_served_is_left_out_and_noted_and_the_others_are_served() {
    let shares = [("B", "gone"), ("C", "f"), ("D", "deep/gone"), ("E", "c")];
    let more =
        shares.map(|(name, path)| format!("[[share]]\nname = \"{name}\"\npath = \"{path}\"\n")).concat();
    let lun = "[[share.lun]]\nname = \"x\"\nfile = \"x.img\"\n";
    let text = format!("{SHARE}{more}must-be-mounted = true\n{lun}");
    let folder = tempfile::tempdir().unwrap();
    ["a", "c"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
    std::fs::write(folder.path().join("f"), "").unwrap();
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let arguments = Arguments::new(false, folder.path().into());
    let (settings, explained) = Settings::load_explained(&arguments).unwrap();
    let names = |shares: &[ShareSettings]| shares.iter().map(|share| share.name.clone()).collect::<String>();
    assert_eq!((names(&settings.shares), names(&settings.absent)), ("A".into(), "BCDE".into()));
    let notes: Vec<String> =
        settings.notes.iter().map(|note| plain(&note.to_string(), folder.path())).collect();
    let make = "make it, or mount its disk; the share is served as soon as the folder is there";
    assert_eq!(
        notes,
        [
            format!("fourfold.toml:6:1: note: the share \"B\" is not served: `TMP/gone`: the folder does not exist; {make}"),
            "fourfold.toml:9:1: note: the share \"C\" is not served: `TMP/f`: it is not a folder; put a folder in its \
             place; the share is served as soon as it is there".into(),
            format!(
                "fourfold.toml:12:1: note: the share \"D\" is not served: `TMP/deep/gone`: the folder does not exist; {make}"
            ),
            "fourfold.toml:15:1: note: the share \"E\" is not served: `TMP/c`: no file system is mounted there, and \
             `must-be-mounted` is set; mount its disk; the share is served as soon as it is mounted".into(),
        ]
    );
    assert_eq!(explained.text.matches("[[share]]").count(), 5, "{explained:?}");
    assert!(explained.text.contains("must-be-mounted = true"), "{explained:?}");
}

#[test]
fn a_folder_of_the_command_line_that_is_missing_is_an_error_at_the_start_only() {
    let folder = tempfile::tempdir().unwrap();
    let arguments =
        Arguments { shares: vec!["B=gone".into()], ..Arguments::new(false, folder.path().into()) };
    assert!(Settings::load(&arguments).is_err());
    let settings = Settings::load(&Arguments { is_running: true, ..arguments }).unwrap();
    assert_eq!((settings.shares.len(), settings.absent.len()), (0, 1));
}
