use crate::server::scsi::testing::Disk;
use crate::server::scsi::{CommandRefusal, Outcome, table};
use crate::wire::Reader;
use crate::wire::scsi::{OneCommand, Sense, SupportedCommands, Timeouts};

async fn ask(options: u8, opcode: u8, action: u8) -> Outcome {
    let disk = Disk::new(8).await;
    let cdb = [0xa3, 0x0c, options, opcode, 0, action, 0, 0, 0xff, 0xff, 0, 0];
    disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, b"").await
}

#[tokio::test]
async fn all_commands_are_listed_with_and_without_timeouts() {
    let bytes = ask(0, 0, 0).await.unwrap().bytes();
    assert_eq!(bytes.len(), 4 + 8 * table::COMMANDS.len()); // SPC-4 table 288
    assert_eq!(bytes[4..12], [0x00, 0, 0, 0, 0, 0, 0, 6]); // TEST UNIT READY
    let bytes = ask(0x80, 0, 0).await.unwrap().bytes();
    assert_eq!(bytes.len(), 4 + 20 * table::COMMANDS.len()); // SPC-4 table 289
    let list = SupportedCommands::decode(&mut Reader::new(&bytes)).unwrap().0;
    assert!(list.iter().all(|command| command.timeouts == Some(Timeouts::default())));
    let own = list.iter().find(|command| command.opcode == 0xa3 && command.action == Some(0x0c)).unwrap();
    assert_eq!(own.length, 12);
}

#[tokio::test]
async fn one_command_is_told_with_the_bits_that_count() {
    let bytes = ask(1, 0x12, 0).await.unwrap().bytes();
    assert_eq!(bytes, [0, 3, 0, 6, 0x12, 0x01, 0xff, 0xff, 0xff, 0x04]); // SPC-4 table 290
    let bytes = ask(0x82, 0x9e, 0x10).await.unwrap().bytes();
    assert_eq!(bytes[..6], [0, 0x83, 0, 16, 0x9e, 0x10]);
    assert_eq!(bytes[20..], [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // SPC-4 table 292
    assert_eq!(ask(3, 0x9e, 0x10).await.unwrap().bytes()[1], 3);
    assert_eq!(ask(3, 0x12, 0).await.unwrap().bytes()[1], 3);
}

#[tokio::test]
async fn what_is_not_supported_is_said_not_to_be() {
    for (options, opcode, action) in [(1, 0xff, 0), (2, 0x9e, 0x1f), (3, 0x12, 1), (3, 0xff, 0), (2, 0xff, 0)]
    {
        assert_eq!(ask(options, opcode, action).await.unwrap().bytes(), [0, 1, 0, 0]);
    }
}

#[tokio::test]
async fn service_actions_are_asked_about_where_there_are_some() {
    for (options, opcode) in [(1, 0x9e), (2, 0x12), (4, 0x12)] {
        assert_eq!(ask(options, opcode, 0x10).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(2)));
    }
}

#[tokio::test]
async fn the_list_ascends_and_usage_begins_with_the_command() {
    let keys: Vec<_> = table::COMMANDS.iter().map(|one| (one.opcode, one.action)).collect();
    assert!(keys.is_sorted() && keys.windows(2).all(|two| two[0] != two[1]), "{keys:x?}");
    for one in table::COMMANDS {
        assert_eq!(one.usage[0], one.opcode);
        let length = match one.opcode >> 5 {
            0 => 6,
            1 | 2 => 10,
            3 => one.usage.len(),
            4 => 16,
            _ => 12,
        };
        assert_eq!(one.usage.len(), length, "{:x} {:x?}", one.opcode, one.action); // SPC-4 4.3.4
        let action = if one.opcode == 0x7f { None } else { one.action };
        assert!(action.is_none_or(|action| u16::from(one.usage[1] & 0x1f) == action), "{:x}", one.opcode);
    }
    let one = ask(1, 0x25, 0).await.unwrap().bytes();
    assert_eq!(OneCommand::decode(&mut Reader::new(&one)).unwrap().usage.unwrap().len(), 10);
}
