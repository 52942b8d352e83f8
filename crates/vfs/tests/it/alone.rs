//! A process of its own for a test that measures its process.

use std::process::Command;

/// Set in that process to the name of the test.
const ALONE: &str = "FOURFOLD_TEST_ALONE";

/// Whether the test of this name (with its module) runs alone in its process. If not, runs it there, and fails if it fails.
pub(crate) fn is_alone(test: &str) -> bool {
    if std::env::var_os(ALONE).is_some_and(|name| name == test) {
        return true;
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(ALONE, test)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    assert!(said.contains("test result: ok. 1 passed"), "{}", String::from_utf8_lossy(&output.stderr));
    false
}
