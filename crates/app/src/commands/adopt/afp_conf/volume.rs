//! One volume of an `afp.conf` as a share.

use std::path::Path;

use super::super::ini::truth;
use super::super::share::{Share, quoted};
use super::super::source::{Outcome, SourceSetting};
use super::super::translated::Translation;
use super::file::{NetatalkSection, Sections, Setting};
use super::lists::{self, People};
use super::{by_later_line, by_table, said};

/// Settings of volumes that limit access. afpd does not read them in `[Global]`. An administrator who writes them there wants the
/// limit, so they hold for each volume here.
pub(super) const LIMITS: &[&str] = &[
    "chmod request",
    "cnid scheme",
    "hosts allow",
    "hosts deny",
    "invalid users",
    "password",
    "preexec close",
    "read only",
    "rolist",
    "root preexec close",
    "rwlist",
    "umask",
    "valid users",
    "veto files",
];
/// The characters of a volume's password that count.
const PASSWORD: usize = 8;

/// A section with the presets that it takes.
struct NetatalkVolume<'a> {
    own: &'a NetatalkSection,
    preset: Option<&'a NetatalkSection>,
    global: Option<&'a NetatalkSection>,
    share: Share,
    outcomes: Vec<(&'static str, Outcome)>,
}

/// Adds the share of a section, if it is one.
pub(super) fn add(sections: &Sections, section: &NetatalkSection, translated: &mut Translation) {
    let global = sections.find("global");
    let preset = section.get("vol preset").or_else(|| global?.get("vol preset"));
    let preset = preset
        .and_then(|preset| sections.find(&preset.value))
        .filter(|preset| !std::ptr::eq(*preset, section));
    let Some((name, path)) = place(sections, section, translated) else {
        return no_volume(section, "the section becomes no share", translated);
    };
    if translated.shares.iter().any(|share| share.path == Path::new(&path)) {
        let note = format!(
            "afp.conf: [{}] has the folder {path} of another volume: afpd leaves it out, too",
            section.name
        );
        translated.notes.push(note);
        return no_volume(section, "another volume has its folder, and afpd leaves it out, too", translated);
    }
    let share = Share::new(&super::super::exports::plain_name(&name), Path::new(&path), "afp");
    let mut volume = NetatalkVolume { own: section, preset, global, share, outcomes: Vec::new() };
    volume.people();
    volume.writing();
    volume.hosts();
    volume.others();
    volume.report(&section.name);
    translated.shares.push(volume.share);
}

/// Names the lines of a section that is no share. Those of a preset are named with each volume that takes it.
fn no_volume(section: &NetatalkSection, why: &str, translated: &mut Translation) {
    let is_named = |setting: &&Setting| {
        let is_it = |one: &SourceSetting| {
            one.line == Some(setting.line) && setting.file.display().to_string() == one.file
        };
        translated.source.iter().any(is_it)
    };
    let unnamed: Vec<&Setting> = section.settings.iter().filter(|setting| !is_named(setting)).collect();
    let all = unnamed
        .into_iter()
        .map(|setting| said(setting, Some(&section.name), false, Outcome::NoEffect { why: why.into() }));
    let all: Vec<SourceSetting> = all.collect();
    translated.source.extend(all);
}

/// The name and the folder. Others are said.
fn place(
    sections: &Sections,
    section: &NetatalkSection,
    translated: &mut Translation,
) -> Option<(String, String)> {
    let named = section.get("volume name").map_or(&section.name, |name| &name.value).clone();
    if section.name.eq_ignore_ascii_case("homes") {
        return homes(section, translated);
    }
    let Some(path) = section.get("path") else {
        let is_preset = sections
            .all
            .iter()
            .filter_map(|other| other.get("vol preset"))
            .any(|preset| preset.value.eq_ignore_ascii_case(&section.name));
        if !is_preset {
            translated.notes.push(format!("afp.conf: [{}] has no path, so it is no volume", section.name));
        }
        return None;
    };
    match with_account(&path.value) {
        Some(folder) => Some((named, folder)),
        None => {
            let how = "no share: its folder differs by user in a way that `%U` cannot say";
            let outcome = Outcome::Kept { how: how.into() };
            translated.source.push(said(path, Some(&section.name), true, outcome));
            None
        }
    }
}

