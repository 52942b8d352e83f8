//! The caches of a running server: shown, limited, and giving way; and the advice that follows from them.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::waiting::until;

/// Files with long names, whose folder takes more than 1 MiB of the cache.
const FILES: usize = 6_000;
/// With the file `data`, `.` and `..`.
const ENTRIES: usize = FILES + 3;
const CALM: &str =
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
const SHORT: &str =
    "some avg10=50.00 avg60=9.00 avg300=1.00 total=9\nfull avg10=9.00 avg60=1.00 avg300=0.00 total=9\n";
/// A machine with 24 GiB, of which 2 are available: pressure is believed.
const LITTLE: &str = "MemTotal: 25165824 kB\nMemAvailable: 2097152 kB\nCached: 3000 kB\n";
const SETTINGS: &str = "# The studio.\n[server]\nnfs-port = 0\ncache-memory = \"256 MiB\"\ncache-size = \"8 MiB\"  # for now\n\n\
                        [[share]]\nname = \"share\"\npath = \"share\"\n";

struct Scene {
    top: tempfile::TempDir,
    server: Server,
    client: Client,
}

impl Scene {
    fn new(files: usize) -> Self {
        let (top, share) = folder();
        for at in 0..files {
            std::fs::write(share.join(format!("a-file-with-a-rather-long-name-{at:08}")), b"").unwrap();
        }
        std::fs::write(share.join("data"), vec![1; 1 << 20]).unwrap();
        std::fs::write(top.path().join("fourfold.toml"), SETTINGS).unwrap();
        let pressure = top.path().join("pressure");
        std::fs::write(&pressure, CALM).unwrap();
        let memory = top.path().join("meminfo");
        std::fs::write(&memory, LITTLE).unwrap();
        let server = Server::run_under_pressure((&pressure, &memory), top.path(), &[]);
        let client = Client::mount(server.port);
        Self { top, server, client }
    }

    fn list(&mut self) -> usize {
        let root = self.client.root.clone();
        self.client.names_plus(&root).unwrap().len()
    }

    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).args(["--state", "state"]).current_dir(self.top.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    fn said(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code 2, and the message.
    fn refused(&self, words: &[&str]) -> String {
        let output = self.run(words);
        assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stdout));
        String::from_utf8(output.stderr).unwrap()
    }

    fn status(&self) -> Value {
        serde_json::from_str(&self.said(&["caches", "--json"])).unwrap()
    }

    fn cache(&self, name: &str) -> Value {
        let status = self.status();
        let caches = status["caches"].as_array().unwrap();
        caches.iter().find(|cache| cache["name"] == name).unwrap().clone()
    }

    fn directory_bytes(&self) -> u64 {
        self.cache("directory")["bytes"].as_u64().unwrap()
    }

    fn settings(&self) -> String {
        std::fs::read_to_string(self.top.path().join("fourfold.toml")).unwrap()
    }
}

