//! What a first user gets to read: names that cannot be, ports, and accounts for one run.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use admin::settings::Arguments;
use admin::{Settings, StateError};

/// A folder with the folders `a` and `IPC$` and the settings file `text`.
fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    ["a", "IPC$", "Ada's"].iter().for_each(|name| std::fs::create_dir(folder.path().join(name)).unwrap());
    std::fs::write(folder.path().join("fourfold.toml"), text).unwrap();
    folder
}

fn plain(line: &str, folder: &Path) -> String {
    line.replace(&folder.canonicalize().unwrap().display().to_string(), "TMP")
}

/// The lines of settings that are refused.
fn errors(folder: &Path, arguments: &Arguments) -> Vec<String> {
    let lines = Settings::load(arguments).expect_err("must be refused");
    lines.iter().map(|line| plain(&line.to_string(), folder)).collect()
}

/// The notes of settings that are accepted.
fn notes(folder: &Path, arguments: &Arguments) -> Vec<String> {
    let settings = Settings::load(arguments).unwrap();
    settings.notes.iter().map(|line| plain(&line.to_string(), folder)).collect()
}

const SHARE: &str = "[[share]]\nname = \"A\"\npath = \"a\"\n";

fn of_file(text: &str) -> Vec<String> {
    let folder = folder(text);
    errors(folder.path(), &Arguments::new(false, folder.path().into()))
}

#[test]
fn a_key_that_stands_twice_is_named_with_its_line() {
    let twice = |text: &str| of_file(text).remove(0);
    assert_eq!(
        twice("[server]\nnfs-port = 1\nnfs-port = 2\n"),
        "fourfold.toml:3:1: error: `nfs-port` is here a second time; keep one of the two"
    );
    assert_eq!(
        twice("[server]\nnfs-port = 1\n[server]\nsmb-port = 2\n"),
        "fourfold.toml:3:2: error: `server` is here a second time; keep one of the two"
    );
    let inline = twice("[[share]]\nclient = [{ match = \"*\", match = \"::1\" }]\n");
    assert_eq!(inline, "fourfold.toml:2:26: error: `match` is here a second time; keep one of the two");
}

#[test]
fn a_reserved_share_name_is_called_reserved() {
    assert_eq!(
        of_file("[[share]]\nname = \"ipc$\"\npath = \"a\"\n"),
        [
            "fourfold.toml:2:1: error: `name` cannot be \"ipc$\": SMB reserves this name for a share of its own; write \
             `name = \"Share\"`"
        ]
    );
    assert!(
        of_file("[[share]]\nname = \"..\"\npath = \"a\"\n")[0]
            .contains("cannot be \"..\": it means a folder")
    );
    let folder = folder(SHARE);
    let arguments =
        |share: &str| Arguments { shares: vec![share.into()], ..Arguments::new(false, folder.path().into()) };
    assert_eq!(
        errors(folder.path(), &arguments("IPC$")),
        [
            "command line: IPC$: error: a share cannot be called \"IPC$\": SMB reserves this name for a share of its \
             own; write `Share='TMP/IPC$'`"
        ]
    );
    assert_eq!(
        errors(folder.path(), &arguments("Admin$=Ada's")),
        [
            "command line: Admin$=Ada's: error: a share cannot be called \"Admin$\": SMB reserves this name for a share \
             of its own; write `Share='TMP/Ada'\\''s'`"
        ]
    );
}

#[test]
fn a_port_below_1024_is_never_suggested_without_a_word_on_who_may_have_it() {
    let folder = folder(SHARE);
    let flags = vec![("smb-port".into(), "abc".into())];
    let arguments = Arguments { flags, ..Arguments::new(false, folder.path().into()) };
    assert_eq!(
        errors(folder.path(), &arguments),
        [
            "command line: --smb-port abc: error: `--smb-port` must be a port from 1 to 65535, 0 for any free one, or \
             \"off\", not \"abc\"; write `--smb-port 445`; the default is 445 for root, else 10445, as ports below 1024 \
             need root or CAP_NET_BIND_SERVICE"
        ]
    );
    assert!(
        of_file(&format!("[server]\nafp-port = \"x\"\n{SHARE}"))[0]
            .ends_with("need root or CAP_NET_BIND_SERVICE")
    );
    assert!(of_file(&format!("[server]\nnfs-port = \"x\"\n{SHARE}"))[0].ends_with("write `nfs-port = 2049`"));
}

const ALL_OFF: &str =
    "[server]\nnfs-port = \"off\"\nsmb-port = \"off\"\nafp-port = \"off\"\niscsi-port = \"off\"\n";

#[test]
fn a_server_without_a_protocol_is_refused_and_a_share_without_one_is_said() {
    assert_eq!(
        of_file(&format!("{ALL_OFF}{SHARE}")),
        [
            "fourfold.toml:2:1: error: NFS, SMB, AFP and iSCSI are all turned off, so nothing would be served; leave one \
             of `nfs-port`, `smb-port`, `afp-port` and `iscsi-port` on"
        ]
    );
    let text =
        format!("[server]\nafp-port = \"off\"\nsmb-port = \"off\"\n{SHARE}nfs = false\niscsi = false\n");
    let folder = folder(&text);
    assert_eq!(
        notes(folder.path(), &Arguments::new(false, folder.path().into())),
        [
            "fourfold.toml:5:1: note: no client can reach the share \"A\": it is shown over SMB and AFP only, which are \
             turned off; set `nfs`, `smb`, `afp` or `iscsi` of the share to true, and leave its port on"
        ]
    );
}

