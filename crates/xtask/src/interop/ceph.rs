//! Clients of shares in a Ceph cluster, which is started for that (`interop/ceph/`): what each protocol sees, and what happens
//! when parts of the cluster fail. And the tests of opens of the crate `vfs`, and of the crate `cephfs`, on CephFS.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};

use super::compiled::{self, TestProgram};
use super::expected::Expectations;
use super::outcome::Outcomes;
use super::smb::python;
use super::{InteropArgs, conclude, prepare};
use crate::{debian, isolate, loader, ports, process, server};

const LIMIT: Duration = Duration::from_secs(180);
/// A Unix user that no other account of this machine has.
const UID: u32 = 61201;
const USER: &str = "ada";
const PASSWORD: &str = "secret";
/// The tests of `vfs`, and the modules of them that run on each backend.
const VFS: TestProgram = TestProgram { folder: "vfs", name: "it" };
const CONFORMANCE: &[&str] =
    &["open", "open_removal", "open_moving", "open_rights", "open_space", "open_forks", "names"];
/// The tests of `cephfs`.
const CEPHFS: TestProgram = TestProgram { folder: "cephfs", name: "evicted" };
/// The tests of ours that run on the file system.
pub const TESTS: &[TestProgram] = &[VFS, CEPHFS];

pub fn run(args: &InteropArgs) -> Result<()> {
    if !isolate::is_isolated()
        && let Err(error) = python::install()
    {
        println!("no Python packages: {error:#}");
    }
    if !isolate::is_isolated() && !args.no_build && args.only.is_empty() {
        compiled::compile(TESTS)?;
    }
    prepare(args, &[debian::CEPH, debian::NFS_CLIENTS].concat(), false)?;
    let mut outcomes = Outcomes::default();
    if !process::is_root() {
        outcomes.skip("ceph", "it needs root, to act as other users");
    } else if !python::is_installed() {
        outcomes.skip("ceph", "its Python packages are not installed");
    } else {
        outcomes.run("ceph", &["ceph-mon", "ceph-osd", "ceph-mds", "cc"], || Ok(()));
        if outcomes.0.iter().all(|(_, outcome)| *outcome == super::outcome::Outcome::Pass) {
            checks(args, &mut outcomes)?;
        }
    }
    let expected = Expectations::read(&process::root().join("interop/ceph/expected.toml"))?.else_pass();
    let is_meant = |name: &str| args.only.is_empty() || outcomes.has(name);
    conclude(args, &expected.retain(is_meant).compare(&outcomes, process::is_ci()))
}

fn checks(args: &InteropArgs, outcomes: &mut Outcomes) -> Result<()> {
    let folder = process::fresh_folder("interop-ceph")?;
    let [settings, state] = ["settings.toml", "state"].map(|name| folder.join(name).display().to_string());
    fs::create_dir_all(folder.join("local"))?;
    std::os::unix::fs::chown(folder.join("local"), Some(UID), Some(UID))?;
    server::add_user(&folder.join("state"), USER, PASSWORD, UID)?;
    let port = || Ok::<_, anyhow::Error>(ports::free_port()?.to_string());
    let (smb, afp, nfs) = (port()?, port()?, port()?);
    let ports = ["--smb-port", &smb, "--afp-port", &afp, "--nfs-port", &nfs];
    let [script, program, nfs3, folder_text] = [
        process::root().join("interop/ceph/checks.py"),
        server::binary(),
        loader::compile_coherence()?,
        folder.clone(),
    ]
    .map(|path| path.display().to_string());
    let uid = UID.to_string();
    let mut words = vec!["-B", &script, "--folder", &folder_text, "--uid", &uid, "--nfs3", &nfs3];
    words.extend(["--user", USER, "--password", PASSWORD]);
    words.extend(ports);
    let conformance = if args.only.is_empty() { conformance()? } else { Vec::new() };
    words.push("--conformance");
    words.extend(conformance.iter().map(String::as_str));
    words.push("--only");
    words.extend(args.only.iter().map(String::as_str));
    words.extend(["--", &program, "serve", "--config", &settings, "--state", &state]);
    words.extend(["--listen", "127.0.0.1", "--nfs-clients", "all"]);
    words.extend(["--iscsi-port", "off", "--portmap-port", "off"]);
    words.extend(ports);
    outcomes.run("checks", &["cc"], || {
        let python = python::program().display().to_string();
        let output = process::output(python, &words, LIMIT)?;
        let errors = String::from_utf8_lossy(&output.stderr);
        fs::write(folder.join("checks.log"), errors.as_bytes())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(output.status.success(), "{}: {}", output.status, errors.trim());
        fs::write(folder.join("outcomes"), text)?;
        Ok(())
    });
    outcomes.add_lines("ceph", &fs::read_to_string(folder.join("outcomes")).unwrap_or_default());
    Ok(())
}

/// What `checks.py` runs over the file system: `name=program`, or `name=program=filter` for one module of its tests.
fn conformance() -> Result<Vec<String>> {
    let vfs = compiled::program(&VFS)?;
    let evicted = format!("{}={}", CEPHFS.name, compiled::program(&CEPHFS)?);
    let modules = CONFORMANCE.iter().map(|module| format!("{module}={vfs}={module}::"));
    Ok(std::iter::once(evicted).chain(modules).collect())
}
