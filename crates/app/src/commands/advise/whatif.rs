//! Apple's rules of 1993 (configuration and sizing of the Workgroup Server 95), for a machine that is described and need not be
//! there: `fourfold advise --memory 32M --reserve 4M,16M --clients 10 --files 10000`. Units are those of the guide: 1 KB is 1,000
//! bytes.

use admin::control::Advice;

use crate::cli::Advise;

/// Bytes of the directory cache for each file and folder.
const ENTRY: u64 = 200;
/// A buffer of each active user. Larger ones were no use.
const BUFFER: u64 = 64_000;
/// Bytes of the icon cache for so many sets of colour icons.
const ICONS: (u64, u64) = (256_000, 100);
/// What the guide measured: all clients together, what each of 50 had, and what each must have at least.
const MEASURED: (u64, u64, u64) = (850_000, 17_000, 15_000);

/// The machine that is described.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WhatIf {
    memory: u64,
    reserves: Vec<u64>,
    clients: Option<u64>,
    files: Option<u64>,
    icons: Option<u64>,
    /// Bytes per second of all clients together, and of each.
    speed: u64,
    floor: u64,
}

impl WhatIf {
    /// What the flags describe. `None`: no machine.
    ///
    /// # Errors
    /// A flag is no size.
    pub(super) fn of(asked: &Advise) -> Result<Option<Self>, String> {
        let Some(memory) = &asked.memory else { return Ok(None) };
        let size = |flag: &str, text: &str| {
            decimal(text)
                .ok_or_else(|| format!("`--{flag} {text}` is no size: write 32M or 850K, with K = 1,000"))
        };
        let reserves: Result<Vec<u64>, String> =
            asked.reserve.iter().map(|text| size("reserve", text)).collect();
        let speed = asked.speed.as_ref().map_or(Ok(MEASURED.0), |text| size("speed", text))?;
        let floor = asked.floor.as_ref().map_or(Ok(MEASURED.2), |text| size("floor", text))?;
        if floor == 0 {
            return Err("each active user must have more than 0 bytes per second".into());
        }
        Ok(Some(Self {
            memory: size("memory", memory)?,
            reserves: reserves?,
            clients: asked.clients,
            files: asked.files,
            icons: asked.icons,
            speed,
            floor,
        }))
    }

    /// The sentences, one for each rule.
    pub(super) fn advice(&self) -> Vec<Advice> {
        let text =
            [Some(self.buffer_cache()), self.directory(), self.buffers(), self.icons(), Some(self.users())];
        vec![Advice { topic: "rules of 1993".into(), text: text.into_iter().flatten().collect() }]
    }

    fn left(&self) -> u64 {
        self.reserves.iter().fold(self.memory, |left, reserve| left.saturating_sub(*reserve))
    }

    fn buffer_cache(&self) -> String {
        let terms: String = self.reserves.iter().map(|reserve| format!(" − {}", amount(*reserve))).collect();
        let (memory, left) = (amount(self.memory), self.left());
        format!(
            "Buffer cache: {memory}{terms} = {}. Rule: on a server that does nothing else, all memory but what the system and its \
             environment need, so that nothing is paged. To begin with, half of what is left: {}; then by measurement.",
            amount(left),
            amount(left / 2)
        )
    }

    fn directory(&self) -> Option<String> {
        let files = self.files?;
        Some(format!(
            "Directory cache: {} entries × 0.2 KB = {}. Rule: each file and folder has an entry; take the part of them that is in use.",
            grouped(files),
            amount(files.saturating_mul(ENTRY))
        ))
    }

    fn buffers(&self) -> Option<String> {
        let clients = self.clients?;
        Some(format!(
            "Buffers: {clients} active users × 64 KB = {}. Rule: one for each active user, no larger than the largest file; larger ones \
             than 64 KB are no use.",
            amount(clients.saturating_mul(BUFFER))
        ))
    }

    fn icons(&self) -> Option<String> {
        let icons = self.icons?;
        let bytes = icons.saturating_mul(ICONS.0).div_ceil(ICONS.1);
        Some(format!(
            "Icon cache: {icons} sets of colour icons = {}. Rule: 256 KB for each 100.",
            amount(bytes)
        ))
    }

