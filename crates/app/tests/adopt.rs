//! `fourfold adopt`: a folder as other servers leave it, and their settings.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use vfs::mac::{FinderInfo, Metadata, sidecar};

fn adopt(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).arg("adopt").args(words).output().unwrap()
}

fn json(words: &[&str]) -> Value {
    let output = adopt(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn xattr(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

fn info(kind: &[u8; 8]) -> Vec<u8> {
    // MS-FSCC does not have it: Samba's lib/MacExtensions.h names signature, version, backup, Finder info.
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    info.extend(kind);
    info.resize(61, 0);
    info
}

#[test]
fn layouts_are_counted_and_what_is_damaged_or_differs_is_named() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    fs::create_dir_all(share.join("films/.AppleDouble")).unwrap();
    fs::create_dir_all(share.join("@eaDir")).unwrap();
    for name in ["plain", "samba", "both", "broken", "films/old", "a\u{f022}b"] {
        fs::write(share.join(name), b"data").unwrap();
    }
    fs::write(share.join("films/.AppleDouble/old"), b"x").unwrap();
    fs::write(share.join("films/.AppleDouble/old::EA"), b"x").unwrap();
    fs::write(share.join("@eaDir/plain@SynoEAStream"), b"x").unwrap();
    fs::write(share.join("._gone"), sidecar::synthesize(&FinderInfo::NONE, &[], 0).0).unwrap();
    fs::write(share.join("._note"), b"not a sidecar").unwrap();

    let samba = share.join("samba");
    xattr(&samba, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
    xattr(&samba, "user.DosStream.AFP_Resource:$DATA", b"fork\0");
    xattr(&samba, "user.DosStream.com.apple.quarantine:$DATA", b"0083\0");
    let both = share.join("both");
    let mut metadata = Metadata::default();
    let mut finder_info = FinderInfo::NONE;
    finder_info.set_type(*b"JPEG", *b"ogle");
    metadata.set_finder_info(finder_info);
    xattr(&both, "user.org.netatalk.Metadata", &metadata.to_netatalk());
    xattr(&both, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
    xattr(&share.join("broken"), "user.DOSATTRIB", b"nonsense");

    let report = json(&[share.to_str().unwrap()]);
    let found = &report["folders"][0];
    assert_eq!((found["files"].as_u64(), found["folders"].as_u64()), (Some(7), Some(2)));
    let layouts = serde_json::json!({
        "netatalk": 1, "sidecar": 1, "samba-dos": 1, "samba-info": 2, "samba-fork": 1, "samba-streams": 1,
        "netatalk2": 1, "netatalk2-attributes": 1, "synology": 1, "private-names": 1,
    });
    assert_eq!(found["layouts"], layouts);
    let named = |kind: &str| {
        let named = found[kind]["named"].as_array().unwrap().iter();
        named.map(|one| one["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!((named("damaged"), named("conflicts")), (vec!["broken"], vec!["both"]));
    assert_eq!((named("orphans"), named("unreadable")), (vec!["._gone"], vec![]));
    let settings = report["settings"].as_str().unwrap();
    assert!(settings.contains("mac-layout = \"samba-streams\""), "{settings}");

    let text = String::from_utf8(adopt(&[share.to_str().unwrap()]).stdout).unwrap();
    assert!(
        text.contains("not served: these attributes are not read") && text.contains("damaged: 1\n"),
        "{text}"
    );
}

/// What is printed is accepted by `fourfold check`.
#[test]
fn settings_of_three_servers_become_one_file() {
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name).to_string_lossy().into_owned();
    for folder in ["films", "backup"] {
        fs::create_dir(top.path().join(folder)).unwrap();
    }
    let write = |name: &str, text: String| fs::write(place(name), text).unwrap();
    write(
        "smb.conf",
        format!(
            "[global]\nvfs objects = fruit streams_xattr\n[Films]\npath = {}\nread only = no\nvalid users = ada\nforce user = x\n",
            place("films")
        ),
    );
    write(
        "afp.conf",
        format!("[Backup]\npath = {}\ntime machine = yes\nvol size limit = 1000\n", place("backup")),
    );
    write("exports", format!("{} 192.168.1.0/24(rw,insecure)\n", place("films")));
    let files = [place("smb.conf"), place("afp.conf"), place("exports")];
    let words = ["--smb-conf", &files[0], "--afp-conf", &files[1], "--exports", &files[2]];
    let report = json(&words);
    assert_eq!(report["folders"].as_array().unwrap().len(), 2);
    assert_eq!(report["shares"].as_array().unwrap().len(), 2, "one for a folder");

    let settings = adopt(&[&words[..], &["--settings"]].concat()).stdout;
    let text = String::from_utf8(settings.clone()).unwrap();
    assert!(text.contains("# not translated: force user = x") && text.contains("afp = false"), "{text}");
    fs::write(place("fourfold.toml"), settings).unwrap();
    let check = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["check", "--config", &place("fourfold.toml"), "--state", &place("state")])
        .output()
        .unwrap();
    assert!(check.status.success(), "{text}\n{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn what_cannot_be_read_is_said() {
    let missing = adopt(&["/nonexistent/share"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nonexistent/share"));
    assert_eq!(adopt(&["--smb-conf", "/nonexistent/smb.conf"]).status.code(), Some(1));
    assert_eq!(adopt(&[]).status.code(), Some(2));
}
