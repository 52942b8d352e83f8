//! Expected values are those of smbd 4.17 and its `testparm`.

use std::net::IpAddr;
use std::path::Path;

use super::super::netgroups::Member;
use super::super::share::Share;
use super::super::source::AcceptedLimits;
use super::*;

/// The names that `testparm -sv` prints.
const PARAMETERS: &str = include_str!("../../../../tests/it/adopt/parameters.txt");

fn of(text: &str) -> Translation {
    translate_with(Path::new("/nonexistent/smb.conf"), text, netgroup)
}

/// The netgroup `lab`.
fn netgroup(name: &str) -> Result<Vec<Member>, String> {
    let of = |host: &str, has_domain| Member { host: host.into(), has_domain };
    match name {
        "lab" => Ok(vec![of("pc1.example.org", false), of("10.0.0.7", false), of("pc2.example.org", true)]),
        _ => Err("there is no such netgroup".into()),
    }
}

/// The one share of a file with these lines in `[global]` and in the share.
fn share(global: &str, lines: &str) -> (Share, Translation) {
    let text = format!("[global]\n{global}\n[s]\npath = /srv/s\n{lines}\n");
    let mut translated = of(&text);
    (translated.shares.remove(0), translated)
}

fn setting<'a>(share: &'a Share, wanted: &str) -> Option<&'a str> {
    share.settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| &**value)
}

/// The limits that a share loses.
fn lost(global: &str, lines: &str) -> Vec<&'static str> {
    let (share, translated) = share(global, lines);
    let accepted = AcceptedLimits::default();
    share.lost(&translated.source, &accepted).filter_map(SourceSetting::lost).collect()
}

