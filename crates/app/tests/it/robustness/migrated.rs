//! `fourfold migrate`, `cp`, `ls`, `cat` and `rm`: what is copied between any two of a folder, SMB, AFP, and NFS of both versions.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, SystemTime};

use serde_json::Value;

use crate::ports::free_port;
use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::robustness::smbd::Smbd;
use crate::waiting::until;

fn fourfold(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).output().unwrap()
}

/// The report of a copy that must have found every file.
fn whole(words: &[&str]) -> Value {
    let output = fourfold(&[words, &["--json"]].concat());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words:?}: {shown}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn lost(report: &Value) -> Vec<String> {
    report["lost"].as_object().unwrap().keys().cloned().collect()
}

/// The URL of a folder of the share by each protocol, the folder itself first.
fn places(server: &Server, share: &Path, inner: &str) -> [(&'static str, String); 5] {
    let (user, password) = USER;
    let (smb, afp, nfs) = (server.smb_port, server.afp_port, server.port);
    [
        ("folder", share.join(inner).to_str().unwrap().to_owned()),
        ("smb", format!("smb://{user}:{password}@127.0.0.1:{smb}/share/{inner}")),
        ("afp", format!("afp://{user}:{password}@127.0.0.1:{afp}/share/{inner}?login=cleartext")),
        ("nfs", format!("nfs://127.0.0.1:{nfs}/share/{inner}?mountport={nfs}&uid=1000")),
        ("nfs4", format!("nfs://127.0.0.1:{nfs}/share/{inner}?vers=4&uid=1000")),
    ]
}

const FORK: &[u8] = b"the fork of a file of a Mac";

/// AppleDouble as Netatalk writes it (RFC 1740 appendix A): Finder info at 50, 32 bytes, then the fork.
fn sidecar() -> Vec<u8> {
    let mut bytes = b"\0\x05\x16\x07\0\x02\0\0Netatalk        \0\x02".to_vec();
    for (id, at, length) in [(9u32, 50u32, 32u32), (2, 82, FORK.len() as u32)] {
        [id, at, length].iter().for_each(|number| bytes.extend(number.to_be_bytes()));
    }
    bytes.extend(b"TEXTttxt");
    bytes.extend([0; 24]);
    bytes.extend(FORK);
    bytes
}

const HOLE: u64 = 4 << 20;

/// A small tree with one of everything.
fn fill(old: &Path) {
    let date = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    fs::create_dir_all(old.join("Projects/2001")).unwrap();
    let write = |name: &str, bytes: &[u8]| {
        fs::write(old.join(name), bytes).unwrap();
        File::options().write(true).open(old.join(name)).unwrap().set_modified(date).unwrap();
    };
    write("empty", b"");
    write("Projects/what? \"now\".txt", b"a name that Windows forbids");
    write("Projects/a:b", b"a colon");
    write("Projects/2001/Cafe\u{301}.txt", b"accents");
    write("Projects/2001/film", &vec![7; (1 << 20) + 77]);
    fs::write(old.join("._letter"), sidecar()).unwrap();
    write("letter", b"Dear Grace");
    rustix::fs::setxattr(
        old.join("letter"),
        "user.DosStream.note:$DATA",
        b"a note\0",
        rustix::fs::XattrFlags::empty(),
    )
    .unwrap();
    let sparse = File::create(old.join("sparse")).unwrap();
    sparse.write_all_at(b"end", HOLE).unwrap();
    sparse.set_modified(date).unwrap();
    std::os::unix::fs::symlink("Projects/2001/film", old.join("shortcut")).unwrap();
    fs::read_dir(old).unwrap().for_each(|entry| open_to_all(&entry.unwrap().path()));
    [old, &old.join("Projects/2001")].iter().for_each(|folder| open_to_all(folder));
    for entry in
        fs::read_dir(old.join("Projects/2001")).unwrap().chain(fs::read_dir(old.join("Projects")).unwrap())
    {
        open_to_all(&entry.unwrap().path());
    }
}

#[test]
fn all_is_copied_between_any_two_and_read_by_the_others() {
    let (top, share) = folder();
    fs::create_dir(share.join("old")).unwrap();
    fill(&share.join("old"));
    let server = Server::start_with_afp(top.path(), &share);
    let sources = places(&server, &share, "old");
    for (number, (from, source)) in sources.iter().enumerate() {
        for (to, _) in &sources {
            let inner = format!("{from}-{to}");
            fs::create_dir(share.join(&inner)).unwrap();
            open_to_all(&share.join(&inner));
            let targets = places(&server, &share, &inner);
            let target = &targets.iter().find(|(name, _)| name == to).unwrap().1;
            let report = whole(&["migrate", source, target]);
            assert_eq!(report["files"], 7, "{inner}");
            assert_eq!((&report["folders"], &report["links"]), (&3.into(), &1.into()), "{inner}");
            let is_known = |what: &String| {
                // SMB has no modes and owners of Unix, NFS version 3 no dates of creation and backup and no flags.
                ["mode", "owner", "date of creation", "date of the last backup", "archive"]
                    .contains(&what.as_str())
            };
            let lost = lost(&report);
            assert!(lost.iter().all(is_known), "{inner}: {report:#}");
            assert_eq!(fs::read(share.join(&inner).join("Projects/a:b")).unwrap(), b"a colon", "{inner}");
            let sparse = fs::metadata(share.join(&inner).join("sparse")).unwrap();
            assert!(sparse.len() == HOLE + 3 && sparse.blocks() * 512 < HOLE / 2, "{inner}: {sparse:?}");
            let date = fs::metadata(share.join(&inner).join("letter")).unwrap().mtime();
            assert_eq!(date, 1_000_000_000, "{inner}");
            // Clients of AFP and of version 4 keep flags and dates of files.
            let keeps_dates = !["afp", "nfs4"].contains(from) || !["afp", "nfs4"].contains(to);
            assert!(keeps_dates || !lost.contains(&"date of creation".to_owned()), "{inner}: {report:#}");
            // Another protocol sees the same.
            let (_, other) = &targets[(number + 2) % 5];
            let other_source = &sources[(number + 2) % 5].1;
            let report = whole(&["migrate", other_source, other, "--verify-only"]);
            assert_eq!((&report["files"], &report["failures"]), (&7.into(), &0.into()), "{inner}");
            let fork = fourfold(&["cat", "--fork", &with_name(&targets[2].1, "letter")]);
            assert_eq!(fork.stdout, FORK, "{inner}: {}", String::from_utf8_lossy(&fork.stderr));
            fs::remove_dir_all(share.join(&inner)).unwrap();
        }
    }
}

/// A URL of a folder with a name behind it.
fn with_name(url: &str, name: &str) -> String {
    let (path, options) = url.split_once('?').map_or((url, ""), |(path, options)| (path, options));
    if options.is_empty() { format!("{path}/{name}") } else { format!("{path}/{name}?{options}") }
}

#[test]
fn later_passes_copy_what_has_changed_and_a_killed_one_goes_on() {
    let (top, share) = folder();
    let old = top.path().join("old");
    fs::create_dir(&old).unwrap();
    fill(&old);
    let server = Server::start_with_afp(top.path(), &share);
    let (_, target) = &places(&server, &share, "")[1];
    let target = target.trim_end_matches('/');
    let (source, journal) = (old.to_str().unwrap(), top.path().join("journal"));
    let words = ["migrate", source, target, "--journal", journal.to_str().unwrap()];

    // Killed while a large file is on its way: 1 MiB takes a second at this rate.
    let slow = [&words[..], &["--limit", "1M", "--streams", "1"]].concat();
    let mut copy = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let mut copy = copy.args(&slow).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let (large, partial) = (["sparse", "Projects/2001/film"], ".fourfold.partial");
    let is_on_its_way = || large.iter().any(|name| share.join(format!("{name}{partial}")).exists());
    until("no large file is on its way", is_on_its_way);
    copy.kill().unwrap();
    copy.wait().unwrap();
    assert!(is_on_its_way() && !large.iter().all(|name| share.join(name).exists()));

    whole(&words);
    assert!(!is_on_its_way(), "what the killed copy has left is gone");
    let report = whole(&["migrate", source, target, "--verify-only"]);
    assert_eq!(report["files"], 7);
    let again = whole(&words);
    assert_eq!((&again["files"], &again["unchanged"]), (&0.into(), &7.into()));
    // The length and the date stay; the journal knows the time of the change.
    let letter = File::options().write(true).open(old.join("letter")).unwrap();
    let date = letter.metadata().unwrap().modified().unwrap();
    letter.write_all_at(b"dear", 0).unwrap();
    letter.set_modified(date).unwrap();
    fs::remove_file(old.join("empty")).unwrap();
    let last = whole(&[&words[..], &["--delete"]].concat());
    assert_eq!((&last["files"], &last["unchanged"], &last["removed"]), (&1.into(), &5.into(), &1.into()));
    assert_eq!(fs::read(share.join("letter")).unwrap(), b"dear Grace");
    assert!(!share.join("empty").exists());
    // What differs is found.
    fs::write(share.join("letter"), b"dear Alan!").unwrap();
    let output = fourfold(&["migrate", source, target, "--verify-only"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("FAILED letter: its data differ"), "{text}");
}

#[test]
fn files_of_servers_are_listed_printed_copied_and_removed() {
    let (top, share) = folder();
    let old = top.path().join("old");
    fs::create_dir(&old).unwrap();
    fill(&old);
    let server = Server::start_with_afp(top.path(), &share);
    for (name, url) in places(&server, &share, "") {
        let url = url.replace("/share/", "/share");
        let url = url.trim_end_matches('/');
        let letter = old.join("letter");
        whole(&["cp", letter.to_str().unwrap(), old.join("Projects").to_str().unwrap(), url]);
        let listed = fourfold(&["ls", "--json", url]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap();
        let names: Vec<&str> =
            listed.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["Projects", "letter"], "{name}");
        assert_eq!((&listed[1]["kind"], &listed[1]["length"]), (&"file".into(), &10.into()), "{name}");
        assert_eq!(fourfold(&["cat", &with_name(url, "letter")]).stdout, b"Dear Grace", "{name}");
        assert_eq!(fourfold(&["cat", "--fork", &with_name(url, "letter")]).stdout, FORK, "{name}");
        let folder = with_name(url, "Projects");
        let refused = fourfold(&["rm", &folder]);
        assert!(String::from_utf8_lossy(&refused.stderr).contains("-r removes it"), "{name}");
        let dry = fourfold(&["rm", "-r", &folder, &with_name(url, "letter"), "--dry-run"]);
        assert!(String::from_utf8_lossy(&dry.stdout).starts_with("dry run: "), "{name}");
        assert!(share.join("Projects").exists() && share.join("letter").exists(), "{name}");
        let removed = fourfold(&["rm", "-r", &folder, &with_name(url, "letter")]);
        assert!(removed.status.success(), "{name}: {}", String::from_utf8_lossy(&removed.stderr));
        assert!(!share.join("Projects").exists() && !share.join("letter").exists(), "{name}");
    }
    for (words, code, said) in [
        (vec!["ls", "smb://ada:x@127.0.0.1:1/share"], 1, "cannot be reached"),
        (vec!["cat", "smb://nas/share"], 2, "a whole share"),
        (vec!["rm", "http://ada:secret@nas/share/a"], 2, "Write afp://"),
        (vec!["rm", "smb://ada:secret@127.0.0.1:1/share/a"], 1, "cannot be reached"),
        (vec!["cp", "/nowhere/a", share.to_str().unwrap()], 1, "/nowhere"),
    ] {
        let output = fourfold(&words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{words:?}: {stderr}");
        assert!(stderr.contains(said) && !stderr.contains("secret"), "{words:?}: {stderr}");
    }
}

/// The list of a file as smbcacls shows it, with SIDs.
fn smbcacls(unc: &str, words: &[&str]) -> String {
    let user = format!("{}%{}", USER.0, USER.1);
    let words = [&["30", "smbcacls", "--numeric", "-U", &user, unc][..], words].concat();
    let output = Command::new("timeout").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A POSIX ACL of Linux (linux/posix_acl_xattr.h): version 2, then tag, permissions and id of each entry. It lets user 12345 read.
fn posix_acl() -> Vec<u8> {
    let entry = |tag: u16, rights: u16, id: u32| {
        [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat()
    };
    let none = u32::MAX;
    let entries = [
        entry(0x01, 6, none),
        entry(0x02, 4, 12_345),
        entry(0x04, 0, none),
        entry(0x10, 4, none),
        entry(0x20, 0, none),
    ];
    [&2_u32.to_le_bytes()[..], &entries.concat()].concat()
}

#[test]
fn access_control_lists_go_from_folders_and_smbd_to_this_server_and_on() {
    // smbcacls uses the standard port only.
    let [here, smbd_at] = ["127.0.19.1", "127.0.19.2"];
    let is_free = |address: &&str| std::net::TcpListener::bind((*address, 445)).is_ok();
    if !Smbd::is_here() || ![here, smbd_at].iter().all(is_free) {
        println!("skipped: no smbd, or port 445 of {here} and {smbd_at} cannot be used");
        return;
    }
    let ((top, share), (place, old)) = (folder(), folder());
    let (from_folder, from_smbd, copy) = (share.join("folder"), share.join("smbd"), top.path().join("copy"));
    for folder in [&from_folder, &from_smbd, &copy, &old.join("plans")] {
        fs::create_dir(folder).unwrap();
        open_to_all(folder);
    }
    for file in [old.join("letter"), old.join("plain"), old.join("plans/house")] {
        fs::write(&file, "text").unwrap();
        open_to_all(&file);
    }
    let acl = posix_acl();
    let set = rustix::fs::setxattr(
        old.join("letter"),
        "system.posix_acl_access",
        &acl,
        rustix::fs::XattrFlags::empty(),
    );
    if set.is_err() {
        println!("skipped: no POSIX ACLs here");
        return;
    }
    let home = format!("share={}", share.display());
    let [afp_port, nfs_port] = [free_port().unwrap().to_string(), free_port().unwrap().to_string()];
    let ports = ["--listen", here, "--nfs-port", &nfs_port, "--smb-port", "445", "--afp-port", &afp_port];
    let _server = Server::run_with_afp(top.path(), &[&[&*home][..], &ports].concat());
    let (user, password) = USER;
    let smb = format!("smb://{user}:{password}@{here}/share/folder");
    let afp = format!("afp://{user}:{password}@{here}:{afp_port}/share/folder?login=cleartext");
    let nfs = format!("nfs://{here}:{nfs_port}/share/folder?vers=4&uid=1000");
    let source = old.to_str().unwrap();
    let unc = format!("//{here}/share");
    let keeps_lists = |report: &Value| {
        let replaced = report["rights"]["replaced"].as_object().unwrap();
        let all: Vec<String> = lost(report).into_iter().chain(replaced.keys().cloned()).collect();
        assert!(!all.iter().any(|what| what.contains("access control")), "{report:#}");
    };
    // To each protocol and from there.
    for url in [&smb, &afp, &nfs] {
        keeps_lists(&whole(&["migrate", source, url]));
        let shown = smbcacls(&unc, &["folder/letter"]);
        // Allowed, not inherited, to read and to see what everyone sees; 0x100000 is a right that only Windows asks for.
        let [reads, without] =
            ["0x00120089", "0x00020089"].map(|mask| format!("ACL:S-1-22-1-12345:0/0x0/{mask}"));
        assert!(shown.contains(&reads) || shown.contains(&without), "{url}: {shown}");
        assert!(!smbcacls(&unc, &["folder/plain"]).contains("12345"), "{url}");
        keeps_lists(&whole(&["migrate", url, copy.to_str().unwrap()]));
        keeps_lists(&whole(&["migrate", source, copy.to_str().unwrap(), "--verify-only"]));
        for folder in [&from_folder, &copy] {
            fs::remove_dir_all(folder).unwrap();
            fs::create_dir(folder).unwrap();
            open_to_all(folder);
        }
    }

    // A list of Windows on smbd, of accounts of a domain, one of which is known here.
    fs::remove_file(old.join("letter")).unwrap(); // which the guest of smbd may not read
    let lines = "vfs objects = acl_xattr streams_xattr\nacl_xattr:ignore system acls = yes\n";
    let _smbd = Smbd::start_with(place.path(), (smbd_at, 445), &old, lines);
    let known = "ACL:S-1-5-21-1-2-3-1001:ALLOWED/OI|CI/CHANGE";
    let other = "ACL:S-1-5-21-1-2-3-1002:DENIED/0x0/READ";
    for entry in [known, other] {
        let said = smbcacls(&format!("//{smbd_at}/archive"), &["plans", "--add", entry]);
        assert!(said.is_empty(), "{said}");
    }
    let accounts = top.path().join("accounts");
    fs::write(&accounts, "S-1-5-21-1-2-3-1001 = user:12345\n").unwrap();
    let source = format!("smb://{smbd_at}/archive");
    let smb = smb.replace("/folder", "/smbd");
    let report = whole(&["migrate", &source, &smb, "--accounts", accounts.to_str().unwrap()]);
    let unknown = "entries of an access control list for unknown accounts";
    assert!(lost(&report).contains(&unknown.to_owned()), "{report:#}");
    assert!(!lost(&report).contains(&"access control list".to_owned()), "{report:#}");
    let shown = smbcacls(&unc, &["smbd/plans"]);
    assert!(shown.contains("ACL:S-1-22-1-12345:0/0x3/0x001301ff"), "{shown}");
    assert!(shown.contains("ACL:S-1-5-21-1-2-3-1002:1/"), "{shown}");
}
