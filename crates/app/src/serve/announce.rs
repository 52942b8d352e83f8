//! The output of `serve` on standard output: the mount lines of each share, then `ready`.

use std::fmt::Write as _;

use admin::control::ShareStatus;
use admin::{Protocol, Settings};

use crate::serve::current::Current;
use crate::terminal::out;

/// Prints the shares, the logins that are impossible yet, the lines `also`, and `ready`, at once: a
/// script may wait for the last line.
pub(crate) fn ready(
    current: &Current,
    shares: &[ShareStatus],
    also: &[String],
) -> Result<(), out::OutputError> {
    let accounts = current.accounts.accounts();
    let anybody = Anybody {
        by_password: current.accounts.host_accounts().is_some()
            || accounts.iter().any(|account| !account.disabled && account.nt_hash().is_some()),
        by_chap: accounts.iter().any(|account| !account.disabled && account.chap_secret().is_some()),
    };
    out::print(text(&current.settings, anybody, shares, also))
}

/// Whether there is an account that can log in.
#[derive(Debug, Clone, Copy)]
struct Anybody {
    by_password: bool,
    by_chap: bool,
}

/// The text if there are LUNs, and no account can log in to them.
const NOBODY_BY_CHAP: &str = "nobody can log in over iSCSI yet: give an account a secret with `fourfold user passwd NAME \
                              --chap-secret`, or let everybody in with --guest";

/// The text if no account can log in over these protocols, with a hint.
fn nobody(over: &str) -> String {
    format!(
        "nobody can log in over {over} yet: give an account with --user NAME:PASSWORD, keep one with \
         `fourfold user add NAME`, or let everybody in with --guest"
    )
}

/// The protocols with a login that show a share, if none of their shares allows guests.
fn without_guests(settings: &Settings) -> Vec<&'static str> {
    let closed = |protocol: &Protocol| {
        let mut shares = settings.shares.iter().filter(|share| settings.serves(share, *protocol)).peekable();
        shares.peek().is_some() && !shares.any(|share| share.guests)
    };
    let with_login = Protocol::OF_FILES.into_iter().filter(|protocol| protocol.users_log_in());
    with_login.filter(closed).map(Protocol::title).collect()
}

fn text(settings: &Settings, anybody: Anybody, shares: &[ShareStatus], also: &[String]) -> String {
    let mut text = String::new();
    for share in shares {
        let _ = share.write_mounts(&mut text); // writing to a String cannot fail
    }
    let closed = without_guests(settings);
    if !anybody.by_password && !closed.is_empty() {
        let _ = writeln!(text, "{}", nobody(&closed.join(" or ")));
    }
    if !anybody.by_chap && has_closed_luns(settings, shares) {
        let _ = writeln!(text, "{NOBODY_BY_CHAP}");
    }
    also.iter().for_each(|line| {
        let _ = writeln!(text, "{line}");
    });
    text.push_str("ready\n");
    text
}

/// Whether there are LUNs, and guests can reach none of them.
fn has_closed_luns(settings: &Settings, shares: &[ShareStatus]) -> bool {
    let has_luns = |share: &&ShareStatus| share.mounts.iter().any(|mount| mount.protocol == Protocol::Iscsi);
    let guests = |share: &ShareStatus| settings.shares.iter().any(|set| set.name == share.name && set.guests);
    let mut with_luns = shares.iter().filter(has_luns).peekable();
    with_luns.peek().is_some() && !with_luns.any(guests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(flags: &[(&str, &str)]) -> Settings {
        let folder = tempfile::tempdir().unwrap();
        let arguments = admin::Arguments {
            shares: vec![folder.path().into()],
            flags: flags.iter().map(|(a, b)| ((*a).into(), (*b).into())).collect(),
            ..admin::Arguments::new(false, std::env::temp_dir().join("elsewhere"))
        };
        Settings::load(&arguments).unwrap()
    }

    const SOMEBODY: Anybody = Anybody { by_password: true, by_chap: true };
    const NOBODY: Anybody = Anybody { by_password: false, by_chap: false };

    #[test]
    fn ready_is_the_last_line() {
        assert_eq!(text(&settings(&[]), SOMEBODY, &[], &[]), "ready\n");
        let none = settings(&[("smb-port", "off"), ("afp-port", "off"), ("iscsi-port", "off")]);
        assert_eq!(text(&none, NOBODY, &[], &[]), "ready\n");
    }

    #[test]
    fn a_server_without_accounts_gives_a_hint() {
        let over = |over: &str| format!("{}\nready\n", nobody(over));
        assert_eq!(text(&settings(&[]), NOBODY, &[], &[]), over("SMB or AFP"));
        assert_eq!(text(&settings(&[]), SOMEBODY, &[], &[]), "ready\n");
        assert_eq!(text(&settings(&[("smb-port", "off")]), NOBODY, &[], &[]), over("AFP"));
        let mut guests = settings(&[]);
        guests.shares[0].guests = true;
        assert_eq!(text(&guests, NOBODY, &[], &[]), "ready\n");
    }

    #[test]
    fn luns_without_a_secret_get_a_hint() {
        let mut settings = settings(&[("smb-port", "off"), ("afp-port", "off")]);
        let at = ("127.0.0.1".parse().unwrap(), 3260);
        let mounts = vec![admin::recipe::lun_url("video", "iqn.2026-11.test:a.video", 0, at)];
        let share = &settings.shares[0];
        let share = ShareStatus {
            name: share.name.clone(),
            path: "/a".into(),
            read_only: false,
            team: false,
            mounts,
        };
        let lines = |settings: &Settings, anybody| text(settings, anybody, std::slice::from_ref(&share), &[]);
        assert!(lines(&settings, NOBODY).ends_with(&format!("{NOBODY_BY_CHAP}\nready\n")));
        assert!(!lines(&settings, SOMEBODY).contains(NOBODY_BY_CHAP));
        settings.shares[0].guests = true;
        assert!(!lines(&settings, NOBODY).contains(NOBODY_BY_CHAP));
    }
}