#[test]
fn every_parameter_of_samba_has_a_row() {
    let missing: Vec<&str> = PARAMETERS.lines().filter(|name| !rows::has(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn every_line_is_in_the_report_once_at_least() {
    let text = "[global]\nworkgroup = X\nread only = no\nwritable = yes\nnonsense = 1\n[a]\npath = /a\nread only = yes\n\
                comment = x\n[printers]\nprintable = yes\n[b]\npath = /home/%m\nvalid users = ada\n";
    let translated = of(text);
    let all: Vec<usize> =
        translated.source.iter().chain(&translated.shares[0].source).filter_map(|one| one.line).collect();
    for line in [2, 3, 4, 5, 7, 8, 9, 11, 13, 14] {
        assert!(all.contains(&line), "line {line}: {translated:#?}");
    }
}

#[test]
fn the_last_spelling_of_read_only_counts() {
    for (global, lines, is_written) in [
        ("", "", false),
        ("", "writable = yes", true),
        ("", "Write OK = 1\nread only = On", false),
        ("", "read only = yes\nWRITE  able = TRUE", true),
        ("writeable = yes", "", true),
        ("writeable = yes", "writable = no", false),
        ("read only = no", "comment = x", true),
    ] {
        let (share, _) = share(global, lines);
        assert_eq!(setting(&share, "read-only").is_none(), is_written, "{global} {lines}");
    }
    assert_eq!(lost("", "read only = maybe"), ["invalid-value"]);
}

#[test]
fn a_default_counts_for_the_sections_below_it() {
    let translated = of(
        "[early]\npath = /e\n[global]\nvalid users = ada\nread only = no\n[late]\npath = /l\n[Early]\ncomment = x\n",
    );
    let [early, late] = &translated.shares[..] else { panic!("{translated:#?}") };
    assert_eq!((setting(early, "users"), setting(late, "users")), (None, Some("[\"ada\"]")));
    assert_eq!((setting(early, "read-only"), setting(late, "read-only")), (Some("true"), None));
}

#[test]
fn guests_enter_where_smbd_admits_unknown_names_only() {
    let guests = |global: &str, lines: &str| setting(&share(global, lines).0, "guests").is_some();
    let bad_user = "map to guest = Bad User";
    assert!(guests(bad_user, "guest ok = yes") && guests("map to guest = badpassword", "public = 1"));
    assert!(!guests("", "guest ok = yes"), "map to guest is never by default");
    assert!(!guests("map to guest = bad uid", "guest ok = yes"));
    assert!(!guests(bad_user, "guest ok = yes\nvalid users = ada"));
    assert!(!guests(bad_user, "guest ok = yes\ninvalid users = NOBODY"));
    assert!(!guests(&format!("{bad_user}\nrestrict anonymous = 2"), "guest ok = yes"));
    assert!(!guests(&format!("{bad_user}\nserver signing = Mandatory"), "guest ok = yes"));
    assert!(!guests(bad_user, "guest ok = yes\nsmb encrypt = FORCED"));
    assert_eq!(lost(bad_user, "guest ok = yes\nguest only = yes"), ["guest-only"]);
    assert_eq!(
        lost(bad_user, "guest only = yes"),
        ["guest-only"],
        "smbd makes them guests without `guest ok`, too"
    );
}

#[test]
fn lists_of_users_are_translated_or_close_the_share() {
    let (share_1, _) = share("", "valid users = ada, @staff \"Ada L\" +film %U &net\nread only = no");
    assert_eq!(setting(&share_1, "users"), Some("[\"ada\", \"Ada L\"]"));
    assert_eq!(setting(&share_1, "groups"), Some("[\"staff\", \"film\"]"));
    assert_eq!(lost("", "valid users = %U"), ["valid-users"]);
    let (share_2, _) = share("", "valid users = ada bob\ninvalid users = BOB");
    assert_eq!(setting(&share_2, "users"), Some("[\"ada\"]"));
    let (share_3, _) = share("", "valid users = bob\ninvalid users = bob");
    assert_eq!(share_3.clients, [super::super::clients::nobody()]);
    assert_eq!(lost("", "invalid users = @wheel"), ["invalid-users"]);
    let (_, everywhere) = share("invalid users = root", "");
    assert_eq!(everywhere.disabled, ["root"]);
    let some = of("[a]\npath=/a\ninvalid users = eve\n[b]\npath=/b\n");
    let accepted = AcceptedLimits::default();
    let lost_there: Vec<usize> =
        some.shares.iter().map(|share| share.lost(&some.source, &accepted).count()).collect();
    assert_eq!((lost_there, some.disabled.len()), (vec![1, 0], 0));
}

#[test]
fn who_may_write_is_never_more_than_in_samba() {
    for (lines, reads, limits) in [
        ("read only = yes\nwrite list = ada", true, vec![]),
        ("valid users = ada\nwrite list = ADA", false, vec![]),
        ("valid users = @staff\nwrite list = @staff", false, vec![]),
        ("valid users = ada bob\nwrite list = ada", true, vec![]),
        ("read only = no\nread list = bob", false, vec!["read-list"]),
        ("read only = no\nread list = bob\nvalid users = ada", false, vec![]),
        ("read only = no\nread list = ada\nvalid users = ada", true, vec![]),
        ("read only = no\nread list = ada\nwrite list = ada\nvalid users = ada", false, vec![]),
        ("read only = no\nread list = bob\nvalid users = ada @staff", false, vec!["read-list"]),
        ("read only = yes\nread list = bob", true, vec![]),
    ] {
        let (share, _) = share("", lines);
        assert_eq!(setting(&share, "read-only").is_some(), reads, "{lines}");
        assert_eq!(lost("", lines), limits, "{lines}");
    }
}

#[test]
fn modes_and_owners_of_what_is_made_are_kept() {
    let settings_of = |lines: &str| {
        let (share, _) = share("", &format!("read only = no\n{lines}"));
        let is_about_modes = |name: &str| {
            ["create-mask", "directory-mask", "inherit-owner"].contains(&name) || name.starts_with("force-")
        };
        let settings = share.settings.iter().filter(|(name, _)| is_about_modes(name));
        settings.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join("; ")
    };
    for (lines, settings) in [
        ("", ""),
        ("create mask = 0777\ndirectory mask = 0777", r#"create-mask = "0777"; directory-mask = "0777""#),
        ("create mode = 0664\ndirectory mode = 775", r#"create-mask = "0664"; directory-mask = "0775""#),
        (
            "create mask = 0640\nforce create mode = 0004",
            r#"create-mask = "0640"; force-create-mode = "0004""#,
        ),
        ("force directory mode = 2770", r#"force-directory-mode = "2770""#),
        ("force create mode = 0", ""),
        ("inherit owner = windows and unix", "inherit-owner = true"),
        ("inherit owner = no", ""),
        ("force user = media\nforce group = +film", r#"force-user = "media"; force-group = "+film""#),
    ] {
        assert_eq!(settings_of(lines), settings, "{lines}");
        assert_eq!(lost("", &format!("read only = no\n{lines}")), [""; 0], "{lines}");
    }
    for (lines, limits) in [
        ("create mask = rw", vec!["invalid-value"]),
        ("inherit permissions = yes", vec!["inherit-permissions"]),
    ] {
        assert_eq!(lost("", &format!("read only = no\n{lines}")), limits, "{lines}");
    }
    assert_eq!(lost("create mask = 0600", "read only = yes"), [""; 0], "nothing is made");
}

#[test]
fn limits_without_a_setting_close_the_share() {
    for (global, lines, limit) in [
        ("", "force user = root", "force-user"),
        ("", "force user = %S", "force-user"),
        ("force group = LAB\\film", "", "force-group"),
        ("veto files = /*.exe/", "", "veto-files"),
        ("", "max connections = 3", "max-connections"),
        ("", "hide unreadable = yes", "hide-unreadable"),
        ("", "follow symlinks = no", "follow-symlinks"),
        ("", "nt acl support = no", "nt-acl-support"),
        ("", "dont descend = /proc", "dont-descend"),
        ("", "root preexec close = yes", "preexec"),
        ("", "vfs objects = worm", "vfs-objects"),
        ("", "vfs objects = fruit own_module", "vfs-objects"),
        ("username map = /etc/map", "", "username-map"),
        ("ntlm auth = disabled", "", "ntlm-auth"),
        ("obey pam restrictions = yes", "", "obey-pam-restrictions"),
        ("root directory = /jail", "", "root-directory"),
        ("config backend = registry", "", "config-backend"),
        ("include = /etc/samba/%m.conf", "", "include"),
        ("", "include = /nonexistent/more.conf", "include"),
        ("bind interfaces only = yes\ninterfaces = no-such-interface0", "", "interfaces"),
        ("server signing = perhaps", "", "invalid-value"),
        ("[unclosed", "", "invalid-line"),
    ] {
        assert_eq!(lost(global, lines), [limit], "{global} {lines}");
    }
}

#[test]
fn limits_that_are_none_close_nothing() {
    let global = "map to guest = never\nserver signing = if_required\nmin protocol = NT1\nntlm auth = yes\nrestrict anonymous = 0\n\
                  interfaces = eth0\nusername map =\nobey pam restrictions = no\nconfig backend = file\nsmb encrypt = desired";
    let lines = "max connections = 0\nveto files =\nhide unreadable = 0\nfollow symlinks = yes\nforce user =\nguest only = no\n\
                 preexec = /bin/true\nhide files = /x/\nvfs objects = catia fruit streams_xattr full_audit:two recycle\nread list = x";
    assert_eq!(lost(global, lines), [""; 0]);
    assert!(share(global, lines).1.server.is_empty());
}

#[test]
fn demands_on_clients_become_settings_of_the_server() {
    for (theirs, ours) in [
        ("server signing = Mandatory", ("smb-signing", "\"required\"")),
        ("server signing = enforced", ("smb-signing", "\"required\"")),
        ("smb encrypt = required", ("smb-encryption", "\"required\"")),
        ("min protocol = SMB2", ("smb-min-dialect", "\"2.1\"")),
        ("server min protocol = smb3", ("smb-min-dialect", "\"3.1.1\"")),
    ] {
        assert_eq!(share(theirs, "").1.server, [(ours.0, ours.1.to_owned())], "{theirs}");
    }
    assert_eq!(setting(&share("", "server smb encrypt = force").0, "encryption"), Some("\"required\""));
}

/// Whether a host may enter by the rules of a share.
fn admits(share: &Share, address: &str) -> bool {
    let address: IpAddr = address.parse().unwrap();
    let is_in = |host: &str| match host.parse::<ipnet::IpNet>() {
        Ok(network) => network.contains(&address),
        Err(_) => host == "*" || host.parse::<IpAddr>() == Ok(address),
    };
    let value =
        |rule: &[(&str, String)], wanted| rule.iter().find(|(name, _)| *name == wanted).unwrap().1.clone();
    let hosts = |rule: &[(&str, String)]| value(rule, "match").split('"').skip(1).step_by(2).any(is_in);
    let first = share.clients.iter().find(|rule| hosts(rule));
    share.clients.is_empty() || first.is_some_and(|rule| value(rule, "access") != "\"none\"")
}

/// What `testparm FILE client.example.com ADDRESS` says of each list.
#[test]
fn hosts_are_those_that_testparm_allows() {
    const ADDRESSES: [&str; 6] =
        ["192.168.1.5", "192.168.1.7", "192.168.0.7", "10.1.2.3", "10.9.9.9", "fd00::1"];
    for (global, lines, allowed) in [
        ("", "hosts allow = 192.168.1.* EXCEPT 192.168.1.5", "-+----"),
        ("", "hosts allow = 192.168.\nhosts deny = ALL", "+++---"),
        ("", "hosts deny = 192.168.1.0/24 EXCEPT 192.168.1.5", "+-++++"),
        ("", "hosts allow = ALL EXCEPT 192.168.1.5", "-+++++"),
        ("", "allow hosts = 192.168.1.1/255.255.255.0", "++----"),
        ("", "hosts allow = 0.0.0.0/0", "+++++-"),
        ("", "hosts allow = 192.168.1.5 EXCEPT ALL EXCEPT 192.168.0.0/16", "------"),
        ("", "hosts allow = 10. ALL EXCEPT 10.1.", "+++-++"),
        ("", "hosts allow = ALL\nhosts deny = 10.", "++++++"),
        ("", "hosts allow = 192.168.1.0/23", "+++---"),
        ("", "hosts allow = 192.168.\nhosts deny = 192.168.1.5", "++++++"),
        ("hosts allow = 192.168.", "hosts allow = 192.168.1.5 10.", "+-----"),
        ("hosts deny = 10.", "hosts allow = 10.1.2.3 192.168.1.", "+++--+"),
    ] {
        let (share, translated) = share(global, lines);
        assert_eq!(
            share.lost(&translated.source, &AcceptedLimits::default()).count(),
            0,
            "{lines}: {share:#?}"
        );
        let found: String = ADDRESSES.iter().map(|one| if admits(&share, one) { '+' } else { '-' }).collect();
        assert_eq!(found, allowed, "{global} {lines}: {:?}", share.clients);
    }
}

/// The rules of a share: `hosts access`.
fn rules(global: &str, lines: &str) -> Vec<String> {
    let (share, translated) = share(global, lines);
    assert_eq!(share.lost(&translated.source, &AcceptedLimits::default()).count(), 0, "{lines}: {share:#?}");
    let plain = |(_, value): &(&str, String)| value.replace(['"', '[', ']', ','], "");
    share.clients.iter().map(|rule| rule.iter().map(plain).collect::<Vec<_>>().join(" ")).collect()
}

/// smb.conf(5), "hosts allow", and smbd 4.17: it asks for the names of clients with `hostname lookups = yes` only.
#[test]
fn names_of_hosts_are_those_that_smbd_looks_up() {
    const LOOKUPS: &str = "hostname lookups = yes";
    assert_eq!(rules(LOOKUPS, "hosts allow = .example.org pc?.lab.org"), ["*.example.org pc?.lab.org rw"]);
    assert_eq!(rules(LOOKUPS, "hosts deny = .bad.org evil.org"), ["*.bad.org evil.org none", "* rw"]);
    assert_eq!(
        rules(LOOKUPS, "hosts deny = .org EXCEPT .example.org"),
        ["*.example.org rw", "*.org none", "* rw"]
    );
    assert_eq!(rules(LOOKUPS, "hosts allow = @lab"), ["pc1.example.org 10.0.0.7 rw"]);
    // smbd without look-ups admits no host by its name. Here, too, a name that refuses becomes a rule.
    assert_eq!(rules("", "hosts allow = .example.org 10."), ["10.0.0.0/8 rw"]);
    assert_eq!(rules("", "hosts allow = pc.example.org"), ["* none"]);
    assert_eq!(rules("", "hosts allow = @lab"), ["10.0.0.7 rw"]);
    assert_eq!(rules("", "hosts deny = ALL EXCEPT .example.org 10."), ["10.0.0.0/8 rw", "* none", "* rw"]);
    assert_eq!(rules("", "hosts deny = pc.example.org"), ["pc.example.org none", "* rw"]);
    assert_eq!(
        rules("", "hosts deny = @lab"),
        ["pc1.example.org 10.0.0.7 pc2.example.org none", "* rw"],
        "who is refused by one domain of NIS is refused by all"
    );
    for (deny, allow) in [("@other", "ALL"), ("LOCAL", "ALL"), ("abc*", "ALL"), ("pc.", "ALL")] {
        assert_eq!(lost(LOOKUPS, &format!("hosts deny = {deny}")), ["hosts-deny"], "{deny}");
        let except = format!("hosts allow = {allow} EXCEPT {deny}");
        assert_eq!(lost(LOOKUPS, &except), ["hosts-allow"], "{deny}");
        let admits = rules(LOOKUPS, &format!("hosts allow = {deny}"));
        assert_eq!(admits, [if deny == "abc*" { "abc* rw" } else { "* none" }], "{deny}");
    }
}

#[test]
fn an_exact_name_lets_in_what_has_that_name() {
    // smbd compares the name of the client's address. An address that the name has, too, may have another one.
    let (share, translated) = share("hostname lookups = yes", "hosts allow = pc.example.org");
    assert_eq!(share.lost(&translated.source, &AcceptedLimits::default()).count(), 0);
    assert_eq!(share.clients[0][0].1, "[\"[p]c.example.org\"]");
    assert_eq!(auth::is_host_pattern("[p]c.example.org"), Ok(()));
}

#[test]
fn who_is_excepted_from_both_lists_is_refused() {
    // smbd asks `hosts deny` about 10.0.0.7, which lets it in; here it is refused, and said so.
    let lines = "hosts allow = 10. EXCEPT 10.0.0.7\nhosts deny = 192.168. EXCEPT 192.168.1.5";
    let expected = ["10.0.0.7 none", "10.0.0.0/8 rw", "192.168.1.5 rw", "192.168.0.0/16 none", "* rw"];
    assert_eq!(rules("", lines), expected);
    let (share, _) = share("", lines);
    assert!(share.source.iter().any(|one| one.text().contains("refused, too: 10.0.0.7")), "{share:#?}");
}

#[test]
fn netgroups_and_lists_of_the_server_are_said_with_their_lines() {
    let (share, translated) =
        share("hosts deny = 10.", "hosts deny = 192.168.1.5\nhosts allow = @lab 192.168.");
    let all: Vec<&SourceSetting> = translated.source.iter().chain(&share.source).collect();
    let said = |line| all.iter().find(|one| one.line == Some(line)).unwrap().text();
    assert!(said(2).contains("counts for each share"), "{}", said(2));
    assert!(said(6).contains("later changes to it are not followed"), "{}", said(6));
}

#[test]
fn homes_are_folders_with_the_users_names() {
    let translated = of("[homes]\nread only = no\nvalid users = %S\nbrowseable = no\nguest ok = yes\n");
    let [homes] = &translated.shares[..] else { panic!("{translated:#?}") };
    assert_eq!((homes.path.to_str(), homes.settings.len()), (Some("/home/%U"), 0));
    let translated = of("[homes]\npath = /srv/users/%S\n[Users]\npath = /srv/%u\n[Odd]\npath = /srv/%m/x\n");
    let paths: Vec<_> = translated.shares.iter().map(|share| share.path.to_str().unwrap()).collect();
    assert_eq!(paths, ["/srv/users/%U", "/srv/%U"]);
    assert!(translated.source.iter().any(|one| one.lost() == Some("path")), "{translated:#?}");
}

#[test]
fn sections_that_copy_and_files_that_include_each_other_end() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("smb.conf");
    let text = "[a]\npath = /a\nvalid users = ada\ninclude = smb.conf\n[b]\npath = /b\ncopy = a\ninclude = more.conf\n";
    std::fs::write(&file, text).unwrap();
    std::fs::write(folder.path().join("more.conf"), "valid users = bob\n[c]\npath = /c\n").unwrap();
    let translated = translate(&file, text);
    let users = |name: &str| {
        let share = translated.shares.iter().find(|share| share.name == name).unwrap();
        setting(share, "users").map(str::to_owned)
    };
    assert_eq!(
        (users("a"), users("b"), users("c")),
        (Some("[\"ada\"]".into()), Some("[\"bob\"]".into()), None)
    );
    let many: String =
        (0..40).map(|n| format!("[s{n}]\npath = /s\n{}", format!("copy = s{}\n", n - 1).repeat(4))).collect();
    let translated = of(&many);
    assert!(translated.source.iter().any(|one| one.lost() == Some("invalid-line")));
}

const CONF: &str = "[global]\n  workgroup = STUDIO\n  vfs objects = catia fruit streams_xattr\n  fruit:metadata = stream\n\
    [Films]\n  path = \"/srv/films\"\n  comment = The \"new\" films\n  writeable = yes\n  valid users = ada @staff\n\
      hosts allow = 192.168.1. 10.0.0.0/8 127.0.0.1\n  catia:mappings = 0x22:0xa8,0x3a:0xf7\n\
    [Backup]\n  path = /srv/backup\n  read only = no\n  fruit:resource = stream\n  fruit:time machine = yes\n\
      fruit:time machine max size = 2T\n  vfs objects = catia fruit streams_xattr acl_xattr\n  fruit:encoding = native\n\
      catia:mappings = 0x3a:0x2d\n";

#[test]
fn what_macs_keep_beside_files_has_the_layout_of_samba() {
    let translated = of(CONF);
    let [films, backup] = &translated.shares[..] else { panic!("{translated:#?}") };
    assert_eq!(
        films.settings,
        [
            ("users", "[\"ada\"]".into()),
            ("groups", "[\"staff\"]".into()),
            ("comment", "\"The \\\"new\\\" films\"".into()),
            ("mac-layout", "\"samba\"".into()),
            ("name-encoding", "\"private\"".into()),
            ("catia-mappings", "\"0x22:0xa8,0x3a:0xf7\"".to_owned()),
        ]
    );
    assert_eq!(
        backup.settings,
        [
            ("time-machine", "true".into()),
            ("time-machine-size", "\"2 TiB\"".into()),
            ("mac-layout", "\"samba-streams\"".to_owned()),
        ]
    );
    assert!(admits(films, "192.168.1.7") && !admits(films, "192.168.2.7"));
}

/// What smbd 4.17 does with each was seen on its disk: `interop layouts`.
#[test]
fn tables_of_characters_become_settings_or_are_named() {
    for (lines, encoding, mappings) in [
        ("catia:mappings = 22:a8 3A:F7", None, Some("\"0x22:0xa8,0x3a:0xf7\"")),
        ("catia:mappings = 0x3a:0x2d,0x22:0xa8", None, Some("\"0x22:0xa8\"")),
        ("catia:mappings = 0x22:0xf020,0x3a:0xf022", None, None),
        ("catia:mappings = 0x22:0xf022,0x3a:0xf03a", None, Some("\"0x22:0xf022,0x3a:0xf03a\"")),
        (
            "vfs objects = catia fruit\ncatia:mappings = 0x3a:0xf022",
            Some("\"private\""),
            Some("\"0x3a:0xf022\""),
        ),
        ("vfs objects = catia fruit\nfruit:encoding = native\ncatia:mappings = 0x3a:0xf7", None, None),
        ("vfs objects = streams_xattr\ncatia:mappings = 0x3a:0xf7", None, None),
    ] {
        let (share, _) = share("vfs objects = catia", lines);
        let found = (setting(&share, "name-encoding"), setting(&share, "catia-mappings"));
        assert_eq!(found, (encoding, mappings), "{lines}");
        let outcome = share.source.iter().rev().find(|one| one.name == "catia:mappings").unwrap();
        let is_told = !format!("{outcome:?}").contains("unknown");
        assert!(is_told && outcome.lost().is_none(), "{lines}: {outcome:?}");
    }
}

#[test]
fn changed_and_cut_text_is_translated_without_a_panic() {
    let mut random = 7_u64;
    let mut next = |below: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize % below
    };
    const PARTS: [&str; 12] =
        ["[", "]", "=", "\n", "\\\n", "%S", "\"", "copy = Films\n", "[homes]\n", "@", "hosts deny = ", "/%U"];
    for _ in 0..500 {
        let mut text = CONF.to_owned();
        for _ in 0..6 {
            let at = (0..=next(text.len() + 1)).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            match next(3) {
                0 => text.truncate(at),
                _ => text.insert_str(at, PARTS[next(PARTS.len())]),
            }
        }
        let translated = of(&text);
        assert!(translated.shares.len() < 50);
    }
}
