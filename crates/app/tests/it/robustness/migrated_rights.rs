//! Who may use what `fourfold migrate` and `cp` have copied: nobody more than in the source.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use rustix::fs::{XattrFlags, getxattr, setxattr};
use serde_json::Value;

use crate::ports::free_port;
use crate::robustness::server::{Server, folder};
use crate::robustness::smbd::Smbd;

/// Runs the program with a umask.
fn with_umask(umask: &str, words: &[&str]) -> Output {
    let script = format!("umask {umask}; exec \"$@\"");
    let program = env!("CARGO_BIN_EXE_fourfold");
    Command::new("sh").args(["-c", &script, "sh", program]).args(words).output().unwrap()
}

fn report(umask: &str, words: &[&str]) -> Value {
    let output = with_umask(umask, &[words, &["--json"]].concat());
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{words:?}: {shown}{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn rights(report: &Value, how: &str) -> Vec<String> {
    report["rights"][how].as_object().unwrap().keys().cloned().collect()
}

pub(crate) fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).mode() & 0o7777
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// A POSIX ACL of Linux (linux/posix_acl_xattr.h): version 2, then tag, permissions and id of each entry.
pub(crate) fn posix_acl(entries: &[(u16, u16, u32)]) -> Vec<u8> {
    let mut acl = 2_u32.to_le_bytes().to_vec();
    for (tag, rights, id) in entries {
        acl.extend([&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat());
    }
    acl
}

pub(crate) const NONE: u32 = u32::MAX;

pub(crate) fn attribute(path: &Path, name: &str) -> Option<Vec<u8>> {
    let mut value = [0; 1024];
    getxattr(path, name, &mut value[..]).ok().map(|length| value[..length].to_vec())
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

#[test]
fn rights_of_smbd_are_carried_and_never_widened() {
    if !Smbd::is_here() || !is_root() {
        println!("skipped: no smbd, or not root");
        return;
    }
    let ((top, _share), (place, old)) = (folder(), folder());
    fs::create_dir(old.join("closed")).unwrap();
    for (name, mode) in [("secret", 0o600), ("shared", 0o640), ("open", 0o644), ("closed/inner", 0o600)] {
        fs::write(old.join(name), name).unwrap();
        set_mode(&old.join(name), mode);
    }
    set_mode(&old.join("closed"), 0o700);
    let at = "127.0.19.3";
    let port = free_port().unwrap();
    let _smbd = Smbd::start(place.path(), (at, port), &old);
    let url = format!("smb://{at}:{port}/archive");
    let copy = top.path().join("copy");
    fs::create_dir(&copy).unwrap();
    // A folder that passes on rights to user 12345 must not let that user in.
    let passes_on =
        posix_acl(&[(0x01, 7, NONE), (0x02, 7, 12_345), (0x04, 5, NONE), (0x10, 7, NONE), (0x20, 5, NONE)]);
    let has_acls = setxattr(&copy, "system.posix_acl_default", &passes_on, XattrFlags::empty()).is_ok();
    let report = report("022", &["migrate", &url, copy.to_str().unwrap()]);
    for (name, most) in
        [("secret", 0o600), ("shared", 0o640), ("open", 0o644), ("closed", 0o700), ("closed/inner", 0o600)]
    {
        assert_eq!(mode(&copy.join(name)) & !most, 0, "{name}: {:o}: {report:#}", mode(&copy.join(name)));
        assert_eq!(attribute(&copy.join(name), "system.posix_acl_access"), None, "{name}, {has_acls}");
    }
    assert_eq!(mode(&copy.join("open")), 0o644, "{report:#}");
    // smbd says with a protected list what the mode says, or with one that only says the mode.
    let named = [rights(&report, "carried"), rights(&report, "mapped")].concat();
    assert!(named.iter().any(|what| ["mode", "access control list"].contains(&what.as_str())), "{report:#}");
    let text = with_umask("022", &["migrate", &url, copy.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(rights(&report, "replaced").is_empty() || !text.contains("nothing was lost"), "{text}");
}

/// A command on a machine with these accounts.
fn on_machine(passwd: &Path, program: &str) -> Command {
    let script = "mount --bind \"$1\" /etc/passwd && shift && exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(passwd).arg(program);
    command
}

#[test]
fn an_owner_is_the_account_of_the_same_name() {
    let can_mount = || {
        let passwd = Path::new("/etc/passwd");
        on_machine(passwd, "true").status().is_ok_and(|status| status.success())
    };
    if !Smbd::is_here() || !is_root() || !can_mount() {
        println!("skipped: no smbd, not root, or no namespaces");
        return;
    }
    let ((top, _share), (place, old)) = (folder(), folder());
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let machine = |name: &str, uid: u32| {
        let file = top.path().join(name);
        fs::write(&file, format!("{accounts}museum:x:{uid}:{uid}::/nonexistent:/bin/false\n")).unwrap();
        file
    };
    let (there, here) = (machine("there", 4242), machine("here", 5151));
    fs::write(old.join("letter"), "letter").unwrap();
    chown(old.join("letter"), Some(4242), None).unwrap();
    let at = "127.0.19.4";
    let port = free_port().unwrap();
    let _smbd = Smbd::start_by(on_machine(&there, "/usr/sbin/smbd"), place.path(), (at, port), (&old, ""));
    let mut account = on_machine(&there, "smbpasswd");
    account.args(["-L", "-s", "-a", "-c"]).arg(place.path().join("smb.conf")).arg("museum");
    let mut child = account.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"secret\nsecret\n").unwrap();
    assert!(child.wait().unwrap().success(), "smbpasswd");

    let copy = top.path().join("copy");
    fs::create_dir(&copy).unwrap();
    let mut migrate = on_machine(&here, env!("CARGO_BIN_EXE_fourfold"));
    let output =
        migrate.args(["migrate", &format!("smb://{at}:{port}/archive")]).arg(&copy).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // smbd shows S-1-5-21-…, which is no number; the name that it has for it is asked for.
    assert_eq!(fs::metadata(copy.join("letter")).unwrap().uid(), 5151, "{said}");
}

#[test]
fn folders_of_this_machine_keep_all_rights() {
    if !is_root() {
        println!("skipped: not root");
        return;
    }
    let top = tempfile::tempdir().unwrap();
    let (old, copy) = (top.path().join("old"), top.path().join("copy"));
    fs::create_dir_all(old.join("plans")).unwrap();
    fs::create_dir(&copy).unwrap();
    fs::write(old.join("tool"), "tool").unwrap();
    fs::write(old.join("plans/house"), "house").unwrap();
    chown(old.join("tool"), Some(1234), Some(2345)).unwrap();
    set_mode(&old.join("tool"), 0o4750);
    chown(old.join("plans"), None, Some(2345)).unwrap();
    set_mode(&old.join("plans"), 0o2770);
    let access =
        posix_acl(&[(0x01, 6, NONE), (0x02, 4, 12_345), (0x04, 0, NONE), (0x10, 4, NONE), (0x20, 0, NONE)]);
    let default =
        posix_acl(&[(0x01, 7, NONE), (0x04, 5, NONE), (0x08, 7, 3456), (0x10, 7, NONE), (0x20, 0, NONE)]);
    let has_acls = setxattr(old.join("plans/house"), "system.posix_acl_access", &access, XattrFlags::empty())
        .and_then(|()| setxattr(old.join("plans"), "system.posix_acl_default", &default, XattrFlags::empty()))
        .is_ok();
    let report = report("077", &["migrate", old.to_str().unwrap(), copy.to_str().unwrap()]);
    assert_eq!(rights(&report, "replaced"), [""; 0], "{report:#}");
    let tool = fs::metadata(copy.join("tool")).unwrap();
    assert_eq!((tool.uid(), tool.gid(), tool.mode() & 0o7777), (1234, 2345, 0o4750));
    let plans = fs::metadata(copy.join("plans")).unwrap();
    assert_eq!((plans.gid(), plans.mode() & 0o7777), (2345, 0o2770));
    if has_acls {
        assert_eq!(attribute(&copy.join("plans/house"), "system.posix_acl_access"), Some(access));
        assert_eq!(attribute(&copy.join("plans"), "system.posix_acl_default"), Some(default));
    }
}

#[test]
fn where_the_source_is_silent_the_umask_decides() {
    let (top, share) = folder();
    let server = Server::start_with_afp(top.path(), &share);
    let old = top.path().join("old");
    fs::create_dir(&old).unwrap();
    fs::write(old.join("secret"), "secret").unwrap();
    set_mode(&old.join("secret"), 0o600);
    // To a server and back: nothing is opened on the way.
    let nfs = format!("nfs://127.0.0.1:{0}/share?mountport={0}&uid=1000&gid=1000", server.port);
    let copy = top.path().join("copy");
    fs::create_dir(&copy).unwrap();
    report("022", &["cp", old.join("secret").to_str().unwrap(), &nfs]);
    assert_eq!(mode(&share.join("secret")), 0o600);
    report(
        "022",
        &[
            "cp",
            &format!("nfs://127.0.0.1:{0}/share/secret?mountport={0}&uid=1000&gid=1000", server.port),
            copy.to_str().unwrap(),
        ],
    );
    assert_eq!(mode(&copy.join("secret")), 0o600);
    let smb = format!(
        "smb://{}:{}@127.0.0.1:{}/share",
        crate::robustness::server::USER.0,
        crate::robustness::server::USER.1,
        server.smb_port
    );
    fs::remove_file(share.join("secret")).unwrap();
    report("022", &["cp", old.join("secret").to_str().unwrap(), &smb]);
    assert_eq!(mode(&share.join("secret")) & 0o077, 0);
}
