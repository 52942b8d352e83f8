//! Links of a namespace, as smbclient follows them.

use std::process::Command;

use crate::server::{Server, USER, folder, open_to_all};

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
