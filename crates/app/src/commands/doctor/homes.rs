//! Accounts for which no home is made.

use admin::{Settings, ShareSettings};
use auth::{Account, Directory};

use super::DoctorFinding;
use crate::people::accounts;
use crate::shares::volumes::homes::shared_identity;

/// The most accounts that are named.
const MOST_NAMED: usize = 8;

/// Looks at each share with `make-homes`.
pub(super) fn look(settings: &Settings) -> Vec<DoctorFinding> {
    let mut homes = settings.shares.iter().filter(|share| share.homes && share.make_homes).peekable();
    if homes.peek().is_none() {
        return Vec::new();
    }
    // A file of accounts that cannot be read is told elsewhere.
    let Ok(directory) = accounts::read(&settings.server.state, settings) else { return Vec::new() };
    homes.map(|share| of_share(share, &directory)).collect()
}

fn of_share(share: &ShareSettings, directory: &Directory) -> DoctorFinding {
    let about = format!("share {}", share.name);
    let can_log_in = |account: &&Account| !account.disabled && !account.secrets.is_empty();
    let why = |account: &Account| {
        let is_there = share.home_of(&account.name).is_some_and(|home| home.path.exists());
        let why = shared_identity(directory, share, (&account.name, account.identity.uid));
        Some(format!("{} ({})", account.name, why.filter(|_| !is_there)?))
    };
    let mut without: Vec<String> = directory.accounts().iter().filter(can_log_in).filter_map(why).collect();
    if without.is_empty() {
        return DoctorFinding::fine(about, "each account that can log in has a home, or gets one");
    }
    let more = without.len().saturating_sub(MOST_NAMED);
    without.truncate(MOST_NAMED);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    let found = format!("no home is made for {}{more}: a home belongs to one user", without.join(", "));
    let mend = "give each a Unix user of its own (`fourfold user modify NAME --uid UID`), or make the folder";
    DoctorFinding::warning(about, found, mend)
}
