//! A blank machine for a guide: namespaces for its network, its name, its processes and its file systems.
//!
//! Changes below `/etc`, `/var`, `/root` and `/home` go to memory and are gone afterwards. `/srv` is an empty XFS, which has attributes,
//! access control lists and snapshots. The only network is a cable to another machine ([`HOSTS`]),
//! which is a network namespace over the same file systems. Programs of the guide that need a real machine are replaced ([`PROGRAMS`]).

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// The addresses of the network and their names: the machine of the guide, and another one behind a cable.
const HOSTS: &str = "192.168.1.10 server\n192.168.1.20 old\n";

/// Programs of the guide's machine. The first lines of `systemctl` and `apt` say what they stand for.
const PROGRAMS: &[(&str, &str)] = &[
    ("sudo", "exec \"$@\""),
    ("on-old", "exec ip netns exec old \"$@\""), // a command of the other machine
    ("refused", r#"if "$@"; then echo "not refused: $*" >&2; exit 1; fi"#), // a command that must fail, among hidden ones
    (
        "systemctl", // the service of the package: it has started when the server says so
        r#"log=/var/log/fourfold.log pid=/run/fourfold.pid
is_up() { [ -e $pid ] && grep -q '^State:.[^Z]' "/proc/$(cat $pid)/status" 2>/dev/null; }
stop() {
    is_up || return 0
    kill "$(cat $pid)"
    while is_up; do sleep 0.05; done
}
start() {
    : >$log
    setsid fourfold serve --config /etc/fourfold/fourfold.toml >$log 2>&1 </dev/null &
    echo $! >$pid
    until grep -q '^ready' $log; do
        is_up || { cat $log; exit 1; }
        sleep 0.05
    done
}
[ "$2" = fourfold ] || { echo "no service $2" >&2; exit 5; }
case $1 in
    start) is_up || start ;;
    stop) stop ;;
    restart) stop; start ;;
    reload) kill -HUP "$(cat $pid)" ;;
    is-active) if is_up; then echo active; else echo inactive; exit 3; fi ;;
    *) echo "systemctl $1 is not made for guides" >&2; exit 1 ;;
esac"#,
    ),
    ("journalctl", "cat /var/log/fourfold.log"),
    (
        "apt", // installs our package: the settings, unless there are some, and the service, which starts anew
        r#"[ "$1" = install ] || exit 1
mkdir -p /etc/fourfold
[ -e /etc/fourfold/fourfold.toml ] || cp "$GUIDE_SETTINGS" /etc/fourfold/fourfold.toml
exec systemctl restart fourfold"#,
    ),
];

/// What root does before the first command.
const MACHINE: &str = r#"set -e
place=$1; shift
hostname server
ip link set lo up
ip link add eth0 type veth peer name eth1
ip link set eth0 up
ip address add 192.168.1.10/24 dev eth0
ip route add default via 192.168.1.20 dev eth0
mount -t tmpfs tmpfs /run
ip netns add old
ip link set eth1 netns old
ip -n old address add 192.168.1.20/24 dev eth1
ip -n old link set eth1 up
ip -n old link set lo up
for folder in etc var root home; do
    mkdir -p /run/changes/$folder /run/work/$folder
    mount -t overlay overlay -o lowerdir=/$folder,upperdir=/run/changes/$folder,workdir=/run/work/$folder /$folder
done
[ "$(stat --file-system --format %T /var)" = overlayfs ] && [ "$(stat --file-system --format %T /etc)" = overlayfs ]
rm -rf /var/lib/fourfold /etc/fourfold # what this machine has is below, and stays
mkdir -p /srv
mount -o loop "$place/srv.image" /srv
rm -f "$place/srv.image"
cp "$place/hosts" /etc/hosts
mkdir -p /root/guide
cd /root/guide
export HOME=/root PATH="$place/bin:$PATH:/usr/sbin:/sbin"
exec "$@""#;

/// Plays a guide on a machine of its own with this program.
pub fn play_in(name: &str, program: &Path, show: bool) -> Result<()> {
    let place = process::fresh_folder(&format!("docs-guides/{name}"))?;
    make_programs(&place.join("bin"), program)?;
    fs::write(place.join("hosts"), HOSTS)?;
    let image = place.join("srv.image");
    fs::File::create(&image)?.set_len(400 << 20)?;
    process::run("mkfs.xfs", &["-q", &image.to_string_lossy()])?;
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]);
    command.args(["sh", "-c", MACHINE, "guide"]).arg(&place);
    command.arg(std::env::current_exe()?).args(["docs", "guides", "--inside", name]);
    command.args(show.then_some("--show"));
    command.env("GUIDE_SETTINGS", process::root().join("packaging/fourfold.toml"));
    // What the user of this machine has set is not so on a blank one.
    for variable in ["FOURFOLD_LOG", "FOURFOLD_USER", "COLUMNS", "LANGUAGE"] {
        command.env_remove(variable);
    }
    let status = command.env("LC_ALL", "C.UTF-8").status().context("cannot start unshare")?;
    if !status.success() {
        bail!("{status}; the log is in {}", place.display());
    }
    Ok(())
}

fn make_programs(bin: &Path, program: &Path) -> Result<()> {
    fs::create_dir_all(bin)?;
    symlink(program, bin.join("fourfold"))?;
    for (name, text) in PROGRAMS {
        let path = bin.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n"))?;
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}
