//! Commands with arbitrary bits and arbitrary data: each ends, and none panics.

use std::sync::Arc;

use bytes::Bytes;
use proptest::prelude::*;
use vfs::backend::memory::Memory;

use super::testing::Disk;
use super::{Needs, UnitOptions, table};
use crate::wire::scsi::Status;

/// Data of a command: these bytes, repeated.
fn data(pattern: &[u8], length: usize) -> Bytes {
    pattern.iter().copied().cycle().take(length).collect()
}

/// Sends a command as a session does. `share` of 256 parts of the parameters arrive.
async fn send(disk: &Disk, cdb: &[u8], pattern: &[u8], share: u8) {
    let ada = disk.nexus("iqn.2026-11.test:ada");
    let mut command = disk.command(Some(disk.unit.clone()), &ada, cdb);
    let Ok((supported, needs)) = super::needs(&command) else { return };
    match needs {
        Needs::Nothing => {}
        Needs::Parameters(length) => command.data = data(pattern, length * usize::from(share) / 255),
        Needs::Exactly(length) => command.data = data(pattern, length),
        Needs::Blocks { offset, length } => {
            let bytes = data(pattern, length as usize);
            let _ = disk.unit.write(offset, bytes).await;
        }
    }
    if let Ok(good) = super::run(supported, &command).await {
        assert!(matches!(good.status, Status::GOOD | Status::CONDITION_MET));
        good.bytes();
    }
}

/// A command of the table. Addresses and lengths are mostly small, so that the blocks exist.
fn command() -> impl Strategy<Value = Vec<u8>> {
    let bytes = prop::collection::vec(prop_oneof![3 => Just(0), 1 => 0..16_u8, 1 => any::<u8>()], 16);
    (0..table::COMMANDS.len(), bytes).prop_map(|(index, mut cdb)| {
        let command = table::COMMANDS[index];
        cdb[0] = command.opcode;
        if let Some(action) = command.action {
            cdb[1] = cdb[1] & 0xe0 | action as u8;
        }
        cdb
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn every_command_ends_whatever_its_bits_and_data_are(
        commands in prop::collection::vec(command(), 1..8),
        pattern in prop::collection::vec(any::<u8>(), 1..64),
        share in prop_oneof![Just(255), any::<u8>()],
        block_size in prop_oneof![Just(512), Just(4096)],
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let options = UnitOptions { block_size, read_only: false };
            let disk = Disk::on(Arc::new(Memory::ticking()), 4096, options).await;
            for cdb in &commands {
                send(&disk, cdb, &pattern, share).await;
            }
            assert_eq!(disk.unit.open().unwrap().size().await.unwrap(), 4096 * u64::from(block_size));
        });
    }
}
