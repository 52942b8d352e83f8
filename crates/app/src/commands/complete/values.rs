//! Names that the settings and the state folder have. What cannot be read has none.

use admin::Settings;
use admin::luns::LunFile;
use admin::settings::{SETTINGS, Table};
use auth::AccountFile;
use snapshots::Dataset;

use crate::cli::Where;
use crate::host::here;

/// Where the names of an argument come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NameSource {
    Share,
    /// SHARE@NAME.
    Snapshot,
    /// SHARE/NAME.
    Lun,
    /// SHARE/NAME@SNAPSHOT.
    LunSnapshot,
    Account,
    Group,
    /// An account, a group with @, everyone or guests.
    Who,
    Token,
    /// A setting of a share.
    Property,
    /// The same with `=`, or a share.
    Assignment,
}

/// Commands, their arguments, and the names that these take.
pub(super) const SOURCES: &[(&str, &str, NameSource)] = &[
    ("create", "owner", NameSource::Who),
    ("create", "editor", NameSource::Who),
    ("create", "contributor", NameSource::Who),
    ("create", "reader", NameSource::Who),
    ("create", "drop", NameSource::Who),
    ("destroy", "name", NameSource::Share),
    ("disconnect", "user", NameSource::Account),
    ("explain", "user", NameSource::Account),
    ("get", "properties", NameSource::Property),
    ("get", "names", NameSource::Share),
    ("group add", "accounts", NameSource::Account),
    ("group modify", "name", NameSource::Group),
    ("group modify", "add", NameSource::Account),
    ("group modify", "remove", NameSource::Account),
    ("group remove", "name", NameSource::Group),
    ("inherit", "property", NameSource::Property),
    ("inherit", "name", NameSource::Share),
    ("list", "name", NameSource::Share),
    ("lun clone", "lun", NameSource::Lun),
    ("lun remove", "lun", NameSource::Lun),
    ("lun resize", "lun", NameSource::Lun),
    ("lun show", "lun", NameSource::Lun),
    ("lun snapshot create", "snapshot", NameSource::Lun),
    ("lun snapshot list", "lun", NameSource::Lun),
    ("lun snapshot remove", "snapshot", NameSource::LunSnapshot),
    ("names", "folder", NameSource::Share),
    ("rename", "name", NameSource::Share),
    ("replicate", "source", NameSource::Share),
    ("replicate", "destination", NameSource::Share),
    ("replicate", "promote", NameSource::Share),
    ("rights check", "path", NameSource::Share),
    ("rights of", "person", NameSource::Account),
    ("rights of", "path", NameSource::Share),
    ("rights reset", "path", NameSource::Share),
    ("rights set", "path", NameSource::Share),
    ("rights set", "who", NameSource::Who),
    ("rights show", "path", NameSource::Share),
    ("rights unset", "path", NameSource::Share),
    ("rights unset", "who", NameSource::Who),
    ("say", "user", NameSource::Account),
    ("scrub", "places", NameSource::Share),
    ("set", "words", NameSource::Assignment),
    ("share access", "name", NameSource::Share),
    ("share access", "owner", NameSource::Who),
    ("share access", "editor", NameSource::Who),
    ("share access", "contributor", NameSource::Who),
    ("share access", "reader", NameSource::Who),
    ("share access", "drop", NameSource::Who),
    ("share access", "remove", NameSource::Who),
    ("snapshot create", "snapshot", NameSource::Share),
    ("snapshot diff", "snapshot", NameSource::Snapshot),
    ("snapshot hold", "snapshot", NameSource::Snapshot),
    ("snapshot list", "share", NameSource::Share),
    ("snapshot release", "snapshot", NameSource::Snapshot),
    ("snapshot remove", "snapshot", NameSource::Snapshot),
    ("snapshot rename", "snapshot", NameSource::Snapshot),
    ("snapshot restore", "snapshot", NameSource::Snapshot),
    ("token remove", "name", NameSource::Token),
    ("user modify", "name", NameSource::Account),
    ("user passwd", "name", NameSource::Account),
    ("user remove", "name", NameSource::Account),
    ("user reset-factor", "name", NameSource::Account),
];

