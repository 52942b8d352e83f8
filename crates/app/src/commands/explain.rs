//! `fourfold explain USER PATH`: what a user may do to a file, by which rule, over which protocol, and who uses it now.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use admin::control::{self, Status};
use admin::{Access as Allowed, Port, Protocol, ServerSettings, Settings, ShareSettings, Squash};
use anyhow::{Context, bail};
use auth::{Account, Accounts, Directory, Identity};
use serde::Serialize;
use vfs::acl::Rights;
use vfs::backend::Found;
use vfs::backend::host::{Host, HostOptions};
use vfs::{Caller, Kind, Volume, VolumeOptions};

use crate::cli::Explain;
use crate::host::here;
use crate::people::{accounts, groups, rights, roles};
use crate::terminal::{exit, out};

/// An answer with its reason.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    /// What is asked.
    what: String,
    pub(crate) may: bool,
    pub(crate) why: String,
}

/// Everything that is known.
#[derive(Debug, Serialize)]
struct AccessExplanation {
    user: String,
    uid: u32,
    gid: u32,
    groups: Vec<u32>,
    path: PathBuf,
    share: String,
    /// `file`, `folder` or `other`.
    kind: &'static str,
    owner_uid: u32,
    owner_gid: u32,
    /// In octal digits.
    mode: String,
    /// Whether the user may use the share, by protocol.
    protocols: [Answer; 3],
    /// Whether the user may pass the folders above.
    way: Answer,
    /// What the user may do to the file itself.
    rights: Vec<Answer>,
    /// What keeps all users from changing it.
    locked: Option<String>,
    /// Opens, locks and leases; `None`: no server answered.
    uses: Option<Vec<String>>,
}

/// Explains.
pub(crate) fn run(asked: &Explain) -> anyhow::Result<ExitCode> {
    let settings = match Settings::load(&here::of_server(&asked.place)?) {
        Ok(settings) => settings,
        Err(diagnostics) => return Ok(exit::refused(&diagnostics)),
    };
    let accounts = accounts::read(&settings.server.state, &settings)?;
    let settings = roles::resolved(settings, &accounts);
    let status = control::status(&settings.server.state).ok();
    let explanation = explain(asked, &settings, &accounts, status.as_ref())?;
    if asked.json {
        out::json(&explanation)?
    } else {
        out::print(text(&explanation))?
    }
    Ok(ExitCode::SUCCESS)
}

/// The user as an account, or as NFS clients name one.
pub(crate) enum User {
    Account(Account),
    Number(Identity),
}

impl User {
    fn find(name: &str, accounts: &Directory) -> anyhow::Result<Self> {
        if let Some(account) = accounts.find_in_any_case(name) {
            return Ok(Self::Account(account));
        }
        let Ok(uid) = name.parse::<u32>() else {
            bail!(
                "there is no account {name:?}; `fourfold user list` shows all, and a number means a user of NFS"
            );
        };
        // NFS clients state the groups. Those of this machine are the best guess.
        let known = accounts.unix().user_numbered(uid);
        let known = known.and_then(|user| accounts.find(&user.name)).map(|account| account.identity);
        Ok(Self::Number(known.unwrap_or_else(|| Identity::new(uid, uid, &[]))))
    }

    fn identity(&self) -> Identity {
        match self {
            Self::Account(account) => rights::identity(account),
            Self::Number(identity) => identity.clone(),
        }
    }
}

fn explain(
    asked: &Explain,
    settings: &Settings,
    accounts: &Directory,
    status: Option<&Status>,
) -> anyhow::Result<AccessExplanation> {
    let user = User::find(&asked.user, accounts)?;
    let path = asked.path.canonicalize().with_context(|| format!("{} is not there", asked.path.display()))?;
    let inside =
        |share: &&ShareSettings| share.path.canonicalize().is_ok_and(|folder| path.starts_with(folder));
    let share = settings.shares.iter().filter(inside).max_by_key(|share| share.path.components().count());
    let Some(share) = share else {
        bail!("{} is in the folder of no share; `fourfold list` shows the folders", path.display());
    };
    let folder = share.path.canonicalize()?;
    let host = Host::open(&folder, &HostOptions { read_only: share.read_only, ..HostOptions::default() })?;
    let volume = Volume::new(Arc::new(host), VolumeOptions::default());
    volume.set_roles(roles::of(share));
    let names: Vec<Vec<u8>> = path
        .strip_prefix(&folder)?
        .components()
        .map(|component| component.as_os_str().as_bytes().to_vec())
        .collect();
    let acts_as = groups::forced(share, accounts.unix()).apply(user.identity());
    let (way, parent, file) = walk(&volume, &names, &acts_as)?;
    let attributes = &file.attributes;
    let uses = status.map(|status| uses(status, &share.name, file.object.id().inode));
    Ok(AccessExplanation {
        user: asked.user.clone(),
        uid: acts_as.uid,
        gid: acts_as.gid,
        groups: acts_as.groups.to_vec(),
        share: share.name.clone(),
        kind: match attributes.kind {
            Kind::File => "file",
            Kind::Folder => "folder",
            _ => "other",
        },
        owner_uid: attributes.uid,
        owner_gid: attributes.gid,
        mode: format!("{:o}", attributes.mode),
        protocols: protocols(&user, share, settings),
        way,
        rights: rights(&volume, &acts_as, &file, parent.as_ref(), share)?,
        locked: locked(&volume, &file)?,
        uses,
        path,
    })
}