/// A path, in which `$u` at the end is the account.
fn with_account(path: &str) -> Option<String> {
    match path.strip_suffix("/$u") {
        Some(above) if !above.contains('$') && above.starts_with('/') => Some(format!("{above}/%U")),
        _ if path.contains('$') || !path.starts_with('/') => None,
        _ => Some(if path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path.to_owned() }),
    }
}

/// `[Homes]`: the homes below a folder, if `basedir regex` is the name of one.
fn homes(section: &NetatalkSection, translated: &mut Translation) -> Option<(String, String)> {
    let plain = |text: &str| {
        let text = text.trim_start_matches('^').trim_end_matches('$').trim_end_matches('/');
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-');
        (text.len() > 1 && text.starts_with('/') && text.chars().all(is_plain)).then(|| text.to_owned())
    };
    let regex = section.get("basedir regex");
    let folder = regex.and_then(|regex| plain(&regex.value)).filter(|_| section.get("path").is_none());
    if let Some(folder) = folder {
        return Some(("homes".into(), format!("{folder}/%U")));
    }
    match regex {
        Some(regex) => {
            let how = "no share: make one with `path = \"/home/%U\"`, where the homes are";
            translated.source.push(said(regex, Some("Homes"), true, Outcome::Kept { how: how.into() }));
        }
        None => translated
            .notes
            .push("afp.conf: [Homes] has no basedir regex: afpd serves no homes, either".into()),
    }
    None
}

