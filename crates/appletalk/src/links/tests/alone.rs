//! A process of its own for a test, in a network of its own.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::LIMIT;

/// Set in that process to the name of the test.
const ALONE: &str = "FOURFOLD_TEST_ALONE";

/// Whether the test of this name (with its module) runs in a network of its own. If not, runs it there, and fails if it
/// fails. Without root, prints that the test is skipped. `more`: words between `unshare` and the program.
pub(super) fn has_network(test: &str, more: &[&str]) -> bool {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return true;
    }
    let can_unshare = Command::new("unshare").args(["--net", "ip", "link"]).stdout(Stdio::null()).status();
    if !rustix::process::geteuid().is_root() || !can_unshare.is_ok_and(|status| status.success()) {
        println!("skipped: {test} needs root, `unshare` and `ip`");
        return false;
    }
    let output = Command::new("unshare")
        .arg("--net")
        .args(more)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(said.contains("test result: ok. 1 passed"), "{}", String::from_utf8_lossy(&output.stderr));
    false
}

/// Makes the virtual cable `east` to `west`, and waits until both ends carry frames.
pub(super) fn lay_cable() {
    ip("link add east type veth peer name west");
    ["east", "west"].iter().for_each(|end| drop(ip(&format!("link set {end} up"))));
    wait_for_carrier();
}

/// Waits until both ends carry frames. The kernel drops frames until then.
pub(super) fn wait_for_carrier() {
    let deadline = Instant::now() + LIMIT;
    while ["east", "west"]
        .iter()
        .any(|end| ip(&format!("-br link show dev {end}")).split_whitespace().nth(1) != Some("UP"))
    {
        assert!(Instant::now() < deadline, "the cable has no carrier: {}", ip("link"));
    }
}

/// Runs `ip` with these words, separated by spaces.
pub(super) fn ip(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    assert!(output.status.success(), "ip {words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
