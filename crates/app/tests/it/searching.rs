//! `fourfold find` with a running server: it follows local programs, and judges by the rights of accounts.

use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::waiting::until;

const FILE: &str = r#"[server]
listen = ["127.0.0.1"]
state = "state"
nfs-port = "off"
smb-port = 0
afp-port = "off"
iscsi-port = "off"
portmap-port = "off"
bonjour = "off"

[[share]]
name = "studio"
path = "studio"
search = "names"

[[share]]
name = "attic"
path = "attic"

[[share]]
name = "archive"
path = "archive"
search = "contents"
"#;

struct Scene {
    folder: tempfile::TempDir,
    server: Child,
}

impl Scene {
    fn new() -> Self {
        Self::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    fn below(parent: &Path) -> Self {
        let folder = tempfile::tempdir_in(parent).unwrap();
        for (path, mode) in [
            ("studio", 0o755),
            ("studio/open", 0o755),
            ("studio/closed", 0o700),
            ("attic", 0o755),
            ("archive", 0o755),
        ] {
            std::fs::create_dir(folder.path().join(path)).unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(folder.path().join(path), mode).unwrap();
        }
        std::fs::write(folder.path().join("fourfold.toml"), FILE).unwrap();
        std::fs::write(folder.path().join("studio/open/invoice 2024.pdf"), b"1").unwrap();
        std::fs::write(folder.path().join("studio/closed/invoice of the boss.pdf"), b"1").unwrap();
        let server = serve(folder.path());
        Self { folder, server }
    }

    /// The server is killed, and starts again.
    fn restart_killed(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
        self.server = serve(self.folder.path());
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("studio").join(path)
    }

    /// The exit code, and what is on standard output and on standard error.
    fn find(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        let output = command.arg("find").args(words).current_dir(self.folder.path()).output().unwrap();
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, error)
    }

    fn lines(&self, words: &[&str]) -> Vec<String> {
        let inside = format!("{}/", self.at("").to_str().unwrap().trim_end_matches('/'));
        let mut lines: Vec<String> = self
            .find(words)
            .1
            .lines()
            .map(|line| line.strip_prefix(&inside).unwrap_or(line).to_owned())
            .collect();
        lines.sort();
        lines
    }
}

fn serve(folder: &Path) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
    let serve = ["serve", "--user", "ada:secret", "--user", "nobody:secret"];
    command.args(serve).current_dir(folder).stdin(Stdio::null());
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let lines = BufReader::new(server.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));
    server
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn files_are_found_by_the_rights_of_the_asker() {
    let scene = Scene::new();
    let (open, closed) = ("open/invoice 2024.pdf", "closed/invoice of the boss.pdf");
    until("the index is built", || scene.lines(&["kind:pdf", "invoice"]) == [closed, open]);
    if rustix::process::geteuid().is_root() {
        assert_eq!(scene.lines(&["invoice", "--user", "ada"]), [open]);
    }
    let (code, out, _) = scene.find(&["2024", "--print0"]);
    assert_eq!((code, out.as_str()), (Some(0), format!("{}\0", scene.at(open).display()).as_str()));
    let (_, out, _) = scene.find(&["invoice 2024", "--json", "--share", "studio", "--in", "open"]);
    let answer: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(answer["files"][0]["path"], open);
    assert_eq!((&answer["files"][0]["kind"], &answer["files"][0]["size"]), (&"pdf".into(), &1.into()));
    assert_eq!(answer["more"], false);
}

#[test]
fn users_of_the_host_find_what_their_accounts_may_list() {
    const NOBODY: u32 = 65_534;
    if !rustix::process::geteuid().is_root() {
        return; // the server acts as one user only
    }
    let scene = Scene::below(&std::env::temp_dir()); // the folders above the clone may be closed to them
    std::fs::set_permissions(scene.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    until("the index is built", || scene.lines(&["invoice"]).len() == 2);
    // So may those above the program.
    let program = std::fs::File::open(env!("CARGO_BIN_EXE_fourfold")).unwrap();
    let ask = |uid: u32, words: &[&str]| {
        let mut command = Command::new(format!("/proc/self/fd/{}", program.as_raw_fd()));
        command.arg("find").args(words).arg("--state").arg(scene.folder.path().join("state"));
        let output = command.current_dir("/").env_clear().uid(uid).gid(uid).output().unwrap();
        let [out, error] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), out, error)
    };
    let (code, out, error) = ask(NOBODY, &["invoice"]);
    assert_eq!(out, format!("{}\n", scene.at("open/invoice 2024.pdf").display()), "{error}");
    assert_eq!(code, Some(0));
    let (code, out, error) = ask(NOBODY, &["invoice", "--user", "ada"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("only search, and as themselves"), "{error}");
    let (code, out, error) = ask(NOBODY - 1, &["invoice"]);
    assert_eq!((code, out.as_str()), (Some(2), ""));
    assert!(error.contains("has no account"), "{error}");
}

