//! The grid of docs/migrating.md: each kind of source, each kind of destination, and files with owners, groups, modes, POSIX ACLs and
//! default ACLs. Through a server, as clients of NFSv4 see it, no user may do more with the copy than with the original.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use client::{Connector, OpenIntent, Reach, Target};
use rustix::fs::{XattrFlags, setxattr};
use serde_json::Value;

use crate::ports::free_port;
use crate::robustness::migrated_rights::{NONE, posix_acl, set_mode};
use crate::robustness::server::{Server, USER, folder};
use crate::robustness::smbd::Smbd;

/// The time limit of a session.
const LIMIT: Duration = Duration::from_secs(30);
/// The user whose files are copied, by clients that log in as this one.
const OWNER: u32 = 1000;
/// Another user that owns files, and is named by lists.
const OTHER: u32 = 4242;
/// A group that owns files.
const GROUP: u32 = 4343;
/// Users with their groups: those above, a member of the group, and a stranger.
const PEOPLE: [(u32, u32); 4] = [(OWNER, OWNER), (OTHER, OTHER), (5555, GROUP), (6666, 6666)];
/// Files in the folder itself: owner, group, mode.
const FILES: [(&str, u32, u32, u32); 8] = [
    ("private", OWNER, OWNER, 0o600),
    ("group", OWNER, GROUP, 0o640),
    ("not-the-group", OWNER, GROUP, 0o604),
    ("all", OWNER, OWNER, 0o666),
    ("read-only", OWNER, OWNER, 0o444),
    ("of-another", OTHER, GROUP, 0o664),
    ("of-another-not-its-group", OTHER, GROUP, 0o604),
    ("others-write", OWNER, GROUP, 0o642),
];
/// Folders: owner, group, mode. Each has a file `inner` that everyone could change.
const FOLDERS: [(&str, u32, u32, u32); 4] = [
    ("closed", OWNER, OWNER, 0o700),
    ("of-a-group", OWNER, GROUP, 0o750),
    ("to-enter", OWNER, GROUP, 0o711),
    ("to-read", OWNER, GROUP, 0o775),
];
/// A file with this list for all of these: owner, other user, group, mask, others.
const LISTS: [(&str, [u16; 5]); 3] =
    [("other-may", [6, 6, 0, 6, 0]), ("other-may-not", [6, 0, 4, 4, 4]), ("masked", [6, 7, 7, 4, 0])];
/// A folder that passes a list on.
const PASSES_ON: &str = "passes-on";

fn fill(old: &Path) {
    for (name, uid, gid, mode) in FILES {
        file(&old.join(name), (uid, gid), mode);
    }
    for (name, uid, gid, mode) in FOLDERS {
        let at = old.join(name);
        fs::create_dir(&at).unwrap();
        file(&at.join("inner"), (OWNER, OWNER), 0o666);
        chown(&at, Some(uid), Some(gid)).unwrap();
        set_mode(&at, mode);
    }
    for (name, list) in LISTS {
        file(&old.join(name), (OWNER, GROUP), 0o600);
        set_list(&old.join(name), "system.posix_acl_access", list);
    }
    let at = old.join(PASSES_ON);
    fs::create_dir(&at).unwrap();
    chown(&at, Some(OWNER), Some(GROUP)).unwrap();
    set_list(&at, "system.posix_acl_access", [7, 5, 5, 5, 0]);
    set_list(&at, "system.posix_acl_default", [7, 4, 0, 4, 0]);
    file(&at.join("inner"), (OWNER, GROUP), 0o640);
}

fn file(at: &Path, (uid, gid): (u32, u32), mode: u32) {
    fs::write(at, "data").unwrap();
    chown(at, Some(uid), Some(gid)).unwrap();
    set_mode(at, mode);
}

