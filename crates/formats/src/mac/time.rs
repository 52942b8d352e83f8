//! The clocks of stored Mac and DOS metadata, to and from [`Time`]. Conversions from `Time` drop what the other clock
//! cannot say: fractions are cut to its unit, times outside its range become its nearest end.

use crate::Time;

/// 2000-01-01 00:00 UTC in UNIX seconds.
const Y2000: i64 = 946_684_800;
/// 1904-01-01 00:00 in UNIX seconds.
const Y1904: i64 = -2_082_844_800;
/// 1601-01-01 00:00 UTC in UNIX seconds.
const Y1601: i64 = -11_644_473_600;
/// 100 ns ticks in a second.
const TICKS: i128 = 10_000_000;

/// "No time" on the clock that counts seconds since 2000.
pub const UNSET_2000: i32 = i32::MIN;

/// From seconds since 2000-01-01 UTC (AppleDouble entry 8); 0x80000000 is "none".
pub fn from_2000(seconds: i32) -> Option<Time> {
    (seconds != UNSET_2000).then(|| Time { secs: Y2000 + i64::from(seconds), nanos: 0 })
}

/// To seconds since 2000-01-01 UTC. The clock ends on 2068-01-19.
pub fn to_2000(time: Option<Time>) -> i32 {
    time.map_or(UNSET_2000, |time| {
        let seconds = time.secs.saturating_sub(Y2000);
        seconds.clamp(i64::from(UNSET_2000 + 1), i64::from(i32::MAX)) as i32
    })
}

/// From seconds since 1904-01-01 (HFS, MacBinary); 0 is "none". That clock is in the local time of
/// the Mac that wrote it, which the file does not tell: it is taken as UTC.
pub fn from_1904(seconds: u32) -> Option<Time> {
    (seconds != 0).then(|| Time { secs: Y1904 + i64::from(seconds), nanos: 0 })
}

/// To seconds since 1904-01-01. The clock ends on 2040-02-06.
pub fn to_1904(time: Option<Time>) -> u32 {
    time.map_or(0, |time| time.secs.saturating_sub(Y1904).clamp(1, i64::from(u32::MAX)) as u32)
}

/// From 100 ns ticks since 1601-01-01 UTC (`user.DOSATTRIB`); 0 and all ones are "none".
pub fn from_1601(ticks: u64) -> Option<Time> {
    if ticks == 0 || ticks >= i64::MAX as u64 {
        return None;
    }
    let ticks = ticks as i64;
    let nanos = (ticks % TICKS as i64) as u32 * 100;
    Some(Time { secs: Y1601 + ticks / TICKS as i64, nanos })
}

/// To 100 ns ticks since 1601-01-01 UTC.
pub fn to_1601(time: Option<Time>) -> u64 {
    time.map_or(0, |time| {
        let ticks = (i128::from(time.secs) - i128::from(Y1601)) * TICKS + i128::from(time.nanos / 100);
        ticks.clamp(1, i128::from(i64::MAX) - 1) as u64
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_epochs_are_where_the_specifications_put_them() {
        assert_eq!(from_2000(0), Some(Time { secs: 946_684_800, nanos: 0 }));
        assert_eq!(from_1904(2_082_844_800), Some(Time { secs: 0, nanos: 0 }));
        assert_eq!(from_1601(116_444_736_000_000_000), Some(Time { secs: 0, nanos: 0 }));
        // 2000 epoch + 3 029 529 600 = 1904 epoch.
        assert_eq!(to_1904(from_2000(0)), 3_029_529_600);
    }

    #[test]
    fn unset_is_none_and_none_is_unset() {
        assert_eq!((from_2000(UNSET_2000), to_2000(None)), (None, UNSET_2000));
        assert_eq!((from_1904(0), to_1904(None)), (None, 0));
        assert_eq!((from_1601(0), from_1601(u64::MAX), to_1601(None)), (None, None, 0));
    }

    #[test]
    fn times_out_of_range_become_the_nearest_end_and_never_unset() {
        let late = Some(Time { secs: i64::MAX, nanos: 999_999_999 });
        let early = Some(Time { secs: i64::MIN, nanos: 0 });
        assert_eq!((to_2000(late), to_2000(early)), (i32::MAX, UNSET_2000 + 1));
        assert_eq!((to_1904(late), to_1904(early)), (u32::MAX, 1));
        assert!(from_1601(to_1601(late)).is_some() && from_1601(to_1601(early)).is_some());
    }

    #[test]
    fn a_hundred_nanoseconds_survive() {
        let time = Some(Time { secs: 1_700_000_000, nanos: 123_456_700 });
        assert_eq!(from_1601(to_1601(time)), time);
    }
}
