//! Volumes as shares.

use super::super::source::AcceptedLimits;
use super::*;

fn translated(text: &str) -> Translation {
    translate(Path::new("afp.conf"), text)
}

/// The limits that close the first share.
fn lost(translated: &Translation) -> Vec<&'static str> {
    let accepted = AcceptedLimits::default();
    translated.shares[0].lost(&translated.source, &accepted).filter_map(SourceSetting::lost).collect()
}

fn volume(settings: &str) -> Translation {
    translated(&format!("[Media]\npath = /srv/media\n{settings}\n"))
}

fn settings(translated: &Translation) -> Vec<(&'static str, &str)> {
    translated.shares[0].settings.iter().map(|(name, value)| (*name, &**value)).collect()
}

#[test]
fn a_preset_gives_what_the_volume_does_not_say() {
    let text = "[Global]\nuam list = uams_dhx2.so uams_guest.so\nvol preset = all\n[all]\nvalid users = @staff\nread only = yes\nea = samba\n\
                [own]\nvalid users = ada\n\
                [Time Machine]\npath = /srv/tm\ntime machine = yes\nvol size limit = 512000\nread only = no\n\
                [Old]\npath = /srv/old/\nvol preset = own\nvolume name = Archive\npassword = plans for ever\n";
    let all = translated(text);
    let [backup, old] = &all.shares[..] else { panic!("{all:?}") };
    assert_eq!(
        backup.settings,
        [
            ("groups", "[\"staff\"]".into()),
            ("time-machine", "true".into()),
            ("time-machine-size", "\"512000 MiB\"".to_owned()),
        ]
    );
    assert_eq!((&*old.name, &*old.path), ("Archive", Path::new("/srv/old")));
    assert_eq!(old.settings, [("users", "[\"ada\"]".to_owned()), ("afp-password", "\"plans fo\"".into())]);
    assert!(lost(&all).is_empty(), "{all:?}");
}

#[test]
fn limits_in_global_hold_for_each_volume() {
    let all = translated(
        "[Global]\nhosts allow = 10.0.0.0/8\nread only = yes\n[A]\npath = /a\n[B]\npath = /b\nread only = no\n",
    );
    let [a, b] = &all.shares[..] else { panic!("{all:?}") };
    let rule = vec![vec![("match", "[\"10.0.0.0/8\"]".to_owned()), ("access", "\"rw\"".into())]];
    assert_eq!((&a.clients, &b.clients), (&rule, &rule));
    assert_eq!((a.settings.len(), b.settings.len()), (1, 0));
    assert!(a.source.iter().any(|one| one.line == Some(2) && one.limits_access));
}

