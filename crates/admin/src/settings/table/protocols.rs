//! The settings of `[server]` for one protocol each, in the order of the documentation. Their meaning is in `protocol/`.

use super::super::authority::Authority::{Administrator, Limit, Operator};
use super::super::kind::Kind::{self, Bool, OneOf, SomeOf};
use super::super::setting::{Setting, Table::Server, new, port};

/// The ports.
pub(super) const PORTS: &[Setting] = &[
    port("nfs-port", "2049", "2049 for root, else 12049").says(
    "Port for NFS, MOUNT, NLM and NSM, over TCP and UDP; 0 picks a free one, off turns it off.",
    "One open port is enough for a client that is told so (`port=N,mountport=N`).",
),
    port("smb-port", "445", "445 for root, else 10445")
    .says("Port for SMB; 0 picks a free one, off turns it off.", ""),
    port("afp-port", "548", "548 for root, else 10548")
    .says("Port for AFP over TCP; 0 picks a free one, off turns it off.", ""),
    port("iscsi-port", "3260", "3260 for root, else 13260")
    .says("Port for iSCSI; 0 picks a free one, off turns it off.", ""),
    port("portmap-port", "111", "111 for root, else 10111").says(
    "Port for portmap (rpcbind); 0 picks a free one, off turns it off.",
    "Clients that are not told a port ask here. Where a rpcbind runs already, the server registers with it \
         instead. Kernel clients ask port 111 and no other for the lock service.",
),
];

/// The others.
pub(super) const SERVER: &[Setting] = &[
    new(Server, "nfs-versions", Operator, SomeOf(&["3", "4.0", "4.1", "4.2"]), "[\"3\", \"4.0\", \"4.1\", \"4.2\"]").says(
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
    new(Server, "smb-signing", Limit("required"), OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether SMB clients must sign what they send.",
        "Messages of clients that sign are always verified, and answered with a signature. Guests cannot sign: they are \
         let in as `guests` says, whatever stands here.",
    ),
    new(Server, "smb-encryption", Limit("required"), OneOf(&["off", "optional", "required"]), "\"optional\"").says(
        "Whether SMB clients may, or must, encrypt all that they send.",
        "Required keeps out guests, and clients before SMB 3.0. See `encryption` of a share, too.",
    ),
    new(Server, "smb-min-dialect", Limit("3.1.1"), OneOf(&["2.0.2", "2.1", "3.0", "3.0.2", "3.1.1"]), "\"2.0.2\"").says(
        "The oldest dialect of SMB that clients may speak.",
        "A client that speaks older ones only cannot log in. 3.0 and newer can encrypt. Counts for connections made afterwards.",
    ),
    new(Server, "smb-directory-leases", Operator, Bool, "true").says(
        "SMB 3 clients may cache listings of folders under leases.",
        "Linux clients that negotiate SMB 3.1.1 never get such leases, because they crash Linux 6.1. Turn this off for \
         Linux clients that are mounted with `vers=3.0` or `vers=3.02` and without `nohandlecache`. Counts for \
         connections made afterwards.",
    ),
    new(Server, "smb-posix", Operator, Bool, "true").says(
        "SMB 3.1.1 clients may use the POSIX extensions, as Linux does with `mount -t cifs -o posix`.",
        "Such clients see modes, owners and special files as over NFS. Rights are the same: the server checks each request as \
         before. Counts for connections made afterwards.",
    ),
    new(Server, "afp-logins", Administrator, SomeOf(&["dhx2", "srp", "dhx", "cleartext", "randnum", "2-way-randnum"]), "[\"dhx2\", \"srp\"]").says(
        "How people with an account may log in over AFP.",
        "`dhx2` and `srp` are for Mac OS X. Older Macs need one of the others, and each of them gives \
         something away. `cleartext` sends the password as it is. `randnum` and `2-way-randnum` use its first eight \
         characters and a cipher that is searched in hours. An attacker who listens can compute the key of `dhx`. \
         Name them where you trust the network. Guests are a matter of `guests`.",
    ),
    new(Server, "afp-change-password", Limit("false"), Bool, "false").says(
        "People may change the password of their account from a Mac, over AFP.",
        "It counts for every protocol. Accounts of `--user` cannot be changed.",
    ),
    new(Server, "afp-signature", Administrator, Kind::Identity, "\"00112233445566778899AABBCCDDEEFF\"")
        .without_default("the server's own, made once and kept in the state folder; in a cluster that of its first server")
        .says(
            "The 16 bytes by which Macs tell AFP servers apart, and their aliases find this one again.",
            "Set it only to take over from another server: Netatalk keeps its own in `afp_signature.conf`.",
        ),
    new(Server, "afp-greeting", Operator, Kind::Text, "\"Backups run at noon.\"").without_default("none").says(
        "A message that Macs show when a user logs in over AFP.",
        "Mac OS X shows up to 1000 bytes of it, older systems up to 199 characters.",
    ),
    new(Server, "iscsi-name", Operator, Kind::TargetPrefix, "\"iqn.2026-11.com.example.storage\"")
        .without_default("`iqn.2026-11.local.fourfold-` and the first eight digits of the server's id")
        .says(
            "What the names of iSCSI targets begin with: `NAME:share.lun`.",
            "Set it to a name under a domain of yours, or to take over from another server. Initiators remember targets \
             by their names: after a change they must log in anew.",
        ),
    new(Server, "iscsi-account", Administrator, Kind::AccountName, "\"storage\"").without_default("none").says(
        "The account with whose CHAP secret the server proves itself to initiators that ask (mutual CHAP).",
        "Make it with `fourfold user add NAME --chap-secret`, and give the initiators that name and secret as the \
         target's. No client needs to log in with it.",
    ),
];