#[test]
fn an_index_is_whole_after_kills_while_it_was_built() {
    const FOLDERS: usize = 30;
    const EACH: usize = 20;
    let mut scene = Scene::new();
    for folder in 0..FOLDERS {
        let folder = scene.at(&format!("open/{folder}"));
        std::fs::create_dir(&folder).unwrap();
        (0..EACH).for_each(|file| std::fs::write(folder.join(format!("row {file}")), b"").unwrap());
    }
    let count = |scene: &Scene| scene.lines(&["row", "--limit", "10000"]).len();
    for round in 1..4 {
        until("a part is indexed", || count(&scene) >= FOLDERS * EACH * round / 4);
        scene.restart_killed();
    }
    until("all is indexed", || count(&scene) == FOLDERS * EACH);
    std::fs::remove_dir_all(scene.at("open/7")).unwrap();
    until("what went is not found", || count(&scene) == (FOLDERS - 1) * EACH);
}

#[test]
fn words_in_documents_are_found_by_those_who_may_read_them() {
    let scene = Scene::new();
    let archive = scene.folder.path().join("archive");
    let write = |name: &str, text: &str, mode| {
        std::fs::write(archive.join(name), text).unwrap();
        std::fs::set_permissions(archive.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    write("letter.txt", "Two zebras walk in the moonlight.", 0o644);
    write("page.html", "<title>Lunch</title><p>No ze<b>bras</b> &amp; no lions", 0o600);
    let shown = |name: &str| archive.join(name).display().to_string();
    until("the words are found", || scene.lines(&["zebras"]) == [shown("letter.txt"), shown("page.html")]);
    assert!(scene.lines(&["giraffes"]).is_empty());
    if rustix::process::geteuid().is_root() {
        assert_eq!(scene.lines(&["zebras", "--user", "ada"]), [shown("letter.txt")]);
        assert_eq!(scene.lines(&["page", "--user", "ada"]), [shown("page.html")], "a name is no contents");
    }
    write("letter.txt", "Two lions walk in the moonlight.", 0o644);
    until("the old words are gone", || scene.lines(&["zebras"]) == [shown("page.html")]);
}

#[test]
fn what_local_programs_do_is_found() {
    let scene = Scene::new();
    until("the index is built", || scene.lines(&["invoice"]).len() == 2);
    std::fs::create_dir(scene.at("open/new")).unwrap();
    std::fs::write(scene.at("open/new/song.mp3"), b"").unwrap();
    until("a new file is not found", || scene.lines(&["kind:audio"]) == ["open/new/song.mp3"]);
    std::fs::rename(scene.at("open/new"), scene.at("open/old")).unwrap();
    until("a moved file is not found", || scene.lines(&["song"]) == ["open/old/song.mp3"]);
    std::fs::remove_file(scene.at("open/old/song.mp3")).unwrap();
    until("a removed file is found", || scene.lines(&["song"]).is_empty());
}

#[test]
fn a_wrong_query_is_refused_with_its_place() {
    let scene = Scene::new();
    let (code, _, error) = scene.find(&["kind:pfd"]);
    assert_eq!(code, Some(2));
    assert!(error.contains("there is no kind `pfd`") && error.contains("       ^"), "{error}");
    let (code, _, error) = scene.find(&["nowhere", "--share", "attic"]);
    assert_eq!(code, Some(1));
    assert!(error.contains("the share attic is not searched"), "{error}");
    let (code, ..) = scene.find(&["x", "--share", "cellar"]);
    assert_eq!(code, Some(2));
}
