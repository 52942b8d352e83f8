//! Links of a namespace, as smbclient follows them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::robustness::smbd::Smbd;
use crate::waiting::until;

/// How long a target that is down may be told to clients: the promise of docs/namespace.md is 5 s. A busy machine needs more for the
/// commands by which this is seen.
const LEFT_OUT_WITHIN: Duration = Duration::from_secs(15);

#[test]
fn smbclient_follows_a_link_to_another_share_of_a_server() {
    if !std::path::Path::new("/usr/bin/smbclient").exists() {
        println!("skipped: no smbclient");
        return;
    }
    // smbclient follows links to the standard port only.
    if let Err(error) = std::net::TcpListener::bind("127.0.0.1:445") {
        println!("skipped: port 445: {error}");
        return;
    }
    let (top, share) = folder();
    for name in ["archive", "share/docs"] {
        std::fs::create_dir(top.path().join(name)).unwrap();
        open_to_all(&top.path().join(name));
    }
    std::fs::write(top.path().join("archive/letter"), "from the archive").unwrap();
    std::os::unix::fs::symlink(r"msdfs:127.0.0.1\archive", share.join("docs/old")).unwrap();
    let shares = "[[share]]\nname = \"share\"\npath = \"share\"\ndfs = true\n[[share]]\nname = \"archive\"\npath = \"archive\"\n";
    std::fs::write(top.path().join("fourfold.toml"), shares).unwrap();
    let user = format!("{}:{}", USER.0, USER.1);
    let _server = Server::run(top.path(), &["--nfs-port", "off", "--smb-port", "445", "--user", &user]);
    let said = |commands: &str| {
        let user = format!("{}%{}", USER.0, USER.1);
        let words = ["20", "smbclient", "-U", &user, "//127.0.0.1/share", "-c", commands];
        let output = Command::new("timeout").args(words).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
    };
    let listed = said("ls docs\\*");
    assert!(listed.contains("old"), "{listed}");
    let inside = said("ls docs\\old\\*");
    assert!(inside.contains("letter"), "{inside}");
    let read = said("cd docs\\old; get letter -");
    assert!(read.contains("from the archive"), "{read}");
    let shown = said("showconnect; cd docs\\old; showconnect");
    assert!(shown.contains("archive"), "{shown}");
    // Names of this server, with the prefix that clients of a namespace send.
    let written = said("mkdir docs\\new; rename docs\\new docs\\newer; ls docs\\*");
    assert!(written.contains("newer"), "{written}");
    assert!(share.join("docs/newer").is_dir(), "{written}");
}

/// Whether everything is here that the tests of links over several servers need: clients and servers of Samba, and port 445
/// of these addresses.
fn can_follow(addresses: &[&str]) -> bool {
    if !Path::new("/usr/bin/smbclient").exists() || !Path::new("/usr/sbin/smbd").exists() {
        println!("skipped: no smbclient or smbd");
        return false;
    }
    addresses.iter().all(|address| match std::net::TcpListener::bind((*address, 445)) {
        Ok(_) => true,
        Err(error) => {
            println!("skipped: port 445 of {address}: {error}");
            false
        }
    })
}

