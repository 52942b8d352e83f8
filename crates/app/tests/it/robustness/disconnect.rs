//! `fourfold disconnect` ends the selected sessions, and nothing else.

use std::path::Path;
use std::process::Command;

use ::smb::wire::Status;
use afp::wire::ResultCode;

use crate::robustness::afp::Afp;
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smb::Smb;

/// The exit code and the output.
fn disconnect(top: &Path, what: &[&str]) -> (Option<i32>, String) {
    let fourfold = env!("CARGO_BIN_EXE_fourfold");
    let mut command = Command::new(fourfold);
    let output =
        command.arg("disconnect").args(what).args(["--state", "state"]).current_dir(top).output().unwrap();
    let said = if output.status.success() { output.stdout } else { output.stderr };
    (output.status.code(), String::from_utf8(said).unwrap())
}

#[test]
fn sessions_and_files_of_smb_and_afp() {
    let (top, share) = folder();
    std::fs::write(
        top.path().join("fourfold.toml"),
        "[server]\nafp-logins = [\"cleartext\"]\n[[share]]\nname = \"share\"\npath = \"share\"\n",
    )
    .unwrap();
    let user = format!("{}:{}", USER.0, USER.1);
    let ports = ["--nfs-port", "off", "--smb-port", "0", "--afp-port", "0", "--user", &user];
    let server = Server::run(top.path(), &ports);
    let mut ada = Smb::enter(server.smb_port);
    let (notes, other) = (ada.make("notes", b"abc"), ada.make("other", b"def"));
    let mut mac = Afp::enter(server.afp_port);
    let fork = mac.make("of a mac", b"ghi");

    // A file, closed for all clients: the sessions continue.
    let path = share.join("notes").display().to_string();
    assert_eq!(disconnect(top.path(), &["--file", &path]), (Some(0), "1 SMB open ended\n".into()));
    assert_eq!(ada.content(notes), Err(Status::FILE_CLOSED));
    assert_eq!(ada.content(other).unwrap(), b"def");
    let path = share.join("of a mac").display().to_string();
    assert_eq!(disconnect(top.path(), &["--file", &path]), (Some(0), "1 AFP fork ended\n".into()));
    assert_eq!(mac.client.read(fork, 0, 10).unwrap_err().code(), Some(ResultCode::PARAM_ERROR));

    // Sessions that do not exist.
    let (code, said) = disconnect(top.path(), &["--user", "grace"]);
    assert!(code == Some(1) && said.contains("`fourfold status` lists them"), "{said}");
    let (code, said) = disconnect(top.path(), &["--file", "/dev/null"]);
    assert!(code == Some(1) && said.contains("is in the folder of no share"), "{said}");
    let (code, said) = disconnect(top.path(), &[]);
    assert!(code == Some(2) && said.contains("--user"), "{said}");

    // A user's sessions.
    let ended = disconnect(top.path(), &["--user", &USER.0.to_uppercase(), "--client", "127.0.0.1"]);
    assert_eq!(ended, (Some(0), "1 SMB session ended\n1 AFP session ended\n".into()));
    assert_eq!(ada.content(other), Err(Status::USER_SESSION_DELETED));
    let connection = Smb::enter(server.smb_port).client.link.local_address().to_string();
    assert_eq!(disconnect(top.path(), &["--connection", &connection]).0, Some(1), "that connection has gone");
    let again = Smb::enter(server.smb_port);
    let connection = again.client.link.local_address().to_string();
    assert_eq!(disconnect(top.path(), &["--connection", &connection]).0, Some(0));
}
