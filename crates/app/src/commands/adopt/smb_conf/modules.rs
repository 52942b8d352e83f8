//! `vfs objects`: the modules of smbd, and how they store what Macs keep beside a file.

use super::catia;
use super::work::Work;
use crate::commands::adopt::share::words;

/// What a module does to access.
enum Effect {
    /// Nothing, or the server does the same.
    None(&'static str),
    /// It limits access.
    Limit(&'static str),
}

/// The modules of Samba 4.17, sorted by what they do.
const MODULES: &[(Effect, &[&str])] = &[
    (
        Effect::None("the server does what it does"),
        &["catia", "fruit", "streams_xattr", "acl_xattr", "streams_depot", "readdir_attr", "btrfs", "fileid"],
    ),
    (
        Effect::None("it is about speed and storage"),
        &[
            "aio_fork",
            "aio_linux",
            "aio_posix",
            "aio_pthread",
            "aio_ratelimit",
            "io_uring",
            "cacheprime",
            "commit",
            "default_quota",
            "dirsort",
            "fake_dfq",
            "linux_xfs_sgid",
            "offline",
            "posix_eadb",
            "prealloc",
            "preopen",
            "readahead",
            "syncops",
            "time_audit",
            "gpfs",
            "hpuxacl",
            "smb_traffic_analyzer",
            "notify_fam",
            "posixacl",
        ],
    ),
    (
        Effect::None("the server has its own log of what clients do: `audit`"),
        &["audit", "extd_audit", "full_audit"],
    ),
    (
        Effect::None("removed files are removed: a recycle folder that is there is a folder"),
        &["recycle", "crossrename", "trash"],
    ),
    (
        Effect::None("the server shows snapshots itself: `snapshot-folder`"),
        &["shadow_copy", "shadow_copy2", "snapper", "shell_snap", "ceph_snapshots"],
    ),
    (
        Effect::None(
            "it is about programs of video studios, and leaves names of other clients out of listings",
        ),
        &["media_harmony"],
    ),
    (
        Effect::None("it gives rights or paths only, and these are not given"),
        &["widelinks", "fake_perms", "expand_msdfs"],
    ),
    (Effect::Limit("files are not kept from changes after a time"), &["worm"]),
    (Effect::Limit("the share is not read-only at some times"), &["readonly"]),
    (
        Effect::Limit("files are not looked at for viruses"),
        &["virusfilter", "vscan", "clamav", "scannedonly"],
    ),
    (Effect::Limit("its ACLs are in a database that is not read"), &["acl_tdb", "xattr_tdb"]),
    (
        Effect::Limit("its ACLs are not read"),
        &["nfs4acl_xattr", "zfsacl", "aixacl", "aixacl2", "solarisacl", "tru64acl", "afsacl"],
    ),
    (
        Effect::Limit("the files are elsewhere"),
        &["ceph", "ceph_new", "glusterfs", "glusterfs_fuse", "netatalk", "cap"],
    ),
];

pub(super) fn translate(work: &mut Work<'_>) {
    let modules = words(work.of.list("vfs objects").unwrap_or_default());
    let (mut limits, mut said) = (Vec::new(), Vec::new());
    for module in &modules {
        // `full_audit:two` is a second one of `full_audit`.
        let name = module.split(':').next().unwrap_or_default().to_lowercase();
        match MODULES.iter().find(|(_, names)| names.contains(&&*name)) {
            Some((Effect::None(why), _)) => said.push(format!("{module}: {why}")),
            Some((Effect::Limit(why), _)) => limits.push(format!("{module}: {why}")),
            None => limits.push(format!("{module}: what it does is not known")),
        }
    }
    match limits.is_empty() {
        true => work.no_effect("vfs objects", said.join("; ")),
        false => work.lost("vfs objects", "vfs-objects", limits.join("; ")),
    }
    layout(work, &modules);
}

/// How Samba stores what Macs keep beside a file.
fn layout(work: &mut Work<'_>, modules: &[String]) {
    let of = work.of;
    let has = |name: &str| modules.iter().any(|module| module.eq_ignore_ascii_case(name));
    let (metadata, resource) = (of.value("fruit:metadata"), of.value("fruit:resource"));
    let both = (has("streams_xattr"), has("fruit"));
    let layout = match both {
        (true, true) if metadata == Some("stream") && resource == Some("stream") => "samba-streams",
        (true, false) => "samba-streams",
        (true, true) => "samba",
        (false, _) => "",
    };
    if !layout.is_empty() {
        work.share.set_text("mac-layout", layout);
        for name in ["fruit:metadata", "fruit:resource"] {
            work.to(name, format!("mac-layout = {layout:?}"));
        }
    }
    if layout == "samba" && (metadata == Some("stream") || matches!(resource, Some("stream" | "xattr"))) {
        for name in ["fruit:metadata", "fruit:resource"] {
            work.kept(
                name,
                "what has something keeps its layout; elsewhere Finder info goes to user.org.netatalk.Metadata and forks to ._name",
            );
        }
    }
    names(work, has("fruit"), has("catia"));
}

/// How characters that Windows forbids are stored, and what clients see of them.
fn names(work: &mut Work<'_>, has_fruit: bool, has_catia: bool) {
    let of = work.of;
    let is_native = of.value("fruit:encoding").is_some_and(|value| value.eq_ignore_ascii_case("native"));
    let table = of.list("catia:mappings").filter(|_| has_catia);
    let is_private = has_fruit && !is_native && !table.is_some_and(catia::is_native);
    if is_private {
        work.share.set_text("name-encoding", "private");
        work.to("fruit:encoding", "name-encoding = \"private\"");
    }
    match (of.list("catia:mappings"), table) {
        (Some(_), _) if has_fruit && is_native => {
            work.no_effect("catia:mappings", "fruit:encoding = native puts a table of its own in its place");
        }
        (_, Some(table)) => catia::translate(work, table, is_private),
        (Some(_), None) => work.no_effect("catia:mappings", "`vfs objects` has no catia"),
        (None, None) => {}
    }
}
