//! One line for each account: the identity with which it acts on this machine.

use admin::Settings;
use auth::{Account, Basis, Directory, Identity, OWN_NUMBERS, UnixAccounts};

/// The most accounts that `serve` prints a line about.
const MAX_LINES: usize = 8;

/// The text after "acts as".
pub(crate) fn acts_as(name: &str, identity: &Identity, basis: Basis, unix: &UnixAccounts) -> String {
    let Identity { uid, gid, .. } = identity;
    let everything = if identity.is_root() { ": it may do everything" } else { "" };
    let user = match unix.user_numbered(*uid) {
        Some(user) if user.gid == *gid => format!("the Unix user {} (uid {uid})", user.name),
        Some(user) => format!("the Unix user {} (uid {uid}) with the group {gid}", user.name),
        None if OWN_NUMBERS.contains(uid) => format!("uid {uid}, a number of its own"),
        None => format!("uid {uid} and gid {gid}, which no Unix user of this machine has"),
    };
    match basis {
        Basis::Set | Basis::HostUser => format!("{user}{everything}"),
        Basis::DefaultUser => format!("{user}, the default user{everything}"),
        Basis::Server => "the user the server runs as, since no Unix user has this name".into(),
        Basis::Anonymous => {
            format!(
                "nobody (uid {uid}), since this machine has no user {name:?}: it may do what everybody may"
            )
        }
    }
}

/// A whole line about an account of a directory.
pub(crate) fn line(account: &Account, directory: &Directory) -> String {
    let basis = directory.basis(&account.name).unwrap_or(Basis::Anonymous);
    let acts_as = acts_as(&account.name, &account.identity, basis, directory.unix());
    let disabled = if account.disabled { ", disabled" } else { "" };
    format!("{} acts as {acts_as}{disabled}", account.name)
}

/// The lines of `serve` at the start: the accounts whose identity may surprise, and how to change
/// it.
pub(crate) fn surprising(directory: &Directory, settings: &Settings) -> Vec<String> {
    let is_anonymous = |account: &&Account| directory.basis(&account.name) == Some(Basis::Anonymous);
    let is_root = |account: &&Account| {
        account.identity.is_root() && directory.basis(&account.name) != Some(Basis::Server)
    };
    let can_log_in = |account: &&Account| !account.disabled && !account.secrets.is_empty();
    let accounts = directory.accounts().iter().filter(can_log_in);
    let told: Vec<&Account> = accounts.filter(|account| is_anonymous(account) || is_root(account)).collect();
    let mut lines: Vec<String> =
        told.iter().take(MAX_LINES).map(|account| line(account, directory)).collect();
    if told.len() > MAX_LINES {
        lines.push(format!("and {} more; `fourfold user list` shows them", told.len() - MAX_LINES));
    }
    if told.iter().any(is_anonymous) {
        let setting = if settings.file.is_some() { "`default-user` in `[server]`" } else { "--as USER" };
        lines.push(format!(
            "({setting} names the user that such accounts act as; `uid` and `gid` of an account count first)"
        ));
    }
    lines
}

#[cfg(test)]
mod tests {
    use auth::{AccountFile, Host, Ids};

    use super::*;

    fn directory(own: u32) -> Directory {
        let unix = UnixAccounts::parse("root:x:0:0::/:\nada:x:1000:1000::/:\n", "");
        let own = Identity::new(own, own, &[]);
        let state = tempfile::tempdir().unwrap();
        let host = Host { unix, own, default_user: None };
        let mut directory = Directory::new(&AccountFile::read(state.path()).unwrap(), host);
        let set =
            [("ada", None, None), ("grace", None, None), ("root", None, None), ("eve", Some(42), Some(43))];
        for (name, uid, gid) in set {
            directory.set(name, Ids { uid, gid }, false, Some("secret")).unwrap();
        }
        directory
    }

    fn settings() -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let shares = vec![folder.path().into()];
        Settings::load(&admin::Arguments { shares, ..admin::Arguments::new(false, "/nowhere".into()) })
            .unwrap()
    }

    #[test]
    fn each_account_has_a_line_with_its_unix_user() {
        let directory = directory(0);
        let lines: Vec<String> =
            directory.accounts().iter().map(|account| line(account, &directory)).collect();
        let expected = [
            "ada acts as the Unix user ada (uid 1000)",
            "grace acts as nobody (uid 65534), since this machine has no user \"grace\": it may do what everybody may",
            "root acts as the Unix user root (uid 0): it may do everything",
            "eve acts as uid 42 and gid 43, which no Unix user of this machine has",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn serve_names_accounts_that_are_nobody_or_root_and_says_what_to_type() {
        let lines = surprising(&directory(0), &settings());
        assert!(
            lines[0].starts_with("grace acts as nobody") && lines[1].starts_with("root acts as"),
            "{lines:?}"
        );
        assert!(lines.len() == 3 && lines[2].contains("--as USER"), "{lines:?}");
        let as_ordinary_user = surprising(&directory(7), &settings());
        assert!(as_ordinary_user.iter().all(|line| line.starts_with("root acts as")), "{as_ordinary_user:?}");
    }
}
