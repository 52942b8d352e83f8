//! Previous versions: the snapshots of a share as Windows shows them, by when they were taken. A client names one by a
//! create context, or by a part of the path.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use vfs::{Time, Volume};

use super::create::Path;
use crate::wire::NtTime;
use crate::wire::Status;
use crate::wire::create_context::request::Context as CreateContext;

/// `@GMT-YYYY.MM.DD-HH.MM.SS`, MS-SMB2 2.2.32.2.
const FORMAT: &str = "@GMT-%Y.%m.%d-%H.%M.%S";

/// The labels of all snapshots, the newest first. Those of one second are one to clients: the newest.
pub(in crate::server) fn labels(volume: &Volume) -> Vec<String> {
    let mut labels: Vec<String> =
        volume.snapshots().iter().filter_map(|snapshot| label(snapshot.taken)).collect();
    labels.dedup();
    labels
}

/// Leads a path into the snapshot that it or a create context names. False if they name none. MS-SMB2 3.3.5.9.4.
pub(in crate::server) fn lead(
    volume: &Volume,
    path: &mut Path,
    asked: &[CreateContext<'_>],
) -> Result<bool, Status> {
    let by_context = asked.iter().find_map(|context| match context {
        CreateContext::Timewarp(at) => Some(NtTime(*at).time().map(|time| time.secs)),
        _ => None,
    });
    let by_path = path.components.iter().position(|name| name.starts_with(b"@GMT-"));
    let at = match (by_context, by_path) {
        (Some(at), _) => at,
        (None, Some(index)) => seconds(&path.components[index]),
        (None, None) => return Ok(false),
    };
    let Some(at) = at else {
        // A file can have such a name, too, if it is no label.
        return if by_context.is_some() { Err(Status::OBJECT_NAME_NOT_FOUND) } else { Ok(false) };
    };
    let found = volume.snapshots().into_iter().find(|snapshot| snapshot.taken.secs == at);
    let found = found.ok_or(Status::OBJECT_NAME_NOT_FOUND)?;
    if let (None, Some(index)) = (by_context, by_path) {
        path.components.remove(index);
    }
    path.components.splice(0..0, found.path);
    Ok(true)
}

fn label(taken: Time) -> Option<String> {
    let at = Timestamp::from_second(taken.secs).ok()?.to_zoned(TimeZone::UTC);
    Some(at.strftime(FORMAT).to_string())
}

/// The seconds since 1970 that a label names.
fn seconds(name: &[u8]) -> Option<i64> {
    let text =
        std::str::from_utf8(name).ok().filter(|text| text.len() == "@GMT-2026.11.23-01.02.03".len())?;
    let at = DateTime::strptime(FORMAT, text).ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_utc_and_read_back() {
        // Expected from `date -u -d @1782345678 +@GMT-%Y.%m.%d-%H.%M.%S`.
        let taken = Time { secs: 1_782_345_678, nanos: 999_999_999 };
        assert_eq!(label(taken).as_deref(), Some("@GMT-2026.06.25-00.01.18"));
        assert_eq!(seconds(b"@GMT-2026.06.25-00.01.18"), Some(1_782_345_678));
        for wrong in
            ["@GMT-2026.6.25-0.1.18", "@GMT-2026.13.25-00.01.18", "@GMT-", "@GMT-2026.06.25-00.01.18x"]
        {
            assert_eq!(seconds(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
