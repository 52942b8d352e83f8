//! Programs of this machine against what SMB clients cache, MS-SMB2 3.3.4.6 and 3.3.4.7.

use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::process::{Command as Program, Output};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::timeout;
use vfs::backend::host::{Host, HostOptions};

use crate::server::Service;
use crate::server::testing::{User, service_with, share_of};
use crate::wire::Status;
use crate::wire::create::{Disposition, Options, Response};
use crate::wire::create_context::request::Context as CreateContext;
use crate::wire::create_context::values::{Lease, LeaseFlags, LeaseV2};
use crate::wire::header::Command;
use crate::wire::oplock_break::{LeaseBreak as LeaseAcknowledgment, Notification, Oplock, Request};
use crate::wire::security::AccessMask;
use crate::wire::values::{LeaseKey, LeaseState, OplockLevel};

/// Longer than anything takes on a slow machine, and shorter than the host lets an open wait.
const LONG: Duration = Duration::from_secs(25);

/// A folder of this machine, reached by a descriptor: the threads of these tests act as the tests' user after a request,
/// and the clone may be in a folder that only root may enter.
struct Folder {
    opened: std::fs::File,
    _made: tempfile::TempDir,
}

impl Folder {
    fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.opened.as_raw_fd()).into()
    }
}

/// A server whose share "share" is a folder of this machine.
fn service() -> (Arc<Service>, Folder) {
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/../../target").unwrap();
    std::os::unix::fs::chown(folder.path(), Some(1000), Some(1000)).ok(); // as root: the tests' user
    let host = Host::open(folder.path(), &HostOptions::default()).unwrap();
    let share = share_of("share", Arc::new(host), crate::server::ShareOptions::default());
    let opened = std::fs::File::open(folder.path()).unwrap();
    (service_with(|config| config.shares[0] = share), Folder { opened, _made: folder })
}

fn run(program: &str, args: &[&str], folder: &Folder) -> JoinHandle<Output> {
    let mut program = Program::new(program);
    program.args(args).current_dir(folder.path());
    tokio::task::spawn_blocking(move || program.output().unwrap())
}

async fn finished(running: JoinHandle<Output>) -> String {
    let output = timeout(LONG, running).await.expect("the program still waits").unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

async fn told(user: &mut User) -> Notification {
    let answer = timeout(LONG, user.notified()).await.expect("no notification");
    Notification::decode(&answer.message).unwrap()
}

async fn acknowledge(user: &mut User, request: Request) {
    let answer = user.call(Command::OPLOCK_BREAK, |w| request.encode(w)).await;
    assert_eq!(answer.status(), Status::SUCCESS);
}

async fn with_lease(user: &mut User, name: &str, state: LeaseState, folder: bool) -> Response<'static> {
    let v2 = Some(LeaseV2 { parent_key: LeaseKey::default(), epoch: 1 });
    let lease = Lease { key: LeaseKey([1; 16]), state, flags: LeaseFlags::NONE, v2 };
    let open = user.open(name, |request| {
        request.oplock_level = OplockLevel::LEASE;
        request.contexts = vec![CreateContext::Lease(lease).encode()];
        if folder {
            request.options = Options::DIRECTORY_FILE;
            request.disposition = Disposition::OPEN;
            request.desired_access = AccessMask::FILE_READ.0;
        }
    });
    open.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_waits_for_the_break_of_each_kind_of_oplock() {
    let (service, folder) = service();
    let mut user = User::new(&service).await;
    for (level, waits) in
        [(OplockLevel::BATCH, true), (OplockLevel::EXCLUSIVE, true), (OplockLevel::II, false)]
    {
        for program in ["cat", "dd"] {
            let name = format!("{program}{}", level.0);
            std::fs::write(folder.path().join(&name), "before").unwrap();
            let held = user.open(&name, |request| request.oplock_level = level).await.unwrap();
            assert_eq!(held.oplock_level, level, "{name}");
            let args = match program {
                "cat" => vec![name.clone()],
                _ => vec![
                    "if=/dev/zero".into(),
                    format!("of={name}"),
                    "bs=1".into(),
                    "count=1".into(),
                    "conv=notrunc".into(),
                ],
            };
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let running = run(program, &args, &folder);
            let broken = Oplock { level: OplockLevel::NONE, file: held.file };
            assert_eq!(told(&mut user).await, Notification::Oplock(broken), "{name}");
            if waits {
                assert_eq!(user.write(held.file, 0, b"flushed").await, Status::SUCCESS);
                acknowledge(&mut user, Request::Oplock(broken)).await;
            }
            let output = finished(running).await;
            let expected = if waits { "flushed" } else { "before" };
            assert_eq!(output, if program == "cat" { expected } else { "" }, "{name}");
            let now = user.read(held.file, 0, 100).await.unwrap();
            let is_zeroed = now.first() == Some(&0);
            assert_eq!(is_zeroed, program == "dd", "{name}");
            user.close(held.file).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_waits_for_the_break_of_each_kind_of_lease() {
    let (service, folder) = service();
    let mut user = User::new(&service).await;
    for state in [1, 3, 5, 7] {
        let name = format!("file{state}");
        std::fs::write(folder.path().join(&name), "before").unwrap();
        let held = with_lease(&mut user, &name, LeaseState(state), false).await;
        let args = ["if=/dev/zero", &format!("of={name}"), "bs=1", "count=1", "conv=notrunc"];
        let running = run("dd", &args, &folder);
        let Notification::Lease(notice) = told(&mut user).await else { panic!("no lease") };
        assert_eq!((notice.current_state, notice.new_state), (LeaseState(state), LeaseState::NONE), "{name}");
        if state != 1 {
            let answer = LeaseAcknowledgment { key: notice.key, state: LeaseState::NONE };
            acknowledge(&mut user, Request::Lease(answer)).await;
        }
        finished(running).await;
        assert_eq!(user.read(held.file, 0, 100).await.unwrap(), b"\0efore", "{name}");
        user.close(held.file).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_ends_the_lease_of_a_folder_and_of_a_moved_file() {
    let (service, folder) = service();
    let mut user = User::new(&service).await;
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let held = with_lease(&mut user, "folder", LeaseState(3), true).await;
    finished(run("touch", &["folder/new"], &folder)).await;
    let Notification::Lease(notice) = told(&mut user).await else { panic!("no lease") };
    assert_eq!((notice.current_state, notice.new_state), (LeaseState(3), LeaseState::NONE));
    acknowledge(&mut user, Request::Lease(LeaseAcknowledgment { key: notice.key, state: LeaseState::NONE }))
        .await;
    user.close(held.file).await;

    std::fs::write(folder.path().join("file"), "data").unwrap();
    let held = with_lease(&mut user, "file", LeaseState(7), false).await;
    finished(run("mv", &["file", "moved"], &folder)).await;
    let Notification::Lease(notice) = told(&mut user).await else { panic!("no lease") };
    assert_eq!((notice.current_state, notice.new_state), (LeaseState(7), LeaseState(1)));
    acknowledge(&mut user, Request::Lease(LeaseAcknowledgment { key: notice.key, state: LeaseState(1) }))
        .await;
    assert_eq!(user.read(held.file, 0, 100).await.unwrap(), b"data");
}
