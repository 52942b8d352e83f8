//! The users' access to each share, as far as its folder's owner and mode decide. At the start, the
//! server reports admitted users that cannot read or write, with a command that changes that.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use admin::{
    Access as Allowed, ClientMatch, ClientRule, Protocol, ServerSettings, Settings, ShareSettings, Squash,
};
use auth::{Account, Directory, FileProtocol, Identity, Role};
use vfs::backend::Found;
use vfs::{Access, Volume};

use crate::people::roles;
use crate::serve::current::Current;
use crate::shares::team;
use crate::shares::volumes::Volumes;

/// The most accounts that a line names.
const MAX_NAMES: usize = 4;
/// The most accounts that the start looks at, counted once for each share: it took a million calls of the host for 10,000 accounts and 1,000
/// shares.
const MOST_LOOKED_AT: usize = 20_000;
/// So many accounts of a share are looked at in any case.
const FEWEST: usize = 16;
/// A uid and gid of an NFS user that neither owns a folder nor is in its group. Real ids are not so
/// high.
const SOMEBODY: u32 = 4_294_967_000;

/// A user's access to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ability {
    pub(crate) read: bool,
    pub(crate) write: bool,
}

/// An admitted user, with the displayed name.
pub(crate) struct Person {
    name: String,
    pub(crate) identity: Identity,
}

/// The lines of all shares. A folder that no user can read is also logged.
pub(crate) fn lines(current: &Current, volumes: &Volumes, privileged: bool) -> Vec<String> {
    let shares = current.settings.shares.iter().filter(|share| !share.homes); // each user has a folder there
    let (all, most) = (current.accounts.accounts().len(), most_accounts(current.settings.shares.len()));
    let of = |share: &ShareSettings| {
        let volume = volumes.open(share, &current.settings).ok()?;
        Some(of_share(share, current, (&volume, most), privileged))
    };
    let mut lines: Vec<String> = shares.filter_map(of).flatten().collect();
    if all > most {
        lines.push(format!(
            "rights: at most {most} of {all} accounts were looked at for each share; `fourfold explain USER FOLDER` answers for each"
        ));
    }
    lines
}

/// How many accounts are looked at for each of so many shares.
fn most_accounts(shares: usize) -> usize {
    (MOST_LOOKED_AT / shares.max(1)).max(FEWEST)
}

fn of_share(
    share: &ShareSettings,
    current: &Current,
    (volume, most): (&Volume, usize),
    privileged: bool,
) -> Vec<String> {
    let Ok(root) = volume.root() else { return Vec::new() };
    if share.team.is_some() {
        return of_team(share, current, (volume, &root), most);
    }
    let (people, are_all) = people(share, &current.settings, &current.accounts, most);
    let able: Vec<(&Person, Ability)> =
        people.iter().map(|person| (person, ability(volume, &root, &person.identity))).collect();
    if are_all // others may be able to read it
        && !able.is_empty() && able.iter().all(|(_, able)| !able.read)
    {
        tracing::warn!(share = share.name, folder = %share.path.display(), "the folder cannot be read");
    }
    let owner = owner(&root, &current.accounts);
    let mut lines = Vec::new();
    for (read, write) in [(true, false), (false, true), (false, false)] {
        let names = able.iter().filter(|(_, able)| {
            (able.read, able.write || share.read_only) == (read, write || share.read_only)
        });
        let names: Vec<&str> = names.map(|(person, _)| &*person.name).collect();
        let is_fine = read && share.read_only;
        if names.is_empty() || is_fine || share.read_only && write {
            continue;
        }
        let may = match (read, write) {
            (true, _) => "may read, not write",
            (false, true) => "may write, not read",
            (false, false) => "may neither read nor write",
        };
        let who = if privileged { list(&names) } else { "everybody".into() };
        let mode = root.attributes.mode;
        lines.push(format!("{}: {who} {may}: the folder belongs to {owner}, mode {mode:o}", share.name));
    }
    let unnamed = able.iter().find(|(person, _)| person.name == UNNAMED);
    if let Some((_, unnamed)) = unnamed
        && privileged
        && !(unnamed.write || share.read_only)
    {
        lines.push(for_unnamed(share, &current.settings.server, &root, &owner));
    }
    if !lines.is_empty() {
        lines.push(hint(share, (&able, are_all), privileged));
    }
    lines
}

