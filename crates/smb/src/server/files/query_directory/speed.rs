//! How fast, printed: `cargo test --release -p smb --lib query_directory::speed -- --ignored --nocapture`.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use vfs::backend::host::{Host, HostOptions};
use vfs::{Volume, VolumeOptions};

use crate::server::testing::{ADA, User, service_with};
use crate::server::{Share, ShareKind, ShareOptions};
use crate::wire::create::{self, Disposition};
use crate::wire::fscc::FileClass;
use crate::wire::security::AccessMask;
use crate::wire::{Command, Status, query_directory as wire};

const ENTRIES: u32 = 10_000;
const ROUNDS: u32 = 20;

#[tokio::test]
#[ignore = "measures"]
async fn of_listings() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    for at in 0..ENTRIES {
        std::fs::write(folder.path().join(format!("a file of the name {at:05}.txt")), b"abc").unwrap();
    }
    let volume = Arc::new(Volume::new(
        Arc::new(Host::open(folder.path(), &HostOptions::default()).unwrap()),
        VolumeOptions::default(),
    ));
    let share = Arc::new(Share {
        name: "big".into(),
        comment: String::new(),
        kind: ShareKind::Disk { volume, serial: 1, created: vfs::Time::default() },
        options: ShareOptions::default(),
    });
    let service = service_with(|config| config.shares.push(share));
    let mut ada = User::with(&service, &crate::client::Offer::default(), ADA, "big").await;
    for (what, class) in [
        ("FileIdBothDirectoryInformation", FileClass::ID_BOTH_DIRECTORY),
        ("FileNamesInformation", FileClass::NAMES),
    ] {
        for room in [65_536, 1 << 20] {
            let (mut best, mut answers) = (Duration::MAX, 0);
            for _ in 0..ROUNDS {
                let start = Instant::now();
                answers = list(&mut ada, class, room).await;
                best = best.min(start.elapsed());
            }
            let each = best.as_secs_f64() / f64::from(ENTRIES);
            println!("{what:32} {room:8} bytes, {answers:3} answers: {:6.3} µs for each entry", each * 1e6);
        }
    }
}

async fn list(user: &mut User, class: FileClass, room: u32) -> u32 {
    let reads = |create: &mut create::Request<'_>| {
        (create.disposition, create.desired_access) = (Disposition::OPEN, AccessMask::FILE_READ.0);
    };
    let file = user.open("", reads).await.unwrap().file;
    let mut answers = 0;
    loop {
        let request = wire::Request {
            information_class: class.0,
            flags: wire::Flags::NONE,
            file_index: 0,
            file,
            output_buffer_length: room,
            pattern: vec![b'*'.into()],
        };
        let charge = u16::try_from(room.div_ceil(65_536)).unwrap();
        let request = user.request(Command::QUERY_DIRECTORY, |w| request.encode(w)).charge(charge);
        let answer = user.call_chain(vec![request]).await.remove(0);
        match answer.status() {
            Status::SUCCESS => answers += 1,
            Status::NO_MORE_FILES => break,
            other => panic!("{other:?}"),
        }
    }
    user.close(file).await;
    answers
}
