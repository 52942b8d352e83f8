//! Shares on a cluster: what happens if Ceph's client library cannot be opened, or the cluster does not answer.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use admin::control;

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fourfold");

/// A share on the host, and one of a cluster with this address of its monitor.
fn settings(top: &Path, monitor: &str) {
    let conf = top.join("ceph.conf");
    std::fs::write(&conf, format!("[global]\nmon_host = {monitor}\nauth_client_required = none\n")).unwrap();
    let text = format!(
        "[server]\nceph-conf = \"{}\"\n\n[[share]]\nname = \"share\"\npath = \"share\"\n\n\
         [[share]]\nname = \"films\"\nstore = \"cephfs:home\"\npath = \"/films\"\n",
        conf.display()
    );
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

fn text(output: &Output) -> String {
    [output.stdout.as_slice(), output.stderr.as_slice()].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_library_that_cannot_be_opened_stops_the_start_and_is_named() {
    let (top, _share) = folder();
    let top = top.path();
    settings(top, "v1:127.0.0.1:9");
    // The loader looks into this folder first, and ends there if what it finds is not a library.
    let libraries = top.join("libraries");
    std::fs::create_dir(&libraries).unwrap();
    std::fs::write(libraries.join("libcephfs.so.2"), "not a library").unwrap();
    let words = ["30", PROGRAM, "serve", "--state", "state", "--nfs-port", "0"];
    let off = ["--smb-port", "off", "--afp-port", "off", "--iscsi-port", "off", "--portmap-port", "off"];
    let refused = Command::new("timeout")
        .args(words)
        .args(off)
        .current_dir(top)
        .env("LD_LIBRARY_PATH", &libraries)
        .output()
        .unwrap();
    let said = text(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("films") && said.contains("the package libcephfs2"), "{said}");
    assert!(!said.contains("ready\n"), "{said}");
}

#[test]
fn a_cluster_that_does_not_answer_takes_only_its_share_away() {
    if cephfs::version().is_err() {
        println!("skipped: there is no libcephfs.so.2");
        return;
    }
    let (top, _share) = folder();
    let top = top.path();
    // It accepts connections and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    settings(top, &format!("v1:127.0.0.1:{}", silent.local_addr().unwrap().port()));
    let began = Instant::now();
    let server = Server::run(top, &["--nfs-port", "0"]);
    let took = began.elapsed();
    assert!(took < Duration::from_secs(20), "the start took {took:?}");
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    nfs.create(&root, "notes").unwrap();
    let words = ["status", "--json", "--state", "state"];
    let status = Command::new(PROGRAM).args(words).current_dir(top).output().unwrap();
    let status: control::Status = serde_json::from_slice(&status.stdout).unwrap();
    let absent: Vec<_> =
        status.not_served.iter().map(|share| (share.name.as_str(), share.why.as_str())).collect();
    assert_eq!(absent.len(), 1, "{absent:?}");
    assert!(
        absent[0].0 == "films" && absent[0].1.contains("timed out") && absent[0].1.contains("`ceph status`"),
        "{absent:?}"
    );
    // Files of other shares are written while the cluster is asked again.
    for number in 0..20 {
        nfs.create(&root, &format!("file {number}")).unwrap();
    }
}