/// The lines of a team folder: about users that can do less than their roles promise, and about its folder on the disk.
fn of_team(
    share: &ShareSettings,
    current: &Current,
    (volume, root): (&Volume, &Found),
    most: usize,
) -> Vec<String> {
    let Some(roles) = roles::of(share) else { return Vec::new() };
    let mut lines = Vec::new();
    for person in members(share, &current.accounts).take(most) {
        let (has, able) = (roles.of(&person.identity), ability(volume, root, &person.identity));
        let reads =
            [Role::Owner, Role::Editor, Role::Contributor, Role::Reader].into_iter().any(|one| has.has(one));
        let writes = has.iter().any(|role| role != Role::Reader) && !share.read_only;
        if reads && !able.read || writes && !able.write {
            let roles: Vec<&str> = has.iter().map(Role::name).collect();
            let may_not = if reads && !able.read { "may not read" } else { "may not write" };
            lines.push(format!(
                "{}: {} {may_not}, although the role is {}: the folder's own ACL says so",
                share.name,
                person.name,
                roles.join(" and ")
            ));
        }
    }
    match team::prepare(share, &roles, volume) {
        Ok(preparation) => lines.extend(team::line(share, preparation)),
        Err(error) => lines.push(format!("{}: {error:#}", share.name)),
    }
    lines
}

/// The displayed name of NFS users.
const UNNAMED: &str = "NFS users";
/// That of guests.
const GUESTS: &str = "guests";

/// The users that may enter over an enabled protocol: so many accounts at most, guests and NFS users. Also whether no account is left out.
fn people(
    share: &ShareSettings,
    settings: &Settings,
    accounts: &Directory,
    most: usize,
) -> (Vec<Person>, bool) {
    let served = Protocol::OF_FILES.into_iter().filter(|protocol| settings.serves(share, *protocol));
    let (with_login, without): (Vec<Protocol>, Vec<Protocol>) = served.partition(|one| one.users_log_in());
    let (mut people, mut are_all) = (Vec::new(), true);
    if !with_login.is_empty() {
        let mut members = members(share, accounts);
        people.extend(members.by_ref().take(most));
        are_all = members.next().is_none();
        people.extend(share.guests.then(|| Person { name: GUESTS.into(), identity: Identity::anonymous() }));
    }
    if !without.is_empty() {
        people.extend(unnamed(share, &settings.server));
    }
    (people, are_all)
}

fn members(share: &ShareSettings, accounts: &Directory) -> impl Iterator<Item = Person> {
    let members = accounts.accounts().iter().filter(|account| may_enter(account, share));
    members.map(|account| Person { name: account.name.clone(), identity: identity(account) })
}

/// An account as its sessions are: roles are by its name.
pub(crate) fn identity(account: &Account) -> Identity {
    account.identity.clone().of_session(Some(&account.name))
}

/// Why accounts that may enter a share without roles cannot use its folder, with what to do. `None`: they can.
///
/// # Errors
/// The folder cannot be opened.
pub(crate) fn of_accounts(
    share: &ShareSettings,
    settings: &Settings,
    accounts: &Directory,
) -> anyhow::Result<Option<String>> {
    if !Protocol::OF_FILES.into_iter().any(|one| one.users_log_in() && settings.serves(share, one)) {
        return Ok(None);
    }
    let host = vfs::backend::host::Host::open(&share.path, &vfs::backend::host::HostOptions::default())?;
    let volume = Volume::new(std::sync::Arc::new(host), vfs::VolumeOptions::default());
    let root = volume.root()?;
    let is_unable = |person: &Person| {
        let able = ability(&volume, &root, &person.identity);
        !able.read || !(able.write || share.read_only)
    };
    let unable: Vec<Person> = members(share, accounts).filter(is_unable).collect();
    if unable.is_empty() {
        return Ok(None);
    }
    let names: Vec<&str> = unable.iter().map(|person| &*person.name).collect();
    let may = if share.read_only { "read" } else { "read and write" };
    let role = if share.read_only { "reader" } else { "editor" };
    Ok(Some(format!(
        "the share {0} is made, but {1} cannot {may} in its folder: it belongs to {2}, mode {3:o}; `fourfold share access {0} --{role} {4}` \
         lets them",
        share.name,
        list(&names),
        owner(&root, accounts),
        root.attributes.mode,
        names.join(",")
    )))
}

