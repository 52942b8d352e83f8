//! The third-party programs that the tests need, and the Debian packages that have them.

use anyhow::Result;

use crate::process;

/// A package, and a file that exists when it is installed.
#[derive(Clone, Copy)]
pub struct Package {
    pub name: &'static str,
    pub shows: &'static str,
}

pub const NFS_CLIENTS: &[Package] = &[
    Package { name: "libnfs-utils", shows: "/usr/bin/nfs-ls" },
    Package { name: "libnfs-dev", shows: "/usr/include/nfsc/libnfs.h" },
    Package { name: "gcc", shows: "/usr/bin/cc" },
    Package { name: "libc6-dev", shows: "/usr/include/stdio.h" },
    Package { name: "qemu-utils", shows: "/usr/bin/qemu-img" },
    Package { name: "nfs-common", shows: "/usr/sbin/showmount" },
    Package { name: "rpcbind", shows: "/usr/sbin/rpcinfo" },
    Package { name: "curl", shows: "/usr/bin/curl" },
    Package { name: "python3-gssapi", shows: "/usr/share/doc/python3-gssapi/copyright" },
    Package { name: "krb5-kdc", shows: "/usr/sbin/krb5kdc" },
    Package { name: "krb5-admin-server", shows: "/usr/sbin/kadmin.local" },
    Package { name: "krb5-user", shows: "/usr/bin/kinit" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// libnfs's programs alone.
pub const NFS_PROGRAMS: &[Package] = &[Package { name: "libnfs-utils", shows: "/usr/bin/nfs-ls" }];

/// qemu's NFS driver is a plug-in whose folder depends on the processor.
const QEMU_NFS: &str = "qemu-block-extra";

/// A cluster without a manager, and the client library.
pub const CEPH: &[Package] = &[
    Package { name: "ceph-mon", shows: "/usr/bin/ceph-mon" },
    Package { name: "ceph-osd", shows: "/usr/bin/ceph-osd" },
    Package { name: "ceph-mds", shows: "/usr/bin/ceph-mds" },
    Package { name: "ceph-fuse", shows: "/usr/bin/ceph-fuse" },
    Package { name: "ceph-common", shows: "/usr/bin/ceph" },
    Package { name: "libcephfs2", shows: "/usr/share/doc/libcephfs2/copyright" },
];

/// What several servers of one tree need, and certificates for them.
pub const CLUSTER: &[Package] = &[
    Package { name: "etcd-server", shows: "/usr/bin/etcd" },
    Package { name: "nftables", shows: "/usr/sbin/nft" },
    Package { name: "openssl", shows: "/usr/bin/openssl" },
    Package { name: "python3-samba", shows: "/usr/share/doc/python3-samba/copyright" },
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "samba-testsuite", shows: "/usr/bin/smbtorture" },
    Package { name: "krb5-kdc", shows: "/usr/sbin/krb5kdc" },
    Package { name: "krb5-admin-server", shows: "/usr/sbin/kadmin.local" },
];

pub const NFS_PEER: &[Package] = &[
    Package { name: "nfs-ganesha", shows: "/usr/bin/ganesha.nfsd" },
    Package { name: "nfs-ganesha-vfs", shows: "/usr/share/doc/nfs-ganesha-vfs/copyright" },
    Package { name: "rpcbind", shows: "/usr/sbin/rpcbind" },
];

pub const SMB_CLIENTS: &[Package] = &[
    Package { name: "samba-testsuite", shows: "/usr/bin/smbtorture" },
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "xorriso", shows: "/usr/bin/xorriso" },
    Package { name: "libnfs-utils", shows: "/usr/bin/nfs-cat" },
    Package { name: "iptables", shows: "/usr/sbin/iptables" },
    Package { name: "btrfs-progs", shows: "/usr/sbin/mkfs.btrfs" },
    // Any ZFS will do.
    Package { name: "zfs-fuse", shows: "/usr/sbin/zfs" },
    Package { name: "wsdd", shows: "/usr/share/doc/wsdd/copyright" },
    Package { name: "krb5-kdc", shows: "/usr/sbin/krb5kdc" },
    Package { name: "krb5-admin-server", shows: "/usr/sbin/kadmin.local" },
    Package { name: "krb5-user", shows: "/usr/bin/kinit" },
    Package { name: "python3-smbc", shows: "/usr/share/doc/python3-smbc/copyright" },
    Package { name: "python3-venv", shows: "/usr/share/doc/python3-venv/copyright" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// For tests of the program that make networks with a fault.
pub const NETWORKS: &[Package] = &[
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "ethtool", shows: "/usr/sbin/ethtool" },
];

/// A domain controller of Samba, and clients with Kerberos.
pub const DOMAIN: &[Package] = &[
    Package { name: "samba", shows: "/usr/sbin/samba" },
    Package { name: "samba-ad-provision", shows: "/usr/share/doc/samba-ad-provision/copyright" },
    Package { name: "samba-dsdb-modules", shows: "/usr/share/doc/samba-dsdb-modules/copyright" },
    Package { name: "winbind", shows: "/usr/sbin/winbindd" },
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "krb5-user", shows: "/usr/bin/kinit" },
    Package { name: "python3-gssapi", shows: "/usr/share/doc/python3-gssapi/copyright" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// In addition to Netatalk's test programs (`interop/afp/suite.rs`).
pub const AFP_CLIENTS: &[Package] = &[
    Package { name: "gvfs-backends", shows: "/usr/share/doc/gvfs-backends/copyright" },
    Package { name: "libglib2.0-bin", shows: "/usr/bin/gio" },
    Package { name: "dbus-daemon", shows: "/usr/bin/dbus-run-session" },
    Package { name: "avahi-daemon", shows: "/usr/sbin/avahi-daemon" },
    Package { name: "avahi-utils", shows: "/usr/bin/avahi-browse" },
    Package { name: "nmap", shows: "/usr/bin/nmap" },
    Package { name: "tshark", shows: "/usr/bin/tshark" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// libiscsi and its programs.
pub const ISCSI_TOOLS: &[Package] = &[Package { name: "libiscsi-bin", shows: "/usr/bin/iscsi-test-cu" }];

pub const ISCSI_CLIENTS: &[Package] = &[
    Package { name: "libiscsi-bin", shows: "/usr/bin/iscsi-test-cu" },
    Package { name: "libiscsi-dev", shows: "/usr/include/iscsi/iscsi.h" },
    Package { name: "gcc", shows: "/usr/bin/cc" },
    Package { name: "libc6-dev", shows: "/usr/include/stdio.h" },
    Package { name: "qemu-utils", shows: "/usr/bin/qemu-img" },
    Package { name: "qemu-block-extra", shows: "/usr/share/doc/qemu-block-extra/copyright" },
    Package { name: "qemu-system-common", shows: "/usr/bin/qemu-storage-daemon" },
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "xfsprogs", shows: "/usr/sbin/mkfs.xfs" },
    Package { name: "btrfs-progs", shows: "/usr/sbin/mkfs.btrfs" },
    Package { name: "ntfs-3g", shows: "/usr/sbin/ntfscp" },
    Package { name: "fuse3", shows: "/usr/bin/fusermount3" },
    Package { name: "dosfstools", shows: "/usr/sbin/mkfs.fat" },
    Package { name: "mtools", shows: "/usr/bin/mcopy" },
    Package { name: "sleuthkit", shows: "/usr/bin/tsk_recover" },
    Package { name: "p7zip-full", shows: "/usr/bin/7z" },
    Package { name: "python3", shows: "/usr/bin/python3" },
    Package { name: "tshark", shows: "/usr/bin/tshark" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// To pack the program, and to install it in a copy of this machine.
pub const PACKAGING: &[Package] = &[
    Package { name: "binutils", shows: "/usr/bin/strip" },
    Package { name: "dpkg", shows: "/usr/bin/dpkg-deb" },
    Package { name: "init-system-helpers", shows: "/usr/bin/deb-systemd-helper" },
    Package { name: "systemd", shows: "/usr/bin/systemd-analyze" },
    Package { name: "man-db", shows: "/usr/bin/man" },
    Package { name: "rpm", shows: "/usr/bin/rpm" },
    Package { name: "fish", shows: "/usr/bin/fish" },
    Package { name: "zsh", shows: "/usr/bin/zsh" },
    Package { name: "libnfs-utils", shows: "/usr/bin/nfs-ls" },
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// A virtual machine with Linux's own iSCSI initiator.
pub const LINUX_GUEST: &[Package] = &[
    Package { name: "qemu-system-x86", shows: "/usr/bin/qemu-system-x86_64" },
    Package { name: "seabios", shows: "/usr/share/seabios/bios-256k.bin" },
    Package { name: "busybox-static", shows: "/usr/share/doc/busybox-static/copyright" },
    Package { name: "kmod", shows: "/usr/sbin/depmod" },
    Package { name: "open-iscsi", shows: "/usr/sbin/iscsiadm" },
    Package { name: "sg3-utils", shows: "/usr/bin/sg_inq" },
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "util-linux", shows: "/usr/sbin/fstrim" },
];

/// A virtual machine with Linux's file clients.
pub const LINUX_FILES: &[Package] = &[
    Package { name: "qemu-system-x86", shows: "/usr/bin/qemu-system-x86_64" },
    Package { name: "seabios", shows: "/usr/share/seabios/bios-256k.bin" },
    Package { name: "busybox-static", shows: "/usr/share/doc/busybox-static/copyright" },
    Package { name: "kmod", shows: "/usr/sbin/depmod" },
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "gcc", shows: "/usr/bin/cc" },
    Package { name: "libc6-dev", shows: "/usr/include/stdio.h" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// A virtual machine with Debian 13's AppleTalk, and Wireshark.
pub const APPLETALK: &[Package] = &[
    Package { name: "qemu-system-x86", shows: "/usr/bin/qemu-system-x86_64" },
    Package { name: "seabios", shows: "/usr/share/seabios/bios-256k.bin" },
    Package { name: "busybox-static", shows: "/usr/share/doc/busybox-static/copyright" },
    Package { name: "kmod", shows: "/usr/sbin/depmod" },
    Package { name: "debian-archive-keyring", shows: "/usr/share/keyrings/debian-archive-keyring.gpg" },
    Package { name: "tshark", shows: "/usr/bin/tshark" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "nftables", shows: "/usr/sbin/nft" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// The packages on the disk of [`LINUX_FILES`]'s machine. They are not installed here.
pub const LINUX_FILES_GUEST: &[&str] = &[
    "attr",
    "bash",
    "cifs-utils",
    "coreutils",
    "diffutils",
    "findutils",
    "git",
    "grep",
    "keyutils",
    "make",
    "netbase",
    "nfs-common",
    "nfs4-acl-tools",
    "procps",
    "rsync",
    "sed",
    "sqlite3",
    "stress-ng",
    "tar",
    "util-linux",
    "mount",
];

/// The packages on the disk of a virtual machine that reaches LUNs over several paths. They are not installed here.
pub const MULTIPATH_GUEST: &[&str] = &[
    "bash",
    "coreutils",
    "e2fsprogs",
    "findutils",
    "gawk",
    "grep",
    "iproute2",
    "kmod",
    "mount",
    "multipath-tools",
    "open-iscsi",
    "procps",
    "sed",
    "sg3-utils",
    "udev",
    "util-linux",
];

/// For the load program, in addition to libsmb2.
pub const SMB_LOAD: &[Package] = &[
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "gcc", shows: "/usr/bin/cc" },
    Package { name: "libc6-dev", shows: "/usr/include/stdio.h" },
    Package { name: "pkg-config", shows: "/usr/bin/pkg-config" },
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// Local programs that bring modes along (`rights`).
pub const RIGHTS: &[Package] = &[
    Package { name: "rsync", shows: "/usr/bin/rsync" },
    Package { name: "vim", shows: "/usr/bin/vim" },
    Package { name: "tar", shows: "/usr/bin/tar" },
];

pub const SMB_PEER: &[Package] = &[
    Package { name: "samba", shows: "/usr/sbin/smbd" },
    Package { name: "samba-vfs-modules", shows: "/usr/share/doc/samba-vfs-modules/copyright" },
];

/// For an AFP client, and a library that is loaded before afpd's (`netatalk/`).
pub const AFP_PEER: &[Package] =
    &[Package { name: "python3", shows: "/usr/bin/python3" }, Package { name: "gcc", shows: "/usr/bin/cc" }];

/// File systems in files.
pub const IMAGES: &[Package] = &[
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "xfsprogs", shows: "/usr/sbin/mkfs.xfs" },
];

/// For the load program.
pub const ISCSI_LOAD: &[Package] = &[
    Package { name: "libiscsi-dev", shows: "/usr/include/iscsi/iscsi.h" },
    Package { name: "gcc", shows: "/usr/bin/cc" },
    Package { name: "libc6-dev", shows: "/usr/include/stdio.h" },
    Package { name: "e2fsprogs", shows: "/usr/sbin/mkfs.ext4" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

/// Checkers of file systems in disk images.
pub const DISK_IMAGES: &[Package] = &[Package { name: "apfsprogs", shows: "/usr/sbin/apfsck" }];

/// A browser, for the console.
pub const BROWSER: &[Package] = &[
    Package { name: "chromium", shows: "/usr/bin/chromium" },
    Package { name: "xfsprogs", shows: "/usr/sbin/mkfs.xfs" },
    Package { name: "fonts-dejavu-core", shows: "/usr/share/doc/fonts-dejavu-core/copyright" },
    Package { name: "iproute2", shows: "/usr/sbin/ip" },
    Package { name: "smbclient", shows: "/usr/bin/smbclient" },
    Package { name: "util-linux", shows: "/usr/bin/setpriv" },
];

pub const ISCSI_PEER: &[Package] = &[Package { name: "tgt", shows: "/usr/sbin/tgtd" }];

fn is_there(package: &Package) -> bool {
    std::path::Path::new(package.shows).exists()
}

fn has_qemu_nfs() -> bool {
    let Ok(folders) = std::fs::read_dir("/usr/lib") else { return false };
    folders.flatten().any(|folder| folder.path().join("qemu/block-nfs.so").exists())
}

/// The packages that are still missing after trying to install them. Only root can do that, and
/// only with apt-get.
pub fn ensure(packages: &[Package], with_qemu: bool) -> Result<Vec<&'static str>> {
    let missing = missing(packages, with_qemu);
    if missing.is_empty() || !process::is_root() || process::find("apt-get").is_none() {
        return Ok(missing);
    }
    println!("installing {}", missing.join(" "));
    let env = [("DEBIAN_FRONTEND", "noninteractive")];
    let mut args = vec!["install", "-y", "-q", "--no-install-recommends"];
    args.extend(&missing);
    // The lists may be missing or old: fetch them first. The install shows whether it worked.
    let _ = process::run_with("apt-get", &["update", "-q"], &env);
    if let Err(error) = process::run_with("apt-get", &args, &env) {
        println!("{error:#}");
    }
    Ok(self::missing(packages, with_qemu))
}

fn missing(packages: &[Package], with_qemu: bool) -> Vec<&'static str> {
    let mut names: Vec<_> = packages.iter().filter(|p| !is_there(p)).map(|p| p.name).collect();
    if with_qemu && !has_qemu_nfs() {
        names.push(QEMU_NFS);
    }
    names
}
