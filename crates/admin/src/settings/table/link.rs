//! The settings of the namespace: links to other servers, and sites.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::{Administrator, Host, Operator};
use Kind::{Bool, Duration, File, Networks, OneOf, Text, Texts};
use Table::{Link, Site};

/// In the order of the documentation.
pub(super) const LINK: &[Setting] = &[
    new(Link, "path", Administrator, Text, "\"studio/archive\"").without_default("").says(
        "Where clients see the link: the name of a share, and a path in it.",
        "The server makes it there, and makes it again when it is removed: a symbolic link whose text has the targets, as \
         Samba's `msdfs` has them. Folders on the way are made if they are missing. Any other file of this name stays, and \
         `fourfold namespace list` says so.",
    ),
    new(Link, "targets", Administrator, Texts, "[\"smb://filer2/archive\", \"nfs://filer2/export/archive\"]").without_default("").says(
        "Where the link leads, the preferred target first: folders on other servers, as URLs of smb, nfs and afp.",
        "Clients of SMB are led to the targets of SMB, those of NFSv4 to those of NFS, and those of AFP see a document that \
         opens the first target of AFP, else of SMB. Names with spaces are written with %20. At most 32.",
    ),
    new(Link, "comment", Operator, Text, "\"\"").example("\"Films before 2020\"").says("What the link is for.", ""),
    new(Link, "ttl", Operator, Duration, "\"5 min\"").says(
        "How long clients remember where the link leads.",
        "With `failback` clients go back to a better target after so long.",
    ),
    new(Link, "order", Operator, OneOf(&["listed", "spread"]), "\"listed\"").says(
        "Which of several targets clients take: the first that is up, or all of them in turn.",
        "Targets in the site of the client come first in both.",
    ),
    new(Link, "failback", Operator, Bool, "true").says(
        "Clients that had to take another target go back when a better one is up again.",
        "",
    ),
    new(Link, "check", Operator, Bool, "true").says(
        "The server logs in to each target and lists its folder, every `link-check-interval`.",
        "A target that fails is left out until it works again. Without checks all targets count as up.",
    ),
    new(Link, "credentials", Host, File, "\"/etc/fourfold/filer2.credentials\"").without_default("checks log in as a guest").says(
        "The file with the account for the checks: `username=`, `password=`, as mount.cifs reads it.",
        "Only the server's user should be able to read it. Without it a server that refuses guests still counts as up. NFS needs no account.",
    ),
    new(Site, "name", Administrator, Text, "\"berlin\"").without_default("").says("The name of the site.", "It is the one that Windows clients of a domain send."),
    new(Site, "networks", Administrator, Networks, "[\"10.1.0.0/16\"]").without_default("").says(
        "The networks of its clients; of several sites the one with the smallest network counts.",
        "",
    ),
    new(Site, "servers", Administrator, Texts, "[\"filer2\", \"filer3.example.com\"]").without_default("").says(
        "The servers that are near these clients, by the names that `targets` have.",
        "",
    ),
];