fn may_enter(account: &Account, share: &ShareSettings) -> bool {
    let can_log_in = !account.disabled && !account.secrets.is_empty();
    let as_guest = share.guests && roles::of(share).is_none();
    can_log_in && (enters(account, share) || as_guest)
}

/// Whether an account enters a share by its own rights, and not only as a guest.
pub(crate) fn enters(account: &Account, share: &ShareSettings) -> bool {
    if let Some(roles) = roles::of(share) {
        return !roles.of(&identity(account)).is_empty();
    }
    let is_open = share.users.is_empty() && share.groups.is_empty();
    let is_member = crate::people::groups::of(share).iter().any(|group| account.identity.in_group(*group));
    let is_named = share.users.iter().any(|user| user.eq_ignore_ascii_case(&account.name));
    is_open || is_named || is_member
}

/// Whether an account may use the LUNs of a share.
pub(crate) fn uses_luns(account: &Account, share: &ShareSettings) -> bool {
    match roles::of_luns(share) {
        Some(roles) => !roles.of(&identity(account)).is_empty(),
        None => enters(account, share),
    }
}

/// The protocol over which an account would enter a share by its own rights.
///
/// # Errors
/// It may not enter; the line has the reason.
pub(crate) fn entry_protocol(
    current: &Current,
    account: &Account,
    share: &ShareSettings,
) -> Result<FileProtocol, String> {
    let refused = |why: &str| Err(format!("{}: {why}", share.name));
    if share.homes {
        return refused("each person has a folder of its own in it, which is not opened this way");
    }
    if !enters(account, share) {
        return refused("your account may not enter this share. The page of rights says who may");
    }
    let has_logins =
        |protocol: &Protocol| protocol.users_log_in() && current.settings.serves(share, *protocol);
    match Protocol::OF_FILES.into_iter().find(has_logins).and_then(Protocol::of_files) {
        Some(protocol) => Ok(protocol),
        None => refused("it is served over no protocol with logins, so your account has no rights in it"),
    }
}

/// The first rule of NFS that lets hosts in without a login.
fn first_rule(share: &ShareSettings, server: &ServerSettings) -> Option<ClientRule> {
    let mut rules = share.clients.iter().cloned().chain(server.audience(share).rule());
    rules.find(|rule| rule.access != Allowed::None)
}

/// Users of clients that may write: with their own identity, or squashed.
pub(crate) fn unnamed(share: &ShareSettings, server: &ServerSettings) -> Option<Person> {
    let rule = first_rule(share, server)?;
    let identity = match rule.squash {
        Squash::All => Identity::new(rule.anon_uid, rule.anon_gid, &[]),
        Squash::Root | Squash::None => Identity::new(SOMEBODY, SOMEBODY, &[]),
    };
    Some(Person { name: UNNAMED.into(), identity })
}

pub(crate) fn ability(volume: &Volume, root: &Found, caller: &Identity) -> Ability {
    let all = Access(Access::READ.0 | Access::WRITE.0 | Access::EXECUTE.0);
    let granted = volume.access(&volume.acting(caller.clone()), root, all).unwrap_or(Access::NONE);
    let has = |want: Access| granted.contains(want.union(Access::EXECUTE));
    Ability { read: has(Access::READ), write: has(Access::WRITE) }
}

