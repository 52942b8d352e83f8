//! Copies into what they are copied from are refused, by whatever URLs the two are named, and before anything is removed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::robustness::server::{Server, USER, folder, open_to_all};

fn fourfold(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).output().unwrap()
}

/// All paths below a folder.
fn all(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        if entry.file_type().unwrap().is_dir() {
            found.extend(all(&entry.path()));
        }
        found.push(entry.path());
    }
    found.sort();
    found
}

fn refused(words: &[&str], tree: &Path) {
    let before = all(tree);
    let output = fourfold(words);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words:?}: {said}");
    assert!(said.contains("one folder, or one is inside the other"), "{words:?}: {said}");
    assert_eq!(all(tree), before, "{words:?}");
}

fn urls(server: &Server, inner: &str) -> Vec<String> {
    let (user, password) = USER;
    let (smb, afp, nfs) = (server.smb_port, server.afp_port, server.port);
    let localhost = |host: &str| {
        vec![
            format!("smb://{user}:{password}@{host}:{smb}/share{inner}"),
            format!("afp://{user}:{password}@{host}:{afp}/share{inner}?login=cleartext"),
            format!("nfs://{host}:{nfs}/share{inner}?mountport={nfs}&uid=1000"),
            format!("nfs://{host}:{nfs}/share{inner}?vers=4&uid=1000"),
        ]
    };
    [localhost("127.0.0.1"), localhost("localhost")[..1].to_vec()].concat()
}

#[test]
fn a_copy_into_its_source_is_refused_by_any_two_urls() {
    let (top, share) = folder();
    fs::create_dir_all(share.join("data/sub")).unwrap();
    fs::write(share.join("data/letter"), "letter").unwrap();
    fs::write(share.join("other"), "other").unwrap();
    [".", "data", "data/sub", "data/letter", "other"].iter().for_each(|name| open_to_all(&share.join(name)));
    let server = Server::start_with_afp(top.path(), &share);
    std::os::unix::fs::symlink(&share, top.path().join("link")).unwrap();
    let here = |inner: &str| {
        vec![format!("{}{inner}", share.display()), format!("{}/link{inner}", top.path().display())]
    };
    let by_all = |inner: &str| [here(inner), urls(&server, inner)].concat();
    let (whole, data, sub) = (by_all(""), by_all("/data"), by_all("/data/sub"));
    let local = share.to_str().unwrap();
    for number in 0..whole.len() {
        let next = (number + 1) % whole.len();
        // The one that was measured: the source is surplus in the destination.
        refused(&["migrate", "--delete", &data[number], &whole[next]], &share);
        refused(&["migrate", &whole[number], &whole[next]], &share);
        refused(&["migrate", "--delete", &data[number], local], &share);
        refused(&["cp", &data[number], &sub[next]], &share);
        refused(&["cp", &data[number], &whole[next]], &share);
    }
    // Beside each other, and by another name, is no overlap.
    let copied = fourfold(&["cp", &data[2], &format!("{}/data2", share.display())]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert_eq!(fs::read(share.join("data2/letter")).unwrap(), b"letter");
    let copied = fourfold(&["migrate", "--delete", &data[3], &by_all("/data2")[4]]);
    assert!(copied.status.success(), "{}", String::from_utf8_lossy(&copied.stderr));
    assert!(all(&share).iter().all(|path| !path.to_string_lossy().contains("fourfold-probe")));
}

#[test]
fn a_bind_mount_does_not_hide_an_overlap() {
    let top = tempfile::tempdir().unwrap();
    let (old, bound) = (top.path().join("old"), top.path().join("bound"));
    fs::create_dir_all(old.join("a/b")).unwrap();
    fs::create_dir(&bound).unwrap();
    fs::write(old.join("a/letter"), "letter").unwrap();
    let script = "mount --bind \"$1/a\" \"$2\" && exec \"$3\" migrate --delete \"$4\" \"$5\"";
    let program = env!("CARGO_BIN_EXE_fourfold");
    let run = |from: &Path, to: &Path| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .args([&old, &bound])
            .arg(program)
            .args([from, to]);
        command.output()
    };
    let Ok(output) = run(&old, &bound) else { return println!("skipped: no unshare") };
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("unshare") || said.contains("mount:") {
        return println!("skipped: {said}");
    }
    assert!(said.contains("one folder, or one is inside the other"), "{said}");
    let other = run(&bound, &old).unwrap();
    let said = String::from_utf8_lossy(&other.stderr);
    assert!(said.contains("one folder, or one is inside the other"), "{said}");
    assert_eq!(fs::read(old.join("a/letter")).unwrap(), b"letter");
}

#[test]
fn a_single_copy_may_get_another_name() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    fs::write(top.path().join("letter"), "letter").unwrap();
    let letter = top.path().join("letter");
    for (number, url) in urls(&server, "").iter().enumerate() {
        let name = format!("copy{number}");
        let (base, options) = url
            .split_once('?')
            .map_or((url.as_str(), String::new()), |(base, rest)| (base, format!("?{rest}")));
        let to = format!("{base}/{name}{options}");
        let copied = fourfold(&["cp", letter.to_str().unwrap(), &to]);
        assert!(copied.status.success(), "{to}: {}", String::from_utf8_lossy(&copied.stderr));
        assert_eq!(fs::read(share.join(&name)).unwrap(), b"letter", "{to}");
        fs::write(&letter, "letter").unwrap();
    }
    let two = fourfold(&[
        "cp",
        letter.to_str().unwrap(),
        letter.to_str().unwrap(),
        share.join("none").to_str().unwrap(),
    ]);
    assert!(String::from_utf8_lossy(&two.stderr).contains("several files need a folder"), "{two:?}");
}
