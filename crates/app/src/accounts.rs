//! The accounts of a running server: those of the state folder, with what the settings and the command line say.

use std::path::Path;

use admin::Settings;
use auth::{AccountFile, Directory, Identity, UnixAccounts};
use rustix::process::{getegid, geteuid, getgroups};

/// As whom guests act: nobody.
pub(crate) const GUEST: u32 = 65_534;

/// Reads them all anew, for the start and for each reload.
pub(crate) fn read(state: &Path, settings: &Settings) -> anyhow::Result<Directory> {
    let file = AccountFile::read(state)?;
    let mut directory = Directory::new(&file, UnixAccounts::system(), own());
    for user in &settings.users {
        directory.set(&user.name, user.uid, user.disabled, user.password.as_deref())?;
    }
    Ok(directory)
}

/// Who the server runs as.
fn own() -> Identity {
    let groups = getgroups().unwrap_or_default();
    Identity {
        uid: geteuid().as_raw(),
        gid: getegid().as_raw(),
        groups: groups.into_iter().map(|group| group.as_raw()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use auth::Accounts;

    use super::*;

    #[test]
    fn an_account_of_the_command_line_logs_in_as_the_server() {
        let (share, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let arguments = admin::Arguments {
            shares: vec![share.path().into()],
            users: vec!["no-such-unix-user:secret".into()],
            ..admin::Arguments::new(false, state.path().into())
        };
        let directory = read(state.path(), &Settings::load(&arguments).unwrap()).unwrap();
        let account = directory.verify("no-such-unix-user", "secret").unwrap();
        assert_eq!(account.identity, own());
        assert!(directory.verify("no-such-unix-user", "Secret").is_err());
    }
}
