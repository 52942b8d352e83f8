//! `fourfold names`: what hurts, a fix, and back.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn names(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).arg("names").args(words).output().unwrap()
}

fn json(words: &[&str]) -> Value {
    let output = names(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// All names below a folder, with the content of files.
fn tree(folder: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            all.extend(tree(&path));
        }
        all.push((path.as_os_str().as_bytes().to_vec(), fs::read(&path).unwrap_or_default()));
    }
    all.sort();
    all
}

#[test]
fn names_are_previewed_fixed_and_taken_back() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    let inner = share.join("Sales. ");
    fs::create_dir_all(&inner).unwrap();
    fs::write(inner.join("1\u{f022}2"), "private").unwrap();
    fs::write(inner.join("._1\u{f022}2"), "sidecar").unwrap();
    fs::write(inner.join(OsStr::from_bytes(b"caf\xe9")), "latin").unwrap();
    for name in ["Report", "report", "what?", "fine", ".fourfold"] {
        fs::write(share.join(name), name).unwrap();
    }
    let (before, path) = (tree(&share), share.to_string_lossy().into_owned());

    let preview = json(&[&path]);
    let found = preview["names"].as_array().unwrap();
    let fixed: Vec<&str> = found.iter().filter_map(|one| one["fixed"].as_str()).collect();
    assert_eq!(fixed, ["1:2", "caf_", "Sales", "report 2"]);
    assert_eq!((found.len(), tree(&share)), (5, before.clone()), "nothing is changed");
    let text = String::from_utf8(names(&[&path]).stdout).unwrap();
    assert!(text.contains("would become \"report 2\"") && text.contains("5 names, 4 with a fix"), "{text}");

    let journal = top.path().join("journal").to_string_lossy().into_owned();
    json(&[&path, "--fix", "--windows", "--journal", &journal]);
    let sales = share.join("Sales");
    assert_eq!(fs::read(sales.join("1_2")).unwrap(), b"private");
    assert_eq!(fs::read(sales.join("._1_2")).unwrap(), b"sidecar");
    assert_eq!(fs::read(sales.join("caf_")).unwrap(), b"latin");
    assert_eq!(
        (fs::read(share.join("report 2")).unwrap(), fs::read(share.join("what_")).unwrap()),
        (b"report".to_vec(), b"what?".to_vec())
    );
    assert_eq!(json(&[&path])["names"].as_array().unwrap().len(), 0);

    assert_eq!(
        names(&[&path, "--fix", "--journal", &journal]).status.code(),
        Some(1),
        "a journal is not replaced"
    );
    assert_eq!(json(&["--undo", &journal])["back"], 5);
    assert_eq!(tree(&share), before);
    assert_eq!(json(&["--undo", &journal])["back"], 0);
}

#[test]
fn names_of_netatalk_2_are_fixed_with_what_belongs_to_the_file() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    let headers = share.join(".AppleDouble");
    fs::create_dir_all(&headers).unwrap();
    fs::create_dir_all(share.join("@eaDir")).unwrap();
    for name in ["in:2fout", ":2eprofile", "12:30"] {
        fs::write(share.join(name), name).unwrap();
        fs::write(headers.join(name), "header").unwrap();
    }
    fs::write(headers.join("in:2fout::EA"), "list").unwrap();
    fs::write(headers.join("in:2fout::EA::plain"), "value").unwrap();
    fs::write(share.join("@eaDir/in:2fout@SynoResource"), "fork").unwrap();
    let (before, path) = (tree(&share), share.to_string_lossy().into_owned());
    let journal = top.path().join("journal").to_string_lossy().into_owned();
    json(&[&path, "--fix", "--journal", &journal]);
    let there = |name: &str| fs::read_to_string(share.join(name)).unwrap();
    assert_eq!(
        (there("in:out"), there(".profile"), there("12:30")),
        ("in:2fout".into(), ":2eprofile".into(), "12:30".into())
    );
    for (name, content) in [
        (".AppleDouble/in:out", "header"),
        (".AppleDouble/in:out::EA", "list"),
        (".AppleDouble/in:out::EA::plain", "value"),
        (".AppleDouble/.profile", "header"),
        ("@eaDir/in:out@SynoResource", "fork"),
    ] {
        assert_eq!(there(name), content, "{name}");
    }
    assert_eq!(json(&["--undo", &journal])["back"], 2);
    assert_eq!(tree(&share), before);
}

