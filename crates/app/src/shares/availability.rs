//! Shares whose folders come and go while the server runs: disks that are mounted late, or removed.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use admin::settings::{Absence, FolderPlace};
use admin::{Settings, ShareSettings};
use vfs::backend::host::as_ourselves;

use crate::serve::running::Running;
use crate::shares::stores;

/// How often the folders are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// What was mounted at the folders of shares that must be mounted, by the shares' names and paths.
pub(crate) type Mounts = HashMap<(String, PathBuf), FolderPlace>;

/// Looks at the folders of the shares as long as the server runs. This has a task of its own, because a disk that hangs
/// can block it.
pub(crate) async fn watch(running: Arc<Running>) {
    let mut every = tokio::time::interval(LOOK_EVERY);
    let mut mounts = Mounts::new();
    loop {
        every.tick().await;
        let running = running.clone();
        let look = move || {
            if let Err(error) = as_ourselves(|| running.look_at_folders(&mut mounts)) {
                tracing::warn!(%error, "the folders of the shares cannot be looked at");
            }
            mounts
        };
        mounts = tokio::task::spawn_blocking(look).await.unwrap_or_default(); // a panic there was logged
    }
}

/// The settings with the shares divided as their folders are now; `None`: as before. Files that are open outlive a
/// folder that was removed or moved, so a share in use stays; but not on a disk that was unmounted.
pub(crate) fn changed(
    settings: &Settings,
    mounts: &mut Mounts,
    is_in_use: impl Fn(&ShareSettings) -> bool,
) -> Option<Settings> {
    let mut changed = settings.clone();
    let mut is_changed = look_at_served(&mut changed.shares, mounts, is_in_use);
    for share in &mut changed.absent {
        let (name, path) = (&share.name, share.path.display());
        let in_store = stores::find(share).map(|found| found.map(|()| share.path.clone()));
        match in_store.unwrap_or_else(|| share.find_folder_again(&settings.server.state)) {
            Ok(found) => {
                tracing::info!(share = name, %path, "the folder is there: the share is served");
                (share.path, share.absence, is_changed) = (found, None, true);
                note_mount(share, mounts);
            }
            Err(absence) if share.absence.as_ref() != Some(&absence) => {
                tracing::warn!(share = name, %path, "the share is not served: {absence}");
                (share.absence, is_changed) = (Some(absence), true);
            }
            Err(_) => {}
        }
    }
    is_changed.then(|| changed.divided())
}

/// Notes what is mounted before the share is opened, so that another mount after that is noticed.
fn note_mount(share: &ShareSettings, mounts: &mut Mounts) {
    if let Ok(Some(place)) = share.look_again() {
        mounts.insert((share.name.clone(), share.path.clone()), place);
    }
}

/// Sets the absence of shares that are served and whose folders have gone. Answers whether there are any.
fn look_at_served(
    shares: &mut [ShareSettings],
    mounts: &mut Mounts,
    is_in_use: impl Fn(&ShareSettings) -> bool,
) -> bool {
    let before = std::mem::take(mounts);
    for share in shares.iter_mut() {
        let place = match share.look_again() {
            Ok(None) => continue,
            Ok(Some(place)) => place,
            Err(absence) => {
                if share.must_be_mounted || !is_in_use(share) {
                    end(share, absence);
                }
                continue;
            }
        };
        let key = (share.name.clone(), share.path.clone());
        match before.get(&key) {
            Some(other) if *other != place => end(share, Absence::exchanged()),
            _ => drop(mounts.insert(key, place)),
        }
    }
    shares.iter().any(|share| share.absence.is_some())
}

fn end(share: &mut ShareSettings, absence: Absence) {
    let path = share.path.display();
    tracing::warn!(share = share.name, %path, "the share is not served any more: {absence}");
    share.absence = Some(absence);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use admin::Arguments;

    use super::*;

    fn settings(top: &Path) -> Settings {
        let share = |name: &str| format!("[[share]]\nname = \"{name}\"\npath = \"{name}\"\n");
        let text: String = ["a", "b", "c"].map(share).concat();
        std::fs::write(top.join("fourfold.toml"), text).unwrap();
        Settings::load(&Arguments::new(false, top.into())).unwrap()
    }

    fn names(shares: &[ShareSettings]) -> String {
        shares.iter().map(|share| &*share.name).collect()
    }

    #[test]
    fn shares_leave_and_come_back_in_the_order_written() {
        let top = tempfile::tempdir().unwrap();
        ["a", "b"].iter().for_each(|name| std::fs::create_dir(top.path().join(name)).unwrap());
        let (before, mut mounts) = (settings(top.path()), Mounts::new());
        assert_eq!((names(&before.shares), names(&before.absent)), ("ab".into(), "c".into()));
        assert_eq!(changed(&before, &mut mounts, |_| false), None);
        std::fs::remove_dir(top.path().join("a")).unwrap();
        assert_eq!(changed(&before, &mut mounts, |_| true), None, "files that are open go on");
        std::fs::create_dir(top.path().join("c")).unwrap();
        let after = changed(&before, &mut mounts, |_| false).unwrap();
        assert_eq!((names(&after.shares), names(&after.absent)), ("bc".into(), "a".into()));
        std::fs::create_dir(top.path().join("a")).unwrap();
        let after = changed(&after, &mut mounts, |_| false).unwrap();
        assert_eq!((names(&after.shares), names(&after.absent)), ("abc".into(), String::new()));
        assert_eq!(after, Settings { notes: after.notes.clone(), ..settings(top.path()) });
    }

    #[test]
    fn a_share_at_which_another_file_system_was_mounted_ends_once() {
        let top = tempfile::tempdir().unwrap();
        ["a", "b", "c"].iter().for_each(|name| std::fs::create_dir(top.path().join(name)).unwrap());
        let (mut settings, mut mounts) = (settings(top.path()), Mounts::new());
        (settings.shares[0].path, settings.shares[0].must_be_mounted) = ("/proc".into(), true);
        assert_eq!(changed(&settings, &mut mounts, |_| false), None);
        let elsewhere = ShareSettings { path: "/dev".into(), ..settings.shares[0].clone() };
        let place = elsewhere.look_again().unwrap().unwrap();
        mounts.values_mut().for_each(|known| *known = place);
        let ended = changed(&settings, &mut mounts, |_| false).unwrap();
        assert_eq!(ended.absent[0].absence, Some(Absence::exchanged()));
        let back = changed(&ended, &mut mounts, |_| false).unwrap();
        assert!(back.absent.is_empty() && changed(&back, &mut mounts, |_| false).is_none());
    }
}
