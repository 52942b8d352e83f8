//! FILETIME, MS-DTYP 2.3.3.

use vfs::Time;
use wire::{Field, LittleEndian, Malformed, Reader, Writer};

/// Seconds from 1601-01-01 to 1970-01-01.
const EPOCH_SECS: i64 = 11_644_473_600;
const TICKS_PER_SEC: i64 = 10_000_000;

/// 100 ns units since 1601-01-01 UTC. Some values are no time when set, MS-FSCC 2.4.7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct NtTime(pub u64);

impl NtTime {
    /// Leave this time as it is.
    pub const UNCHANGED: Self = Self(0);
    /// Leave this time as it is, and do not change it for operations through this open from now on.
    pub const FROZEN: Self = Self(u64::MAX);
    /// Operations through this open change it again.
    pub const THAWED: Self = Self(u64::MAX - 1);

    /// The time. `None` for a special value and for a value that is negative as a signed number.
    pub fn time(self) -> Option<Time> {
        let ticks = i64::try_from(self.0).ok().filter(|ticks| *ticks != 0)?;
        let nanos = (ticks % TICKS_PER_SEC) as u32 * 100;
        Some(Time { secs: ticks / TICKS_PER_SEC - EPOCH_SECS, nanos })
    }

    /// Whether it may be given in a request: a time or one of the special values.
    pub fn is_valid(self) -> bool {
        self >= Self::THAWED || i64::try_from(self.0).is_ok()
    }
}

/// Times before 1601 become its beginning, which clients show as no time. Times after the year
/// 30828 become the last one.
impl From<Time> for NtTime {
    fn from(time: Time) -> Self {
        let ticks = time
            .secs
            .saturating_add(EPOCH_SECS)
            .saturating_mul(TICKS_PER_SEC)
            .saturating_add(i64::from(time.nanos / 100));
        Self(u64::try_from(ticks).unwrap_or(0))
    }
}

impl Field<'_, LittleEndian> for NtTime {
    fn read(r: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self(r.u64_le()?))
    }

    fn write(&self, w: &mut Writer) {
        w.u64_le(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MS-FSCC 2.1.1 counts from 1601-01-01; 116444736000000000 is the well known beginning of 1970 (MSDN, "Converting a
    /// time_t value to a FILETIME").
    #[test]
    fn nineteen_seventy_is_its_known_number() {
        assert_eq!(NtTime::from(Time { secs: 0, nanos: 0 }), NtTime(116_444_736_000_000_000));
        assert_eq!(NtTime(116_444_736_000_000_001).time(), Some(Time { secs: 0, nanos: 100 }));
    }

    #[test]
    fn before_1970_the_nanoseconds_still_count_forward() {
        let time = Time { secs: -2, nanos: 999_999_900 };
        assert_eq!(NtTime::from(time), NtTime(116_444_735_989_999_999));
        assert_eq!(NtTime::from(time).time(), Some(time));
    }

    #[test]
    fn special_values_are_no_times() {
        for special in [NtTime(0), NtTime(u64::MAX), NtTime(u64::MAX - 1)] {
            assert_eq!(special.time(), None);
            assert!(special.is_valid());
        }
        assert_eq!(NtTime(u64::MAX - 2).time(), None);
        assert!(!NtTime(u64::MAX - 2).is_valid() && !NtTime(1 << 63).is_valid());
        assert!(NtTime((1 << 63) - 1).is_valid());
    }

    #[test]
    fn times_out_of_range_are_its_ends() {
        assert_eq!(NtTime::from(Time { secs: i64::MIN, nanos: 0 }), NtTime(0));
        assert_eq!(NtTime::from(Time { secs: i64::MAX, nanos: 999_999_999 }), NtTime(i64::MAX as u64));
    }
}