/// Whether the user gets to the file, the folder that it is in, and the file.
fn walk(
    volume: &Volume,
    names: &[Vec<u8>],
    caller: &Caller,
) -> anyhow::Result<(Answer, Option<Found>, Found)> {
    let mut blocked = None;
    let (mut parent, mut at) = (None, volume.root()?);
    let mut shown = String::from("the share's folder");
    for name in names {
        let rights = volume.rights(caller, &at, None).unwrap_or(Rights::NONE);
        if blocked.is_none() && !rights.contains(Rights::EXECUTE) {
            blocked = Some(format!("{shown} cannot be passed: {}", reason(volume, caller, &at)?));
        }
        let next = volume.lookup(&Caller::root(), &at.object, name)?;
        shown = String::from_utf8_lossy(name).into_owned();
        parent = Some(std::mem::replace(&mut at, next));
    }
    let may = blocked.is_none();
    let why = blocked.unwrap_or_else(|| "all folders above let the user pass".into());
    Ok((Answer { what: "reach it".into(), may, why }, parent, at))
}

/// By what a user has rights: an ACL, or a part of the mode.
fn reason(volume: &Volume, caller: &Caller, of: &Found) -> anyhow::Result<String> {
    let attributes = &of.attributes;
    if caller.uid == 0 {
        return Ok("root may do everything".into());
    }
    if volume.has_stored_acl(of)? {
        return Ok("its ACL decides".into());
    }
    let (part, shift) = match () {
        () if attributes.uid == caller.uid => ("the owner", 6),
        () if caller.in_group(attributes.gid) => ("the group", 3),
        () => ("others", 0),
    };
    let bits = attributes.mode >> shift & 7;
    let letters: String = [(4, 'r'), (2, 'w'), (1, 'x')]
        .map(|(bit, letter)| if bits & bit > 0 { letter } else { '-' })
        .iter()
        .collect();
    Ok(format!(
        "the mode {:o} gives {part} {letters}; the owner is uid {}, the group {}",
        attributes.mode, attributes.uid, attributes.gid
    ))
}

fn rights(
    volume: &Volume,
    caller: &Caller,
    file: &Found,
    parent: Option<&Found>,
    share: &ShareSettings,
) -> anyhow::Result<Vec<Answer>> {
    let is_folder = file.attributes.kind == Kind::Folder;
    let own = volume.rights(caller, file, None)?;
    let all = volume.rights(caller, file, parent)?;
    let why = reason(volume, caller, file)?;
    let above = match parent {
        Some(parent) => format!("the folder that it is in: {}", reason(volume, caller, parent)?),
        None => "it is the share's folder".into(),
    };
    let named: [(&str, Rights); 6] = [
        (if is_folder { "list it" } else { "read it" }, Rights::READ_DATA),
        (if is_folder { "make files in it" } else { "write it" }, Rights::WRITE_DATA),
        (if is_folder { "pass through it" } else { "execute it" }, Rights::EXECUTE),
        ("remove or rename it", Rights::DELETE),
        ("change its times and flags", Rights::WRITE_ATTRIBUTES),
        ("change its rights", Rights::WRITE_ACL),
    ];
    let answers = named.into_iter().map(|(what, right)| {
        let changes = right.intersects(Rights::CHANGING);
        let is_removal = right == Rights::DELETE && !own.contains(right);
        let why = match () {
            () if share.read_only && changes => "the share is read-only".to_owned(),
            () if is_removal => above.clone(),
            () => why.clone(),
        };
        Answer { what: what.to_owned(), may: all.contains(right) && !(share.read_only && changes), why }
    });
    Ok(answers.collect())
}

/// Whether a user may enter a share, over each of [`Protocol::OF_FILES`].
pub(crate) fn protocols(user: &User, share: &ShareSettings, settings: &Settings) -> [Answer; 3] {
    let answer = |protocol: Protocol| {
        let (may, why) = match () {
            () if !share.protocols.contains(&protocol) => {
                (false, "the share is not served over it".to_owned())
            }
            () if settings.server.ports.of(protocol) == Port::Off => {
                (false, "the server does not serve it".to_owned())
            }
            () if !protocol.users_log_in() => by_rules(share, &settings.server),
            () => match user {
                User::Number(_) => (false, "this is no account".into()),
                User::Account(account) => by_login(account, share),
            },
        };
        Answer { what: protocol.title().to_owned(), may, why }
    };
    Protocol::OF_FILES.map(answer)
}

