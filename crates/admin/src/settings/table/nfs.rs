//! The settings of `[server]` for NFS.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::nfs::VERSIONS;
use super::super::setting::{Setting, Table, new, port};

use Authority::{Administrator, Operator};
use Kind::SomeOf;
use Table::Server;

/// The port of NFS.
pub(super) const PORT: &[Setting] = &[port("nfs-port", "2049", "2049 for root, else 12049").says(
    "Port for NFS, MOUNT, NLM and NSM, over TCP and UDP; 0 picks a free one, off turns it off.",
    "One open port is enough for a client that is told so (`port=N,mountport=N`).",
)];

/// The port of portmap, which clients of NFSv3 ask.
pub(super) const PORTMAP_PORT: &[Setting] = &[port("portmap-port", "111", "111 for root, else 10111").says(
    "Port for portmap (rpcbind); 0 picks a free one, off turns it off.",
    "Clients that are not told a port ask here. Where a rpcbind runs already, the server registers with it \
         instead. Kernel clients ask port 111 and no other for the lock service.",
)];

/// What else there is, in the order of the documentation.
pub(super) const SERVER: &[Setting] = &[
    new(Server, "nfs-versions", Operator, SomeOf(VERSIONS), "[\"3\", \"4.0\", \"4.1\", \"4.2\"]").says(
        "The versions of NFS that are served.",
        "A client that asks for another one is told which there are. docs/nfs.md says what each of them can do.",
    ),
    new(Server, "nfs-clients", Administrator, Kind::ClientsOrAll, "[\"192.168.1.0/24\"]")
        .without_default("all hosts for shares that are open to guests, none for others")
        .flag("nfs-clients", "HOSTS")
        .says(
            "The hosts that NFS serves without a login, in shares without `[[share.client]]`: networks, addresses, names, or all.",
            "Without Kerberos a client states its users' numbers, and the server believes it: name only hosts that you trust. A share \
             with rules in `[[share.client]]` follows these. Clients that log in, by Kerberos or by TLS with a certificate of \
             `nfs-client-ca`, need not be named. As a flag it can be given several times. A server that an earlier version has begun \
             serves all hosts, with a warning, until this is written. See docs/nfs.md.",
        ),
    new(Server, "nfs4-domain", Administrator, Kind::Text, "\"example.com\"").without_default("numbers only").says(
        "The domain in the names of users and groups over NFSv4: `ada@example.com`.",
        "It must be the one in `/etc/idmapd.conf` of the clients. Without it they see numbers. Numbers of clients are always understood.",
    ),
    new(Server, "nfs-certificate", Administrator, Kind::File, "\"/etc/ssl/storage.pem\"")
        .without_default("`admin-certificate`, else the one that the server makes for itself, `api-certificate.pem` in the state folder")
        .says(
            "A file with the certificate for NFS over TLS and those of its issuers, in PEM.",
            "Clients that ask for TLS get it (Linux 6.5 and newer: `mount -o xprtsec=tls`). They check the name by which they reach the \
             server, so a certificate that they trust is needed. It is read again with the settings. See docs/nfs.md.",
        ),
    new(Server, "nfs-key", Administrator, Kind::File, "\"/etc/ssl/private/storage.pem\"")
        .without_default("`admin-key`, else that of the server's own certificate")
        .says("A file with the private key of `nfs-certificate`, in PEM.", ""),
    new(Server, "nfs-client-ca", Administrator, Kind::File, "\"/etc/ssl/clients.pem\"").without_default("clients are not asked for certificates").says(
        "A file with the certificates, in PEM, whose issuers vouch for clients of NFS over TLS.",
        "Client rules with `tls = \"mutual\"` need it. A client that shows another certificate cannot begin TLS.",
    ),
];
