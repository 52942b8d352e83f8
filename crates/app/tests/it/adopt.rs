//! `fourfold adopt`: a folder as other servers leave it, and their settings.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use vfs::mac::{FinderInfo, Metadata, sidecar};

#[path = "adopt/documents.rs"]
mod documents;

fn adopt(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fourfold")).arg("adopt").args(words).output().unwrap()
}

fn json(words: &[&str]) -> Value {
    let output = adopt(&[words, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn xattr(path: &Path, name: &str, value: &[u8]) {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).unwrap();
}

fn info(kind: &[u8; 8]) -> Vec<u8> {
    // MS-FSCC does not have it: Samba's lib/MacExtensions.h names signature, version, backup, Finder info.
    let mut info = b"AFP\0\0\0\x01\0\0\0\0\0\x80\0\0\0".to_vec();
    info.extend(kind);
    info.resize(61, 0);
    info
}

#[test]
fn layouts_are_counted_and_what_is_damaged_or_differs_is_named() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    fs::create_dir_all(share.join("films/.AppleDouble")).unwrap();
    fs::create_dir_all(share.join("@eaDir")).unwrap();
    for name in
        ["plain", "samba", "both", "broken", "films/old", "a\u{f022}b", "c\u{f03a}d", "films/:2ehidden"]
    {
        fs::write(share.join(name), b"data").unwrap();
    }
    fs::write(share.join("films/.AppleDouble/old"), b"x").unwrap();
    fs::write(share.join("films/.AppleDouble/old::EA"), b"adEA\0\x01\0\x01").unwrap();
    fs::write(share.join("@eaDir/plain@SynoEAStream"), sidecar::synthesize(&FinderInfo::NONE, &[], 0).0)
        .unwrap();
    fs::write(share.join("@eaDir/SYNOINDEX_MEDIA_INFO"), b"x").unwrap();
    let depot = share.join(".streams/E9/F5/00FE0000000000008069980000000000");
    fs::create_dir_all(&depot).unwrap();
    fs::write(depot.join(":plain:$DATA"), b"x").unwrap();
    fs::write(share.join("._gone"), sidecar::synthesize(&FinderInfo::NONE, &[], 0).0).unwrap();
    fs::write(share.join("._note"), b"not a sidecar").unwrap();

    let samba = share.join("samba");
    xattr(&samba, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
    xattr(&samba, "user.DosStream.AFP_Resource:$DATA", b"fork\0");
    xattr(&samba, "user.DosStream.com.apple.quarantine:$DATA", b"0083\0");
    let both = share.join("both");
    let mut metadata = Metadata::default();
    let mut finder_info = FinderInfo::NONE;
    finder_info.set_type(*b"JPEG", *b"ogle");
    metadata.set_finder_info(finder_info);
    xattr(&both, "user.org.netatalk.Metadata", &metadata.to_netatalk());
    xattr(&both, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
    xattr(&share.join("broken"), "user.DOSATTRIB", b"nonsense");

    let report = json(&[share.to_str().unwrap()]);
    let found = &report["folders"][0];
    assert_eq!((found["files"].as_u64(), found["folders"].as_u64()), (Some(9), Some(2)));
    let layouts = serde_json::json!({
        "netatalk": 1, "sidecar": 1, "samba-dos": 1, "samba-info": 2, "samba-fork": 1, "samba-streams": 1,
        "netatalk2": 1, "netatalk2-attributes": 1, "synology": 1, "samba-depot": 1,
        "private-names": 1, "unix-names": 1, "cap-names": 1,
    });
    assert_eq!(found["layouts"], layouts);
    let named = |kind: &str| {
        let named = found[kind]["named"].as_array().unwrap().iter();
        let mut named: Vec<_> =
            named.map(|one| one["path"].as_str().unwrap().rsplit('/').next().unwrap()).collect();
        named.sort_unstable();
        named
    };
    assert_eq!((named("damaged"), named("conflicts")), (vec!["broken", "old::EA"], vec!["both"]));
    assert_eq!((named("orphans"), named("unreadable")), (vec!["._gone"], vec![]));
    let settings = report["settings"].as_str().unwrap();
    assert!(settings.contains("mac-layout = \"samba-streams\"\nname-encoding = \"private\""), "{settings}");

    let text = String::from_utf8(adopt(&[share.to_str().unwrap()]).stdout).unwrap();
    assert!(text.contains("`fourfold names --fix` renames them") && text.contains("damaged: 2\n"), "{text}");
}

/// The database has the values that Samba's pdbedit wrote for users with the passwords `Passgames` and `Passbackup`.
#[test]
fn accounts_of_samba_are_named_and_taken_over_when_asked() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/accounts_samba");
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name).to_string_lossy().into_owned();
    fs::copy(corpus.join("passdb"), place("passdb.tdb")).unwrap();
    let words = ["--passdb", &place("passdb.tdb"), "--state", &place("state")];
    let fates = |report: &Value| -> Vec<String> {
        let accounts = report["accounts"]["accounts"].as_array().unwrap().iter();
        accounts
            .map(|one| format!("{} {}", one["name"].as_str().unwrap(), one["fate"].as_str().unwrap()))
            .collect()
    };
    let report = json(&words);
    assert_eq!(fates(&report), ["backup new", "games new"]);
    assert_eq!(report["accounts"]["accounts"][1]["sid"], Value::Null, "secrets.tdb is not there");
    assert!(!Path::new(&place("state")).join("accounts.toml").exists(), "nothing is changed");

    fs::copy(corpus.join("secrets"), place("secrets.tdb")).unwrap();
    let import = [&words[..], &["--import-accounts"]].concat();
    let report = json(&import);
    assert_eq!(fates(&report), ["backup made", "games made"]);
    let sid = "S-1-5-21-4080815269-4110640021-3858231592-1000";
    assert_eq!(report["accounts"]["accounts"][1]["sid"], sid);
    if auth::UnixAccounts::NameService.user("games").is_some() {
        assert!(report["settings"].as_str().unwrap().contains(&format!("{sid}=user:games")));
    }
    let file = auth::AccountFile::read(Path::new(&place("state"))).unwrap();
    for (name, disabled) in [("games", false), ("backup", true)] {
        let account = file.find(name).unwrap();
        let hash = auth::Secret::Nt(auth::nt_hash(&format!("Pass{name}")));
        assert_eq!((account.disabled, &account.secrets), (disabled, &vec![hash]));
    }
    assert_eq!(fates(&json(&import)), ["backup exists", "games exists"]);
    let text = String::from_utf8(adopt(&words).stdout).unwrap();
    assert!(text.contains("stays as it is; disabled: it is disabled there"), "{text}");
    fs::write(place("passdb.tdb"), "TDB file").unwrap();
    assert_eq!(adopt(&words).status.code(), Some(1));
}

/// Samba's pdbedit and smbpasswd wrote the database: all accounts had the password `Pass1`, then one was disabled, one locked, one got
/// an end (`-K`), one the empty password, and two need none (`smbpasswd -n`, `pdbedit -c '[N]'`).
#[test]
fn accounts_that_are_closed_in_samba_stay_closed() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/adopt/passdb-closed.tdb");
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name).to_string_lossy().into_owned();
    fs::copy(data, place("passdb.tdb")).unwrap();
    let state = Path::new(&place("state")).to_owned();
    fs::create_dir(&state).unwrap();
    auth::AccountFile::edit(&state, |file| file.add("GAMES", auth::Ids::default(), "other")).unwrap();
    let report = json(&["--passdb", &place("passdb.tdb"), "--state", &place("state"), "--import-accounts"]);
    let accounts = report["accounts"]["accounts"].as_array().unwrap().iter();
    let text = |one: &Value, name: &str| one[name].as_str().unwrap_or("open").to_owned();
    let said: Vec<_> =
        accounts.map(|one| ["name", "fate", "closed"].map(|key| text(one, key)).join(" ")).collect();
    let expected = [
        "backup made it is disabled there",
        "games exists-in-other-case open",
        "irc made open",
        "list made it ends at a date there, and accounts here have no such date",
        "mail made it is locked there",
        "news no-password it has no password there",
        "proxy no-password it has no password there",
        "www-data no-password it has no password there",
    ];
    assert_eq!(said, expected);
    let file = auth::AccountFile::read(&state).unwrap();
    let open: Vec<&str> = file.accounts.iter().filter(|one| !one.disabled).map(|one| &*one.name).collect();
    assert_eq!(open, ["GAMES", "irc"]);
}

