//! Why a TOML file of the state folder does not have the program's format.

use toml_edit::de::Error;

/// The parser's message, with the line, and with the key if the message leaves it out.
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