fn set_list(at: &Path, attribute: &str, [owner, other, group, mask, others]: [u16; 5]) {
    let list = [
        (0x01, owner, NONE),
        (0x02, other, OTHER),
        (0x04, group, NONE),
        (0x10, mask, NONE),
        (0x20, others, NONE),
    ];
    setxattr(at, attribute, &posix_acl(&list), XattrFlags::empty()).unwrap();
}

/// What each of the people can do in a folder of the share.
fn admitted(server: &Server, folder: &str) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    for (uid, gid) in PEOPLE {
        let url = format!("nfs://127.0.0.1:{}/share/{folder}?vers=4&uid={uid}&gid={gid}", server.port);
        let connector = Connector::new(Target::parse(&url).unwrap(), Reach::direct(LIMIT), 1, 0);
        let mut session = connector.connect(0).unwrap();
        let inner = FOLDERS.iter().map(|one| one.0).chain([PASSES_ON]);
        for name in inner.clone() {
            if session.list(name).is_ok() {
                all.insert(format!("{uid} lists {name}"));
            }
            let new = format!("{name}/new-{uid}");
            if session.make_folder(&new).is_ok() {
                all.insert(format!("{uid} makes in {name}"));
                session.remove_folder(&new).unwrap();
            }
        }
        let files = FILES.iter().map(|one| one.0).chain(LISTS.iter().map(|one| one.0)).map(str::to_owned);
        for name in files.chain(inner.map(|name| format!("{name}/inner"))) {
            for (how, does) in [(OpenIntent::Read, "reads"), (OpenIntent::Write, "writes")] {
                if let Ok(opened) = session.open(&name, how) {
                    all.insert(format!("{uid} {does} {name}"));
                    session.close(opened).unwrap();
                }
            }
        }
    }
    all
}

/// What a folder of the share is called by each kind of client.
fn urls(server: &Server, folder: &str, local: &Path) -> [(&'static str, String); 5] {
    let ((user, password), port) = (USER, server.port);
    let (smb, afp) = (server.smb_port, server.afp_port);
    [
        ("folder", local.join(folder).display().to_string()),
        ("smb", format!("smb://{user}:{password}@127.0.0.1:{smb}/share/{folder}")),
        ("afp", format!("afp://{user}:{password}@127.0.0.1:{afp}/share/{folder}?login=cleartext")),
        ("nfs3", format!("nfs://127.0.0.1:{port}/share/{folder}?mountport={port}&uid={OWNER}&gid={OWNER}")),
        ("nfs4", format!("nfs://127.0.0.1:{port}/share/{folder}?vers=4&uid={OWNER}&gid={OWNER}")),
    ]
}

fn has_acls(folder: &Path) -> bool {
    let at = folder.join("try");
    fs::write(&at, "").unwrap();
    let list =
        posix_acl(&[(0x01, 6, NONE), (0x02, 4, OTHER), (0x04, 0, NONE), (0x10, 4, NONE), (0x20, 0, NONE)]);
    let can = setxattr(&at, "system.posix_acl_access", &list, XattrFlags::empty()).is_ok();
    fs::remove_file(at).unwrap();
    can
}

/// The servers of the grid.
struct Grid {
    server: Server,
    share: PathBuf,
    smbd: Option<(Smbd, String)>,
}

impl Grid {
    /// What a folder is called by each kind of client, with that of smbd if it is here.
    fn urls(&self, folder: &str) -> Vec<(&'static str, String)> {
        let of_smbd = self.smbd.iter().map(|(_, url)| ("smbd", format!("{url}/{folder}")));
        urls(&self.server, folder, &self.share).into_iter().chain(of_smbd).collect()
    }

    fn new_folder(&self, name: &str) {
        fs::create_dir(self.share.join(name)).unwrap();
        chown(self.share.join(name), Some(OWNER), Some(OWNER)).unwrap();
    }

    /// Copies a folder from each kind of client to each of these. Returns how many copies were made.
    fn copies_admit_no_more(&self, original: &str, sources: &[&str], destinations: &[&str]) -> usize {
        let of_original = admitted(&self.server, original);
        assert!(of_original.len() > 60, "{of_original:#?}");
        let mut copies = 0;
        for (from, source) in self.urls(original).into_iter().filter(|one| sources.contains(&one.0)) {
            for to in destinations {
                let copy = format!("{original}-{from}-to-{to}");
                let Some((_, target)) = self.urls(&copy).into_iter().find(|one| one.0 == *to) else {
                    continue;
                };
                self.new_folder(&copy);
                let report = migrate(&source, &target);
                admits_no_more(
                    &of_original,
                    &admitted(&self.server, &copy),
                    &report,
                    (&copy, from == "nfs3"),
                );
                copies += 1;
            }
        }
        copies
    }
}

fn migrate(source: &str, target: &str) -> Value {
    let program = env!("CARGO_BIN_EXE_fourfold");
    let output = Command::new(program).args(["migrate", "--json", source, target]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{source}, {target}: {error}: {}", String::from_utf8_lossy(&output.stderr))
    })
}

