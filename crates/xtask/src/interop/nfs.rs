//! NFS clients: libnfs's tools and our programs with it, the crate nfs3_client, qemu, showmount,
//! rpcinfo, the kernel's.

mod kerberos;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use super::nfs3_client;
use super::outcome::{Outcome, Outcomes};
use crate::process::{self, Running};
use crate::server::{self, Server, ServerOptions, UID};
use crate::{ganesha, isolate, loader, ports};

const LIMIT: Duration = Duration::from_secs(60);

/// The tests in three arrangements of ports: ours alone, the standard ones, and beside a running rpcbind.
pub fn run(outcomes: &mut Outcomes) -> Result<()> {
    let place = NfsPlace::new()?;
    let server = place.server("off", ports::free_port()?)?;
    outcomes.run("fourfold: prints whole mount lines", &[], || greeting(&server));
    any_ports(outcomes, &place, &server);
    drop(server);
    kerberos::run(outcomes);
    standard_ports(outcomes, &place)?;
    beside_rpcbind(outcomes, &place)
}

/// The part that any server passes. It is used for the peer.
pub fn run_on_peer(outcomes: &mut Outcomes) -> Result<()> {
    let place = NfsPlace::new()?;
    let _rpcbind = if isolate::is_isolated() { Some(rpcbind()?) } else { None };
    let server = ganesha::start(&place.share, Path::new("target/interop-nfs/ganesha"))?;
    any_ports(outcomes, &place, &server);
    if isolate::is_isolated() {
        by_portmapper(outcomes, &place, server.address.nfs_port);
    }
    Ok(())
}

/// Clients that accept the ports as options.
fn any_ports(outcomes: &mut Outcomes, place: &NfsPlace, server: &Server) {
    libnfs_utils(outcomes, place, server);
    program(outcomes, "files", "files", server, &[]);
    libnfs_version_4(outcomes, place, server);
    many_clients(outcomes, place, server);
    let nlm_port = server.address.nfs_port.to_string();
    program(outcomes, "lock", "lock", server, &["--nlm-port", &nlm_port]);
    if isolate::is_isolated() {
        program(outcomes, "grant", "lock", server, &["--nlm-port", &nlm_port, "--callback", "yes"]);
    } else {
        outcomes.skip("grant", "needs port 111 of a network of its own, which root has");
    }
    nfs3_client::run(outcomes, &server.address);
    kernel(outcomes, place, server);
}

/// The mount commands for Linux and macOS that users copy from the terminal, with this port.
fn greeting(server: &Server) -> Result<()> {
    let lines: Vec<&String> = server.greeting.iter().filter(|line| line.contains("mount")).collect();
    let port = server.address.nfs_port.to_string();
    ensure!(
        lines.len() >= 2 && lines.iter().all(|line| line.contains(&port)),
        "it prints {:?}",
        server.greeting
    );
    Ok(())
}

/// The uid in URLs.
fn uid() -> u32 {
    if process::is_root() { UID } else { rustix::process::getuid().as_raw() }
}

/// The folders of one run.
struct NfsPlace {
    share: PathBuf,
    state: PathBuf,
    local: PathBuf,
}

impl NfsPlace {
    fn new() -> Result<Self> {
        let folder = process::fresh_folder("interop-nfs")?;
        let place =
            Self { share: folder.join("share"), state: folder.join("state"), local: folder.join("local") };
        for folder in [&place.share, &place.state, &place.local] {
            fs::create_dir_all(folder)?;
        }
        if process::is_root() {
            chown(&place.share, Some(UID), Some(UID))?;
        }
        Ok(place)
    }

    fn server(&self, portmap_port: &str, nfs_port: u16) -> Result<Server> {
        server::ours(&ServerOptions { share: &self.share, state: &self.state, portmap_port, nfs_port })
    }

    /// A file of the share with that content. The clients may change it.
    fn file(&self, name: &str, content: &[u8]) -> Result<PathBuf> {
        let path = self.share.join(name);
        fs::write(&path, content)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666))?;
        Ok(path)
    }
}

