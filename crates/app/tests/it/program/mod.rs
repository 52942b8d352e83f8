//! The program under test for other users, who may not enter the folder that has it.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;

/// Names the inherited descriptor of the program, for a test that continues as another user.
const INHERITED: &str = "FOURFOLD_TEST_PROGRAM";

/// The program. A user who may execute the file can start it, also if the clone is in a folder that only root may enter
/// (`/root` has the mode 0700): the path leads through a descriptor, not through folders.
pub(crate) fn for_any_user() -> Command {
    let descriptor = std::env::var(INHERITED).unwrap_or_else(|_| descriptor().to_string());
    let mut command = Command::new(format!("/proc/self/fd/{descriptor}"));
    command.arg0("fourfold");
    command
}

/// These tests as a program for any user. They can start the program in turn.
#[allow(dead_code)] // one of the two programs of tests needs it
pub(crate) fn tests_for_any_user() -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.env(INHERITED, descriptor().to_string());
    command
}

/// Of the program. Child processes have it, too.
fn descriptor() -> i32 {
    static PROGRAM: OnceLock<File> = OnceLock::new();
    let file = PROGRAM.get_or_init(|| {
        let file = File::open(env!("CARGO_BIN_EXE_fourfold")).expect("the program exists");
        rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).expect("a descriptor has flags");
        file
    });
    file.as_raw_fd()
}