    fn users(&self) -> String {
        let (speed, floor) = (self.speed, self.floor);
        let of_guide = if speed == MEASURED.0 { ", which the guide measured" } else { "" };
        let at = |each: u64| format!("{} ÷ {}/s = {} users", amount(speed), amount(each), speed / each);
        let mut text = format!("Users: all together have {}/s{of_guide}. ", amount(speed));
        if speed == MEASURED.0 && floor <= MEASURED.1 {
            text += &format!("{}, as measured; ", at(MEASURED.1));
        }
        text += &format!("the rule wants {}/s for each at least: {}.", amount(floor), at(floor));
        if let Some(clients) = self.clients.filter(|clients| *clients > 0) {
            let each = speed / clients;
            let word = if each >= floor { "enough" } else { "too little" };
            text += &format!(" {clients} users have {}/s each, which is {word}.", amount(each));
        }
        text
    }
}

/// A size with the units of 1993: `32M` is 32,000,000.
fn decimal(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b']);
    let (number, factor) = match text.chars().last()?.to_ascii_uppercase() {
        'K' => (&text[..text.len() - 1], 1e3),
        'M' => (&text[..text.len() - 1], 1e6),
        'G' => (&text[..text.len() - 1], 1e9),
        'T' => (&text[..text.len() - 1], 1e12),
        _ => (text, 1.0),
    };
    let value: f64 = number.trim().parse().ok()?;
    (value.is_finite() && (0.0..=1e15).contains(&(value * factor))).then_some((value * factor).round() as u64)
}

/// `12 MB`, `640 KB`, `850 KB`.
fn amount(bytes: u64) -> String {
    let (value, unit) = match bytes {
        1_000_000_000.. => (bytes as f64 / 1e9, "GB"),
        1_000_000.. => (bytes as f64 / 1e6, "MB"),
        1_000.. => (bytes as f64 / 1e3, "KB"),
        _ => (bytes as f64, "bytes"),
    };
    if value.fract().abs() < 0.05 { format!("{value:.0} {unit}") } else { format!("{value:.1} {unit}") }
}

/// `10,000`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guide() -> WhatIf {
        WhatIf {
            memory: 32_000_000,
            reserves: vec![4_000_000, 16_000_000],
            clients: Some(10),
            files: Some(10_000),
            icons: Some(100),
            speed: MEASURED.0,
            floor: MEASURED.2,
        }
    }

    /// The numbers of the guide: 32 MB make 12 MB of buffer cache, 10,000 entries 2 MB, 850 KB/s 50 users with 17 KB/s.
    #[test]
    fn apples_example_gives_apples_numbers() {
        let text = guide().advice().remove(0).text;
        assert!(text[0].starts_with("Buffer cache: 32 MB − 4 MB − 16 MB = 12 MB."), "{}", text[0]);
        assert!(text[0].contains("half of what is left: 6 MB"));
        assert!(text[1].starts_with("Directory cache: 10,000 entries × 0.2 KB = 2 MB."), "{}", text[1]);
        assert!(text[2].starts_with("Buffers: 10 active users × 64 KB = 640 KB."), "{}", text[2]);
        assert!(text[3].starts_with("Icon cache: 100 sets of colour icons = 256 KB."), "{}", text[3]);
        assert!(text[4].contains("850 KB ÷ 17 KB/s = 50 users, as measured"), "{}", text[4]);
        assert!(text[4].contains("15 KB/s for each at least: 850 KB ÷ 15 KB/s = 56 users"), "{}", text[4]);
        assert!(text[4].ends_with("10 users have 85 KB/s each, which is enough."), "{}", text[4]);
    }

    #[test]
    fn reserves_larger_than_the_memory_leave_nothing() {
        let small = WhatIf { reserves: vec![40_000_000], clients: Some(100), ..guide() };
        let text = small.advice().remove(0).text;
        assert!(text[0].contains("= 0 bytes.") && text[4].contains("which is too little"), "{text:?}");
    }

    #[test]
    fn sizes_have_the_units_of_1993() {
        let read = ["32M", "850K", "1.5 MB", "15k", "7", "-1", "x", "", "1e300G", "NaN"].map(decimal);
        let expected = [Some(32_000_000), Some(850_000), Some(1_500_000), Some(15_000), Some(7)];
        assert_eq!(read[..5], expected);
        assert_eq!(read[5..], [None; 5]);
        assert_eq!(
            ["1", "1000", "12345678"].map(|n| grouped(n.parse().unwrap())),
            ["1", "1,000", "12,345,678"]
        );
    }
}
