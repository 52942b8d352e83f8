//! Why a TOML file of the state folder is not what the program writes.

use toml_edit::de::Error;

/// What the parser says, with the line, and with the key where it leaves that out.
#[must_use]
pub fn reason(text: &str, error: &Error) -> String {
    let what = error.message().trim().replace('\n', ", ");
    let Some(span) = error.span() else { return what };
    let line = text.get(..span.start).unwrap_or_default().matches('\n').count() + 1;
    match text.get(span) {
        Some(key) if what == "duplicate key" => format!("line {line}: `{key}` is here a second time"),
        _ => format!("line {line}: {what}"),
    }
}
