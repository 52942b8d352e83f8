//! What `check` looks at beyond the settings: what `serve` will need.

use std::net::TcpListener;
use std::path::Path;

use super::{err, out, run};

const SHARE: &str = "[[share]]\nname = \"A\"\npath = \"a\"\n";

/// A folder with a share; the text of its settings file begins so.
fn folder(server: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("a")).unwrap();
    write(folder.path(), server);
    folder
}

fn write(folder: &Path, server: &str) {
    let text = format!("[server]\nstate = \"state\"\nbonjour = \"off\"\n{server}\n{SHARE}");
    std::fs::write(folder.join("fourfold.toml"), text).unwrap();
}

/// The exit code and what is said.
fn check(folder: &Path) -> (Option<i32>, String) {
    let output = run(folder, &["check"], "");
    (output.status.code(), out(&output) + &err(&output))
}

#[test]
fn certificates_that_serve_could_not_use_are_refused() {
    let files = "admin-certificate = \"c.pem\"\nadmin-key = \"k.pem\"";
    let folder = folder(files);
    let at = |name: &str| folder.path().join(name);
    let refused = |why: &str| {
        let (code, said) = check(folder.path());
        assert!(code == Some(2) && said.contains(why), "{why}: {code:?} {said}");
    };
    refused("c.pem");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    std::fs::write(at("c.pem"), made.cert.pem()).unwrap();
    refused("k.pem");
    std::fs::write(at("k.pem"), "no key").unwrap();
    refused("not a private key");
    std::fs::write(at("k.pem"), other.signing_key.serialize_pem()).unwrap();
    refused("cannot be used with");
    std::fs::write(at("k.pem"), made.signing_key.serialize_pem()).unwrap();
    assert_eq!(check(folder.path()).0, Some(0), "{}", check(folder.path()).1);
}

#[test]
fn settings_of_the_server_are_set_in_one_step() {
    let folder = folder("");
    let alone = run(folder.path(), &["set", "admin-certificate=c.pem"], "");
    assert!(!alone.status.success() && err(&alone).contains("admin-key"), "{}", err(&alone));
    let both = run(folder.path(), &["set", "admin-certificate=c.pem", "admin-key=k.pem"], "");
    assert!(both.status.success(), "{}", err(&both));
    let text = std::fs::read_to_string(folder.path().join("fourfold.toml")).unwrap();
    assert!(text.contains("admin-certificate = \"c.pem\"\nadmin-key = \"k.pem\"\n"), "{text}");
    let of_share = run(folder.path(), &["set", "read-only=on", "comment=plans", "A"], "");
    assert!(of_share.status.success(), "{}", err(&of_share));
    let text = std::fs::read_to_string(folder.path().join("fourfold.toml")).unwrap();
    assert!(text.contains("path = \"a\"\nread-only = true\ncomment = \"plans\"\n"), "{text}");
    assert!(err(&run(folder.path(), &["set", "A"], "")).contains("no property is given"));
}

#[test]
fn a_port_of_another_program_is_named() {
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let folder = folder(&format!("listen = [\"127.0.0.1\"]\nsmb-port = {port}"));
    let (code, said) = check(folder.path());
    assert!(code == Some(2) && said.contains(&format!("another program has port {port}")), "{said}");
}

#[test]
fn without_one_share_that_can_be_served_both_say_why() {
    let folder = folder("nfs-port = 0\nsmb-port = 0\nafp-port = 0\niscsi-port = 0\nportmap-port = \"off\"");
    std::fs::remove_dir(folder.path().join("a")).unwrap();
    let (code, said) = check(folder.path());
    let why = "none of the shares can be served: A (the folder does not exist)";
    assert!(code == Some(2) && said.contains(why), "{said}");
    let served = run(folder.path(), &["serve"], "");
    assert_eq!(served.status.code(), Some(1), "{}", err(&served));
    assert!(err(&served).contains(why) && !out(&served).contains("ready"), "{}", err(&served));
}

#[test]
fn a_schedule_that_the_file_system_cannot_keep_is_refused() {
    if !Path::new("/dev/shm").is_dir() {
        return; // tmpfs makes no snapshots; hosts without this one have no such place for sure
    }
    let share = tempfile::tempdir_in("/dev/shm").unwrap();
    let folder = folder("");
    let text = format!(
        "[server]\nstate = \"state\"\n[[share]]\nname = \"B\"\npath = {:?}\nsnapshot-schedule = \"daily:2\"\n",
        share.path()
    );
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let (code, said) = check(folder.path());
    assert!(code == Some(2) && said.contains("`snapshot-schedule` of \"B\""), "{said}");
}