fn topic(advice: &str, name: &str) -> String {
    let advice: Value = serde_json::from_str(advice).unwrap();
    let found = advice.as_array().unwrap().iter().find(|one| one["topic"] == name).unwrap().clone();
    let lines = found["text"].as_array().unwrap().iter().map(|line| line.as_str().unwrap().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn counters_move_and_limits_change_while_clients_list() {
    let mut scene = Scene::new(FILES);
    for _ in 0..3 {
        assert_eq!(scene.list(), ENTRIES);
    }
    let directory = scene.cache("directory");
    assert!(directory["hits"].as_u64() >= Some(2) && directory["misses"].as_u64() >= Some(1), "{directory}");
    assert_eq!(directory["limit"], 8 << 20);
    assert!(scene.directory_bytes() > 1 << 20);
    assert!(scene.cache("files")["hits"].as_u64() > Some(0), "NFS finds files by their handles");
    let table = scene.said(&["caches"]);
    assert!(
        table.starts_with("Caches: ") && table.contains("\ndirectory  8 MiB") && table.contains("page cache"),
        "{table}"
    );

    assert_eq!(scene.said(&["caches", "set", "directory=1M"]), "directory: 1 MiB (was 8 MiB)\n");
    assert!(scene.directory_bytes() <= 1 << 20, "what is over the limit goes at once");
    assert_eq!(scene.list(), ENTRIES, "what does not fit is listed piece by piece");
    assert_eq!(scene.settings(), SETTINGS);

    for (limit, why) in [
        ("directory=lots", "`directory=lots` is no limit: write a size such as 64M or 1.5 GiB"),
        ("files=5M", "`files=5M` is no limit: write a number such as 5000"),
        (
            "icons=5",
            "there is no cache `icons`; the caches are: index, acls, files, buffers, search, directory",
        ),
        ("directory=1T", "`directory` may have at most"),
        ("directory=5", "the cache `directory` needs at least 1 MiB"),
        ("index=1M", "the limit of the cache `index` cannot be changed"),
        ("directory", "is no cache with a limit: write directory=64M"),
    ] {
        let said = scene.refused(&["caches", "set", limit]);
        assert!(said.contains(why), "{said}");
    }
    scene.refused(&["caches", "set", "directory=4M", "icons=5"]);
    assert_eq!(scene.cache("directory")["limit"], 1 << 20, "all limits or none");

    let files = scene.cache("files")["limit"].clone();
    let said = scene.said(&["caches", "set", "directory=16M", "files=500", "--keep"]);
    let expected =
        format!("directory: 16 MiB (was 1 MiB)\nfiles: 500 (was {files})\nthe settings file has it, too\n");
    assert_eq!(said, expected);
    let kept = SETTINGS.replace("\"8 MiB\"  # for now\n", "\"16M\"  # for now\ncache-files = 500\n");
    assert_eq!(scene.settings(), kept, "comments stay");
    assert_eq!(scene.list(), ENTRIES);
    assert!(scene.directory_bytes() > 1 << 20, "the folder fits again");

    std::fs::write(scene.top.path().join("fourfold.toml"), kept.replace("16M", "2M")).unwrap();
    scene.server.signal(rustix::process::Signal::HUP);
    until("a reload applies the settings", || scene.cache("directory")["limit"] == 2 << 20);
    assert_eq!(scene.cache("files")["limit"], 500);
}

#[test]
fn caches_are_shown_again_and_again() {
    let scene = Scene::new(0);
    let mut child = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(["caches", "--json", "--watch=1", "--state", "state"])
        .current_dir(scene.top.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().take(2);
    let budgets: Vec<Value> =
        lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["budget"].clone()).collect();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(budgets, [256 << 20, 256 << 20]);
}

#[test]
fn caches_give_way_while_the_host_is_short_of_memory() {
    let mut scene = Scene::new(FILES);
    scene.said(&["caches", "set", "directory=4M"]);
    scene.list();
    assert!(scene.directory_bytes() > 1 << 20);
    std::fs::write(scene.top.path().join("pressure"), SHORT).unwrap();
    until("the cache does not give way", || scene.directory_bytes() <= 1 << 20);
    let status = scene.status();
    assert!(status["part"].as_f64() <= Some(0.25) && status["gave_way"].as_u64() >= Some(2), "{status}");
    assert!(scene.directory_bytes() <= 1 << 20);
    assert_eq!(scene.cache("directory")["wanted"], 4 << 20, "what was set is not forgotten");
    assert_eq!(scene.list(), ENTRIES);
    let memory = topic(&scene.said(&["advise", "--json"]), "memory");
    assert!(memory.starts_with("More memory would help: tasks waited for memory in 50.0 %"), "{memory}");
    assert!(log(scene.top.path()).contains("tasks wait for memory: the caches give way"));
}

fn log(top: &Path) -> String {
    std::fs::read_to_string(top.join("log")).unwrap()
}

#[test]
fn advice_follows_from_what_clients_did_and_from_a_measurement() {
    let mut scene = Scene::new(0);
    let before = scene.said(&["advise", "--json"]);
    assert!(topic(&before, "read-write").starts_with("Too little traffic"), "{before}");
    assert!(topic(&before, "users").contains("no load curve was given"));
    let root = scene.client.root.clone();
    let data = scene.client.lookup(&root, "data").unwrap();
    for at in 0..150 {
        assert_eq!(scene.client.read(&data, at * 4096, 4096).unwrap().bytes.len(), 4096);
    }
    let traffic = scene.status()["traffic"].clone();
    assert_eq!((traffic["reads"].as_u64(), traffic["read_bytes"].as_u64()), (Some(150), Some(150 * 4096)));
    let after = topic(&scene.said(&["advise", "--json"]), "read-write");
    assert!(after.starts_with("Reads to writes: only reads by bytes (600 KiB read, 0 B written)"), "{after}");

    let target = format!("file://{}", scene.top.path().join("share").display());
    let words = ["bench", &target, "--workload", "seq-read", "--clients", "1,2", "--output", "curve"];
    let bench = Command::new(env!("CARGO_BIN_EXE_fourfold"))
        .args(words)
        .args(["--repeats", "1", "--time", "1", "--scale", "0.01"])
        .current_dir(scene.top.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(bench.status.success(), "{}", String::from_utf8_lossy(&bench.stderr));
    let advice = scene.said(&["advise", "--bench", "curve.jsonl", "--json"]);
    let users = topic(&advice, "users");
    assert!(
        users.contains(" active users who have 1.0 MB/s each") && users.contains("(seq-read)"),
        "{users}"
    );
    assert!(topic(&advice, "video").contains("DV (SD), 3.6 MB/s: "), "{advice}");

    assert_eq!(scene.run(&["advise", "--bench", "fourfold.toml"]).status.code(), Some(1));
    assert!(scene.refused(&["advise", "--floor", "fast"]).contains("`--floor fast` is no speed"));
    let text = scene.said(&["advise"]);
    assert!(text.starts_with("Memory\n  ") && text.contains("\nRules of 1993\n"), "{text}");
    let mount = scene.said(&["advise", "--mount"]);
    let port = format!("port={0},mountport={0}", scene.server.port);
    assert!(mount.contains("Linux (NFS)") && mount.contains(&port) && mount.contains("hard"), "{mount}");
}

#[test]
fn without_a_server_the_exit_code_is_3() {
    let top = tempfile::tempdir().unwrap();
    for words in [&["caches"][..], &["caches", "set", "directory=5M"], &["advise"], &["advise", "--mount"]] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        let output =
            command.args(words).args(["--state", "nowhere"]).current_dir(top.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(3), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
