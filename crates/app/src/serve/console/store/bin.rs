//! The bin of a share: what people have removed at the console, for as long as the share's `bin` says.
//!
//! ```text
//! .bin/                          made by the server, in which each account makes its own
//!   ada/                         hers alone
//!     2026-11-29 18.40.07/       one removal
//!       scenes/one.mov           with its path in the share
//! ```
//!
//! So the path says where a file comes from, and the name of the folder when it was removed. A folder of one of these names that
//! another person made is no bin: its owner could move away what is in it.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use vfs::backend::{Found, NewKind, RenameMode};
use vfs::state::{ClientId, Party};
use vfs::{Actor, Caller, Error, Kind};

use super::{DEEPEST, FilePerson, PersonalShare, as_ourselves_again, enter, remove, text_view};
use crate::serve::console::Console;

/// The folder at the top of a share.
pub(super) const BIN: &[u8] = b".bin";
/// The form of the name of a removal, in UTC.
const STAMP: &str = "%Y-%m-%d %H.%M.%S";
/// Removals of one account within one second.
const MOST_AT_ONCE: usize = 100;
/// The most folders of accounts, and removals of one, that are looked at when the bin is emptied.
const MOST_NAMES: usize = 100_000;
/// Modes of the folder of all, where each account makes its own and removes no other one, and of that of one account.
const MODE_OF_ALL: u32 = 0o1777;
const MODE_OF_ONE: u32 = 0o700;

