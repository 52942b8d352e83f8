//! Small tables in files: TOML with the number of its format, replaced as a whole.

use std::io::ErrorKind;
use std::path::Path;

use auth::durable;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Refusal;

/// A table. `None` if there is no file. One in a `format` above `known` was written by a later version.
pub(crate) fn read<T: DeserializeOwned>(
    path: &Path,
    known: u32,
    format: impl FnOnce(&T) -> u32,
) -> Result<Option<T>, Refusal> {
    match std::fs::read_to_string(path) {
        Err(why) if why.kind() == ErrorKind::NotFound => Ok(None),
        text => parse(path, &text.map_err(Refusal::io("read", path))?, known, format).map(Some),
    }
}

/// The table of a text that is kept at `path`.
pub(crate) fn parse<T: DeserializeOwned>(
    path: &Path,
    text: &str,
    known: u32,
    format: impl FnOnce(&T) -> u32,
) -> Result<T, Refusal> {
    let table: T = toml_edit::de::from_str(text).map_err(|why| damaged(path, why.message()))?;
    match format(&table) {
        newer if newer > known => {
            Err(damaged(path, &format!("its format is {newer}, and this program knows {known}")))
        }
        _ => Ok(table),
    }
}

/// Replaces the file.
pub(crate) fn write(path: &Path, table: &impl Serialize) -> Result<(), Refusal> {
    durable::replace(path, text(path, table)?.as_bytes()).map_err(Refusal::io("write", path))
}

/// The text of a table.
pub(crate) fn text(path: &Path, table: &impl Serialize) -> Result<String, Refusal> {
    toml_edit::ser::to_string(table).map_err(|why| damaged(path, &why.to_string()))
}

fn damaged(path: &Path, why: &str) -> Refusal {
    Refusal::Damaged { path: path.to_owned(), why: why.to_owned() }
}