/// Bytes that depend on the position.
fn content(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i ^ (i >> 8) ^ (i >> 16)) as u8).collect()
}

/// The server's address in the form for libnfs's tools.
fn url(server: &Server, path: &str) -> String {
    format!("{}&uid={}&gid={}", server.address.url(path), uid(), uid())
}

fn path_text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn libnfs_utils(outcomes: &mut Outcomes, place: &NfsPlace, server: &Server) {
    outcomes.run("nfs-ls: lists a share", &["nfs-ls"], || {
        place.file("listed", b"12345")?;
        let text = process::stdout_of("nfs-ls", &[&url(server, "")], LIMIT)?;
        let line = text.lines().find(|line| line.ends_with(" listed")).with_context(|| text.clone())?;
        ensure!(line.starts_with("-rw-rw-rw-") && line.contains(" 5 "), "it says {line:?}");
        Ok(())
    });
    outcomes.run("nfs-ls: lists a folder below the share", &["nfs-ls"], || {
        fs::create_dir_all(place.share.join("sub/deeper"))?;
        fs::write(place.share.join("sub/deeper/file"), "x")?;
        let text = process::stdout_of("nfs-ls", &[&url(server, "/sub/deeper")], LIMIT)?;
        ensure!(text.trim_end().ends_with(" file"), "it says {text:?}");
        Ok(())
    });
    outcomes.run("nfs-ls: a share that is not there is refused", &["nfs-ls"], || {
        let wrong = url(server, "").replace("/share?", "/other?");
        ensure!(!process::output("nfs-ls", &[&wrong], LIMIT)?.status.success(), "it succeeds");
        Ok(())
    });
    outcomes.run("nfs-cat: reads byte for byte", &["nfs-cat"], || {
        let wanted = content(3 << 20);
        place.file("cat", &wanted)?;
        let got = process::output("nfs-cat", &[&url(server, "/cat")], LIMIT)?.stdout;
        ensure!(got == wanted, "{} bytes of {} that differ", got.len(), wanted.len());
        Ok(())
    });
    outcomes.run("nfs-cp: to the share", &["nfs-cp"], || {
        let (from, wanted) = (place.local.join("from"), content(33 << 20 | 12345));
        fs::write(&from, &wanted)?;
        process::stdout_of("nfs-cp", &[&path_text(&from), &url(server, "/größe copied")], LIMIT)?;
        ensure!(fs::read(place.share.join("größe copied"))? == wanted, "the file on the disk differs");
        Ok(())
    });
    outcomes.run("nfs-cp: from the share", &["nfs-cp"], || {
        let (to, wanted) = (place.local.join("to"), content(33 << 20 | 54321));
        place.file("source", &wanted)?;
        process::stdout_of("nfs-cp", &[&url(server, "/source"), &path_text(&to)], LIMIT)?;
        ensure!(fs::read(to)? == wanted, "the copy differs");
        Ok(())
    });
}

/// libnfs 4 has version 4.0. Its nfs-cp copies nothing over it: it never asks how much it may read or write at once.
fn libnfs_version_4(outcomes: &mut Outcomes, place: &NfsPlace, server: &Server) {
    let url = |path: &str| url(server, path).replace("version=3", "version=4");
    outcomes.run("nfs-ls: lists a folder over version 4", &["nfs-ls"], || {
        fs::create_dir_all(place.share.join("sub/four"))?;
        fs::write(place.share.join("sub/four/file"), "four")?;
        let text = process::stdout_of("nfs-ls", &[&url("/sub/four")], LIMIT)?;
        let line = text.trim_end();
        ensure!(line.ends_with(" file") && line.contains(" 4 "), "it says {text:?}");
        Ok(())
    });
    outcomes.run("nfs-cat: reads byte for byte over version 4", &["nfs-cat"], || {
        let wanted = content(12345);
        place.file("cat4", &wanted)?;
        let got = process::output("nfs-cat", &[&url("/cat4")], LIMIT)?.stdout;
        ensure!(got == wanted, "{} bytes of {} that differ", got.len(), wanted.len());
        Ok(())
    });
    program(outcomes, "files4", "files", server, &["--version", "4"]);
}

