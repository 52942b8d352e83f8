//! `fourfold verify-metadata` on this server: what it writes by each protocol is kept for the others.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::robustness::server::{Server, USER, folder};

fn verify(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).arg("verify-metadata").args(words).output().unwrap()
}

/// What is not the same after the way from one protocol to another: the kind, the writer, the reader.
fn wrong(grid: &Value) -> Vec<(String, String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let readers: Vec<String> = grid["protocols"].as_array().unwrap().iter().map(text).collect();
    let mut wrong = Vec::new();
    for row in grid["rows"].as_array().unwrap() {
        let (what, by) = (text(&row["what"]), text(&row["by"]));
        if row["refused"].is_string() {
            wrong.push((what.clone(), by.clone(), "refused".into()));
        }
        for (cell, reader) in row["cells"].as_array().unwrap().iter().zip(&readers) {
            if !["kept", "impossible"].contains(&cell["is"].as_str().unwrap()) {
                wrong.push((what.clone(), by.clone(), format!("{reader}: {cell}")));
            }
        }
    }
    wrong
}

fn urls(server: &Server, nfs_uid: u32) -> [String; 4] {
    let (user, password) = USER;
    let (smb, afp, nfs) = (server.smb_port, server.afp_port, server.port);
    [
        format!("smb://{user}:{password}@127.0.0.1:{smb}/share"),
        format!("afp://{user}:{password}@127.0.0.1:{afp}/share?login=cleartext"),
        format!("nfs://127.0.0.1:{nfs}/share?mountport={nfs}&uid={nfs_uid}"),
        format!("nfs://127.0.0.1:{nfs}/share?vers=4.2&uid={nfs_uid}"),
    ]
}

fn is_empty(share: &Path) -> bool {
    let names = std::fs::read_dir(share).unwrap().map(|entry| entry.unwrap().file_name());
    names.into_iter().all(|name| vfs::is_own_name(name.as_encoded_bytes()))
}

#[test]
fn each_protocol_reads_what_the_others_write() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let page = top.path().join("grid.html");
    let urls = urls(&server, 1000);
    let words: Vec<&str> = urls.iter().map(String::as_str).collect();
    let output = verify(&[&words[..], &["--json", "--output", page.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let grid: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = grid["rows"].as_array().unwrap();
    assert!(rows.len() > 125, "{}", rows.len());
    let writers = |what: &str| rows.iter().filter(|row| row["what"] == what).count();
    assert_eq!((writers("ACL: an entry that denies"), writers("created"), writers("mode 0640")), (3, 3, 3));
    let wrong = wrong(&grid);
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(is_empty(&share), "what was made is removed");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("resource fork, 300 kB") && !page.contains(USER.1), "no password");
    let text = String::from_utf8(verify(&words[..2]).stdout).unwrap();
    assert!(text.contains("read over afp") && text.contains("kept, to 1 s"), "{text}");
}

#[test]
fn what_cannot_be_compared_is_said() {
    let (top, share) = folder();
    std::fs::create_dir(share.join("inner")).unwrap();
    crate::robustness::server::open_to_all(&share.join("inner"));
    let server = Server::start_with_afp(top.path(), &share);
    let [smb, afp, nfs, _] = urls(&server, 1000);
    let wrong_password = smb.replace(USER.1, "mistaken");
    let nobody = "smb://ada:x@127.0.0.1:1/share".to_owned();
    let other = nfs.replace("/share?", "/share/inner?");
    for (urls, said) in [
        (vec![&wrong_password], "the login is refused"),
        (vec![&nobody], "cannot be reached"),
        (vec![&afp, &other], "do the URLs name one folder?"),
    ] {
        let urls: Vec<&str> = urls.iter().map(|url| url.as_str()).collect();
        let output = verify(&urls);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
    assert_eq!(verify(&["file:///tmp"]).status.code(), Some(1));
    assert_eq!(verify(&[]).status.code(), Some(2));
    assert_eq!(std::fs::read_dir(&share).unwrap().count(), 1, "only the folder that was there");
}
