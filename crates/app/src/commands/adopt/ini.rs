//! Settings files of other servers: their text, and truth values.

use std::path::Path;

use anyhow::Context as _;

/// The longest file that is read: the settings of thousands of shares.
const LONGEST: u64 = 4 << 20;

/// A truth value of these files.
pub(super) fn truth(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "yes" | "true" | "1" | "on" => Some(true),
        "no" | "false" | "0" | "off" => Some(false),
        _ => None,
    }
}

/// Reads a file as text.
pub(super) fn read(file: &Path) -> anyhow::Result<String> {
    let what = || format!("{} cannot be read", file.display());
    let length = std::fs::metadata(file).with_context(what)?.len();
    anyhow::ensure!(
        length <= LONGEST,
        "{} is longer than {LONGEST} bytes: is it a settings file?",
        file.display()
    );
    Ok(String::from_utf8_lossy(&std::fs::read(file).with_context(what)?).into_owned())
}
