//! Who may enter a share, and who may write there.

use auth::is_same_name;

use super::work::Work;
use crate::commands::adopt::share::{Share, quoted, words};
use crate::commands::adopt::source::{Outcome, SourceSetting};
use crate::commands::adopt::translated::Translation;

/// Accounts of the system, with which no person logs in.
const SYSTEM: [&str; 12] =
    ["root", "bin", "daemon", "adm", "sys", "sync", "lp", "mail", "news", "uucp", "operator", "shutdown"];

/// A list of users and groups.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct People {
    users: Vec<String>,
    groups: Vec<String>,
    /// Words that nobody here can be: netgroups, names that differ by client, SIDs.
    others: Vec<String>,
}

impl People {
    fn of(list: &str, share: &str) -> Self {
        let mut people = Self::default();
        for word in words(list) {
            let word = word.replace("%S", share);
            let name = word.trim_start_matches(['@', '+']);
            let is_group = name.len() < word.len();
            match () {
                () if name.is_empty()
                    || name.contains('%')
                    || name.contains('&')
                    || name.starts_with("S-1-") =>
                {
                    people.others.push(word);
                }
                () if is_group => people.groups.push(name.to_owned()),
                () => people.users.push(word),
            }
        }
        people
    }

    fn has_user(&self, name: &str) -> bool {
        self.users.iter().any(|user| is_same_name(user, name))
    }

    fn is_users_only(&self) -> bool {
        self.groups.is_empty() && self.others.is_empty()
    }

    /// Whether each of these is in the list by the same name. Members of groups are not known.
    fn has_all(&self, other: &Self) -> bool {
        let group = |name: &String| self.groups.iter().any(|known| known == name);
        other.others.is_empty()
            && other.users.iter().all(|user| self.has_user(user))
            && other.groups.iter().all(group)
    }

    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.is_users_only()
    }
}

/// The settings about users and groups.
pub(super) fn translate(work: &mut Work<'_>) {
    let of = work.of;
    let share = work.share.name.clone();
    let list = |name: &str| People::of(of.list(name).unwrap_or_default(), &share);
    let (mut valid, invalid) = (list("valid users"), list("invalid users"));
    // In [homes], `%S` is the user: each account has its own folder only.
    let is_own_only = work.is_homes && of.value("valid users").is_some_and(|value| words(value) == ["%S"]);
    if is_own_only {
        valid = People::default();
        work.to("valid users", "each account sees its own folder only");
    }
    let is_limited = !valid.is_empty();
    admitted(work, &mut valid, &invalid);
    guests(work, is_limited || is_own_only, &invalid);
    let (read, write) = (list("read list"), list("write list"));
    writers(work, (&valid, is_limited), &read, &write);
}

/// `valid users` and `invalid users`.
fn admitted(work: &mut Work<'_>, valid: &mut People, invalid: &People) {
    let is_limited = !valid.is_empty();
    let without = std::mem::take(&mut valid.others);
    if is_limited && valid.is_empty() {
        return work.lost("valid users", "valid-users", format!("nobody here can be {}", without.join(" ")));
    }
    if !invalid.is_empty() {
        exclude(work, valid, is_limited, invalid);
    }
    if !is_limited {
        return;
    }
    let mut said = Vec::new();
    for (name, list) in [("users", &valid.users), ("groups", &valid.groups)] {
        if !list.is_empty() {
            work.share.set_texts(name, list);
            said.push(format!("{name} = {list:?}"));
        }
    }
    if !without.is_empty() {
        said.push(format!("without {}, which nobody here can be", without.join(" ")));
    }
    if valid.is_empty() {
        work.share.clients = vec![vec![("match", quoted("*")), ("access", quoted("none"))]];
        said.push("nobody: invalid users names all of them".into());
    }
    work.to("valid users", said.join(", "));
}

/// Takes those out who must not enter. Who else they are in groups is not known here.
fn exclude(work: &mut Work<'_>, valid: &mut People, is_limited: bool, invalid: &People) {
    if !invalid.is_users_only() {
        let why = "no setting refuses a group, and who is in one is not known here";
        return work.lost("invalid users", "invalid-users", why);
    }
    if is_limited && valid.groups.is_empty() {
        valid.users.retain(|user| !invalid.has_user(user));
        return work.to("invalid users", "they are not in `users`");
    }
    // Decided when all shares are known: see `close_accounts`.
    work.invalid.clone_from(&invalid.users);
    valid.users.retain(|user| !invalid.has_user(user));
    work.to("invalid users", "the accounts are disabled");
}

