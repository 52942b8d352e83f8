//! LOG SENSE, SPC-4 6.6.

use super::{CommandContext, CommandDefinition, CommandRefusal, Conflict, Good, LogicalUnit, Outcome};
use crate::wire::scsi::{LogPage, LogPageId, LogParameter, LogSense, Resource, Sense};
use crate::wire::{Reader, Writer};

/// LOG SENSE.
pub(crate) static LOG_SENSE: CommandDefinition = CommandDefinition::new(
    &[0x4d, 0x01, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff, 0xff, 0x04],
    Conflict::Never,
    |command| Box::pin(std::future::ready(log_sense(command))),
);

/// The pages, ascending.
const PAGES: [LogPageId; 4] = [
    LogPageId::SUPPORTED,
    LogPageId::SUPPORTED_WITH_SUBPAGES,
    LogPageId::LOGICAL_BLOCK_PROVISIONING,
    LogPageId::INFORMATIONAL_EXCEPTIONS,
];
/// Subpage code that asks for the list of a page's subpages.
const ALL: u8 = 0xff;
/// An unknown temperature, SPC-4 table 404.
const NO_TEMPERATURE: u8 = 0xff;

fn log_sense(command: &CommandContext) -> Outcome {
    let unit = command.unit()?;
    let request = LogSense::decode(&mut Reader::new(&command.cdb))?;
    if request.save {
        return Err(Sense::in_cdb(1).into());
    }
    let mut body = Writer::new();
    match request.page {
        LogPageId::SUPPORTED => {
            PAGES.iter().filter(|page| page.1 == 0).for_each(|page| body.u8(page.0));
        }
        LogPageId::LOGICAL_BLOCK_PROVISIONING => parameters(resources(unit)?, request.from, &mut body)?,
        LogPageId::INFORMATIONAL_EXCEPTIONS => parameters(no_exceptions(), request.from, &mut body)?,
        LogPageId(page, ALL) if PAGES.contains(&LogPageId(page, 0)) => {
            PAGES.iter().filter(|id| page == 0 || id.0 == page).for_each(|id| body.put(&[id.0, id.1]));
        }
        LogPageId(page, _) => {
            let is_page = PAGES.contains(&LogPageId(page, 0));
            return Err(Sense::in_cdb(if is_page { 3 } else { 2 }).into());
        }
    }
    let mut w = Writer::new();
    LogPage { id: request.page, body: body.as_bytes() }.encode(&mut w);
    Ok(Good::cut(w.into_bytes(), usize::from(request.allocation_length)))
}

/// The parameters from a parameter code on, of which there must be at least one.
fn parameters(all: Vec<LogParameter>, from: u16, w: &mut Writer) -> Result<(), CommandRefusal> {
    let asked: Vec<_> = all.into_iter().filter(|parameter| parameter.code >= from).collect();
    if asked.is_empty() {
        return Err(Sense::in_cdb(5).into());
    }
    asked.iter().for_each(|parameter| parameter.encode(w));
    Ok(())
}

/// The space that the volume has left for this unit and others, and the space that this unit uses,
/// SBC-3 6.4.3.
fn resources(unit: &LogicalUnit) -> Result<Vec<LogParameter>, CommandRefusal> {
    let parameter = |code, count, scope| {
        let mut w = Writer::new();
        Resource { count, scope }.encode(&mut w);
        LogParameter { code, value: w.into_bytes() }
    };
    let (room, used) = (unit.room()?, unit.used()?);
    Ok(vec![parameter(Resource::AVAILABLE, room.available, 2), parameter(Resource::USED, used, 1)])
}

/// The only parameter of the page if there is no exception, SPC-4 7.3.9.
fn no_exceptions() -> Vec<LogParameter> {
    vec![LogParameter { code: 0, value: vec![0, 0, NO_TEMPERATURE, 0] }]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use vfs::backend::memory::Memory;

    use super::*;
    use crate::server::scsi::UnitOptions;
    use crate::server::scsi::testing::Disk;

    async fn log(disk: &Disk, page: u8, subpage: u8, from: u8) -> Outcome {
        let cdb = [0x4d, 0, 0x40 | page, subpage, 0, 0, from, 0, 255, 0];
        disk.send(&disk.nexus("iqn.2026-11.test:ada"), &cdb, b"").await
    }

    #[tokio::test]
    async fn the_lists_of_pages_are_those_of_spc_4_7_3() {
        let disk = Disk::new(8).await;
        let bytes = log(&disk, 0, 0, 0).await.unwrap().bytes();
        assert_eq!(bytes, [0x80, 0, 0, 3, 0x00, 0x0c, 0x2f]);
        let bytes = log(&disk, 0, 0xff, 0).await.unwrap().bytes();
        assert_eq!(bytes, [0xc0, 0xff, 0, 8, 0, 0, 0, 0xff, 0x0c, 0, 0x2f, 0]);
        let bytes = log(&disk, 0x0c, 0xff, 0).await.unwrap().bytes();
        assert_eq!(bytes, [0xcc, 0xff, 0, 2, 0x0c, 0]);
    }

    #[tokio::test]
    async fn what_the_volume_has_and_what_the_unit_uses_are_told_in_threshold_sets() {
        let memory = Memory::ticking();
        memory.set_capacity(Some(100 << 20));
        let disk =
            Disk::on(Arc::new(memory), 1 << 20, UnitOptions { block_size: 512, read_only: false }).await;
        disk.unit.write(0, vec![1; 2 << 20].into()).await.unwrap();
        let bytes = log(&disk, 0x0c, 0, 0).await.unwrap().bytes();
        let available = [0, 1, 3, 8, 0, 0, 0, 98, 2, 0, 0, 0]; // SBC-3 table 180
        let used = [0, 2, 3, 8, 0, 0, 0, 2, 1, 0, 0, 0];
        assert_eq!(bytes, [&[0x8c, 0, 0, 24][..], &available, &used].concat());
        let bytes = log(&disk, 0x0c, 0, 2).await.unwrap().bytes();
        assert_eq!(bytes, [&[0x8c, 0, 0, 12][..], &used].concat());
        assert_eq!(log(&disk, 0x0c, 0, 3).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(5)));
    }

    #[tokio::test]
    async fn there_are_no_exceptions_and_no_other_pages() {
        let disk = Disk::new(8).await;
        let bytes = log(&disk, 0x2f, 0, 0).await.unwrap().bytes();
        assert_eq!(bytes, [0xaf, 0, 0, 8, 0, 0, 3, 4, 0, 0, 0xff, 0]); // SPC-4 table 403
        assert_eq!(log(&disk, 0x0d, 0, 0).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(2)));
        assert_eq!(log(&disk, 0x0c, 1, 0).await.unwrap_err(), CommandRefusal::Check(Sense::in_cdb(3)));
        let save = [0x4d, 1, 0x40, 0, 0, 0, 0, 0, 255, 0];
        let refused = disk.send(&disk.nexus("iqn.2026-11.test:ada"), &save, b"").await.unwrap_err();
        assert_eq!(refused, CommandRefusal::Check(Sense::in_cdb(1)));
    }
}
