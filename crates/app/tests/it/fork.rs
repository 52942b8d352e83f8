//! `fourfold fork`: files with forks, packed and unpacked, alone and in trees.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use vfs::mac::portable::Portable;

fn fork(folder: &Path, words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).arg("fork").args(words).current_dir(folder).output().unwrap()
}

fn well(folder: &Path, words: &[&str]) -> Value {
    let output = fork(folder, &[words, &["--json"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_str(&said).unwrap()
}

fn folder(top: &Path, name: &str) -> PathBuf {
    let folder = top.join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// A file with everything that AppleSingle holds, as such a file.
fn letter() -> Vec<u8> {
    let mut letter = Portable { name: "Letter".into(), ..Portable::default() };
    letter.finder_info.set_type(*b"TEXT", *b"ttxt");
    (letter.data, letter.resource) = (b"Dear Ada".to_vec(), vec![7; 5_000]);
    let at = |secs| Some(vfs::Time { secs, nanos: 0 });
    (letter.dates.created, letter.dates.modified) = (at(1_000_000_000), at(1_100_000_000));
    letter.encode(vfs::mac::portable::Format::AppleSingle).unwrap()
}

#[test]
fn a_file_goes_through_each_form_and_is_the_same() {
    let top = tempfile::tempdir().unwrap();
    let first = folder(top.path(), "first");
    fs::write(first.join("in.as"), letter()).unwrap();
    well(&first, &["unpack", "in.as"]);
    assert_eq!(fs::read(first.join("Letter")).unwrap(), b"Dear Ada");
    assert_eq!(fs::metadata(first.join("._Letter")).unwrap().len(), 82 + 5_000);
    for (form, packed, lossy) in [
        ("applesingle", "Letter.as", false),
        ("appledouble", "Letter", false),
        ("macbinary", "Letter.bin", false),
        ("binhex", "Letter.hqx", true),
    ] {
        let (sent, got) =
            (folder(top.path(), &format!("{form}-sent")), folder(top.path(), &format!("{form}-got")));
        let into = sent.to_string_lossy();
        let words = ["pack", "Letter", "--form", form, "--into", &into];
        if lossy {
            let refused = fork(&first, &words);
            assert_eq!(refused.status.code(), Some(1));
            assert!(String::from_utf8_lossy(&refused.stderr).contains("dates"), "{refused:?}");
        }
        well(&first, &if lossy { [&words[..], &["--lossy"]].concat() } else { words.to_vec() });
        well(&sent, &["unpack", packed, "--into", &got.to_string_lossy()]);
        well(&got, &["pack", "Letter"]);
        let again = fs::read(got.join("Letter.as")).unwrap();
        if !lossy {
            assert_eq!(again, letter(), "{form}");
            continue;
        }
        let (mut kept, whole) =
            (Portable::decode(&again, 0).unwrap().1, Portable::decode(&letter(), 0).unwrap().1);
        kept.dates = whole.dates;
        assert_eq!(kept, whole, "{form}: all but the dates");
    }
    let twice = fork(&first, &["unpack", "in.as"]);
    assert_eq!(twice.status.code(), Some(1), "no file is replaced");
    assert!(String::from_utf8_lossy(&twice.stderr).contains("exists"));
}

/// All whole files of the shared corpus, as trees: unpacked, packed as AppleSingle, unpacked again.
#[test]
fn the_corpus_of_real_files_is_kept() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/mac");
    let top = tempfile::tempdir().unwrap();
    let source = folder(top.path(), "source");
    let mut expected = Vec::new();
    for kind in ["applesingle", "macbinary", "binhex"] {
        let Ok(entries) = fs::read_dir(corpus.join(kind)) else {
            return println!("skipped: no corpus at {}", corpus.display());
        };
        for entry in entries.map(Result::unwrap) {
            let bytes = fs::read(entry.path()).unwrap();
            let Ok((_, file)) = Portable::decode(&bytes, 64 << 20) else { continue };
            let within = folder(&source, &format!("{kind}-{}", expected.len()));
            fs::write(within.join(entry.file_name()), bytes).unwrap();
            expected.push((within.file_name().unwrap().to_owned(), file));
        }
    }
    let (files, packed) = (folder(top.path(), "files"), folder(top.path(), "packed"));
    well(top.path(), &["unpack", "source", "--into", &files.to_string_lossy()]);
    well(&files, &["pack", "source", "--into", &packed.to_string_lossy()]);
    for (place, file) in &expected {
        let made = fs::read_dir(packed.join("source").join(place)).unwrap().next().unwrap().unwrap().path();
        let (_, again) = Portable::decode(&fs::read(&made).unwrap(), 0).unwrap();
        assert_eq!(
            (again.data == file.data, again.resource == file.resource),
            (true, true),
            "{}",
            made.display()
        );
        assert_eq!(
            (again.finder_info, &again.comment),
            (file.finder_info, &file.comment),
            "{}",
            made.display()
        );
        // A file without a date of creation is made now.
        assert!(
            file.dates.created.is_none_or(|created| again.dates.created == Some(created)),
            "{}",
            made.display()
        );
    }
    println!("{} files", expected.len());
    assert!(expected.len() > 30);
}

#[test]
fn what_is_no_such_file_is_said() {
    let top = tempfile::tempdir().unwrap();
    fs::write(top.path().join("text"), b"only text").unwrap();
    let refused = fork(top.path(), &["unpack", "text"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("MacBinary"), "{refused:?}");
    assert_eq!(fork(top.path(), &["pack", "nothing"]).status.code(), Some(1));
    assert_eq!(fork(top.path(), &["pack", "text", "--into", "nowhere"]).status.code(), Some(1));
}

#[test]
fn plain_files_of_a_folder_are_passed_over() {
    let top = tempfile::tempdir().unwrap();
    let (source, into) = (folder(top.path(), "source"), folder(top.path(), "into"));
    fs::write(source.join("letter.as"), letter()).unwrap();
    fs::write(source.join("notes.txt"), b"only text").unwrap();
    let done = well(top.path(), &["unpack", "source", "--into", into.to_str().unwrap()]);
    let plain: Vec<&Value> =
        done["files"].as_array().unwrap().iter().filter(|one| one["to"].is_null()).collect();
    assert!(plain.len() == 1 && plain[0]["from"].as_str().unwrap().ends_with("notes.txt"), "{done}");
    assert_eq!(fs::read(into.join("source/Letter")).unwrap(), b"Dear Ada");
    assert!(!into.join("source/notes.txt").exists());
    let mut names = vec![0; 4096];
    let length = rustix::fs::listxattr(into.join("source/Letter"), &mut names[..]).unwrap();
    let names = String::from_utf8_lossy(&names[..length]).into_owned();
    assert!(!names.contains("user.fourfold.moving"), "{names}");
    // A form that is damaged is no plain file.
    fs::write(source.join("damaged.as"), &letter()[..60]).unwrap();
    let again = folder(top.path(), "again");
    let damaged = fork(top.path(), &["unpack", "source", "--into", again.to_str().unwrap()]);
    assert_eq!(damaged.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&damaged.stderr).contains("damaged.as"), "{damaged:?}");
    let inside = folder(&source, "inside");
    let refused = fork(top.path(), &["unpack", "source", "--into", inside.to_str().unwrap()]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("would be read again"), "{refused:?}");
}

#[test]
fn a_bind_mount_does_not_hide_that_files_go_into_their_source() {
    let top = tempfile::tempdir().unwrap();
    let (source, bound) = (folder(top.path(), "source"), folder(top.path(), "bound"));
    fs::write(folder(&source, "sub").join("letter.as"), letter()).unwrap();
    let script = "mount --bind \"$1/sub\" \"$2\" && shift 2 && exec \"$@\"";
    for action in [&["unpack"][..], &["pack", "--form", "applesingle"]] {
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-c", script, "sh"]).args([&source, &bound]);
        command
            .args([env!("CARGO_BIN_EXE_fourfold"), "fork"])
            .args(action)
            .arg(&source)
            .arg("--into")
            .arg(&bound);
        let Ok(output) = command.output() else { return println!("skipped: no unshare") };
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("unshare") || said.contains("mount:") {
            return println!("skipped: {said}");
        }
        assert!(said.contains("would be read again"), "{said}");
        assert_eq!(fs::read_dir(source.join("sub")).unwrap().count(), 1, "nothing was made");
    }
}
