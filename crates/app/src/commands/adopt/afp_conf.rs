//! The volumes of an `afp.conf`, of Netatalk 3 and 4, as shares.

mod file;
mod lists;
mod table;
#[cfg(test)]
mod tests;
mod volume;

use std::path::Path;

use self::file::{NetatalkSection, Sections, Setting};
use self::table::{Rule, rule};
use super::source::{Outcome, SourceSetting};
use super::translated::Translation;

/// Logins with a password: Netatalk's modules, and ours that are as good or better.
const PASSWORDS: &[&str] = &["dhx", "clrtxt", "cleartxt", "randnum", "passwd", "pam", "srp"];

/// Translates the text of a settings file, and of those that it includes.
pub(super) fn translate(file: &Path, text: &str) -> Translation {
    let sections = Sections::of(file, text);
    let mut translated = Translation::default();
    for section in sections.all.iter().filter(|section| !is_global(section)) {
        volume::add(&sections, section, &mut translated);
    }
    global(&sections, &mut translated);
    if !translated.shares.is_empty() {
        translated.notes.push(
            "Netatalk: to go on with Time Machine backups, set `volume-id` from afp_voluuid.conf; for aliases of old Macs, \
             `afp-signature` from afp_signature.conf"
                .into(),
        );
    }
    translated
}

fn is_global(section: &NetatalkSection) -> bool {
    section.name.eq_ignore_ascii_case("global")
}

/// A setting in the report.
fn said(setting: &Setting, share: Option<&str>, limits_access: bool, outcome: Outcome) -> SourceSetting {
    SourceSetting {
        file: setting.file.display().to_string(),
        line: Some(setting.line),
        name: setting.name.clone(),
        value: setting.value.clone(),
        protocol: "afp",
        share: share.map(str::to_owned),
        limits_access,
        outcome,
    }
}

/// What the table has for a setting that needs no translation.
fn by_table(setting: &Setting) -> (bool, Outcome) {
    match rule(&setting.name) {
        Rule::NoEffect(why) => (false, Outcome::NoEffect { why: why.into() }),
        Rule::Narrower(why) => (false, Outcome::Kept { how: format!("people may do less: {why}") }),
        Rule::Lost(limit, why) => (true, Outcome::Lost { limit, why: why.into() }),
        Rule::Translated => (true, Outcome::Translated { to: "the share".into() }),
    }
}

/// The settings of the whole server. Those that limit volumes are said with each volume.
fn global(sections: &Sections, translated: &mut Translation) {
    for (setting, why) in &sections.unread {
        let outcome = Outcome::Lost { limit: "include", why: format!("limits may be in it: {why}") };
        translated.source.push(said(setting, None, true, outcome));
    }
    for setting in &sections.wrong {
        let outcome = Outcome::Lost {
            limit: "syntax",
            why: "it is no setting, and afpd does not start with it".into(),
        };
        translated.source.push(said(setting, None, true, outcome));
    }
    let Some(global) = sections.all.iter().find(|section| is_global(section)) else { return };
    for setting in global.settings.iter().filter(|setting| !volume::LIMITS.contains(&&*setting.name)) {
        let (limits_access, outcome) = match &*setting.name {
            _ if global.get(&setting.name) != Some(setting) => by_later_line(),
            "uam list" => logins(&setting.value),
            "afp listen" => listen(&setting.value, translated),
            "vol preset" => (true, Outcome::Translated { to: "the settings of each volume".into() }),
            "include" if sections.unread.iter().any(|(unread, _)| unread == setting) => continue,
            "include" => (true, Outcome::Translated { to: "the file is read, too".into() }),
            _ => by_table(setting),
        };
        translated.source.push(said(setting, None, limits_access, outcome));
    }
}

fn by_later_line() -> (bool, Outcome) {
    (false, Outcome::NoEffect { why: "another line counts".into() })
}

fn logins(list: &str) -> (bool, Outcome) {
    let has = |word: &&&str| list.to_lowercase().contains(**word);
    let outcome = match PASSWORDS.iter().find(has) {
        _ if list.trim().is_empty() => Outcome::NoEffect { why: "afpd then takes its default".into() },
        Some(_) => {
            let guests = match list.contains("guest") {
                true => "; guests may log in there: `guests = true` of a share lets them in here",
                false => "",
            };
            let how =
                format!("people log in with a password; see `afp-logins` for those of old Macs{guests}");
            Outcome::Kept { how }
        }
        None => {
            let why = "people with a password may not log in there, and may here";
            Outcome::Lost { limit: "uam-list", why: why.into() }
        }
    };
    (true, outcome)
}

/// The addresses at which it listens; a port is Netatalk's own.
fn listen(list: &str, translated: &mut Translation) -> (bool, Outcome) {
    let addresses: Option<Vec<String>> =
        lists::words(list).iter().map(|word| lists::listened(word)).collect();
    let outcome = match addresses {
        Some(addresses) if !addresses.is_empty() => {
            let all: Vec<String> = addresses.iter().map(|one| super::share::quoted(one)).collect();
            let value = format!("[{}]", all.join(", "));
            translated.server.push(("listen", value.clone()));
            Outcome::Translated { to: format!("listen = {value} in [server], for every protocol") }
        }
        Some(_) => Outcome::NoEffect { why: "it is empty".into() },
        None => {
            Outcome::Lost { limit: "afp-listen", why: "`listen` in [server] takes addresses only".into() }
        }
    };
    (true, outcome)
}
