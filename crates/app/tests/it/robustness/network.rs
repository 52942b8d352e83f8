//! A network of its own for a test: only its loopback interface.

use std::process::Command;

/// Set in that network to the name of the test.
const NETWORK: &str = "FOURFOLD_TEST_NETWORK";

/// Whether the test of this name (with its module) runs in a network of its own. If not, runs it there, and fails if it fails; or
/// says that this machine cannot do it.
pub(crate) fn is_own(test: &str) -> bool {
    if std::env::var_os(NETWORK).is_some_and(|name| name == test) {
        return true;
    }
    let up = "ip link set lo up && exec \"$0\" \"$@\"";
    let is_possible = Command::new("unshare").args(["--net", "sh", "-c", up, "true"]).output();
    if !is_possible.is_ok_and(|output| output.status.success()) {
        println!("skipped: a network of its own needs root, `unshare` and `ip`");
        return false;
    }
    let output = Command::new("unshare")
        .args(["--net", "sh", "-c", up])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(NETWORK, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(said.contains("test result: ok. 1 passed"), "{}", String::from_utf8_lossy(&output.stderr));
    false
}
