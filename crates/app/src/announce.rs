//! What `serve` prints on standard output: how clients reach each share, then `ready`.

use std::fmt::Write as _;
use std::io::Write as _;

use admin::control::ShareStatus;
use admin::{Port, Protocol, Settings};

use crate::running::Current;

/// The protocols this build serves.
pub(crate) const BUILT: &[Protocol] = &[Protocol::Nfs, Protocol::Smb, Protocol::Afp, Protocol::Portmap];

/// Prints the shares, what is missing, and `ready`, at once: a script may wait for the last line.
pub(crate) fn ready(current: &Current, shares: &[ShareStatus]) -> std::io::Result<()> {
    let anybody =
        current.accounts.accounts().iter().any(|account| !account.disabled && account.nt_hash().is_some());
    let mut out = std::io::stdout().lock();
    out.write_all(text(&current.settings, anybody, shares).as_bytes())?;
    out.flush()
}

/// Said when nobody can log in: over what, and what to do about it.
fn nobody(over: &str) -> String {
    format!(
        "nobody can log in over {over} yet: give an account with --user NAME:PASSWORD, keep one with \
         `fourfold user add NAME`, or let everybody in with --guest"
    )
}

/// The protocols with a login that show some share, when none of these shares lets guests in.
fn without_guests(settings: &Settings) -> Vec<&'static str> {
    let with_login = [Protocol::Smb, Protocol::Afp];
    let closed = |protocol: &Protocol| {
        let mut shares = settings.shares.iter().filter(|share| share.protocols.contains(protocol)).peekable();
        settings.server.ports.of(*protocol) != Port::Off
            && shares.peek().is_some()
            && !shares.any(|share| share.guests)
    };
    with_login.into_iter().filter(closed).map(Protocol::title).collect()
}

fn text(settings: &Settings, anybody: bool, shares: &[ShareStatus]) -> String {
    let mut text = String::new();
    for share in shares {
        let _ = share.write_mounts(&mut text); // writing to a String cannot fail
    }
    let closed = without_guests(settings);
    if !anybody && !closed.is_empty() {
        let _ = writeln!(text, "{}", nobody(&closed.join(" or ")));
    }
    if let Some(missing) = missing(settings) {
        let _ = writeln!(text, "{missing}");
    }
    text.push_str("ready\n");
    text
}

/// The protocols that are not turned off but that this build does not have.
fn missing(settings: &Settings) -> Option<String> {
    let wanted = |p: &Protocol| settings.server.ports.of(*p) != Port::Off && !BUILT.contains(p);
    let names: Vec<&str> = Protocol::ALL.iter().filter(|p| wanted(p)).map(|p| p.title()).collect();
    let (last, others) = names.split_last()?;
    let list =
        if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) };
    Some(format!("not available in this build: {list}"))
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

    #[test]
    fn ready_is_the_last_line_and_protocols_that_are_missing_are_said() {
        assert_eq!(text(&settings(&[]), true, &[]), "not available in this build: iSCSI\nready\n");
        let one = settings(&[("smb-port", "off"), ("afp-port", "off"), ("iscsi-port", "0")]);
        assert_eq!(text(&one, false, &[]), "not available in this build: iSCSI\nready\n");
        let none = settings(&[("smb-port", "off"), ("afp-port", "off"), ("iscsi-port", "off")]);
        assert_eq!(text(&none, false, &[]), "ready\n");
    }

    #[test]
    fn who_has_no_account_yet_is_told_how_to_get_one() {
        let quiet = [("iscsi-port", "off")];
        let over = |over: &str| format!("{}\nready\n", nobody(over));
        assert_eq!(text(&settings(&quiet), false, &[]), over("SMB or AFP"));
        assert_eq!(text(&settings(&quiet), true, &[]), "ready\n");
        let one = [("iscsi-port", "off"), ("smb-port", "off")];
        assert_eq!(text(&settings(&one), false, &[]), over("AFP"));
        let mut guests = settings(&quiet);
        guests.shares[0].guests = true;
        assert_eq!(text(&guests, false, &[]), "ready\n");
    }
}
