//! The answer of `NetrRemoteTOD`, by which clients compare their clock.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::wire::rpc::srvsvc::TimeOfDay;

/// The time as `NetrRemoteTOD` says it, in UTC. MS-SRVS 3.1.4.21.
pub(super) fn at(now: SystemTime) -> TimeOfDay {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let now = Timestamp::try_from(now).unwrap_or_default().to_zoned(TimeZone::UTC);
    let number = |part: i8| part.unsigned_abs().into();
    TimeOfDay {
        elapsed: since.as_secs() as u32,
        milliseconds: since.as_millis() as u32,
        hours: number(now.hour()),
        minutes: number(now.minute()),
        seconds: number(now.second()),
        hundredths: since.subsec_millis() / 10,
        day: number(now.day()),
        month: number(now.month()),
        year: now.year().unsigned_abs().into(),
        weekday: number(now.weekday().to_sunday_zero_offset()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Expected values from `date -u -d @...`.
    #[test]
    fn a_leap_day_and_a_new_year() {
        let t = at(UNIX_EPOCH + Duration::from_millis(1_709_210_096_780));
        assert_eq!((t.year, t.month, t.day, t.weekday), (2024, 2, 29, 4));
        assert_eq!((t.hours, t.minutes, t.seconds, t.hundredths), (12, 34, 56, 78));
        let t = at(UNIX_EPOCH + Duration::from_secs(1_798_761_599));
        assert_eq!((t.year, t.month, t.day, t.weekday), (2026, 12, 31, 4));
        let t = at(UNIX_EPOCH + Duration::from_secs(951_868_800));
        assert_eq!((t.year, t.month, t.day, t.hours), (2000, 3, 1, 0));
    }
}
