//! `fourfold disks`, with a `smartctl` of the test.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// A disk that has replaced sectors, and one that sleeps, as smartctl 7 tells them.
const SMARTCTL: &str = r#"#!/bin/sh
case "$*" in
*--scan*) echo '{"devices":[{"name":"/dev/sda","info_name":"/dev/sda","type":"sat"},{"name":"/dev/sdb","info_name":"/dev/sdb","type":"scsi"}]}' ;;
*"-n standby"*"-d sat /dev/sda") echo '{"smartctl":{"exit_status":0},"model_name":"HDS721050","serial_number":"MSK423","rotation_rate":7200,"smart_status":{"passed":true},"ata_smart_attributes":{"table":[{"id":5,"name":"Reallocated_Sector_Ct","when_failed":"","raw":{"value":8}}]},"power_on_time":{"hours":48},"temperature":{"current":25}}' ;;
*"-d scsi /dev/sdb") echo '{"smartctl":{"exit_status":2}}'; exit 2 ;;
*) exit 1 ;;
esac
"#;

fn fourfold(folder: &Path, programs: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let path = format!("{}:/usr/bin:/bin", programs.display());
    command.args(words).args(["--state", "state"]).current_dir(folder).env("PATH", path);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn disks_are_asked_and_what_they_say_is_kept_for_the_server() {
    let top = tempfile::tempdir().unwrap();
    let (programs, none) = (top.path().join("programs"), top.path().join("none"));
    std::fs::create_dir_all(&programs).unwrap();
    std::fs::create_dir_all(&none).unwrap();
    let smartctl = programs.join("smartctl");
    std::fs::write(&smartctl, SMARTCTL).unwrap();
    std::fs::set_permissions(&smartctl, PermissionsExt::from_mode(0o755)).unwrap();

    let seen = fourfold(top.path(), &programs, &["disks", "--json", "--keep"]);
    assert!(seen.status.success(), "{}", String::from_utf8_lossy(&seen.stderr));
    let seen: Value = serde_json::from_slice(&seen.stdout).unwrap();
    let disks = seen["disks"].as_array().unwrap();
    assert_eq!((&disks[0]["device"], &disks[0]["health"]), (&"/dev/sda".into(), &"worn".into()), "{seen}");
    assert_eq!(disks[0]["problems"][0], "8 sectors were replaced");
    assert_eq!(disks[1]["health"], "unknown", "it sleeps, and was not woken");
    let kept: Value =
        serde_json::from_slice(&std::fs::read(top.path().join("state/disk-health.json")).unwrap()).unwrap();
    assert_eq!(kept, seen);

    let shown = fourfold(top.path(), &programs, &["disks"]);
    assert_eq!(shown.status.code(), Some(1), "a disk is worn");
    let text = String::from_utf8(shown.stdout).unwrap();
    assert!(
        text.contains("HDS721050") && text.contains("8 sectors were replaced") && text.contains("2 d"),
        "{text}"
    );

    let missing = fourfold(top.path(), &none, &["disks"]);
    let text = String::from_utf8(missing.stdout).unwrap();
    let has_none = !Path::new("/usr/bin/smartctl").exists() && !Path::new("/bin/smartctl").exists();
    assert!(!has_none || text.contains("install the package smartmontools"), "{text}");
}
