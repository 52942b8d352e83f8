//! What a running server was started with, for commands about its shares: some may be only on its command line.

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Arguments;

/// Stands for each password of the command line, which stays in the server.
const HIDDEN: &str = "hidden";

/// The arguments of a running server, without passwords.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartedWith {
    config: Option<OsString>,
    shares: Vec<OsString>,
    flags: Vec<(String, String)>,
    users: Vec<String>,
    user_files: Vec<OsString>,
    privileged: bool,
    folder: OsString,
    state_home: Option<OsString>,
}

impl From<&Arguments> for StartedWith {
    fn from(arguments: &Arguments) -> Self {
        let text = |path: &PathBuf| path.clone().into_os_string();
        let users = arguments.users.iter().chain(&arguments.user_variable);
        let user = |user: &String| format!("{}:{HIDDEN}", user.split(':').next().unwrap_or_default());
        let flag = |(name, value): &(String, String)| (name.clone(), without_password(value));
        Self {
            config: arguments.config.as_ref().map(text),
            shares: arguments.shares.clone(),
            flags: arguments.flags.iter().map(flag).collect(),
            users: users.map(user).collect(),
            user_files: arguments.user_files.iter().map(text).collect(),
            privileged: arguments.privileged,
            folder: text(&arguments.folder),
            state_home: arguments.state_home.as_ref().map(text),
        }
    }
}

impl From<StartedWith> for Arguments {
    fn from(with: StartedWith) -> Self {
        Self {
            config: with.config.map(Into::into),
            shares: with.shares,
            flags: with.flags,
            users: with.users,
            user_files: with.user_files.into_iter().map(Into::into).collect(),
            user_variable: None,
            privileged: with.privileged,
            may_make_folders: false,
            is_running: true,
            folder: with.folder.into(),
            state_home: with.state_home.map(Into::into),
        }
    }
}

/// A URL without the password in it; anything else as it is.
fn without_password(value: &str) -> String {
    let parts = value.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.split('/').next().unwrap_or_default();
        let (login, _) = authority.rsplit_once('@')?;
        let (user, _) = login.split_once(':')?;
        Some(format!("{scheme}://{user}{}", &rest[login.len()..]))
    });
    parts.unwrap_or_else(|| value.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_stay_in_the_server() {
        let arguments = Arguments {
            shares: vec!["studio=/srv/studio".into()],
            flags: vec![
                ("from".into(), "smb://ada:se@cret@old/share".into()),
                ("from".into(), "nfs://old/share".into()),
                ("read-only".into(), String::new()),
            ],
            users: vec!["ada:secret".into()],
            user_variable: Some("bob:secret".into()),
            ..Arguments::new(true, "/srv".into())
        };
        let with = StartedWith::from(&arguments);
        let sent = serde_json::to_string(&with).unwrap();
        assert!(!sent.contains("cret"), "{sent}");
        let back = Arguments::from(serde_json::from_str::<StartedWith>(&sent).unwrap());
        assert_eq!((back.shares, back.folder, back.privileged), (arguments.shares, arguments.folder, true));
        let values: Vec<&str> = back.flags.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["smb://ada@old/share", "nfs://old/share", ""]);
        let names: Vec<&str> = back.users.iter().filter_map(|user| user.split(':').next()).collect();
        assert_eq!(names, ["ada", "bob"]);
    }
}
