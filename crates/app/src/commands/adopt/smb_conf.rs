//! The shares of a `smb.conf`, for smbd of Samba 4.
//!
//! Each line becomes an entry of the report. [`rows`] says of each setting whether it limits access, and what it becomes.

mod catia;
mod conf;
mod files;
mod host_words;
mod hosts;
mod modules;
mod people;
mod rows;
mod server;
#[cfg(test)]
mod tests;
mod values;
mod work;

use std::path::Path;

use conf::{Conf, ConfSection, Entry};
use work::{Effective, Work};

use super::netgroups::{self, Netgroups};
use super::source::{Outcome, SourceSetting};
use super::translated::Translation;

/// Sections that are no folders.
const NO_FOLDERS: [&str; 3] = ["printers", "print$", "ipc$"];

/// Translates the text of a settings file. Files that it includes are read.
pub(super) fn translate(file: &Path, text: &str) -> Translation {
    translate_with(file, text, netgroups::by_name_service)
}

fn translate_with(file: &Path, text: &str, netgroups: Netgroups) -> Translation {
    let conf = Conf::read(file, text);
    let mut translated = Translation::default();
    let server = server::translate(&conf.global, netgroups, &mut translated);
    for section in &conf.sections {
        match no_share(section) {
            Some(why) => {
                translated.source.extend(section.own().iter().map(|entry| unserved(entry, section, why)))
            }
            None => share(section, &server, &mut translated),
        }
    }
    people::close_accounts(&mut translated);
    for (entry, section, why) in &conf.unread {
        let outcome = Outcome::Lost { limit: "include", why: format!("the file is not read: {why}") };
        lose(&mut translated, entry, section.as_deref(), outcome);
    }
    for entry in &conf.broken {
        let why = "smbd does not start with this line, so it gives access to nobody".into();
        lose(&mut translated, entry, None, Outcome::Lost { limit: "invalid-line", why });
    }
    defaults(&conf, &mut translated);
    translated
}

/// Why a section is no share here.
fn no_share(section: &ConfSection) -> Option<&'static str> {
    let says = |name: &str, default| match section.entry(name).map(|entry| values::truth(&entry.value)) {
        Some(Some(value)) => value,
        _ => default,
    };
    let is_printer =
        |name: &str| section.entry(name).is_some_and(|entry| values::truth(&entry.value) == Some(true));
    match () {
        () if NO_FOLDERS.contains(&&*section.name.to_lowercase()) => Some("the section is no folder"),
        () if is_printer("printable") || is_printer("print ok") => Some("printers are not served"),
        () if !says("available", true) => Some("the share is not available there, and is none here"),
        () if section.entry("msdfs proxy").is_some_and(|entry| !entry.value.is_empty()) => {
            Some("the share is one of another server, and is none here")
        }
        () => None,
    }
}

/// A line of a section that is no share.
fn unserved(entry: &Entry, section: &ConfSection, why: &str) -> SourceSetting {
    said(entry, Some(&section.name), Outcome::NoEffect { why: why.into() })
}

fn share(section: &ConfSection, server: &server::Server, translated: &mut Translation) {
    let effective = Effective::of(section, server);
    let Some(mut work) = Work::begin(section, &effective) else {
        let lost = |entry: &Entry| {
            let why = "the share has no path that is the same for every client: make one for each".into();
            let is_path = entry.name() == "path";
            let outcome =
                if is_path { Outcome::Lost { limit: "path", why } } else { Outcome::NoEffect { why } };
            said(entry, Some(&section.name), outcome)
        };
        translated
            .notes
            .push(format!("smb.conf: [{}] has no path that is the same for every client", section.name));
        return translated.source.extend(section.own().iter().map(lost));
    };
    people::translate(&mut work);
    hosts::translate(&mut work);
    files::translate(&mut work);
    modules::translate(&mut work);
    let (share, invalid) = work.end();
    translated.shares.push(share);
    translated.invalid.extend(invalid);
}

/// An entry of the report.
fn said(entry: &Entry, share: Option<&str>, outcome: Outcome) -> SourceSetting {
    let lost = matches!(outcome, Outcome::Lost { .. });
    SourceSetting {
        file: entry.file.clone(),
        line: Some(entry.line),
        name: entry.shown.clone(),
        value: entry.value.clone(),
        protocol: "smb",
        share: share.map(str::to_owned),
        limits_access: lost || entry.row.is_some_and(|row| row.limits),
        outcome,
    }
}

/// Adds a limit that is lost, to its share or to the server.
fn lose(translated: &mut Translation, entry: &Entry, section: Option<&str>, outcome: Outcome) {
    let one = said(entry, section, outcome);
    let of_section =
        |name: &str| one.share.as_deref().is_some_and(|section| section.eq_ignore_ascii_case(name));
    match translated.shares.iter_mut().find(|share| of_section(&share.name)) {
        Some(share) => share.source.push(one),
        // It may be that of a share of another name: then it counts for all.
        None => translated.source.push(SourceSetting { share: None, ..one }),
    }
}

/// Names the defaults of `[global]` that no share has.
fn defaults(conf: &Conf, translated: &mut Translation) {
    let is_named = |entry: &Entry| {
        let all = translated.source.iter().chain(translated.shares.iter().flat_map(|share| &share.source));
        let is_it = |one: &SourceSetting| {
            one.line == Some(entry.line) && one.file == entry.file && one.name == entry.shown
        };
        all.into_iter().any(is_it)
    };
    let unused: Vec<Entry> = conf.global.entries.iter().filter(|entry| !is_named(entry)).cloned().collect();
    let outcome = |entry: &Entry| {
        let name = entry.name();
        let counts = conf.global.entry(&name).is_some_and(|last| last == entry) && !entry.value.is_empty();
        match counts && ["hosts allow", "hosts deny"].contains(&&*name) {
            true => Outcome::Kept { how: "it counts for each share beside what the share says".into() },
            false => Outcome::NoEffect { why: "every share says it otherwise, or a later line does".into() },
        }
    };
    translated.source.extend(unused.iter().map(|entry| said(entry, None, outcome(entry))));
}
