//! What `doctor` and other commands ask about the folder of a share: whether it keeps what the share promises.

use admin::ShareSettings;
use vfs::{Kind, Volume};

use super::effective::{RightsPerson, RightsTarget};
use super::names::RightsNames;
use super::words;
use crate::serve::current::Current;

/// What a share's folder lacks.
pub(crate) struct TopRights {
    /// Users of the share that may do less than the share promises, and why.
    pub(crate) refused: Vec<(String, String)>,
    /// What is not on the disk as the roles say, in words.
    pub(crate) deviations: Vec<String>,
}

/// Looks at a share's folder, and at nothing in it.
pub(crate) fn top(share: &ShareSettings, volume: &Volume, current: &Current) -> anyhow::Result<TopRights> {
    let found = volume.root()?;
    let names = RightsNames::new(&current.accounts);
    let target = RightsTarget { share, volume, found: &found, parent: None, path: &share.path };
    let people = RightsPerson::all(current).into_iter().filter_map(|person| {
        let effective = target.rights_of(&person, &names);
        let may = words::summary(effective.rights, true);
        let why = format!("may {may} ({})", effective.why.join("; "));
        target.is_refused(&person, effective.rights).then(|| (person.name().to_owned(), why))
    });
    let deviations = volume.stored_rights().deviations(&found)?;
    let is_folder = found.attributes.kind == Kind::Folder;
    let wrong = deviations.iter().filter(|deviation| !deviation.is_note());
    let said = |deviation| words::deviation(deviation, is_folder, found.attributes.uid, &names).1;
    Ok(TopRights { refused: people.collect(), deviations: wrong.map(said).collect() })
}