/// The NFS users that may write although others may not.
fn for_unnamed(share: &ShareSettings, server: &ServerSettings, root: &Found, owner: &str) -> String {
    let name = &share.name;
    let rule = first_rule(share, server);
    let covers_all = |rule: &ClientRule| rule.matches.contains(&ClientMatch::Any);
    let others = if rule.as_ref().is_some_and(covers_all) { "" } else { " (by the first rule of the share)" };
    match rule.map(|rule| rule.squash) {
        Some(Squash::All) => format!("{name}: NFS users are all the anonymous user{others}"),
        squash if root.attributes.uid == 0 && squash != Some(Squash::None) => {
            format!(
                "{name}: NFS users act as themselves, only root may write, and root of a client is nobody{others}"
            )
        }
        _ => format!("{name}: NFS users act as themselves, and {owner} may write{others}"),
    }
}

/// The command that changes the access.
fn hint(share: &ShareSettings, (able, are_all): (&[(&Person, Ability)], bool), privileged: bool) -> String {
    let path = quoted(&share.path);
    if !privileged {
        let right = if share.read_only { "u+rx" } else { "u+rwx" };
        return format!("{}: to change it: `chmod {right} {path}`, if the folder is yours", share.name);
    }
    if share.read_only {
        return format!("{}: to let them read: `chmod a+rx {path}`", share.name);
    }
    let first = able.first().map(|(person, _)| &person.identity);
    // The folder of accounts that were not looked at must not become that of another.
    let is_one =
        are_all && able.iter().all(|(person, _)| Some(&person.identity) == first && person.name != UNNAMED);
    match first.filter(|_| is_one) {
        Some(Identity { uid, gid, .. }) => {
            format!("{}: to let them write: `chown {uid}:{gid} {path}`", share.name)
        }
        None => {
            let all = able.iter().map(|(person, _)| &*person.name);
            let who = match () {
                () if all.clone().any(|name| name == GUESTS) => "guests".to_owned(),
                () if all.clone().any(|name| name == UNNAMED) || all.len() > MAX_NAMES => {
                    "everyone".to_owned()
                }
                () => all.collect::<Vec<_>>().join(","),
            };
            let name = &share.name;
            format!(
                "{name}: to let all of them change everything in it: `fourfold share access {name} --editor {who}`"
            )
        }
    }
}

fn owner(root: &Found, accounts: &Directory) -> String {
    let uid = root.attributes.uid;
    accounts.unix().user_numbered(uid).map_or_else(|| format!("uid {uid}"), |user| user.name.clone())
}

/// "a, b and c", with at most as many names as a line has room for.
fn list(names: &[&str]) -> String {
    let (shown, more) = names.split_at(names.len().min(MAX_NAMES));
    let mut shown: Vec<String> = shown.iter().map(|name| (*name).to_owned()).collect();
    if !more.is_empty() {
        shown.push(format!("{} more", more.len()));
    }
    match shown.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => shown.concat(),
    }
}

/// A path, quoted for a shell.
fn quoted(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+,@%".contains(byte);
    let text = path.display().to_string();
    if path.as_os_str().as_bytes().iter().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_start_looks_at_a_bounded_number_of_accounts() {
        assert_eq!([0, 1, 10].map(most_accounts), [20_000, 20_000, 2_000]);
        assert_eq!([1_000, 100_000].map(most_accounts), [20, FEWEST]);
    }

    #[test]
    fn a_folder_is_given_to_one_user_only_if_all_were_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        let arguments = admin::Arguments {
            shares: vec![folder.path().into()],
            ..admin::Arguments::new(false, elsewhere)
        };
        let settings = Settings::load(&arguments).unwrap();
        let ada = Person {
            name: "ada".into(),
            identity: Identity { uid: 1001, gid: 100, ..Identity::anonymous() },
        };
        let able = [(&ada, Ability { read: true, write: false })];
        let said = |are_all| hint(&settings.shares[0], (&able, are_all), true);
        assert!(said(true).contains("chown 1001:100 "), "{}", said(true));
        assert!(said(false).contains("share access") && !said(false).contains("chown"), "{}", said(false));
    }
}
