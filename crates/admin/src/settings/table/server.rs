//! The settings of `[server]` for no protocol alone, in the order of the documentation.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::{Administrator, Host, Limit, Operator};
use Kind::{Addresses, Bool, Duration, Number, OneOf, Path, Poll, Size, Texts, Url};
use Table::Server;

/// Where the server listens, and where its state is.
pub(super) const PROCESS: &[Setting] = &[
    new(Server, "listen", Administrator, Addresses, "[\"0.0.0.0\", \"::\"]").restart().flag("listen", "ADDR").says(
        "Address to listen on; can be given several times.",
        "The default is every address of the machine. \"127.0.0.1\" keeps everything on this machine.",
    ),
    new(Server, "state", Host, Path, "\"/var/lib/fourfold\"")
        .without_default("`/var/lib/fourfold` for root, else `$XDG_STATE_HOME/fourfold`, which is `~/.local/state/fourfold`")
        .restart()
        .flag("state", "DIR")
        .says(
            "Folder for the server's own state: identity, accounts, index.",
            "It is made when it is missing, is readable by its owner only, and must not be put inside a shared folder. The default one \
             may lie in a shared home folder: clients can neither see nor move it. A folder `.fourfold` that an earlier version \
             made beside the settings file, or in the current folder, is used as before.",
        ),
];

/// The API over HTTP.
pub(super) const API: &[Setting] = &[
    new(Server, "admin-port", Administrator, Kind::Port, "8443").without_default("off").restart().flag("admin-port", "PORT").says(
        "Port for the API over HTTPS and for metrics; 0 picks a free one.",
        "Programs identify themselves by tokens: `fourfold token create NAME`. docs/api.md describes the requests.",
    ),
    new(Server, "admin-listen", Administrator, Addresses, "[\"127.0.0.1\", \"::1\"]").restart().says(
        "The addresses of the API. The default is this machine only.",
        "",
    ),
    new(Server, "admin-tls", Administrator, Bool, "true").restart().says(
        "The API is encrypted.",
        "It can be turned off for clients on this machine only.",
    ),
    new(Server, "admin-certificate", Administrator, Kind::File, "\"/etc/ssl/storage.pem\"")
        .without_default("one that the server makes for itself, `api-certificate.pem` in the state folder")
        .restart()
        .says("A file with the certificate of the API and those of its issuers, in PEM.", "A relative path counts from the folder of the settings file."),
    new(Server, "admin-key", Administrator, Kind::File, "\"/etc/ssl/private/storage.pem\"")
        .without_default("that of the server's own certificate")
        .restart()
        .says("A file with the private key of `admin-certificate`, in PEM.", ""),
    new(Server, "admin-second-factor", Administrator, OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether each administrator needs a second factor for the console.",
        "\"required\": an administrator without one can log in only to set it up, with the password or a Kerberos ticket. Sessions that are \
         open are bound at once. Tokens of programs and the commands on the server are not. docs/console.md has the steps.",
    ),
];

