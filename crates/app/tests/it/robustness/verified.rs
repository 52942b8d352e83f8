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

/// The abilities that do not work, with what is said of them, of each target.
fn missing(report: &Value) -> Vec<String> {
    let trials = report["trials"].as_array().unwrap().iter();
    let missing = trials.filter(|trial| trial["outcome"]["is"] != "works");
    missing.map(|trial| format!("{} {}", trial["ability"].as_str().unwrap(), trial["outcome"])).collect()
}

fn verdict<'a>(report: &'a Value, program: &str, purpose: &str) -> &'a str {
    let mut all = report["programs"].as_array().unwrap().iter();
    let found = all.find(|one| one["program"] == program && one["purpose"] == purpose);
    found.unwrap_or_else(|| panic!("{program}, {purpose}"))["verdict"].as_str().unwrap()
}

#[test]
fn what_edit_applications_do_works_on_a_share() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let urls = urls(&server, 1000);
    let run = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.arg("verify-edit").args(words).output().unwrap()
    };
    let words: Vec<&str> = urls.iter().map(String::as_str).collect();
    let output = run(&[&words[..], &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let reports: Value = serde_json::from_slice(&output.stdout).unwrap();
    let [smb, afp, nfs, nfs4] = [0, 1, 2, 3].map(|at| &reports[at]);
    // How many tracks are enough depends on the machine that tests.
    let of_server = |report: &Value| -> Vec<String> {
        missing(report).into_iter().filter(|one| !one.starts_with("small-reads")).collect()
    };
    assert_eq!(of_server(smb), Vec::<String>::new());
    let impossible = |words: &[&str]| -> Vec<String> {
        words.iter().map(|word| format!("{word} {{\"is\":\"impossible\"}}")).collect()
    };
    assert_eq!(of_server(afp), Vec::<String>::new());
    // Names of NFS are bytes, and its clients take their locks back themselves.
    let case = "one-case {\"is\":\"fails\",\"why\":\"clip.mov does not find Clip.MOV\"}";
    let [lost, alone] = [impossible(&["lost-locks"]), impossible(&["open-alone"])];
    assert_eq!(of_server(nfs), [&[case.to_owned()], &lost[..], &alone[..]].concat());
    assert_eq!(of_server(nfs4), [&[case.to_owned()], &lost[..]].concat());
    assert_eq!(verdict(smb, "final-cut-pro", "libraries"), "works");
    assert_eq!(verdict(nfs4, "final-cut-pro", "libraries"), "refused");
    assert_eq!(verdict(smb, "logic-pro", "the Sound Library"), "refused");
    assert!(is_empty(&share), "what was made is removed");
    let text = String::from_utf8(run(&[words[0], "--for", "pro-tools"]).stdout).unwrap();
    assert!(text.contains("Pro Tools") && !text.contains("Premiere"), "{text}");
    assert!(text.contains("set the volume to R"), "{text}");
    assert_eq!(run(&[words[0], "--for", "imovie"]).status.code(), Some(2));
}
