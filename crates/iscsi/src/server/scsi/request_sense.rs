//! REQUEST SENSE, SPC-4 6.39.

use super::{CommandContext, CommandDefinition, Conflict, Good, Outcome};
use crate::wire::scsi::{Asc, Key, RequestSense, Sense};
use crate::wire::{Reader, Writer};

/// REQUEST SENSE.
pub(crate) static REQUEST_SENSE: CommandDefinition =
    CommandDefinition::new(&[0x03, 0x01, 0x00, 0x00, 0xff, 0x04], Conflict::Never, |command| {
        Box::pin(std::future::ready(request_sense(command)))
    });

/// A pending unit attention is returned as data, once, and the status is GOOD.
fn request_sense(command: &CommandContext) -> Outcome {
    let request = RequestSense::decode(&mut Reader::new(&command.cdb))?;
    let sense = match &command.unit {
        None => Sense::illegal(Asc::LOGICAL_UNIT_NOT_SUPPORTED),
        Some(unit) => match unit.attentions.take(&command.nexus) {
            Some(what) => Sense::attention(what),
            None => Sense::new(Key::NO_SENSE, Asc::NONE),
        },
    };
    let mut w = Writer::new();
    if request.descriptors {
        sense.encode_descriptors(&mut w);
    } else {
        sense.encode_fixed(&mut w);
    }
    Ok(Good::cut(w.into_bytes(), usize::from(request.allocation_length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::scsi::testing::Disk;

    #[tokio::test]
    async fn what_waits_is_told_once_and_in_the_format_asked_for() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        disk.unit.attentions.raise(&ada.initiator, Asc::CAPACITY_CHANGED);
        let bytes = disk.send(&ada, &[3, 1, 0, 0, 252, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0x72, 6, 0x2a, 0x09, 0, 0, 0, 0]); // SPC-4 4.5.2.1
        let bytes = disk.send(&ada, &[3, 0, 0, 0, 252, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0x70, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // 4.5.3
    }

    #[tokio::test]
    async fn without_a_unit_the_sense_data_say_so() {
        let disk = Disk::new(8).await;
        let ada = disk.nexus("iqn.2026-11.test:ada");
        let bytes = disk.send_to(None, &ada, &[3, 0, 0, 0, 14, 0], b"").await.unwrap().bytes();
        assert_eq!(bytes, [0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x25, 0]); // SPC-4 6.39
    }
}
