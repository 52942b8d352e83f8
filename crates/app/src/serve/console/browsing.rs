//! The files in the backups of Macs and in other disk images, for a person at the console.

use admin::control::{BrowseAnswer, BrowseRequest, BrowsedStatus, NewBrowse, Report as _, TypedPassphrase};
use web::browsing::{BrowseRefusal, ImageBrowser, WantedImage};
use web::files::{FolderStatus, Part};
use web::store::FilePerson;

use super::Console;
use super::files::{explained, listed};
use super::store::enter;

impl ImageBrowser for Console {
    fn browsed(&self, by: &FilePerson) -> Vec<BrowsedStatus> {
        self.running.volumes().browsed().all_of(&by.account)
    }

    fn browse(&self, by: &FilePerson, wanted: &WantedImage) -> Result<BrowsedStatus, BrowseRefusal> {
        let new = NewBrowse {
            place: wanted.place.clone(),
            account: Some(by.account.clone()),
            minutes: wanted.minutes,
            passphrase: wanted.passphrase.clone().map(TypedPassphrase),
        };
        match self.running.browse(BrowseRequest::Begin(new)) {
            Ok(BrowseAnswer::Shown(mut all)) => {
                all.pop().ok_or_else(|| BrowseRefusal::Refused(vec!["nothing is served".into()]))
            }
            Ok(BrowseAnswer::NeedsPassphrase) => Err(BrowseRefusal::NeedsPassphrase),
            Ok(BrowseAnswer::Done(lines)) | Err(lines) => Err(BrowseRefusal::Refused(lines)),
        }
    }

    fn end_browse(&self, by: &FilePerson, name: &str) -> Result<Vec<String>, Vec<String>> {
        if self.running.volumes().browsed().of_account(name, &by.account).is_none() {
            return Err(vec![format!("you have no disk image open as {name:?}")]);
        }
        match self.running.browse(BrowseRequest::End { name: name.into() })? {
            BrowseAnswer::Done(lines) => Ok(lines),
            BrowseAnswer::Shown(_) | BrowseAnswer::NeedsPassphrase => Ok(Vec::new()),
        }
    }

    fn browsed_folder(
        &self,
        by: &FilePerson,
        name: &str,
        path: &[u8],
        part: &Part,
    ) -> Result<FolderStatus, Vec<String>> {
        if self.running.volumes().browsed().of_account(name, &by.account).is_none() {
            return Err(vec![format!("you have no disk image open as {name:?}; open it again")]);
        }
        let place = self.as_server(|| enter(self, by, name))?;
        let found = listed(&place.volume, &place.actor.caller, path, part);
        found.map_err(|error| explained(error, place.share(), path))
    }
}