fn by_login(account: &Account, share: &ShareSettings) -> (bool, String) {
    let is_named = share.users.iter().any(|user| user.eq_ignore_ascii_case(&account.name));
    let groups = groups::of(share);
    let group = groups.iter().position(|group| account.identity.in_group(*group));
    let has = roles::of(share).map(|roles| roles.of(&rights::identity(account)));
    match group {
        _ if account.disabled => (false, "the account is disabled".into()),
        _ if account.secrets.is_empty() => {
            (false, "the account has no password; `fourfold user password` sets one".into())
        }
        _ if let Some(has) = has => match has.iter().map(auth::Role::name).collect::<Vec<_>>().as_slice() {
            [] => (false, "no role of the share is for the account".into()),
            roles => (true, format!("the account's role in the share: {}", roles.join(" and "))),
        },
        _ if share.users.is_empty() && share.groups.is_empty() => {
            (true, "the share is open to all accounts".into())
        }
        _ if is_named => (true, "`users` of the share names the account".into()),
        Some(at) => (true, format!("the account is in the group {:?} of the share", share.groups[at])),
        None if share.guests => {
            (true, "as a guest only: neither `users` nor `groups` of the share has the account".into())
        }
        None => (false, "neither `users` nor `groups` of the share has the account".into()),
    }
}

/// Without a login, rules decide by the client's address: those of the share, or the one that `nfs-clients` makes.
fn by_rules(share: &ShareSettings, server: &ServerSettings) -> (bool, String) {
    let audience = server.audience(share);
    if audience.is_nobody() {
        let why = "no host gets it without a login: `nfs-clients` in [server] names none";
        return (false, why.into());
    }
    let all = audience.rule();
    let Some(rule) = share.clients.iter().chain(&all).find(|rule| rule.access != Allowed::None) else {
        return (false, "no rule of the share admits a client".into());
    };
    let access = if rule.access == Allowed::ReadOnly { "read only" } else { "read and write" };
    let squash = match rule.squash {
        Squash::All => format!("every user is uid {}", rule.anon_uid),
        Squash::Root => "users keep their numbers, and root does not".into(),
        Squash::None => "users keep their numbers".into(),
    };
    (true, format!("by the first rule that admits clients: {access}; {squash}"))
}

fn locked(volume: &Volume, file: &Found) -> anyhow::Result<Option<String>> {
    Ok(if volume.is_locked(&file.object)? {
        Some("a Mac has locked it, or Windows has made it read-only: no user may change or remove it until that is undone".into())
    } else if volume.mac_tree().is_locked_by_mode(file)? {
        Some("its mode has no right to write, which clients see as read-only".into())
    } else {
        None
    })
}

fn uses(status: &Status, share: &str, inode: u64) -> Vec<String> {
    let opens = status.opens.iter().filter(|open| open.share == share && open.inode == inode).map(|open| {
        let deny =
            if open.deny.is_empty() { String::new() } else { format!(", and denies others {}", open.deny) };
        format!("{} has it open for {}{deny}", open.owner, open.access)
    });
    let locks = status.locks.iter().filter(|lock| lock.share == share && lock.inode == inode).map(|lock| {
        let kind = if lock.exclusive { "exclusively" } else { "shared" };
        let to = if lock.length == 0 { "the end".to_owned() } else { (lock.start + lock.length).to_string() };
        format!("{} has locked bytes {} to {to} {kind}", lock.owner, lock.start)
    });
    let leases =
        status.leases.iter().filter(|lease| lease.share == share && lease.inode == inode).map(|lease| {
            let recalled = if lease.recalled { ", which is being recalled" } else { "" };
            format!("{} has a lease {}{recalled}", lease.owner, lease.caching)
        });
    opens.chain(locks).chain(leases).collect()
}

fn text(explanation: &AccessExplanation) -> String {
    let AccessExplanation {
        user,
        uid,
        gid,
        path,
        share,
        kind,
        owner_uid,
        owner_gid,
        mode,
        way,
        locked,
        uses,
        ..
    } = explanation;
    let word = |answer: &Answer| if answer.may { "yes" } else { "no" };
    let row = |answer: &Answer| [answer.what.clone(), word(answer).to_owned(), answer.why.clone()];
    let clean = |text: String| -> String {
        text.chars().map(|c| if c.is_control() && c != '\n' { '?' } else { c }).collect()
    };
    let answers =
        explanation.protocols.iter().map(row).chain([row(way)]).chain(explanation.rights.iter().map(row));
    let mut text = format!(
        "{}: {kind} in the share {share}, owner uid {owner_uid}, group {owner_gid}, mode {mode}\n{user}: uid {uid}, gid {gid}\n\n{}",
        path.display(),
        out::table(answers)
    );
    if let Some(locked) = locked {
        text.push_str(&format!("\nlocked: {locked}\n"));
    }
    match uses.as_deref() {
        None => text.push_str("\nNo server answers: who has it open is not known.\n"),
        Some([]) => text.push_str("\nIt is not open, locked or leased now.\n"),
        Some(uses) => uses.iter().for_each(|one| text.push_str(&format!("\n{one}"))),
    }
    clean(text.trim_end().to_owned() + "\n")
}
