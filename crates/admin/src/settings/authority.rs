//! Who may change a setting over the network, and what a change of the settings file demands.
//!
//! A token of the API and an open session of the console can change how the server works, but not identities, trust,
//! or what it reaches. The whole file before a change is compared with the file after it, so that each way to change it (one
//! setting, a share that is renamed, a change that is taken back) is judged by the same table.

use super::kind::Value;
use super::section::{RawTables, Section};
use super::setting::Setting;
use super::table::SETTINGS;

/// Who may change a setting over the network. Everything can be changed on the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Authority {
    /// A token with the scope `write`, or a session of the console.
    Operator,
    /// The same to this value, which takes rights away; an administrator with the own password to any other.
    Limit(&'static str),
    /// An administrator who gives the own password with the change.
    Administrator,
    /// Only a command on the host changes it.
    Host,
}

/// What a change demands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Demand {
    /// A token with the scope `write`, or a session of the console.
    Operator,
    /// The password of an administrator, given with the change.
    Password,
    /// A command on the host.
    Host,
}

impl Authority {
    /// What it demands that the setting becomes this value.
    fn demand(self, value: Option<&Value>) -> Demand {
        match self {
            Self::Operator => Demand::Operator,
            Self::Limit(limit) if value.is_some_and(|value| is(value, limit)) => Demand::Operator,
            Self::Limit(_) | Self::Administrator => Demand::Password,
            Self::Host => Demand::Host,
        }
    }
}

fn is(value: &Value, word: &str) -> bool {
    match value {
        Value::Bool(on) => on.to_string() == word,
        Value::Text(text) => text == word,
        _ => false,
    }
}

/// What the change of a settings file demands, with the settings that demand most of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeDemand {
    /// The most that a changed setting demands.
    pub most: Demand,
    /// The settings that demand it.
    pub settings: Vec<String>,
}

/// What the change from one file to another demands. Values are compared as they count: inherited ones and defaults, too.
pub(super) fn demanded(before: &RawTables, after: &RawTables) -> ChangeDemand {
    let mut changed = Vec::new();
    compare(Some(&before.server), Some(&after.server), &mut changed);
    compare(Some(&before.appletalk), Some(&after.appletalk), &mut changed);
    for [old, new] in pairs([&before.shares, &after.shares], "name") {
        compare(old, new, &mut changed);
        let inner = |of: Option<&Section>, pick: fn(&Section) -> &Vec<Section>| {
            of.map(pick).cloned().unwrap_or_default()
        };
        let rules = [old, new].map(|of| inner(of, |section| &section.clients));
        for number in 0..rules[0].len().max(rules[1].len()) {
            compare(rules[0].get(number), rules[1].get(number), &mut changed);
        }
        let luns = [old, new].map(|of| inner(of, |section| &section.luns));
        pairs([&luns[0], &luns[1]], "name")
            .into_iter()
            .for_each(|[old, new]| compare(old, new, &mut changed));
    }
    for (lists, key) in [
        ([&before.users, &after.users], "name"),
        ([&before.links, &after.links], "path"),
        ([&before.sites, &after.sites], "name"),
    ] {
        pairs(lists, key).into_iter().for_each(|[old, new]| compare(old, new, &mut changed));
    }
    let most = changed.iter().map(|(demand, _)| *demand).max().unwrap_or(Demand::Operator);
    let mut settings: Vec<String> =
        changed.into_iter().filter(|(demand, _)| *demand == most).map(|(_, path)| path).collect();
    settings.sort();
    settings.dedup();
    ChangeDemand { most, settings }
}

/// The sections of both lists by this key; one that only one list has stands alone.
fn pairs<'a>(lists: [&'a Vec<Section>; 2], key: &str) -> Vec<[Option<&'a Section>; 2]> {
    let find = |list: &'a Vec<Section>, name: &Option<String>| {
        list.iter().find(|section| section.text(key) == *name)
    };
    let mut all: Vec<[Option<&Section>; 2]> =
        lists[0].iter().map(|old| [Some(old), find(lists[1], &old.text(key))]).collect();
    let fresh = lists[1].iter().filter(|new| find(lists[0], &new.text(key)).is_none());
    all.extend(fresh.map(|new| [None, Some(new)]));
    all
}

/// The settings of a table that count otherwise in the new section. A section that is missing counts as an empty one.
fn compare(old: Option<&Section>, new: Option<&Section>, changed: &mut Vec<(Demand, String)>) {
    let Some(table) = old.or(new).map(|section| section.table) else { return };
    let value = |section: Option<&Section>, key| match section {
        Some(section) => section.value(key),
        None => Section::empty(table).value(key),
    };
    for setting in SETTINGS.iter().filter(|setting: &&Setting| setting.table == table) {
        let new = value(new, setting.key);
        if value(old, setting.key) != new {
            changed.push((setting.authority.demand(new.as_ref()), setting.path()));
        }
    }
}