/// Who the users are, and what the process may do.
pub(super) const USERS: &[Setting] = &[
    new(Server, "samba-acls", Administrator, Bool, "false").restart().says(
        "Every file is asked for the ACL that Samba has stored (`security.NTACL`).",
        "Without this, files are asked if the folder of a share has such an ACL, or one of the first 500 files and folders in it. \
         `fourfold adopt` looks at all and says whether it is needed.",
    ),
    new(Server, "samba-sids", Administrator, Kind::SambaSids, "[]")
        .example("[\"S-1-5-21-1-2-3-1000=user:ada\", \"S-1-5-21-1-2-3-513=group:users\"]")
        .restart()
        .says(
            "The users and groups that SIDs of Samba's own database are here, for the ACLs that it has stored.",
            "`pdbedit -L -v` and `net groupmap list` of Samba print them; after `user:` and `group:` stands a name or a number. \
             `S-1-5-21-1-2-3=algorithmic` stands for all of a domain whose RIDs are 2 × uid + 1000 and 2 × gid + 1001; Samba's \
             default (`tdbsam`) counts up instead. S-1-22-1-UID and S-1-22-2-GID need no line. A SID that is not known gets \
             nothing, and what is taken from it is taken from everyone.",
        ),
    new(Server, "kerberos-keytab", Administrator, Kind::File, "\"/etc/krb5.keytab\"").without_default("no Kerberos; with `domain` the keys of `fourfold domain join`").says(
        "The file with the keys of this server, with which clients of SMB, NFS and the console log in by Kerberos tickets.",
        "It needs keys of `cifs/HOST@REALM` for SMB, `nfs/HOST@REALM` for NFS and `HTTP/HOST@REALM` for the console, for the names by which clients reach the server. \
         `kadmin ktadd`, `adcli` or `net ads keytab` makes them. Only root may be able to read it. MIT Kerberos must be installed (Debian: libgssapi-krb5-2). A user of \
         a realm has the account of the same name (`fourfold user add`). Passwords go on to work. A session ends with its ticket.",
    ),
    new(Server, "kerberos-realms", Administrator, Texts, "[\"EXAMPLE.COM\"]").without_default("those of the keytab").says(
        "The realms whose users have accounts here.",
        "Users of other realms that these realms trust cannot log in: their names may be those of other people.",
    ),
    new(Server, "host-accounts", Limit("off"), OneOf(&["off", "pam"]), "\"off\"").restart().says(
        "Whether users of the host may log in without an account of this server.",
        "\"pam\": PAM verifies the password, where a protocol sends one: AFP (`dhx2`, `dhx` and `cleartext`), the console and the API. It cannot do so for SMB \
         and iSCSI, which prove passwords that the server must know, nor for tickets of Kerberos. Users come from the name service of \
         the host (also LDAP and sssd) and act with its uid and groups. root may not log in. An account of the server \
         (`fourfold user add`) counts first. See docs/security.md.",
    ),
    new(Server, "pam-service", Host, Kind::Text, "\"fourfold\"").restart().says(
        "The service of PAM: a file in /etc/pam.d with its rules, or the absolute path of one elsewhere.",
        "Without the file no user of the host can log in. A path needs PAM 1.4 or newer.",
    ),
    new(Server, "host-min-uid", Host, Number(1, 4_294_967_294), "1000").restart().says(
        "The lowest uid of the users that `host-accounts` lets in.",
        "Users of the system, such as `daemon`, have lower ones, and mostly no password. root never logs in so.",
    ),
    new(Server, "confinement", Host, OneOf(&["programs", "off"]), "\"programs\"").restart().says(
        "What the kernel (Landlock) keeps the server from, should somebody take it over.",
        "\"programs\": it executes programs in /usr, /bin, /sbin, /lib, /lib64, /etc, /opt, /nix and /gnu only, so no file of a share. \
         It needs Linux 5.19; `fourfold doctor` says whether the kernel can do it. See docs/security.md.",
    ),
    new(Server, "share-roots", Host, Texts, "[\"/srv\", \"/home\", \"/media\", \"/mnt\"]").says(
        "The folders in which the console and the API may share others.",
        "Folders in those of the shares that there are may be shared, too. A command on the server shares any folder. System folders, \
         such as /etc, /usr and /var, and the state folder are refused also here, unless the root itself lies in one. See docs/security.md.",
    ),
    new(Server, "domain", Administrator, Kind::Text, "\"lab.example.com\"").without_default("no domain").restart().says(
        "The Active Directory domain whose users may log in, by its DNS name.",
        "A user that comes with a Kerberos ticket of it needs no account here. The ticket says who it is and which groups it is in, and \
         the server checks that the domain controller has signed that. It acts with the ids that `domain-ids` gives its SIDs. \
         An account here with the same name (`fourfold user add`) counts first. The server needs keys: `fourfold domain join`, or `kerberos-keytab`. See docs/domain.md.",
    ),
    new(Server, "domain-ids", Administrator, OneOf(&["rid", "auto", "rfc2307", "rfc2307-or-rid"]), "\"rid\"").restart().says(
        "How users and groups of the domain get Unix ids.",
        "`rid`: the start of `domain-range` and the number at the end of the SID (the RID), as `idmap_rid` of Samba does it: the same on all servers with the same range. \
         `auto`: each domain, also a trusted one, gets slices of 100,000 ids of `domain-range` as its users come; the state folder keeps which. \
         `rfc2307`: `uidNumber` and `gidNumber` of the directory, of 1000 at least, for servers that have joined; users without are refused. \
         `rfc2307-or-rid`: the same, and users and groups without numbers get ids as by `rid`. \
         Do not change it when files have owners: ids would be those of others.",
    ),
    new(Server, "domain-range", Administrator, Kind::Text, "\"1000000-1999999\"").restart().says(
        "The first and the last id for users and groups of the domain.",
        "No user or group of this machine may have one of them.",
    ),
    new(Server, "domain-trusted", Administrator, Texts, "[\"S-1-5-21-1004336348-1177238915-682003330=3000000-3999999\"]")
        .without_default("users of other domains cannot log in").restart()
        .says(
            "The SIDs of trusted domains, each with the range of ids of its users and groups, for `domain-ids = \"rid\"`.",
            "Their users have the account `DOMAIN\\name`.",
        ),
    new(Server, "domain-ntlm", Administrator, Bool, "true").says(
        "Users of the domain may log in with their passwords, too, which a domain controller verifies.",
        "For clients without Kerberos: NTLM over SMB, DHX2 and DHX over AFP, and the console. The server must have joined \
         (`fourfold domain join`). It asks over a sealed Netlogon channel. AFP does not offer SRP then, because a domain controller \
         cannot verify it. With `false` users of the domain need tickets.",
    ),
];