/// Whether a path leads into the bin.
pub(super) fn is_in_bin(path: &[u8]) -> bool {
    path == BIN || path.strip_prefix(BIN).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Moves an entry into the bin of its person.
pub(super) fn put(place: &PersonalShare, path: &[u8]) -> Result<(), Error> {
    let server = PersonalShare { actor: of_server(), ..place.clone() };
    let bin = folder(&server, &place.volume.root()?, BIN, MODE_OF_ALL)?;
    if bin.attributes.uid != rustix::process::getuid().as_raw() {
        return Err(Error::NotPermitted);
    }
    let own = folder(place, &bin, place.account.as_bytes(), MODE_OF_ONE)?;
    let (stamp, mut target) = removal(place, &own)?;
    if own.attributes.uid != target.attributes.uid {
        remove(place, (&own, stamp.as_bytes()), None, &mut 0)?;
        return Err(Error::NotPermitted);
    }
    let (from, name) = place.folder_of(path)?;
    let above = path.strip_suffix(name).unwrap_or_default();
    for name in above.split(|byte| *byte == b'/').filter(|name| !name.is_empty()) {
        target = folder(place, &target, name, MODE_OF_ONE)?;
    }
    place
        .work("RENAME", async |place| {
            place.volume.rename(&place.actor, (&from, name), (&target, name), RenameMode::Keep)
        })
        .map(drop)
}

/// The server itself, for the folder in which people make theirs.
fn of_server() -> Actor {
    Actor::new(Caller::root(), Party::client(ClientId::unused()))
}

/// The folder of this name, which is made if it is missing. Something else of that name is no bin.
fn folder(place: &PersonalShare, within: &Found, name: &[u8], mode: u32) -> Result<Found, Error> {
    let look = || place.volume.lookup(&place.actor.caller, &within.object, name);
    let found = match look() {
        Err(Error::NotFound) => {
            let made = place.work("MKDIR", async |place| {
                place.volume.create(&place.actor, within, name, NewKind::Folder, mode)
            });
            match made {
                Ok(_) | Err(Error::Exists) => look()?,
                Err(error) => return Err(error),
            }
        }
        other => other?,
    };
    if found.attributes.kind == Kind::Folder { Ok(found) } else { Err(Error::NotFolder) }
}

/// A new folder for one removal, with its name.
fn removal(place: &PersonalShare, own: &Found) -> Result<(String, Found), Error> {
    let stamp = Timestamp::now().strftime(STAMP).to_string();
    for number in 0..MOST_AT_ONCE {
        let name = if number == 0 { stamp.clone() } else { format!("{stamp} {number}") };
        let made = place.work("MKDIR", async |place| {
            place.volume.create(&place.actor, own, name.as_bytes(), NewKind::Folder, MODE_OF_ONE)
        });
        match made {
            Ok(_) => {
                let made = place.volume.lookup(&place.actor.caller, &own.object, name.as_bytes())?;
                return Ok((name, made));
            }
            Err(Error::Exists) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Error::TooMany)
}

/// When a removal was, by the name of its folder.
fn removed_at(name: &[u8]) -> Option<SystemTime> {
    let text = std::str::from_utf8(name.get(..19)?).ok()?;
    let at = jiff::civil::DateTime::strptime(STAMP, text).ok()?;
    Some(at.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().into())
}

/// Removes for good what has been in the bins of the shares for long enough. It blocks.
pub(in crate::serve::console) fn empty(console: &Console) {
    let current = console.running.current();
    for share in current.settings.shares.iter().filter(|share| !share.read_only && !share.make_homes) {
        let Some(keeps) = share.bin else { continue };
        let Ok(volume) = console.running.volume(share) else { continue };
        let peer = (std::net::Ipv4Addr::LOCALHOST, 0).into();
        let place = PersonalShare {
            volume,
            actor: of_server(),
            share: share.clone(),
            account: "server".into(),
            peer,
        };
        match emptied(console, &place, keeps) {
            Ok(0) | Err(Error::NotFound) => {}
            Ok(count) => tracing::info!(share = share.name, count, "the bin was emptied"),
            Err(error) => tracing::warn!(share = share.name, %error, "the bin is not emptied"),
        }
        as_ourselves_again();
    }
}

/// How many files and folders were removed. The error of one account does not keep the bins of others.
fn emptied(console: &Console, server: &PersonalShare, keeps: Duration) -> Result<usize, Error> {
    let (mut count, mut failed) = (0, None);
    for account in names(server, &server.find(BIN)?)? {
        let by = FilePerson { account: text_view(&account), peer: server.peer };
        // Each account removes with its own rights, as others may have moved what is not theirs into a folder of the bin. The bin of an
        // account that is gone stays.
        as_ourselves_again();
        let Ok(person) = enter(console, &by, &server.share.name) else { continue };
        let own = [BIN, b"/", &account].concat();
        failed = emptied_of(&person, &own, keeps, &mut count).err().or(failed);
    }
    failed.map_or(Ok(count), Err)
}

/// Removes the old removals in the bin of one account.
fn emptied_of(person: &PersonalShare, own: &[u8], keeps: Duration, count: &mut usize) -> Result<(), Error> {
    let (own, now) = (person.find(own)?, SystemTime::now());
    if own.attributes.kind != Kind::Folder {
        return Ok(());
    }
    let mut failed = None;
    for name in names(person, &own)? {
        let age = removed_at(&name).and_then(|at| now.duration_since(at).ok());
        if age.is_some_and(|age| age >= keeps) {
            failed = remove(person, (&own, &name), Some(DEEPEST), count).err().or(failed);
        }
    }
    failed.map_or(Ok(()), Err)
}

/// The names in a folder.
fn names(place: &PersonalShare, folder: &Found) -> Result<Vec<Vec<u8>>, Error> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        let page = place.volume.list(&place.actor.caller, folder, cookie)?;
        names.extend(page.named().map(|entry| entry.name().to_vec()));
        match page.entries().last() {
            Some(last) if !page.complete && names.len() < MOST_NAMES => cookie = last.cookie,
            _ => return Ok(names),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_removal_says_when_it_was() {
        let at = removed_at(b"2026-11-29 18.40.07 2").unwrap();
        assert_eq!(at.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 1_795_977_607);
        for other in [&b"2026-11-29"[..], b"notes of 2026-11-29 x", b"", b"\xff\xff\xff\xff-11-29 18.40.07"] {
            assert_eq!(removed_at(other), None);
        }
        assert!(
            is_in_bin(b".bin") && is_in_bin(b".bin/ada") && !is_in_bin(b".binary") && !is_in_bin(b"a/.bin")
        );
    }
}
