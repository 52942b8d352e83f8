//! Sizes and times with units.

const UNITS: [(&str, u64); 17] = [
    ("", 1),
    ("b", 1),
    ("k", 1 << 10),
    ("kib", 1 << 10),
    ("kb", 1_000),
    ("m", 1 << 20),
    ("mib", 1 << 20),
    ("mb", 1_000_000),
    ("g", 1 << 30),
    ("gib", 1 << 30),
    ("gb", 1_000_000_000),
    ("t", 1 << 40),
    ("tib", 1 << 40),
    ("tb", 1_000_000_000_000),
    ("p", 1 << 50),
    ("pib", 1 << 50),
    ("pb", 1_000_000_000_000_000),
];

/// Bytes of `256 MiB`, `1.5 GB`, `64k` or `4096`. A lone letter is the binary unit.
#[must_use]
pub fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = (&text[..end], text[end..].trim().to_ascii_lowercase());
    let factor = UNITS.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    whole.checked_add(fraction_of(fraction, factor)?)
}

/// Milliseconds of `500 ms`, `2 s` or `1 min`; 0 of `off`.
#[must_use]
pub fn parse_duration(text: &str) -> Option<u64> {
    let text = text.trim();
    if text == "off" {
        return Some(0);
    }
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let factor = match text[end..].trim() {
        "ms" => 1,
        "s" => 1000,
        "min" | "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    text[..end].parse::<u64>().ok()?.checked_mul(factor)
}

/// The duration as a value of the settings: `"off"`, `"2 s"` or `"1500 ms"`.
#[must_use]
pub fn duration_as_written(milliseconds: u64) -> String {
    match milliseconds {
        0 => "\"off\"".into(),
        seconds if seconds.is_multiple_of(1000) => format!("\"{} s\"", seconds / 1000),
        _ => format!("\"{milliseconds} ms\""),
    }
}

/// The part after the point, in bytes, rounded down. Up to nine digits.
fn fraction_of(digits: &str, factor: u64) -> Option<u64> {
    if digits.is_empty() {
        return Some(0);
    }
    let scale = 10u64.checked_pow(u32::try_from(digits.len()).ok()?).filter(|s| *s <= 1_000_000_000)?;
    let part = u128::from(digits.parse::<u64>().ok()?) * u128::from(factor) / u128::from(scale);
    u64::try_from(part).ok()
}

/// `256 MiB`: the largest binary unit, with one digit after the point if it is not whole.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    const NAMES: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    let step = (1..NAMES.len()).rev().find(|step| bytes >> (10 * step) > 0).unwrap_or(0);
    let unit = 1u64 << (10 * step);
    let (whole, tenth) = (bytes / unit, u128::from(bytes % unit) * 10 / u128::from(unit));
    if tenth == 0 { format!("{whole} {}", NAMES[step]) } else { format!("{whole}.{tenth} {}", NAMES[step]) }
}

/// `256 MiB (268435456 bytes)`: the parsed value of a typed size.
#[must_use]
pub fn format_size_exactly(bytes: u64) -> String {
    format!("{} ({bytes} bytes)", format_size(bytes))
}

/// Whether a size is only a number.
#[must_use]
pub fn is_without_unit(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// The size as a value of the settings, without rounding: `"256 MiB"`, or `268435457`.
#[must_use]
pub fn as_written(bytes: u64) -> String {
    let text = format_size(bytes);
    if parse_size(&text) == Some(bytes) { format!("{text:?}") } else { bytes.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_exactly_what_it_was() {
        assert_eq!(as_written(3 << 30), "\"3 GiB\"");
        assert_eq!(as_written((3 << 30) + 1), "3221225473");
    }

    #[test]
    fn times_have_units() {
        let read = ["500 ms", "2s", "1 min", "3h", "7 d", "off"].map(parse_duration);
        let milliseconds = [500, 2000, 60_000, 10_800_000, 604_800_000, 0];
        assert_eq!(read, milliseconds.map(Some));
        for wrong in ["", "5", "s", "-1 s", "1 parsec", "99999999999999999999 s", "18446744073709551615 h"] {
            assert_eq!(parse_duration(wrong), None, "{wrong}");
        }
        assert_eq!([0, 2000, 1500].map(duration_as_written), ["\"off\"", "\"2 s\"", "\"1500 ms\""]);
    }

    #[test]
    fn iec_and_si_units_differ() {
        assert_eq!(parse_size("256 MiB"), Some(268_435_456));
        assert_eq!(parse_size("256MB"), Some(256_000_000));
        assert_eq!(parse_size("1.5 GiB"), Some(1_610_612_736));
        assert_eq!(parse_size("64k"), Some(65_536));
        assert_eq!(parse_size("4096"), Some(4096));
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for wrong in ["", "MiB", "-1", "1 XB", "1.2.3 MiB", "99999999 PiB", "1e3"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_are_shown_in_the_largest_unit() {
        assert_eq!(format_size(0), "0 B");
        assert_eq!(format_size(268_435_456), "256 MiB");
        assert_eq!(format_size(1_610_612_736), "1.5 GiB");
    }
}