impl NameSource {
    /// The source for an argument of the command with these names.
    pub(super) fn of(path: &[&str], argument: &str) -> Option<Self> {
        let path = path.join(" ");
        SOURCES
            .iter()
            .find(|(command, id, _)| *command == path && *id == argument)
            .map(|(.., source)| *source)
    }

    /// The names. Of snapshots only those of the share that was typed are looked for.
    pub(super) fn names(self, place: &Where, typed: &str) -> Vec<String> {
        let Some(known) = KnownNames::read(place) else { return Vec::new() };
        match self {
            Self::Share => known.shares(),
            Self::Snapshot => match typed.split_once('@') {
                Some((share, _)) => known.snapshots(share),
                None => known.shares().into_iter().map(|share| format!("{share}@")).collect(),
            },
            Self::Lun => known.luns(false),
            Self::LunSnapshot => known.luns(true),
            Self::Account => known.accounts(),
            Self::Group => known.groups().collect(),
            Self::Who => {
                let all = ["everyone", "guests"].map(str::to_owned);
                let groups = known.groups().map(|group| format!("@{group}"));
                known.accounts().into_iter().chain(groups).chain(all).collect()
            }
            Self::Token => known.tokens(),
            Self::Property => properties("").collect(),
            Self::Assignment => known.shares().into_iter().chain(properties("=")).collect(),
        }
    }
}

fn properties(ending: &str) -> impl Iterator<Item = String> {
    let of_shares = SETTINGS.iter().filter(|setting| setting.table == Table::Share && setting.key != "name");
    of_shares.map(move |setting| format!("{}{ending}", setting.key))
}

/// The settings and the state folder.
struct KnownNames {
    settings: Option<Settings>,
    state: std::path::PathBuf,
}

impl KnownNames {
    fn read(place: &Where) -> Option<Self> {
        let arguments = place.arguments(here::privileged(), here::folder().ok()?);
        let state = Settings::state_folder(&arguments).ok()?;
        Some(Self { settings: Settings::load(&arguments).ok(), state })
    }

    fn shares(&self) -> Vec<String> {
        let settings = self.settings.iter();
        settings
            .flat_map(|settings| settings.shares.iter().chain(&settings.absent))
            .map(|share| share.name.clone())
            .collect()
    }

    fn snapshots(&self, share: &str) -> Vec<String> {
        let all = self.settings.iter().flat_map(|settings| &settings.shares);
        let found = all.clone().find(|one| one.name == share);
        let listed = found.and_then(|share| Dataset::find(&share.path).ok()?.list().ok()).unwrap_or_default();
        listed.into_iter().map(|snapshot| format!("{share}@{}", snapshot.name)).collect()
    }

    fn luns(&self, are_snapshots: bool) -> Vec<String> {
        let Ok(file) = LunFile::read(&self.state) else { return Vec::new() };
        let name = |lun: &admin::luns::LunRecord| match &lun.snapshot_of {
            Some(of) => {
                let snapshot = lun.name.get(of.len() + 1..)?;
                are_snapshots.then(|| format!("{}/{of}@{snapshot}", lun.share))
            }
            None => (!are_snapshots).then(|| format!("{}/{}", lun.share, lun.name)),
        };
        file.luns.iter().filter_map(name).collect()
    }

    fn accounts(&self) -> Vec<String> {
        let file = AccountFile::read(&self.state).map(|file| file.accounts).unwrap_or_default();
        file.into_iter().map(|account| account.name).collect()
    }

    fn groups(&self) -> impl Iterator<Item = String> {
        let file = AccountFile::read(&self.state).map(|file| file.groups).unwrap_or_default();
        file.into_iter().map(|group| group.name)
    }

    fn tokens(&self) -> Vec<String> {
        let tokens = web::tokens::read(&self.state).unwrap_or_default();
        tokens.into_iter().map(|token| token.name).collect()
    }
}
