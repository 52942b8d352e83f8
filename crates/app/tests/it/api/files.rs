//! Folders and files as every protocol sees them.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{XattrFlags, setxattr};
use serde_json::{Value, json};
use vfs::mac::{DosAttributes, FinderInfo, Metadata};

use super::Server;

/// Folders and files of the share `one`.
fn files() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let one = folder.path().join("one");
    std::fs::create_dir_all(one.join("Projects/Film")).unwrap();
    std::fs::write(one.join("Projects/a:b?"), b"12345").unwrap();
    std::fs::write(one.join("Projects").join(OsStr::from_bytes(b"caf\xe9")), b"").unwrap();
    std::fs::write(one.join("Projects/\u{dc}bung.txt"), b"").unwrap();
    std::os::unix::fs::symlink("/etc", one.join("out")).unwrap();
    folder
}

struct Asking {
    server: Server,
    token: String,
}

impl Asking {
    fn get(&self, path: &str) -> (u16, Value) {
        let answer = self.server.ask(&format!("GET {path}"), &self.token, "");
        (answer.status, answer.json())
    }

    fn refusal(&self, path: &str) -> (u16, String) {
        let (status, answer) = self.get(path);
        (status, answer["errors"][0].as_str().unwrap_or_default().to_owned())
    }
}

fn serving(folder: tempfile::TempDir) -> Asking {
    let server = Server::serving(folder, &["one"]);
    let token = server.token("files", "read");
    Asking { server, token }
}

fn names(folder: &Value) -> Vec<&str> {
    folder["rows"].as_array().unwrap().iter().map(|row| row["name"].as_str().unwrap()).collect()
}

#[test]
fn folders_are_listed_in_parts_and_files_told_with_their_names() {
    let asking = serving(files());
    let (status, root) = asking.get("/v1/files?share=one");
    assert_eq!((status, names(&root)), (200, vec!["out", "Projects"]), "{root}");
    assert_eq!(root["rows"][0]["kind"], "link");
    let (_, folder) = asking.get("/v1/files?share=one&path=Projects");
    assert_eq!(names(&folder), ["a:b?", "caf\u{efe9}", "Film", "\u{dc}bung.txt"]);
    assert_eq!((&folder["rows"][0]["size"], &folder["rows"][2]["kind"]), (&json!(5), &json!("folder")));
    let (_, part) = asking.get("/v1/files?share=one&path=/Projects/&offset=1&limit=2");
    assert_eq!((names(&part), &part["total"]), (vec!["caf\u{efe9}", "Film"], &json!(4)));
    let (_, found) = asking.get("/v1/files?share=one&path=Projects&search=%C3%BCB");
    assert_eq!((names(&found), &found["total"]), (vec!["\u{dc}bung.txt"], &json!(1)));

    let seen = |path: &str| {
        let (status, file) = asking.get(&format!("/v1/file?share=one&path={path}"));
        assert_eq!(status, 200, "{file}");
        let names = file["names"].as_array().unwrap().clone();
        names.into_iter().map(|one| one["name"].as_str().map(str::to_owned)).collect::<Vec<_>>()
    };
    let some = |names: [&str; 4]| names.map(|name| Some(name.to_owned())).to_vec();
    // The private code points of Services for Macintosh; a colon is a slash to Macs.
    assert_eq!(seen("Projects/a:b%3F"), some(["a:b?", "a\u{f022}b\u{f025}", "a/b?", "a/b?"]));
    assert_eq!(
        seen("Projects/%C3%9Cbung.txt"),
        some(["\u{dc}bung.txt", "\u{dc}bung.txt", "U\u{308}bung.txt", "\u{dc}bung.txt"])
    );
    // A byte that is no text: U+EFE9, as the listing has it. A short name needs a number.
    let text = Some("caf\u{efe9}".to_owned());
    assert_eq!(seen("Projects/caf%EE%BF%A9"), [text.clone(), text.clone(), text, None]);
}

#[test]
fn what_macs_and_windows_keep_is_told() {
    let folder = files();
    let path = folder.path().join("one/Projects/a:b?");
    let mut metadata = Metadata::default();
    let mut info = FinderInfo::NONE;
    info.set_type(*b"TEXT", *b"ttxt");
    info.set_label(6);
    metadata.set_finder_info(info);
    metadata.set_dos(DosAttributes::HIDDEN | DosAttributes::ARCHIVE);
    for (name, value) in
        [("user.org.netatalk.Metadata", metadata.to_netatalk()), ("user.DOSATTRIB", metadata.to_dosattrib())]
    {
        setxattr(&path, name, &value, XattrFlags::empty()).unwrap();
    }
    let asking = serving(folder);
    let (_, file) = asking.get("/v1/file?share=one&path=Projects/a:b%3F");
    let finder = &file["finder"];
    assert_eq!((&finder["file_type"], &finder["creator"]), (&json!("TEXT"), &json!("ttxt")), "{file}");
    assert_eq!(finder["label"], 6);
    assert_eq!(file["dos"], json!(["hidden", "archive"]), "{file}");
    assert_eq!(
        (&file["size"], &file["kind"], &file["acl"]["stored"]),
        (&json!(5), &json!("file"), &json!(false))
    );
    assert_eq!(file["acl"]["entries"][0]["who"], "owner", "{file}");
    assert!(file["host_path"].as_str().unwrap().ends_with("/one/Projects/a:b?"));
    assert_eq!((&file["opens"], &file["snapshots"]), (&json!([]), &json!([])));
    let (_, root) = asking.get("/v1/file?share=one");
    assert_eq!((&root["kind"], &root["path"], &root["names"]), (&json!("folder"), &json!(""), &json!([])));
}