/// What is printed is accepted by `fourfold check`.
#[test]
fn settings_of_three_servers_become_one_file() {
    let top = tempfile::tempdir().unwrap();
    let place = |name: &str| top.path().join(name).to_string_lossy().into_owned();
    for folder in ["films", "backup"] {
        fs::create_dir(top.path().join(folder)).unwrap();
    }
    let write = |name: &str, text: String| fs::write(place(name), text).unwrap();
    write(
        "smb.conf",
        format!(
            "[global]\nvfs objects = fruit streams_xattr\n[Films]\npath = {}\nread only = no\nvalid users = ada\nmax connections = 3\n",
            place("films")
        ),
    );
    write(
        "afp.conf",
        format!("[Backup]\npath = {}\ntime machine = yes\nvol size limit = 1000\n", place("backup")),
    );
    write("exports", format!("{} 192.168.1.0/24(rw,insecure)\n", place("films")));
    let files = [place("smb.conf"), place("afp.conf"), place("exports")];
    let words = ["--smb-conf", &files[0], "--afp-conf", &files[1], "--exports", &files[2]];
    let refused = adopt(&[&words[..], &["--json"]].concat());
    assert_eq!(refused.status.code(), Some(1), "a limit is not kept");
    let report: Value = serde_json::from_slice(&refused.stdout).unwrap();
    let settings = report["settings"].as_str().unwrap();
    assert!(!settings.contains("name = \"Films\"") && settings.contains("name = \"Backup\""), "{settings}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--accept max-connections"));
    let lost = report["shares"][0]["source"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["outcome"] == "lost")
        .unwrap();
    assert_eq!(
        (&lost["name"], &lost["line"], &lost["limits_access"]),
        (&"max connections".into(), &7.into(), &true.into())
    );

    let words = [&words[..], &["--accept", "films:max-connections"]].concat();
    let report = json(&words);
    assert_eq!(report["folders"].as_array().unwrap().len(), 2);
    assert_eq!(report["shares"].as_array().unwrap().len(), 2, "one for a folder");

    let settings = adopt(&[&words[..], &["--settings"]].concat()).stdout;
    let text = String::from_utf8(settings.clone()).unwrap();
    assert!(text.contains("name = \"Films\"") && text.contains("afp = false"), "{text}");
    fs::write(place("fourfold.toml"), settings).unwrap();
    let check = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["check", "--config", &place("fourfold.toml"), "--state", &place("state")])
        .output()
        .unwrap();
    assert!(check.status.success(), "{text}\n{}", String::from_utf8_lossy(&check.stderr));
}