impl<'a> NetatalkVolume<'a> {
    fn get(&self, name: &str) -> Option<&'a Setting> {
        let of_global = || self.global.filter(|_| LIMITS.contains(&name))?.get(name);
        self.own.get(name).or_else(|| self.preset?.get(name)).or_else(of_global)
    }

    fn value(&self, name: &str) -> Option<&'a str> {
        self.get(name).map(|setting| &*setting.value)
    }

    /// afpd looks at the first letter. `on` is nothing there; who writes it means yes.
    fn says(&self, name: &str) -> bool {
        let value = self.value(name).unwrap_or_default();
        value.starts_with(['y', 'Y', 't', 'T', '1']) || truth(value) == Some(true)
    }

    fn people_of(&self, name: &str) -> Option<People> {
        self.value(name).and_then(People::of)
    }

    fn note(&mut self, name: &'static str, outcome: Outcome) {
        self.outcomes.push((name, outcome));
    }

    fn translated(&mut self, name: &'static str, to: impl Into<String>) {
        self.note(name, Outcome::Translated { to: to.into() });
    }

    /// Nobody gets in.
    fn close(&mut self) {
        self.share.clients = vec![vec![("match", quoted("*")), ("access", quoted("none"))]];
    }

    fn people(&mut self) {
        let (valid, invalid) = (self.people_of("valid users"), self.people_of("invalid users"));
        let mut valid = valid.unwrap_or_default();
        if let Some(invalid) = invalid {
            let are_names = !valid.users.is_empty() && valid.groups.is_empty() && invalid.groups.is_empty();
            match are_names {
                true => {
                    valid.users.retain(|user| !invalid.has_user(user));
                    self.translated("invalid users", "`users` without these");
                    if valid.users.is_empty() {
                        self.close();
                    }
                }
                false => {
                    let why =
                        "`users` and `groups` say who may enter, and not who may not: name those who may";
                    self.note("invalid users", Outcome::Lost { limit: "invalid-users", why: why.into() });
                }
            }
        }
        if !valid.users.is_empty() {
            self.share.set_texts("users", &valid.users);
        }
        if !valid.groups.is_empty() {
            self.share.set_texts("groups", &valid.groups);
        }
        self.translated("valid users", "`users` and `groups`");
    }

    /// Who may write.
    fn writing(&mut self) {
        if self.says("read only") {
            self.share.set("read-only", true);
        }
        self.translated(
            "read only",
            if self.says("read only") { "read-only = true" } else { "read-only = false" },
        );
        if self.value("cnid scheme").is_some_and(|scheme| scheme == "last") {
            self.share.set("read-only", true);
            self.translated("cnid scheme", "read-only = true: afpd opens such a volume for reading only");
        } else {
            self.note("cnid scheme", Outcome::NoEffect { why: "it is about Netatalk's own files".into() });
        }
        let valid = self.people_of("valid users").filter(|valid| valid.groups.is_empty());
        let may_write = |list: &People| {
            valid.as_ref().is_some_and(|valid| valid.users.iter().all(|user| list.has_user(user)))
        };
        let is_free = |list: &People| {
            list.groups.is_empty()
                && valid.as_ref().is_some_and(|valid| !valid.users.iter().any(|user| list.has_user(user)))
        };
        let lists = [
            ("rwlist", self.people_of("rwlist").map(|list| may_write(&list))),
            ("rolist", self.people_of("rolist").map(|list| is_free(&list))),
        ];
        for (name, all_write) in lists {
            match all_write {
                None => self.note(name, Outcome::NoEffect { why: "it is empty".into() }),
                Some(true) => {
                    self.note(name, Outcome::NoEffect { why: "all who may enter may write".into() })
                }
                Some(false) => {
                    self.share.set("read-only", true);
                    let how = "read-only = true for everybody: a share cannot have people who may read only beside others";
                    self.note(name, Outcome::Kept { how: how.into() });
                }
            }
        }
    }

    /// `hosts deny` counts first, then `hosts allow`.
    fn hosts(&mut self) {
        let is_closed = !self.share.clients.is_empty();
        let mut rules = Vec::new();
        let mut list = |volume: &mut Self, name: &'static str, limit, is_denied: bool| -> Option<usize> {
            let words = lists::words(volume.value(name).unwrap_or_default());
            let hosts: Option<Vec<String>> = words.iter().map(|word| lists::host(word, is_denied)).collect();
            let Some(hosts) = hosts else {
                let why = "a rule has addresses, networks with a number of bits, and names of hosts";
                volume.note(name, Outcome::Lost { limit, why: why.into() });
                return Some(words.len());
            };
            let all: Vec<String> = hosts.iter().map(|host| quoted(host)).collect();
            let matches = format!("[{}]", all.join(", "));
            if !hosts.is_empty() {
                let access = if is_denied { "none" } else { "rw" };
                volume.translated(name, format!("match = {matches}, access = {access:?}"));
                rules.push(vec![("match", matches), ("access", quoted(access))]);
            }
            (!hosts.is_empty()).then_some(hosts.len())
        };
        let denied = list(self, "hosts deny", "hosts-deny", true);
        let allowed = list(self, "hosts allow", "hosts-allow", false);
        if denied.is_some() && allowed.is_none() {
            rules.push(vec![("match", quoted("*"))]);
        }
        if !is_closed {
            self.share.clients = rules;
        }
    }

    /// The bits that new files and folders lose and get.
    fn modes(&mut self) {
        let mode = |text: &str| u32::from_str_radix(text.trim(), 8).ok().filter(|mode| *mode <= 0o7777);
        let set = |volume: &mut Self, name: &'static str, ours: &[(&'static str, u32)]| {
            for (setting, mode) in ours {
                volume.share.set_text(setting, &format!("{mode:04o}"));
            }
            let to: Vec<String> =
                ours.iter().map(|(setting, mode)| format!("{setting} = \"{mode:04o}\"")).collect();
            volume.translated(name, to.join(", "));
        };
        match self.value("umask").map(|text| mode(text).unwrap_or(0o777)) {
            Some(0) | None => self.note("umask", Outcome::NoEffect { why: "it takes no right away".into() }),
            Some(mask) => {
                let kept = 0o777 & !mask;
                set(self, "umask", &[("create-mask", kept), ("directory-mask", kept)]);
            }
        }
        for (name, ours) in [("file perm", "force-create-mode"), ("directory perm", "force-directory-mode")] {
            match self.value(name).and_then(mode) {
                Some(0) | None => self.note(name, Outcome::NoEffect { why: "it gives no right".into() }),
                Some(mode) => set(self, name, &[(ours, mode)]),
            }
        }
    }

    fn others(&mut self) {
        if let Some(password) = self.value("password").filter(|password| !password.is_empty()) {
            let short: String = password.chars().take(PASSWORD).collect();
            match short.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
                true => {
                    self.share.set_text("afp-password", &short);
                    self.translated("password", "afp-password");
                }
                false => {
                    let why = "the password of a volume has up to 8 characters of ASCII";
                    self.note("password", Outcome::Lost { limit: "password", why: why.into() });
                }
            }
        }
        if let Some(id) = self.value("volume uuid") {
            self.share.set_text("volume-id", id);
        }
        self.size();
        if self.value("ea") == Some("samba") {
            self.share.untranslated.push(
                "ea = samba: the zero byte that Netatalk appends is taken for its own only where an attribute of the file or of \
                 its neighbours tells so"
                    .into(),
            );
        }
        self.note("ea", Outcome::NoEffect { why: "the layout is found on the disk".into() });
        self.modes();
        match self.value("chmod request") {
            Some(value) if value.eq_ignore_ascii_case("ignore") => {
                let why = "clients may change the modes of their files here";
                self.note("chmod request", Outcome::Lost { limit: "chmod-request", why: why.into() });
            }
            _ => self.note(
                "chmod request",
                Outcome::NoEffect { why: "the owner of a file may change its mode".into() },
            ),
        }
        for name in ["preexec close", "root preexec close"] {
            match self.says(name) {
                true => {
                    let why = "whom the command refuses would get in: no command is run";
                    self.note(name, Outcome::Lost { limit: "preexec", why: why.into() });
                }
                false => self.note(name, Outcome::NoEffect { why: "the command refuses nobody".into() }),
            }
        }
    }

    fn size(&mut self) {
        // MiB, and 0 for none.
        let limit = self.value("vol size limit").map(|limit| {
            let digits: String = limit.trim().chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<u64>().unwrap_or(0)
        });
        let limit = limit.filter(|limit| *limit > 0).map(|limit| quoted(&format!("{limit} MiB")));
        let name = match self.says("time machine") {
            true => {
                self.share.set("time-machine", true);
                "time-machine-size"
            }
            false => "quota",
        };
        match limit {
            Some(limit) => {
                self.translated("vol size limit", format!("{name} = {limit}"));
                self.share.set(name, limit);
            }
            None => self.note("vol size limit", Outcome::NoEffect { why: "0 is no limit".into() }),
        }
        self.translated("time machine", "time-machine");
    }

    /// Each setting that concerns the volume, with what became of it.
    fn report(&mut self, section: &str) {
        let of_global = self.global.into_iter().flat_map(|global| &global.settings);
        let of_global = of_global.filter(|setting| LIMITS.contains(&&*setting.name));
        let above = self.preset.into_iter().flat_map(|preset| &preset.settings);
        let all: Vec<&Setting> = self.own.settings.iter().chain(above).chain(of_global).collect();
        for setting in all {
            let counts = self.get(&setting.name).is_some_and(|found| std::ptr::eq(found, setting));
            let known = self
                .outcomes
                .iter()
                .find(|(name, _)| *name == setting.name)
                .map(|(_, outcome)| outcome.clone());
            let (limits, outcome) = match known {
                _ if !counts => by_later_line(),
                Some(outcome) => {
                    (LIMITS.contains(&&*setting.name) || setting.name == "vol size limit", outcome)
                }
                None => by_table(setting),
            };
            self.share.source.push(said(setting, Some(section), limits, outcome));
        }
    }
}