#[test]
fn an_administrator_sees_shares_inside_shares_whatever_their_rules() {
    let folder = files();
    let settings = "[[share]]\nname = \"one\"\npath = \"one\"\n\n[[share]]\nname = \"film\"\n\
                    path = \"one/Projects/Film\"\nusers = [\"nobody-else\"]\nhide = [\"*.tmp\"]\n";
    std::fs::write(folder.path().join("fourfold.toml"), settings).unwrap();
    std::fs::write(folder.path().join("one/Projects/Film/scene"), b"").unwrap();
    let server = Server::serving(folder, &["--config", "fourfold.toml"]);
    let token = server.token("files", "read");
    let asking = Asking { server, token };
    for place in ["one&path=Projects/Film", "film"] {
        let (status, film) = asking.get(&format!("/v1/files?share={place}"));
        assert_eq!((status, names(&film)), (200, vec!["scene"]), "{film}");
    }
    let (status, scene) = asking.get("/v1/file?share=one&path=Projects/Film/scene");
    assert_eq!((status, &scene["kind"]), (200, &json!("file")), "{scene}");
}

#[test]
fn backups_of_macs_are_told_with_their_state() {
    let folder = tempfile::tempdir().unwrap();
    let settings = "[[share]]\nname = \"macs\"\npath = \"macs\"\ntime-machine = true\n\
                    time-machine-size = \"1 GiB\"\n\n[[share]]\nname = \"other\"\npath = \"other\"\n";
    std::fs::write(folder.path().join("fourfold.toml"), settings).unwrap();
    let bundle = |name: &str, state: u32, date: Option<&str>| {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.join("bands")).unwrap();
        std::fs::write(path.join("bands/0"), b"x").unwrap();
        let band_size = "<dict><key>band-size</key><integer>8388608</integer></dict>";
        std::fs::write(path.join("Info.plist"), band_size).unwrap();
        let machine = format!("<key>VerificationState</key>\n\t<integer>{state}</integer>");
        std::fs::write(path.join("com.apple.TimeMachine.MachineID.plist"), machine).unwrap();
        if let Some(date) = date {
            let list = format!(
                "<array><dict><key>com.apple.backupd.SnapshotCompletionDate</key>\n<date>{date}</date></dict></array>"
            );
            std::fs::write(path.join("com.apple.TimeMachine.SnapshotHistory.plist"), list).unwrap();
        }
    };
    bundle("macs/Ada's Mac.sparsebundle", 1, Some("2020-01-02T03:04:05Z"));
    bundle("macs/Grace.backupbundle", 2, Some("2020-01-02T03:04:05Z"));
    bundle("macs/new.sparsebundle", 0, None);
    bundle("other/hidden.sparsebundle", 0, None);
    std::fs::write(folder.path().join("macs/file.sparsebundle"), b"").unwrap();
    let server = Server::serving(folder, &["--config", "fourfold.toml"]);
    let token = server.token("files", "read");
    let asking = Asking { server, token };
    let (status, backups) = asking.get("/v1/backups");
    assert_eq!(status, 200, "{backups}");
    let told = |at: usize| {
        let one = &backups[at];
        [&one["share"], &one["mac"], &one["state"], &one["completed"], &one["size"]].map(Value::clone)
    };
    let size = json!(8_388_608);
    assert_eq!(backups.as_array().unwrap().len(), 3, "{backups}");
    assert_eq!(
        told(0),
        [json!("macs"), json!("Ada's Mac"), json!("overdue"), json!(1_577_934_245), size.clone()]
    );
    assert_eq!(
        told(1),
        [json!("macs"), json!("Grace"), json!("damaged"), json!(1_577_934_245), size.clone()]
    );
    assert_eq!(told(2), [json!("macs"), json!("new"), json!("incomplete"), Value::Null, size]);
    assert_eq!(backups[0]["limit"], json!(1 << 30));
    // As for the clients: only bundles of the usual kind count against the limit.
    assert!(backups[0]["free"].as_u64().unwrap() <= (1 << 30) - 2 * 8_388_608, "{backups}");
}

#[test]
fn nothing_outside_a_share_is_reached() {
    let asking = serving(files());
    for bad in ["..", "../state", "Projects/../../state", "Projects/.", "a%00b"] {
        for request in ["files", "file"] {
            let (status, why) = asking.refusal(&format!("/v1/{request}?share=one&path={bad}"));
            assert!(status == 400 && why.contains("without `.` and `..`"), "{bad}: {status} {why}");
        }
    }
    for (bad, wanted) in [
        ("out", "not a folder"),
        ("out/passwd", "not a folder"),
        ("nothing", "nothing of that name"),
        ("Projects/a:b%3F/x", "not a folder"),
        (".fourfold-streams", "reserved"),
    ] {
        let (status, why) = asking.refusal(&format!("/v1/files?share=one&path={bad}"));
        assert!(status == 409 && why.contains(wanted), "{bad}: {status} {why}");
    }
    let (status, link) = asking.get("/v1/file?share=one&path=out");
    assert_eq!((status, &link["kind"]), (200, &json!("link")));
    let (status, why) = asking.refusal("/v1/files?share=two");
    assert!(status == 409 && why.contains("there is no share"), "{why}");
    assert_eq!(asking.refusal("/v1/files?share=one&depth=1").0, 400);
}
