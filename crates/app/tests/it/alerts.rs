//! An alert of a running server reaches a webhook, `fourfold status`, the log and the metrics.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The body of one request, which is answered with success.
fn posted(listener: &TcpListener) -> Value {
    let (mut stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n").unwrap();
    serde_json::from_slice(&body).unwrap()
}

#[test]
fn a_full_disk_is_told_everywhere() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    std::fs::create_dir(folder.path().join("films")).unwrap();
    let hook = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!(
        "[server]\nlisten = [\"127.0.0.1\"]\nstate = \"state\"\nnfs-port = \"off\"\nsmb-port = 0\nafp-port = \"off\"\n\
         iscsi-port = \"off\"\nportmap-port = \"off\"\nbonjour = \"off\"\nalert-webhook = \"http://{}/hook\"\n\
         [[share]]\nname = \"films\"\npath = \"films\"\nsnapshot-floor = \"1000 TiB\"\n",
        hook.local_addr().unwrap()
    );
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    let fourfold = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fourfold"));
        command.args(words).current_dir(folder.path()).stdin(Stdio::null());
        command
    };
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut child = fourfold(&["serve"]).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _server = Server(child);
    assert!(lines.map_while(Result::ok).any(|line| line.starts_with("ready")));

    let told = posted(&hook);
    assert_eq!((&told["event"], &told["alert"]["name"]), (&"raised".into(), &"space".into()));
    // It is critical if the disk of the test itself is nearly full.
    let severity = told["alert"]["severity"].as_str().unwrap();
    assert!(told["alert"]["about"] == "films" && ["warning", "critical"].contains(&severity), "{told}");
    let output = fourfold(&["status", "--json"]).output().unwrap();
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(status["alerts"].as_array().unwrap().contains(&told["alert"]), "{status}");
    let output = fourfold(&["status"]).output().unwrap();
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.contains("fourfold snapshot list films"), "{table}");
    let log = std::fs::read_to_string(folder.path().join("log")).unwrap();
    assert!(log.contains("alert: raised: ") && log.contains("about=\"films\""), "{log}");
}