/// Guests, who come with a name that is no account.
fn guests(work: &mut Work<'_>, is_limited: bool, invalid: &People) {
    let server = work.of.server;
    // smbd does so without `guest ok`, too.
    if work.of.says("guest only", false) {
        work.lost("guest only", "guest-only", "people with an account act as themselves, not as guests");
    }
    if !work.of.says("guest ok", false) {
        return;
    }
    let refused = match () {
        () if is_limited => Some("`valid users` has no guests"),
        () if work.is_homes => Some("they have no home"),
        () if !server.maps_to_guest => Some(
            "`map to guest` is never, so no unknown name is a guest; clients without any name are none here",
        ),
        () if !invalid.is_users_only() || invalid.has_user(&server.guest_account) => {
            Some("`invalid users` may name them")
        }
        () => server.refuses_guests,
    };
    match refused {
        Some(why) => work.kept("guest ok", format!("guests are not admitted: {why}")),
        None => {
            work.share.set("guests", true);
            work.to("guest ok", "guests = true");
        }
    }
}

/// `read only`, `read list` and `write list`. Samba looks at the last one last.
fn writers(work: &mut Work<'_>, (valid, is_limited): (&People, bool), read: &People, write: &People) {
    let is_read_only = work.of.says("read only", true);
    let has_guests = work.share.settings.iter().any(|(name, _)| *name == "guests");
    let is_all = |list: &People| is_limited && !has_guests && !list.is_empty() && list.has_all(valid);
    let writes_all = is_all(write);
    match () {
        () if writes_all => work.to("write list", "read-only = false: all `valid users` are in it"),
        () if is_read_only && !write.is_empty() => {
            work.kept("write list", "the share is read-only for everyone: no setting lets some write only");
        }
        () => work.no_effect("write list", "everyone may write"),
    }
    let reads = match () {
        () if read.is_empty() || writes_all => false,
        () if is_read_only => false,
        () if is_limited && valid.groups.is_empty() && read.is_users_only() && write.has_all(read) => false,
        () if is_limited && valid.groups.is_empty() && read.is_users_only() => {
            valid.users.iter().any(|user| read.has_user(user) && !write.has_user(user))
        }
        () => true,
    };
    match () {
        () if !reads => work.no_effect("read list", "nobody in it could write otherwise"),
        () if is_all(read) && write.is_empty() => {
            work.share.set("read-only", true);
            work.to("read list", "read-only = true: all `valid users` are in it");
        }
        () => work.lost("read list", "read-list", "no setting lets some read only"),
    }
    if is_read_only && !writes_all {
        work.share.set("read-only", true);
        work.to("read only", "read-only = true");
    } else {
        work.to("read only", "read-only = false");
    }
}

/// Disables the accounts that no share may admit. If only some shares refuse one, the limit is lost: no setting says that.
pub(super) fn close_accounts(translated: &mut Translation) {
    let of_share = std::mem::take(&mut translated.invalid);
    // A share refuses who is in its list of those, and who is not in a list of users, beside which no group is.
    let refuses = |share: &Share, name: &String| {
        let has =
            |wanted: &str| share.settings.iter().find(|(name, _)| *name == wanted).map(|(_, value)| value);
        let is_named =
            |value: &String| value.split('"').skip(1).step_by(2).any(|user| is_same_name(user, name));
        let lists = of_share.iter().filter(|(other, _)| *other == share.name);
        lists.flat_map(|(_, names)| names).any(|other| is_same_name(other, name))
            || has("groups").is_none() && has("users").is_some_and(|users| !is_named(users))
    };
    let everywhere = |name: &String| {
        // No person logs in with an account of the system, wherever else it might.
        let is_of_system = SYSTEM.iter().any(|system| is_same_name(system, name));
        is_of_system || translated.shares.iter().all(|share| refuses(share, name))
    };
    let mut closing = Vec::new();
    for (share, names) in &of_share {
        let (all, some): (Vec<&String>, Vec<&String>) = names.iter().partition(|name| everywhere(name));
        for name in all {
            let is_known = |known: &String| is_same_name(known, name);
            if !translated.disabled.iter().any(is_known) && auth::is_account_name(name) {
                translated.disabled.push(name.clone());
            }
        }
        let some: Vec<&str> = some.iter().map(|name| name.as_str()).collect();
        if !some.is_empty() {
            closing.push((share, some.join(" ")));
        }
    }
    for (share, some) in closing {
        let why = format!("no setting refuses {some} in this share only");
        let of = translated.shares.iter_mut().filter(|other| other.name == *share);
        let is_it = |one: &&mut SourceSetting| one.name.replace(' ', "").eq_ignore_ascii_case("invalidusers");
        let lines = of.flat_map(|share| &mut share.source).filter(is_it);
        for one in lines.filter(|one| matches!(one.outcome, Outcome::Translated { .. })) {
            one.outcome = Outcome::Lost { limit: "invalid-users", why: why.clone() };
        }
    }
}
