//! The settings of smb.conf that change nothing about who may do what, by the reason.

mod global;
mod share;

use super::super::values::Kind;
use super::{Handling, Row, SettingScope};

/// Settings with one reason.
struct Group {
    scope: SettingScope,
    why: &'static str,
    names: &'static [&'static str],
}

/// A row for a name, if it is one of these.
pub(super) fn find(wanted: &str) -> Option<Row> {
    let with_name = |group: &'static Group| {
        let name = group.names.iter().find(|name| super::key(name) == wanted)?;
        Some(Row {
            name,
            synonyms: &[],
            inverse: &[],
            kind: Kind::Text,
            scope: group.scope,
            limits: false,
            handling: Handling::NoEffect(group.why),
        })
    };
    global::GROUPS.iter().chain(share::GROUPS).find_map(with_name)
}