/// What smbclient says to these commands in a share.
fn said(share: &str, commands: &str) -> String {
    let user = format!("{}%{}", USER.0, USER.1);
    let words = ["30", "smbclient", "-U", &user, share, "-c", commands];
    let output = Command::new("timeout").args(words).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What `fourfold namespace` says, and its exit code.
fn namespace(top: &Path, words: &[&str]) -> (Option<i32>, String) {
    let program = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .arg("namespace")
        .args(words)
        .args(["--state", "state"])
        .current_dir(top)
        .output()
        .unwrap();
    (
        program.status.code(),
        String::from_utf8_lossy(&program.stdout).into_owned() + &String::from_utf8_lossy(&program.stderr),
    )
}

/// Waits until the link has a target in this state.
fn wait_for(top: &Path, target: &str, state: &str) -> Duration {
    let began = Instant::now();
    loop {
        let (_, listed) = namespace(top, &["list"]);
        if listed
            .lines()
            .any(|line| line.contains(target) && line.split_whitespace().any(|word| word == state))
        {
            return began.elapsed();
        }
        assert!(began.elapsed() < Duration::from_secs(20), "{target} is not {state}: {listed}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Whether a client has a file of this name open.
fn is_open(top: &Path, name: &str) -> bool {
    let words = ["status", "--json", "--state", "state"];
    let status = Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).current_dir(top).output().unwrap();
    let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap_or_default();
    status["opens"].as_array().is_some_and(|opens| opens.iter().any(|open| open["file"] == name))
}

#[test]
fn smbclient_is_led_to_the_servers_that_are_up() {
    let [here, second_at, smbd_at] = ["127.0.18.1", "127.0.18.2", "127.0.18.3"];
    if !can_follow(&[here, second_at, smbd_at]) {
        return;
    }
    let ((top, share), (other, archive), smbd_place) = (folder(), folder(), tempfile::tempdir().unwrap());
    let third = smbd_place.path().join("share");
    fs::create_dir(&third).unwrap();
    open_to_all(&third);
    for (folder, letter) in [(&archive, "from the second"), (&third, "from smbd")] {
        fs::write(folder.join("letter"), letter).unwrap();
        fs::File::create(folder.join("film")).unwrap().set_len(1 << 36).unwrap();
    }
    let smbd = Smbd::start(smbd_place.path(), (smbd_at, 445), &third);
    let user = format!("{}:{}", USER.0, USER.1);
    let run = |top: &Path, address: &str| {
        let words = ["--nfs-port", "off", "--smb-port", "445", "--user", &user, "--listen", address];
        Server::run(top, &words)
    };
    let of_second = format!("[[share]]\nname = \"archive\"\npath = {archive:?}\n");
    fs::write(other.path().join("fourfold.toml"), of_second).unwrap();
    let shared = format!("[[share]]\nname = \"share\"\npath = {share:?}\n");
    let second = run(other.path(), second_at);
    fs::write(top.path().join("probe"), format!("username={}\npassword={}\n", USER.0, USER.1)).unwrap();
    let link = format!(
        "[[link]]\npath = \"share/films/old\"\ntargets = [\"smb://{second_at}/archive\", \"smb://{smbd_at}/archive\"]\ncredentials = \"probe\"\n"
    );
    fs::write(top.path().join("fourfold.toml"), link + &shared).unwrap();
    let server = run(top.path(), here);

    // Both answer a login and a listing. The first of the list is taken.
    wait_for(top.path(), second_at, "up");
    wait_for(top.path(), smbd_at, "up");
    let (unc, read) = (format!("//{here}/share"), "cd films\\old; get letter -");
    let listed = said(&unc, "ls films\\*");
    assert!(listed.contains("old"), "{listed}");
    assert!(said(&unc, read).contains("from the second"), "{}", said(&unc, read));
    let (code, explained) = namespace(top.path(), &["explain", "share/films/old/1999"]);
    assert!(code == Some(0) && explained.contains("Clients go on with 1999"), "{explained}");
    assert_eq!(namespace(top.path(), &["test", "share/films/old"]).0, Some(0));
    assert_eq!(namespace(top.path(), &["explain", "share/films"]).0, Some(1));

    // Killed in the middle of a copy: that copy fails, and what is opened next comes from the other.
    let words = [
        "30",
        "smbclient",
        "-U",
        &format!("{}%{}", USER.0, USER.1),
        &unc,
        "-c",
        "cd films\\old; get film /dev/null",
    ];
    let mut copy =
        Command::new("timeout").args(words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("the copy has not begun", || is_open(other.path(), "film"));
    assert_eq!(copy.try_wait().unwrap(), None, "the copy is going on");
    second.kill();
    let took = wait_for(top.path(), second_at, "down");
    assert!(took < LEFT_OUT_WITHIN, "{took:?}");
    assert!(!copy.wait().unwrap().success());
    assert!(said(&unc, read).contains("from smbd"), "{}", said(&unc, read));
    let (code, tested) = namespace(top.path(), &["test"]);
    assert!(code == Some(1) && tested.contains("cannot be reached"), "{tested}");

    // It comes back by itself, and clients with it.
    let second = run(other.path(), second_at);
    wait_for(top.path(), second_at, "up");
    assert!(said(&unc, read).contains("from the second"), "{}", said(&unc, read));
    drop(second);

    // smbd as the only target, by a reload; and a client that removes the link.
    let link = format!("[[link]]\npath = \"share/films/new\"\ntargets = [\"smb://{smbd_at}/archive\"]\n");
    fs::write(top.path().join("fourfold.toml"), link + &shared).unwrap();
    server.signal(rustix::process::Signal::HUP);
    wait_for(top.path(), "share/films/new", "up");
    assert!(fs::symlink_metadata(share.join("films/old")).is_err(), "it is not in the settings any more");
    assert!(said(&unc, "cd films\\new; get letter -").contains("from smbd"));
    drop(smbd);
    let took = wait_for(top.path(), smbd_at, "down");
    assert!(took < LEFT_OUT_WITHIN, "{took:?}");
}
