//! The accounts and groups that the settings file names. The caller checks whether they exist.

use super::diagnostic::Place;
use super::section::RawTables;
use super::team::{self, Who};

/// An account or group that the settings file names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its name.
    pub name: String,
    /// Its role.
    pub role: MentionRole,
    /// Its place.
    pub place: Place,
}

/// The role in which the settings name an account or group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MentionRole {
    /// `[[user]]`.
    Account,
    /// `iscsi-account`.
    Server,
    /// `users` of this share, or one of its roles.
    User(String),
    /// `groups` of this share, or one of its roles.
    Group(String),
}

pub(super) fn of(written: &RawTables) -> Vec<Mention> {
    let mut mentions = Vec::new();
    let named =
        |section: &super::section::Section, key| Some((section.text(key)?, section.place_of(key).clone()));
    let mut add = |one: Option<(String, Place)>, role: MentionRole| {
        mentions.extend(one.map(|(name, place)| Mention { name, role, place }));
    };
    add(named(&written.server, "iscsi-account"), MentionRole::Server);
    for section in &written.shares {
        let share = section.text("name").unwrap_or_default();
        section
            .texts_with_places("users")
            .into_iter()
            .for_each(|one| add(Some(one), MentionRole::User(share.clone())));
        section
            .texts_with_places("groups")
            .into_iter()
            .for_each(|one| add(Some(one), MentionRole::Group(share.clone())));
        for (who, place) in team::named(section) {
            match who {
                Who::Account(name) => add(Some((name, place)), MentionRole::User(share.clone())),
                Who::Group(name) => add(Some((name, place)), MentionRole::Group(share.clone())),
                Who::Everyone | Who::Guests => {}
            }
        }
    }
    written.users.iter().for_each(|section| add(named(section, "name"), MentionRole::Account));
    mentions
}
