use std::time::{SystemTime, UNIX_EPOCH};

use crate::wire::rpc::srvsvc::TimeOfDay;

/// The time as `NetrRemoteTOD` says it, in UTC. MS-SRVS 3.1.4.21.
pub(super) fn at(now: SystemTime) -> TimeOfDay {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, (since.as_secs() % 86_400) as u32);
    let (year, month, day) = date(days);
    TimeOfDay {
        elapsed: since.as_secs() as u32,
        milliseconds: since.as_millis() as u32,
        hours: second / 3600,
        minutes: second / 60 % 60,
        seconds: second % 60,
        hundredths: since.subsec_millis() / 10,
        day,
        month,
        year,
        weekday: ((days + 4) % 7) as u32, // 1970 began on a Thursday
    }
}

/// Year, month and day of the day that is `days` after 1970-01-01, in the Gregorian calendar.
fn date(days: u64) -> (u32, u32, u32) {
    // Counted from 1 March of the year 0, so that a leap day is the last of its year, in eras of 400 years.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    (year as u32, month as u32, day as u32)
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