/// Announcements, logs, alerts, memory.
pub(super) const OPERATION: &[Setting] = &[
    new(Server, "bonjour", Operator, OneOf(&["auto", "on", "off"]), "\"auto\"").flag("bonjour", "WHEN").says(
        "Whether the server is announced, to Macs by Bonjour (mDNS) and to Windows by WS-Discovery: auto, on or off.",
        "\"auto\" announces what other machines can reach. \"on\" announces a server that listens on this machine only, too, \
         to this machine.",
    ),
    new(Server, "bonjour-name", Operator, Kind::Text, "\"Studio\"").without_default("the host's name").says(
        "The server's name as Macs list it, and as AFP clients are told it.",
        "It may have spaces and is cut to 58 bytes. Where another machine has the same, a number is added.",
    ),
    new(Server, "default-user", Administrator, Kind::AccountName, "\"ada\"")
        .without_default("the anonymous user (uid 65534), which has the rights of others")
        .flag("as", "USER")
        .says(
            "The host user of accounts whose name no user of the host has. It is for a server that runs as root.",
            "A `uid` of the account comes first. A server that does not run as root does everything as its own user.",
        ),
    new(Server, "log-format", Operator, OneOf(&["text", "json"]), "\"text\"")
        .restart()
        .flag("log-format", "FORMAT")
        .says("How log lines look: text for people, json for machines.", ""),
    new(Server, "log-level", Operator, OneOf(&["error", "warn", "info", "debug", "trace"]), "\"info\"").restart().says(
        "The least severe level that is logged.",
        "The environment variable FOURFOLD_LOG overrides it, and can name parts of the program: \
         `FOURFOLD_LOG=warn,nfs=debug`.",
    ),
    new(Server, "audit-log", Host, Kind::File, "\"/var/log/fourfold/audit.log\"")
        .without_default("`audit.log` in the state folder")
        .says(
            "The file of the audit log, which has a line for each operation on shares with `audit`.",
            "Its folder must be there. A relative path counts from the folder of the settings file. docs/logs.md describes the lines.",
        ),
    new(Server, "audit-log-size", Administrator, Size, "\"64 MiB\"").says(
        "How large the file of the audit log gets. Then it is renamed and a new one begins.",
        "Less than 64 KiB counts as 64 KiB.",
    ),
    new(Server, "audit-log-files", Administrator, Number(1, 1000), "10").says(
        "How many files of the audit log are kept beside the current one: `audit.log.1` is the newest of them.",
        "The oldest file is removed.",
    ),
    new(Server, "slow-operation", Operator, Duration, "\"off\"").example("\"1 s\"").says(
        "Operations of clients that take longer than this are logged, with where the time went.",
        "At most 20 lines are written in a minute; others are counted. See docs/logs.md.",
    ),
    new(Server, "record-slowest", Operator, Bool, "false").says(
        "The slowest operations of the last day are recorded, also while nobody looks at the console's page Slowest operations.",
        "They stay over a restart (`slowest.json` in the state folder). It costs each operation less than a microsecond.",
    ),
    new(Server, "doctor-interval", Operator, Duration, "\"5 s\"").says(
        "How often the server looks what slows its clients down (docs/slow-clients.md).",
        "It judges the last twelve looks together: with the default the last minute. Less than 1 s counts as 1 s; \"off\": it never looks.",
    ),
    new(Server, "alert-space", Operator, Number(0, 50), "5").says(
        "Percent of the space of a share's disk: an alert is raised when less is free; 0: never.",
        "An alert is also raised when less than `snapshot-floor` of the share is free.",
    ),
    new(Server, "alert-backup", Operator, Duration, "\"7 d\"").says(
        "An alert is raised when the last backup of a Mac is older than this.",
        "It counts for backups in shares with `time-machine`.",
    ),
    new(Server, "alert-webhook", Administrator, Kind::Hook(&["https", "http"]), "\"https://alerts.example.com/fourfold\"")
        .without_default("none")
        .says(
            "Alerts are sent to this URL by POST, as JSON, when they are raised and when they are cleared.",
            "Of the URL only the host is shown. A request that fails is repeated up to four times within a minute. docs/alerts.md describes the JSON.",
        ),
    new(Server, "alert-mail", Administrator, Url(&["smtps", "smtp"]), "\"smtps://user:password@mail.example.com\"")
        .without_default("none")
        .says(
            "Alerts are sent by mail through this server.",
            "`smtps://` is encrypted from the start, `smtp://HOST?tls=required` by STARTTLS, `smtp://` not at all. It needs \
             `alert-mail-from` and `alert-mail-to`. `fourfold check --print` hides the password; protect the settings file.",
        ),
    new(Server, "alert-mail-from", Administrator, Kind::Text, "\"storage@example.com\"")
        .without_default("none")
        .says("The sender of mails about alerts.", ""),
    new(Server, "alert-mail-to", Administrator, Texts, "[]")
        .example("[\"ada@example.com\"]")
        .says("The receivers of mails about alerts.", ""),
    new(Server, "cache-memory", Operator, Size, "\"512 MiB\"")
        .without_default(
            "an eighth of the memory that the server may use, at least 64 MiB and at most 16 GiB. The memory is that of the \
             machine, or of the control group",
        )
        .restart()
        .says(
            "How much memory all caches of the server may take together.",
            "`fourfold caches` shows them, and docs/caches.md explains them. While the host is short of memory, the caches \
             take less.",
        ),
    new(Server, "cache-size", Operator, Size, "\"256 MiB\"")
        .without_default("half of `cache-memory`")
        .says(
            "How much memory the cache of folders' listings may take, of all shares together.",
            "A folder takes some 230 bytes for each file while it is listed, and some 50 where only its names are kept, \
             which is done for folders that do not fit. 256 MiB hold a folder of 1,000,000 files whole. `fourfold caches set \
             directory=SIZE` changes it in the running server.",
        ),
    new(Server, "cache-files", Operator, Number(16, 1_000_000), "20000")
        .without_default("as many as an eighth of `cache-memory` and a sixth of the limit of descriptors allow, at most 100,000")
        .says(
            "How many files are kept open between requests of clients that name files by handles and ids.",
            "A file takes one or two descriptors and some 1,500 bytes, most of them in the host. `fourfold caches set \
             files=COUNT` changes it in the running server.",
        ),
    new(Server, "open-files", Operator, Number(16, 10_000_000), "50000")
        .without_default("a quarter of the limit of descriptors")
        .says(
            "How many files clients of all protocols may have open at once.",
            "An open file takes up to four descriptors, and connections need some, too. One that a client only reads counts half: \
             the descriptor of its data is closed when others need it, and opened again for the next read. This is not so for servers that \
             are not root, and for folders on other machines. Clients without a login have a half of this together. One client may have as many as the others leave free: `fourfold status` shows how many there are. \
             The limit of descriptors is the hard one (`ulimit -Hn`, `LimitNOFILE` of systemd).",
        ),
    new(Server, "cache-buffers", Operator, Size, "\"48 MiB\"")
        .without_default("a quarter of `cache-memory`, at most 24 MiB for each event loop")
        .says(
            "How much memory buffers for messages may take while they are not in use.",
            "They are freed after a second without use. `fourfold caches set buffers=SIZE` changes it in the running server.",
        ),
    new(Server, "transfer-memory", Operator, Size, "\"256 MiB\"")
        .without_default("an eighth of the memory that the server may use, at least 32 MiB and at most 256 MiB")
        .restart()
        .says(
            "How much memory replies that clients have not received yet, and long messages on their way to the server, may \
             take, over all clients and protocols.",
            "A client may have an eighth of it, and 256 KiB before it has logged in. Long requests wait when it is used up. A \
             client that has received and sent nothing for 3 seconds then loses its connection, the one that holds most \
             first. What is sent from the page cache takes none. Less than 32 MiB counts as 32 MiB.",
        ),
    new(Server, "threads", Operator, Number(1, 1024), "4")
        .without_default("one per processor")
        .restart()
        .says("Event loops that serve connections.", ""),
    new(Server, "poll", Operator, Poll, "\"auto\"").example("\"30 us\"").flag("poll", "LIMIT").says(
        "Whether an event loop looks again and again for the next request for a moment, before it sleeps.",
        "To wake a thread takes 5 to 50 µs. \"auto\": each loop learns from the gaps between its requests whether polling costs \
         less, and for how long (60 µs at most). It polls in vain for at most 5 % of its time, lets other threads run first, and \
         never polls while no request comes. A time is the longest poll, where gaps are shorter on average. \"off\": every \
         wait is a sleep. `fourfold status` shows what the waits were.",
    ),
    new(Server, "ceph-conf", Host, Kind::File, "\"/etc/ceph/ceph.conf\"")
        .without_default("where Ceph's own programs look for it")
        .restart()
        .says("The settings of the Ceph cluster, for shares with a `store`.", "They name the monitors and the keyring."),
    new(Server, "link-check-interval", Operator, Duration, "\"2 s\"").says(
        "How often the targets of links (`[[link]]`) are checked.",
        "With 2 s a target that is down is left out within 5 s. \"off\" ends the checks: all targets count as up.",
    ),
    new(Server, "grace-period", Operator, Number(0, 600), "45").restart().says(
        "Seconds after a start in which clients may only take back locks they had before.",
        "Only counts where a client held locks when the server last stopped.",
    ),
];