#[test]
fn an_api_without_tls_stays_on_this_machine() {
    let of_server = |server: &str| of_file(&format!("[server]\n{server}{SHARE}"));
    assert_eq!(
        of_server("admin-port = 8443\nadmin-tls = false\nadmin-listen = [\"::1\", \"192.0.2.1\"]\n"),
        [
            "fourfold.toml:3:1: error: without TLS, tokens would cross the network to 192.0.2.1 readable by others; \
             leave `admin-tls` on, or write `admin-listen = [\"127.0.0.1\"]`"
        ]
    );
    assert_eq!(
        of_server("admin-key = \"key.pem\"\n"),
        [
            "fourfold.toml:2:1: error: `admin-key` is set, and `admin-certificate` is not; write `admin-certificate`, \
             too, or leave both out for a certificate that the server makes"
        ]
    );
    assert_eq!(
        of_server("nfs-port = 8443\nadmin-port = 8443\n"),
        [
            "fourfold.toml:3:1: error: `admin-port` is 8443, which `nfs-port` has already; write another port, 0 for \
             any free one, or \"off\""
        ]
    );
}

#[test]
fn tls_of_nfs_has_all_that_it_needs() {
    let of_server = |text: &str| of_file(&format!("[server]\n{text}{SHARE}"));
    assert_eq!(
        of_server("nfs-certificate = \"fourfold.toml\"\n"),
        [
            "fourfold.toml:2:1: error: `nfs-certificate` is set, and `nfs-key` is not; write `nfs-key`, too, or leave both \
             out for the certificate of the API"
        ]
    );
    let absent = of_server("nfs-client-ca = \"nowhere.pem\"\n");
    let [absent] = absent.as_slice() else { panic!("{absent:?}") };
    assert!(absent.contains("nowhere.pem cannot be read: No such file"), "{absent}");
    let rule = "nfs4-domain = \"a\"\n[[share]]\nname = \"b\"\npath = \".\"\nclient = [{ match = \"*\", tls = \"mutual\" }]\n";
    assert!(
        of_server(rule).iter().any(|line| line.contains("write `nfs-client-ca` in [server]")),
        "{:?}",
        of_server(rule)
    );
}

#[test]
fn an_account_is_given_once_on_the_command_line() {
    let folder = folder(SHARE);
    std::fs::write(folder.path().join("people"), "# people\n\ngrace:one:two\nada:three\n").unwrap();
    let arguments = Arguments {
        users: vec!["a:x".into(), "a:y".into(), "ada:z".into()],
        user_files: vec!["people".into()],
        user_variable: Some("a:q".into()),
        ..Arguments::new(false, folder.path().into())
    };
    let lines = errors(folder.path(), &arguments);
    let errors: Vec<&String> = lines.iter().filter(|line| line.contains(": error: ")).collect();
    assert_eq!(
        errors,
        [
            "people:4:1: error: the account \"ada\" has a password already, at command line: --user ada:…; name each \
             account once",
            "command line: --user a:…: error: the account \"a\" has a password already, at command line: --user a:…; \
             name each account once",
            "environment: FOURFOLD_USER: error: the account \"a\" has a password already, at command line: --user a:…; \
             name each account once",
        ]
    );
}

#[test]
fn a_password_on_the_command_line_is_said_to_be_seen_and_one_in_a_private_file_is_not() {
    let folder = folder(SHARE);
    let typed = Arguments { users: vec!["ada:x".into()], ..Arguments::new(false, folder.path().into()) };
    assert_eq!(
        notes(folder.path(), &typed),
        [
            "command line: --user ada:…: note: other users of this machine can see the password in the list of processes \
             (`ps`); use --user-file FILE or FOURFOLD_USER, or keep the account with `fourfold user add`"
        ]
    );
    let file = folder.path().join("people");
    std::fs::write(&file, "ada:one:two\r\n").unwrap();
    let mode = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o600);
    let arguments = Arguments {
        user_files: vec!["people".into()],
        user_variable: Some("grace:three".into()),
        ..Arguments::new(false, folder.path().into())
    };
    let settings = Settings::load(&arguments).unwrap();
    let users: Vec<_> = settings.users.iter().map(|user| (&*user.name, user.password.as_deref())).collect();
    assert_eq!(users, [("grace", Some("three")), ("ada", Some("one:two"))]);
    assert!(settings.notes.is_empty(), "{:?}", settings.notes);
    mode(0o644);
    assert_eq!(
        notes(folder.path(), &arguments),
        ["people:1:1: note: other users of this machine may read the passwords in the file; `chmod 600` it"]
    );
    std::fs::remove_file(&file).unwrap();
    assert!(
        errors(folder.path(), &arguments)[0].starts_with("people:1:1: error: the accounts cannot be read: ")
    );
}

/// An error and its causes as `fourfold` prints them.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

#[test]
fn what_the_system_said_is_in_a_line_once() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let below = folder.path().join("file/state");
    let state = admin::State::open(&below).unwrap_err();
    assert!(matches!(state, StateError::Io { .. }));
    let accounts = auth::AccountFile::read(&below).unwrap_err();
    let luns = admin::luns::LunFile::read(&below).unwrap_err();
    let asked = admin::control::AskError::from(std::io::Error::from_raw_os_error(20));
    for error in [&state as &dyn std::error::Error, &accounts, &luns, &asked] {
        let line = chain(error);
        assert_eq!(line.matches("(os error 20)").count(), 1, "{line}");
    }
}