#[test]
fn what_cannot_be_done_is_said() {
    assert_eq!(names(&["/nonexistent"]).status.code(), Some(1));
    assert_eq!(names(&[]).status.code(), Some(2));
    let top = tempfile::tempdir().unwrap();
    let folder = top.path().to_string_lossy();
    assert_eq!(names(&[&folder, "--fix"]).status.code(), Some(2), "a fix needs a journal");
    let journal = top.path().join("journal");
    fs::write(&journal, "{\"folder\":\"2f\",\"from\":\"2e2e2f61\",\"to\":\"62\"}\n").unwrap();
    let refused = names(&["--undo", &journal.to_string_lossy()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("line 1"));
}

#[test]
fn a_long_name_is_reported_only_where_the_host_has_lost_it() {
    use vfs::names::long::{ATTRIBUTE, shortened};
    let top = tempfile::tempdir().unwrap();
    let (whole, lost) = ("漢".repeat(100), "字".repeat(100));
    let on_host = |name: &str| String::from_utf8(shortened(name.as_bytes(), 0)).unwrap();
    for (name, value) in [
        (on_host(&whole), &*whole),
        (on_host(&lost), ""),
        ("renamed".into(), &whole),
        ("damaged".into(), "x"),
    ] {
        let path = top.path().join(name);
        fs::write(&path, "content").unwrap();
        if !value.is_empty() {
            let attribute = OsStr::from_bytes(ATTRIBUTE);
            rustix::fs::setxattr(&path, attribute, value.as_bytes(), rustix::fs::XattrFlags::empty())
                .unwrap();
        }
    }
    let found = json(&[&top.path().to_string_lossy()]);
    let found = found["names"].as_array().unwrap();
    let why = |name: &str| -> Vec<&str> {
        let one = found.iter().find(|one| one["name"] == *name).unwrap();
        assert_eq!(one["fixed"], Value::Null);
        one["why"].as_array().unwrap().iter().map(|why| why.as_str().unwrap()).collect()
    };
    let old_macs = "Macs before Mac OS X see a shortened name";
    assert_eq!(why(&whole), [old_macs], "by its whole name, and with nothing against that");
    let is_lost = "it looks shortened, and the whole name is not there: it was lost, or there never was one";
    assert_eq!(why(&on_host(&lost)), [old_macs, is_lost]);
    assert_eq!(why("renamed"), ["it has kept a former long name in an attribute, which has no effect"]);
    assert_eq!(why("damaged"), ["the attribute for its whole name cannot be read, and has no effect"]);
    assert_eq!(found.len(), 4);
}

#[test]
fn links_follow_the_names_and_go_back() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share").join("inner");
    fs::create_dir_all(share.join("Sales. ")).unwrap();
    let share = share.canonicalize().unwrap();
    fs::write(share.join("Sales. ").join("nul.txt"), "text").unwrap();
    fs::write(share.join("fine"), "fine").unwrap();
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, share.join(name)).unwrap();
    link(Path::new("Sales. /nul.txt"), "beside");
    link(Path::new("../nowhere"), "dangling");
    link(&share.join("Sales. "), "whole");
    link(Path::new("../fine"), "Sales. /up");
    link(Path::new("../inner/Sales. /../Sales. /nul.txt"), "round");
    link(Path::new("whole/nul.txt"), "through");
    let read = |name: &str| fs::read_to_string(share.join(name)).unwrap();
    let (path, journal) = (share.to_str().unwrap(), top.path().join("journal"));
    let fixed = json(&[path, "--fix", "--journal", journal.to_str().unwrap()]);
    assert_eq!((&fixed["links"], fixed["links_failed"].as_array().unwrap().len()), (&4.into(), 0), "{fixed}");
    assert_eq!(fs::read_link(share.join("beside")).unwrap(), Path::new("Sales/nul_.txt"));
    for name in ["beside", "round", "through"] {
        assert_eq!(read(name), "text", "{name}");
    }
    assert_eq!(read("Sales/up"), "fine");
    assert!(share.join("whole").is_dir());
    json(&["--undo", journal.to_str().unwrap()]);
    for name in ["beside", "round", "through"] {
        assert_eq!(read(name), "text", "{name}");
    }
    assert_eq!(fs::read_link(share.join("beside")).unwrap(), Path::new("Sales. /nul.txt"));
    assert_eq!(fs::read_link(share.join("whole")).unwrap(), share.join("Sales. "));
}