/// A copy by a protocol that `hides_lists` may admit more by a mode, and its report says so: RFC 1813 has no lists, and the host shows the
/// mask of a list as the group's bits of the mode.
fn admits_no_more(
    of_original: &BTreeSet<String>,
    of_copy: &BTreeSet<String>,
    report: &Value,
    (copy, hides_lists): (&str, bool),
) {
    println!("{copy}: {} of {} rights", of_copy.len(), of_original.len());
    assert_eq!(report["rights"]["unseen"].is_string(), hides_lists, "{copy}: {report:#}");
    // The user that copies is the owner of a copy whose owner cannot be kept, and has read the data already.
    let is_of_copier = |right: &str| right.starts_with(&format!("{OWNER} "));
    let is_of_list =
        |right: &str| LISTS.iter().any(|list| right.ends_with(list.0)) || right.contains(PASSES_ON);
    let may_be = |right: &str| is_of_copier(right) || hides_lists && is_of_list(right);
    let wider: Vec<_> = of_copy.difference(of_original).filter(|right| !may_be(right)).collect();
    assert!(wider.is_empty(), "{copy} is wider: {wider:#?}\n{report:#}");
    // What is refused now, the report names: a right that is another one, or a file that was not copied.
    let narrower: Vec<_> = of_original.difference(of_copy).collect();
    let is_named = hides_lists
        || report["rights"]["replaced"].as_object().is_some_and(|replaced| !replaced.is_empty())
        || report["failures"].as_u64() > Some(0);
    assert!(narrower.is_empty() || is_named, "{copy}: {narrower:#?}\n{report:#}");
    assert!(
        of_copy.contains("1000 reads private"),
        "the user that copies cannot use the copy: {copy}: {of_copy:#?}\n{report:#}"
    );
}

#[test]
fn no_copy_admits_more_than_its_original() {
    let ((top, share), (place, _)) = (folder(), folder());
    if !rustix::process::geteuid().is_root() || !has_acls(&share) {
        println!("skipped: not root, or no ACLs");
        return;
    }
    let server = Server::start_with_afp(top.path(), &share);
    let smbd = Smbd::is_here().then(|| {
        let at = "127.0.19.7";
        let port = free_port().unwrap();
        (Smbd::start(place.path(), (at, port), &share), format!("smb://{at}:{port}/archive"))
    });
    let grid = Grid { server, share: share.clone(), smbd };
    let kinds = if grid.smbd.is_some() { 6 } else { 5 };
    grid.new_folder("old");
    fill(&share.join("old"));
    let all = ["folder", "smb", "afp", "nfs3", "nfs4", "smbd"];
    assert_eq!(grid.copies_admit_no_more("old", &all, &all), kinds * kinds);
    // The lists of this copy are the server's own and no POSIX ACLs, and smbd does not know them.
    assert_eq!(grid.copies_admit_no_more("old-folder-to-smb", &all[..5], &["folder", "nfs4"]), 10);
}