#[test]
fn denied_hosts_count_before_allowed_ones() {
    let of = |settings: &str| {
        let all = volume(settings);
        assert!(lost(&all).is_empty(), "{settings}");
        let rule =
            |rule: &Vec<(&str, String)>| rule.iter().map(|(_, value)| &**value).collect::<Vec<_>>().join(" ");
        all.shares[0].clients.iter().map(rule).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(of("hosts deny = 10.0.0.5"), "[\"10.0.0.5\"] \"none\"; \"*\"");
    assert_eq!(
        of("hosts deny = 10.0.0.5\nhosts allow = 10.0.0.0/8, mac.example.org"),
        "[\"10.0.0.5\"] \"none\"; [\"10.0.0.0/8\", \"mac.example.org\"] \"rw\""
    );
    assert_eq!(of("hosts allow ="), "");
    for (settings, limit) in
        [("hosts allow = 192.168.1.*", "hosts-allow"), ("hosts deny = *.example.org", "hosts-deny")]
    {
        assert_eq!(lost(&volume(settings)), [limit]);
    }
}

#[test]
fn people_who_may_not_enter_or_write() {
    let all = volume("valid users = ada bob eve\ninvalid users = EVE\nrwlist = ada bob eve");
    assert_eq!((settings(&all), lost(&all).len()), (vec![("users", "[\"ada\", \"bob\"]")], 0));
    assert_eq!(lost(&volume("invalid users = eve")), ["invalid-users"]);
    assert_eq!(lost(&volume("valid users = @staff\ninvalid users = eve")), ["invalid-users"]);
    let nobody = volume("valid users = eve\ninvalid users = eve");
    assert_eq!(
        nobody.shares[0].clients,
        [vec![("match", "\"*\"".to_owned()), ("access", "\"none\"".into())]]
    );
    for settings_of in [
        "rwlist = ada",
        "rolist = bob",
        "valid users = ada bob\nrwlist = ada",
        "cnid scheme = last",
        "read only = yup",
    ] {
        assert!(settings(&volume(settings_of)).contains(&("read-only", "true")), "{settings_of}");
    }
    for settings_of in ["rwlist =", "valid users = ada\nrolist = bob", "read only = maybe"] {
        assert!(!settings(&volume(settings_of)).contains(&("read-only", "true")), "{settings_of}");
    }
}

#[test]
fn what_has_no_translation_closes_the_share_and_is_named_with_its_line() {
    for (settings, limit) in [
        ("veto files = /secret/", "veto-files"),
        ("chmod request = ignore", "chmod-request"),
        ("root preexec close = yes", "preexec"),
        ("vaild users = ada", "unknown-setting"),
        ("password = pläne", "password"),
    ] {
        let all = volume(settings);
        assert_eq!(lost(&all), [limit], "{settings}");
        assert!(all.shares[0].source.iter().any(|one| one.line == Some(3) && one.lost() == Some(limit)));
    }
    for (global, limit) in [
        ("uam list = uams_guest.so", "uam-list"),
        ("uam list = uams_gss.so", "uam-list"),
        ("afp interfaces = eth0", "afp-interfaces"),
        ("afp listen = nas.example.org", "afp-listen"),
        ("include = /no/such/file", "include"),
        ("no setting", "syntax"),
    ] {
        assert_eq!(lost(&translated(&format!("[Global]\n{global}\n[A]\npath = /a\n"))), [limit], "{global}");
    }
    let all = translated("[Global]\nafp listen = 10.0.0.1:548\n[A]\npath = /a\nvol size limit = 0\n");
    assert_eq!((&all.server[..], lost(&all).len()), (&[("listen", "[\"10.0.0.1\"]".to_owned())][..], 0));
    assert!(all.shares[0].settings.is_empty());
}

#[test]
fn rights_of_what_is_made_are_kept() {
    for (line, expected) in [
        ("umask = 027", &[("create-mask", "\"0750\""), ("directory-mask", "\"0750\"")][..]),
        ("umask = 0", &[]),
        ("file perm = 0660", &[("force-create-mode", "\"0660\"")]),
        ("directory perm = 2770", &[("force-directory-mode", "\"2770\"")]),
    ] {
        let all = volume(line);
        assert_eq!((settings(&all), lost(&all).len()), (expected.to_vec(), 0), "{line}");
    }
}

#[test]
fn homes_and_folders_by_account() {
    let homes = translated(
        "[Homes]\nbasedir regex = ^/home\nvalid users = ada\n[Own]\npath = /srv/own/$u\n[Odd]\npath = /srv/$g\n",
    );
    let paths: Vec<_> =
        homes.shares.iter().map(|share| (&*share.name, share.path.to_str().unwrap())).collect();
    assert_eq!(paths, [("homes", "/home/%U"), ("Own", "/srv/own/%U")]);
    assert_eq!(settings(&homes), [("users", "[\"ada\"]")]);
    assert!(homes.source.iter().any(|one| one.value == "/srv/$g" && one.limits_access));
    for regex in ["basedir regex = /(home|users)", "basedir regex = /home\npath = afp"] {
        assert!(translated(&format!("[Homes]\n{regex}\n")).shares.is_empty(), "{regex}");
    }
}