/// One of our programs. Its lines are outcomes of their own. An outcome with its name tells whether
/// it came to its end.
fn program(outcomes: &mut Outcomes, name: &str, source: &str, server: &Server, more: &[&str]) {
    let mut text = String::new();
    outcomes.run(name, &["cc"], || {
        let (address, uid) = (&server.address, uid().to_string());
        let (nfs, mount) = (address.nfs_port.to_string(), address.mount_port.to_string());
        let mut args = vec!["--export", &address.export, "--nfs-port", &nfs, "--mount-port", &mount];
        args.extend(["--uid", &uid, "--gid", &uid]);
        args.extend(more);
        let output = process::output(loader::compile(source)?, &args, LIMIT)?;
        text = String::from_utf8_lossy(&output.stdout).into_owned();
        ensure!(
            output.status.success(),
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
        Ok(())
    });
    outcomes.add_lines(name, &text);
}

/// Runs the load program as a test of correctness: every byte is counted and compared on the disk.
fn many_clients(outcomes: &mut Outcomes, place: &NfsPlace, server: &Server) {
    let run = |args: &str| {
        let mut args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        args.extend(loader::nfs_options(&server.address));
        loader::load(&loader::compile("load")?, &args, server.running.pid())
    };
    outcomes.run("load: 10 clients write at depth 8", &["cc"], || {
        for client in 0..10 {
            place.file(&format!("load.{client}"), b"")?;
        }
        run("write --file load --clients 10 --depth 8 --size 8388608 --block 65536")?;
        for client in 0..10_u8 {
            let bytes = fs::read(place.share.join(format!("load.{client}")))?;
            ensure!(bytes.len() == 8 << 20, "client {client}: {} bytes", bytes.len());
            ensure!(bytes.iter().all(|byte| *byte == b'a' + client), "client {client}: wrong bytes");
        }
        Ok(())
    });
    outcomes.run("load: 10 clients read at depth 8", &["cc"], || {
        run("read --file load --clients 10 --depth 8 --size 8388608 --block 65536").map(drop)
    });
    outcomes.run("load: 5 clients create, write, commit", &["cc"], || {
        run("commit --file made --clients 5 --count 40 --block 4096").map(drop)
    });
    outcomes
        .run("load: 5 clients stat", &["cc"], || run("stat --file made --clients 5 --count 40").map(drop));
    outcomes.run("load: 5 clients remove", &["cc"], || {
        run("remove --file made --clients 5 --count 40").map(drop)
    });
    outcomes.run("load: READDIRPLUS of 10,000 entries", &["cc"], || {
        fs::create_dir(place.share.join("many"))?;
        for entry in 0..10_000 {
            fs::write(place.share.join(format!("many/{entry:05}")), "")?;
        }
        run("list --file many --count 10000 --block 8192 --passes 2").map(drop)
    });
    outcomes.run("load: 1,000 idle connections", &["cc"], || run("idle --count 1000").map(drop));
}

/// The Linux client, if this kernel has it.
fn kernel(outcomes: &mut Outcomes, place: &NfsPlace, server: &Server) {
    let name = "linux: mounts, writes, renames, lists";
    let has_nfs = || fs::read_to_string("/proc/filesystems").is_ok_and(|text| text.contains("\tnfs\n"));
    if !process::is_root() {
        return outcomes.skip(name, "only root mounts");
    }
    if !has_nfs() {
        let _ = process::output("modprobe", &["nfs"], LIMIT);
    }
    if !has_nfs() {
        return outcomes.skip(name, "this kernel has no NFS client");
    }
    outcomes.run(name, &["mount.nfs"], || {
        let (at, port) = (place.local.join("mnt"), server.address.nfs_port);
        fs::create_dir_all(&at)?;
        let options = format!("vers=3,proto=tcp,mountproto=tcp,port={port},mountport={port},nolock");
        let mount = ["-t", "nfs", "-o", &options, "127.0.0.1:/share", &path_text(&at)];
        process::stdout_of("mount", &mount, LIMIT)?;
        let outcome = use_mounted(&at);
        process::stdout_of("umount", &[&path_text(&at)], LIMIT)?;
        outcome
    });
}

fn use_mounted(at: &Path) -> Result<()> {
    let (first, second, wanted) = (at.join("kernel"), at.join("kernel renamed"), content(5 << 20));
    fs::write(&first, &wanted)?;
    fs::rename(&first, &second)?;
    ensure!(fs::read(&second)? == wanted, "the content differs");
    ensure!(
        fs::read_dir(at)?.flatten().any(|entry| entry.file_name() == "kernel renamed"),
        "it is not listed"
    );
    fs::remove_file(&second)?;
    Ok(())
}

const ON_STANDARD_PORTS: &[&str] = &[
    "showmount: -e",
    "rpcinfo: -p lists our programs",
    "rpcinfo: NFS over TCP",
    "rpcinfo: NFS over UDP",
    "rpcinfo: NLM over UDP",
    "nfs-ls: finds the ports itself",
    "qemu-img: create",
    "qemu-io: write, flush, read",
    "qemu-img: check",
    "qemu-img: convert",
];

/// Clients that can only use the standard ports.
fn standard_ports(outcomes: &mut Outcomes, place: &NfsPlace) -> Result<()> {
    if !isolate::is_isolated() {
        for name in ON_STANDARD_PORTS {
            outcomes.skip(name, "needs ports 111 and 2049 of a network of its own, which root has");
        }
        return Ok(());
    }
    let _server = place.server("111", 2049)?;
    by_portmapper(outcomes, place, 2049);
    Ok(())
}

/// Clients that find everything through the portmapper.
fn by_portmapper(outcomes: &mut Outcomes, place: &NfsPlace, nfs_port: u16) {
    outcomes.run("showmount: -e", &["showmount"], || {
        let text = process::stdout_of("showmount", &["-e", "127.0.0.1"], LIMIT)?;
        ensure!(text.lines().any(|line| line.starts_with("/share ")), "it says {text:?}");
        Ok(())
    });
    outcomes.run("rpcinfo: -p lists our programs", &["rpcinfo"], || programs(nfs_port));
    for (name, transport, program, version) in [
        ("rpcinfo: NFS over TCP", "tcp", "100003", "3"),
        ("rpcinfo: NFS over UDP", "udp", "100003", "3"),
        ("rpcinfo: NLM over UDP", "udp", "100021", "4"),
    ] {
        outcomes.run(name, &["rpcinfo"], || {
            process::stdout_of("rpcinfo", &["-T", transport, "127.0.0.1", program, version], LIMIT).map(drop)
        });
    }
    outcomes.run("nfs-ls: finds the ports itself", &["nfs-ls"], || {
        let text = process::stdout_of("nfs-ls", &["nfs://127.0.0.1/share"], LIMIT)?;
        ensure!(text.contains(" listed"), "it says {text:?}");
        Ok(())
    });
    qemu(outcomes, place);
}

/// `rpcinfo -p` shows NFS 3, MOUNT 1 and 3, NLM 4 and NSM 1 over both transports, NFS at that port.
fn programs(nfs_port: u16) -> Result<()> {
    let text = process::stdout_of("rpcinfo", &["-p", "127.0.0.1"], LIMIT)?;
    let rows: Vec<Vec<&str>> = text.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let nfs_port = nfs_port.to_string();
    for (program, version) in
        [("100003", "3"), ("100005", "1"), ("100005", "3"), ("100021", "4"), ("100024", "1")]
    {
        for transport in ["tcp", "udp"] {
            let row = rows.iter().find(|row| row.starts_with(&[program, version, transport]));
            let row = row.with_context(|| format!("no {program} {version} {transport} in:\n{text}"))?;
            ensure!(program != "100003" || row[3] == nfs_port, "NFS is said to be at port {}", row[3]);
        }
    }
    Ok(())
}

fn qemu(outcomes: &mut Outcomes, place: &NfsPlace) {
    // qemu finds the ports through the portmapper. Its URLs accept uid and gid, too.
    let of = |name: &str| format!("nfs://127.0.0.1/share/{name}?uid={}&gid={}", uid(), uid());
    let disk = of("disk.qcow2");
    outcomes.run("qemu-img: create", &["qemu-img"], || {
        process::stdout_of("qemu-img", &["create", "-f", "qcow2", &disk, "64M"], LIMIT)?;
        ensure!(fs::read(place.share.join("disk.qcow2"))?.starts_with(b"QFI\xfb"), "no image on the disk");
        Ok(())
    });
    outcomes.run("qemu-io: write, flush, read", &["qemu-io"], || {
        let write =
            ["-f", "qcow2", "-c", "write -P 0x5a 1M 2M", "-c", "flush", "-c", "read -P 0x5a 1M 2M", &disk];
        let text = process::stdout_of("qemu-io", &write, LIMIT)?;
        ensure!(text.contains("read 2097152/2097152 bytes") && !text.contains("failed"), "it says {text}");
        Ok(())
    });
    outcomes.run("qemu-img: check", &["qemu-img"], || {
        process::stdout_of("qemu-img", &["check", "-f", "qcow2", &disk], LIMIT).map(drop)
    });
    outcomes.run("qemu-img: convert", &["qemu-img"], || {
        let (copy, raw) = (of("disk.raw"), place.local.join("disk.raw"));
        process::stdout_of("qemu-img", &["convert", "-f", "qcow2", "-O", "raw", &disk, &copy], LIMIT)?;
        process::stdout_of(
            "qemu-img",
            &["convert", "-f", "qcow2", "-O", "raw", &disk, &path_text(&raw)],
            LIMIT,
        )?;
        let bytes = fs::read(raw)?;
        ensure!(
            bytes.len() == 64 << 20 && bytes[1 << 20..3 << 20].iter().all(|byte| *byte == 0x5a),
            "wrong content"
        );
        ensure!(fs::read(place.share.join("disk.raw"))? == bytes, "the copy in the share differs");
        Ok(())
    });
}

fn rpcbind() -> Result<Running> {
    let program = process::find("rpcbind").context("rpcbind is not installed")?;
    let mut running = Running::start(program, &["-f", "-w"], Stdio::null(), Stdio::null())?;
    process::wait_for_port(&mut running, 111, Duration::from_secs(30))?;
    Ok(running)
}

/// With a running rpcbind the server registers there.
fn beside_rpcbind(outcomes: &mut Outcomes, place: &NfsPlace) -> Result<()> {
    let names =
        ["rpcbind: our programs are registered", "rpcbind: showmount -e", "rpcbind: they leave when we stop"];
    if !isolate::is_isolated() || process::find("rpcbind").is_none() {
        for name in names {
            outcomes.skip(name, "needs rpcbind and, to be alone with it, root");
        }
        return Ok(());
    }
    let _rpcbind = rpcbind()?;
    let nfs_port = ports::free_port()?;
    let server = place.server("111", nfs_port);
    let server = match server {
        Ok(server) => server,
        Err(error) => {
            names.iter().for_each(|name| outcomes.add(*name, Outcome::Fail(format!("{error:#}"))));
            return Ok(());
        }
    };
    outcomes.run(names[0], &["rpcinfo"], || programs(nfs_port));
    outcomes.run(names[1], &["showmount"], || {
        let text = process::stdout_of("showmount", &["-e", "127.0.0.1"], LIMIT)?;
        ensure!(text.contains("/share"), "it says {text:?}");
        Ok(())
    });
    drop(server);
    outcomes.run(names[2], &["rpcinfo"], || {
        let text = process::stdout_of("rpcinfo", &["-p", "127.0.0.1"], LIMIT)?;
        ensure!(!text.contains("100003"), "NFS is still listed");
        Ok(())
    });
    Ok(())
}