#[test]
fn what_cannot_be_read_is_said() {
    let missing = adopt(&["/nonexistent/share"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&missing.stderr).contains("/nonexistent/share"));
    assert_eq!(adopt(&["--smb-conf", "/nonexistent/smb.conf"]).status.code(), Some(1));
    assert_eq!(adopt(&[]).status.code(), Some(2));
}

/// The attributes of a file for users.
fn xattrs(path: &Path) -> Vec<(String, Vec<u8>)> {
    let mut names = vec![0_u8; 65536];
    let len = rustix::fs::listxattr(path, &mut names[..]).unwrap();
    let names = names[..len].split(|byte| *byte == 0).filter(|name| name.starts_with(b"user."));
    let mut all: Vec<(String, Vec<u8>)> = names
        .map(|name| {
            let (name, mut value) = (String::from_utf8(name.to_vec()).unwrap(), vec![0_u8; 65536]);
            let len = rustix::fs::getxattr(path, &*name, &mut value[..]).unwrap();
            (name, value[..len].to_vec())
        })
        .collect();
    all.sort();
    all
}

/// A share of Samba with everything in streams, and one file whose copies differ.
fn of_samba(share: &Path) {
    fs::create_dir_all(share.join("films")).unwrap();
    for name in ["a", "films/b", "differs", "plain"] {
        fs::write(share.join(name), b"data").unwrap();
    }
    for name in ["a", "films/b", "films", "differs"] {
        let path = share.join(name);
        xattr(&path, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
        xattr(&path, "user.DosStream.com.apple.metadata\u{f022}_kMDItemUserTags:$DATA", b"tags\0");
    }
    xattr(&share.join("a"), "user.DosStream.AFP_Resource:$DATA", b"fork\0");
    let mut metadata = Metadata::default();
    metadata.finder_info.set_type(*b"JPEG", *b"ogle");
    xattr(&share.join("differs"), "user.org.netatalk.Metadata", &metadata.to_netatalk());
}

#[test]
fn a_share_gets_one_layout_and_its_former_one_back() {
    let top = tempfile::tempdir().unwrap();
    let (share, state) = (top.path().join("share"), top.path().join("state"));
    of_samba(&share);
    fs::create_dir(&state).unwrap();
    let (at, state_flag) = (share.to_str().unwrap(), state.to_str().unwrap());
    let convert = |more: &[&str]| {
        let words = [&[at, "--convert", "--state", state_flag, "--json"][..], more].concat();
        let output = adopt(&words);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or(Value::Null);
        (output.status.code(), value, text)
    };
    let files = ["a", "films/b", "films", "differs", "plain"].map(|name| share.join(name));
    let before = files.each_ref().map(|path| xattrs(path));

    let (code, report, _) = convert(&["--dry-run"]);
    assert_eq!((code, report["converted"].as_u64(), report["looked"].as_u64()), (Some(1), Some(3), Some(5)));
    assert_eq!(files.each_ref().map(|path| xattrs(path)), before, "a dry run changes nothing");

    let (code, report, text) = convert(&[]);
    assert_eq!((code, report["converted"].as_u64()), (Some(1), Some(3)), "{text}");
    assert_eq!(report["conflicts"][0]["path"], "differs");
    let names = |path: &Path| xattrs(path).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    for path in &files[..3] {
        let names = names(path);
        assert!(!names.iter().any(|name| name.starts_with("user.DosStream.")), "{names:?}");
        assert!(names.contains(&"user.com.apple.metadata:_kMDItemUserTags".to_owned()), "{names:?}");
        assert!(names.contains(&"user.org.netatalk.Metadata".to_owned()), "{names:?}");
    }
    let sidecar = fs::read(share.join("._a")).unwrap();
    assert!(sidecar.ends_with(b"fork"));
    assert_eq!(xattrs(&files[3]), before[3], "copies that differ stay");

    // As if it had been killed before the last file was done: the next run goes on.
    let journal = report["journal"].as_str().unwrap().to_owned();
    let text = fs::read_to_string(&journal).unwrap();
    let cut = text.rfind("{\"step\":\"done\"").unwrap();
    fs::write(&journal, [&text.as_bytes()[..cut], b"{\"step\":\"do"].concat()).unwrap();
    let (code, report, text) = convert(&["--shown-counts"]);
    assert_eq!((code, report["converted"].as_u64()), (Some(0), Some(2)), "{text}");
    assert_eq!(report["journal"].as_str(), Some(&*journal));
    assert!(convert(&[]).1["journal"].is_null(), "nothing is left");

    let undo = adopt(&["--undo", &journal, "--state", state_flag, "--json"]);
    assert!(undo.status.success(), "{}", String::from_utf8_lossy(&undo.stderr));
    assert_eq!(files.each_ref().map(|path| xattrs(path)), before);
    assert!(!share.join("._a").exists());
}

#[test]
fn a_file_that_was_changed_since_keeps_what_it_has() {
    let top = tempfile::tempdir().unwrap();
    let (share, state) = (top.path().join("share"), top.path().join("state"));
    of_samba(&share);
    fs::create_dir(&state).unwrap();
    let state_flag = state.to_str().unwrap();
    let words = [share.to_str().unwrap(), "--convert", "--shown-counts", "--state", state_flag, "--json"];
    let report: Value = serde_json::from_slice(&adopt(&words).stdout).unwrap();
    let changed = share.join("films/b");
    xattr(&changed, "user.com.apple.metadata:_kMDItemUserTags", b"newer");
    let now = xattrs(&changed);
    let undo = adopt(&["--undo", report["journal"].as_str().unwrap(), "--state", state_flag, "--json"]);
    let answer: Value = serde_json::from_slice(&undo.stdout).unwrap();
    assert_eq!((undo.status.code(), answer["back"].as_u64()), (Some(1), Some(3)));
    assert_eq!((answer["left"][0]["path"].as_str(), xattrs(&changed)), (Some("films/b"), now));

    // A server with this state folder does it itself.
    let _server = std::os::unix::net::UnixListener::bind(state.join("control.sock")).unwrap();
    let refused = adopt(&words);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("running"));
    let other = adopt(&[share.to_str().unwrap(), "--convert", "--to", "ntfs", "--state", "/nonexistent"]);
    assert_eq!(other.status.code(), Some(1));
}

#[test]
fn a_state_folder_in_the_share_is_not_converted() {
    let top = tempfile::tempdir().unwrap();
    let share = top.path().join("share");
    of_samba(&share);
    let state = share.join("state");
    fs::create_dir_all(state.join("adopt")).unwrap();
    xattr(&state, "user.DosStream.AFP_AfpInfo:$DATA", &info(b"TEXTttxt"));
    let before = (xattrs(&state), xattrs(&share.join("a")));
    let (at, state_flag) = (share.to_str().unwrap(), state.to_str().unwrap());
    let report: Value = serde_json::from_slice(
        &adopt(&[at, "--convert", "--shown-counts", "--state", state_flag, "--json"]).stdout,
    )
    .unwrap();
    assert_eq!(report["looked"], 5, "the journal and its folder are not looked at");
    assert_eq!(xattrs(&state), before.0);
    let undo = adopt(&["--undo", report["journal"].as_str().unwrap(), "--state", state_flag, "--json"]);
    assert!(undo.status.success(), "{}", String::from_utf8_lossy(&undo.stderr));
    assert_eq!(xattrs(&share.join("a")), before.1);
}
