//! The table of all settings.

use super::kind::{AFP_LOGINS, Kind, MOST_NUMBER, NFS_VERSIONS};
use super::setting::{Setting, Table, new, port};

use Kind::{Addresses, Bool, Clients, Duration, Number, OneOf, Path, Size, SomeOf, Texts, Url};
use Table::{Client, Lun, Server, Share, User};

/// Every setting, in the order of the documentation.
pub static SETTINGS: &[Setting] = &[
    new(Server, "listen", Addresses, "[\"0.0.0.0\", \"::\"]").restart().flag("listen", "ADDR").says(
        "Address to listen on; can be given several times.",
        "The default is every address of the machine. \"127.0.0.1\" keeps everything on this machine.",
    ),
    new(Server, "state", Path, "\"/var/lib/fourfold\"")
        .without_default("`/var/lib/fourfold` for root, else `$XDG_STATE_HOME/fourfold`, which is `~/.local/state/fourfold`")
        .restart()
        .flag("state", "DIR")
        .says(
            "Folder for the server's own state: identity, accounts, index.",
            "It is made when it is missing, is readable by its owner only, and must not be put inside a shared folder. The default one \
             may lie in a shared home folder: clients can neither see nor move it. A folder `.fourfold` that an earlier version \
             made beside the settings file, or in the current folder, is used as before.",
        ),
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
    new(Server, "admin-port", Kind::Port, "8443").without_default("off").restart().flag("admin-port", "PORT").says(
        "Port for the API over HTTPS and for metrics; 0 picks a free one.",
        "Programs identify themselves by tokens: `fourfold token create NAME`. docs/api.md describes the requests.",
    ),
    new(Server, "admin-listen", Addresses, "[\"127.0.0.1\", \"::1\"]").restart().says(
        "The addresses of the API. The default is this machine only.",
        "",
    ),
    new(Server, "admin-tls", Bool, "true").restart().says(
        "The API is encrypted.",
        "It can be turned off for clients on this machine only.",
    ),
    new(Server, "admin-certificate", Kind::File, "\"/etc/ssl/storage.pem\"")
        .without_default("one that the server makes for itself, `api-certificate.pem` in the state folder")
        .restart()
        .says("A file with the certificate of the API and those of its issuers, in PEM.", "A relative path counts from the folder of the settings file."),
    new(Server, "admin-key", Kind::File, "\"/etc/ssl/private/storage.pem\"")
        .without_default("that of the server's own certificate")
        .restart()
        .says("A file with the private key of `admin-certificate`, in PEM.", ""),
    new(Server, "nfs-versions", SomeOf(NFS_VERSIONS), "[\"3\", \"4.0\", \"4.1\", \"4.2\"]").says(
        "The versions of NFS that are served.",
        "A client that asks for another one is told which there are. docs/nfs.md says what each of them can do.",
    ),
    new(Server, "nfs4-domain", Kind::Text, "\"example.com\"").without_default("numbers only").says(
        "The domain in the names of users and groups over NFSv4: `ada@example.com`.",
        "It must be the one in `/etc/idmapd.conf` of the clients. Without it they see numbers. Numbers of clients are always understood.",
    ),
    new(Server, "kerberos-keytab", Kind::File, "\"/etc/krb5.keytab\"").without_default("no Kerberos").says(
        "The file with the keys of this server, with which clients of SMB log in by Kerberos tickets.",
        "It needs keys of `cifs/HOST@REALM` for the names by which clients reach the server, made by `kadmin ktadd`, `adcli` or \
         `net ads keytab`, and must be readable by root only. MIT Kerberos must be installed (Debian: libgssapi-krb5-2). A user of \
         a realm has the account of the same name (`fourfold user add`). Passwords go on to work. A session ends with its ticket.",
    ),
    new(Server, "kerberos-realms", Texts, "[\"EXAMPLE.COM\"]").without_default("those of the keytab").says(
        "The realms whose users have accounts here.",
        "Users of other realms that these realms trust cannot log in: their names may be those of other people.",
    ),
    new(Server, "smb-signing", OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether SMB clients must sign what they send.",
        "Messages of clients that sign are always verified, and answered with a signature. Guests cannot sign: they are \
         let in as `guests` says, whatever stands here.",
    ),
    new(Server, "smb-encryption", OneOf(&["off", "optional", "required"]), "\"optional\"").says(
        "Whether SMB clients may, or must, encrypt all that they send.",
        "Required keeps out guests, and clients before SMB 3.0. See `encryption` of a share, too.",
    ),
    new(Server, "smb-directory-leases", Bool, "true").says(
        "SMB 3 clients may cache listings of folders under leases.",
        "Linux clients that negotiate SMB 3.1.1 never get such leases, because they crash Linux 6.1. Turn this off for \
         Linux clients that are mounted with `vers=3.0` or `vers=3.02` and without `nohandlecache`. Counts for \
         connections made afterwards.",
    ),
    new(Server, "afp-logins", SomeOf(AFP_LOGINS), "[\"dhx2\", \"srp\"]").says(
        "How people with an account may log in over AFP.",
        "`dhx2` and `srp` are for Mac OS X. Older Macs need one of the others, and each of them gives \
         something away: `cleartext` sends the password as it is; `randnum` and `2-way-randnum` use its first eight \
         characters and a cipher that is searched in hours; the key that `dhx` agrees on can be computed by who listens. \
         Name them where you trust the network. Guests are a matter of `guests`.",
    ),
    new(Server, "afp-change-password", Bool, "false").says(
        "People may change the password of their account from a Mac, over AFP.",
        "It counts for every protocol. Accounts of `--user` cannot be changed.",
    ),
    new(Server, "afp-signature", Kind::Identity, "\"00112233445566778899AABBCCDDEEFF\"")
        .without_default("the server's own, made once and kept in the state folder")
        .says(
            "The 16 bytes by which Macs tell AFP servers apart, and their aliases find this one again.",
            "Set it only to take over from another server: Netatalk keeps its own in `afp_signature.conf`.",
        ),
    new(Server, "afp-greeting", Kind::Text, "\"Backups run at noon.\"").without_default("none").says(
        "A message that Macs show when a user logs in over AFP.",
        "Mac OS X shows up to 1000 bytes of it, older systems up to 199 characters.",
    ),
    new(Server, "iscsi-name", Kind::IscsiName, "\"iqn.2026-11.com.example.storage\"")
        .without_default("`iqn.2026-11.local.fourfold-` and the first eight digits of the server's id")
        .says(
            "What the names of iSCSI targets begin with: `NAME:share.lun`.",
            "Set it to a name under a domain of yours, or to take over from another server. Initiators remember targets \
             by their names: after a change they must log in anew.",
        ),
    new(Server, "iscsi-account", Kind::AccountName, "\"storage\"").without_default("none").says(
        "The account with whose CHAP secret the server proves itself to initiators that ask (mutual CHAP).",
        "Make it with `fourfold user add NAME --chap-secret`, and give the initiators that name and secret as the \
         target's. No client needs to log in with it.",
    ),
    new(Server, "bonjour", OneOf(&["auto", "on", "off"]), "\"auto\"").flag("bonjour", "WHEN").says(
        "Whether the server is announced, to Macs by Bonjour (mDNS) and to Windows by WS-Discovery: auto, on or off.",
        "\"auto\" announces what other machines can reach. \"on\" announces a server that listens on this machine only, too, \
         to this machine.",
    ),
    new(Server, "bonjour-name", Kind::Text, "\"Studio\"").without_default("the host's name").says(
        "The server's name as Macs list it, and as AFP clients are told it.",
        "It may have spaces and is cut to 58 bytes. Where another machine has the same, a number is added.",
    ),
    new(Server, "default-user", Kind::AccountName, "\"ada\"")
        .without_default("the anonymous user (uid 65534), which has the rights of others")
        .flag("as", "USER")
        .says(
            "The host user of accounts whose name no user of the host has. It is for a server that runs as root.",
            "A `uid` of the account comes first. A server that does not run as root does everything as its own user.",
        ),
    new(Server, "log-format", OneOf(&["text", "json"]), "\"text\"")
        .restart()
        .flag("log-format", "FORMAT")
        .says("How log lines look: text for people, json for machines.", ""),
    new(Server, "log-level", OneOf(&["error", "warn", "info", "debug", "trace"]), "\"info\"").restart().says(
        "The least severe level that is logged.",
        "The environment variable FOURFOLD_LOG overrides it, and can name parts of the program: \
         `FOURFOLD_LOG=warn,nfs=debug`.",
    ),
    new(Server, "audit-log", Kind::File, "\"/var/log/fourfold/audit.log\"")
        .without_default("`audit.log` in the state folder")
        .says(
            "The file of the audit log, which has a line for each operation on shares with `audit`.",
            "Its folder must be there. A relative path counts from the folder of the settings file. docs/logs.md describes the lines.",
        ),
    new(Server, "audit-log-size", Size, "\"64 MiB\"").says(
        "How large the file of the audit log gets. Then it is renamed and a new one begins.",
        "Less than 64 KiB counts as 64 KiB.",
    ),
    new(Server, "audit-log-files", Number(1, 1000), "10").says(
        "How many files of the audit log are kept beside the current one: `audit.log.1` is the newest of them.",
        "The oldest file is removed.",
    ),
    new(Server, "slow-operation", Duration, "\"off\"").example("\"1 s\"").says(
        "Operations of clients that take longer than this are logged, with where the time went.",
        "At most 20 lines are written in a minute; others are counted. See docs/logs.md.",
    ),
    new(Server, "alert-space", Number(0, 50), "5").says(
        "Percent of the space of a share's disk: an alert is raised when less is free; 0: never.",
        "An alert is also raised when less than `snapshot-floor` of the share is free.",
    ),
    new(Server, "alert-backup", Duration, "\"7 d\"").says(
        "An alert is raised when the last backup of a Mac is older than this.",
        "It counts for backups in shares with `time-machine`.",
    ),
    new(Server, "alert-webhook", Url(&["https", "http"]), "\"https://alerts.example.com/fourfold\"")
        .without_default("none")
        .says(
            "Alerts are sent to this URL by POST, as JSON, when they are raised and when they are cleared.",
            "A request that fails is repeated up to four times within a minute. docs/alerts.md describes the JSON.",
        ),
    new(Server, "alert-mail", Url(&["smtps", "smtp"]), "\"smtps://user:password@mail.example.com\"")
        .without_default("none")
        .says(
            "Alerts are sent by mail through this server.",
            "`smtps://` is encrypted from the start, `smtp://HOST?tls=required` by STARTTLS, `smtp://` not at all. It needs \
             `alert-mail-from` and `alert-mail-to`. `fourfold check --print` hides the password; protect the settings file.",
        ),
    new(Server, "alert-mail-from", Kind::Text, "\"storage@example.com\"")
        .without_default("none")
        .says("The sender of mails about alerts.", ""),
    new(Server, "alert-mail-to", Texts, "[]")
        .example("[\"ada@example.com\"]")
        .says("The receivers of mails about alerts.", ""),
    new(Server, "cache-memory", Size, "\"512 MiB\"")
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
    new(Server, "cache-size", Size, "\"256 MiB\"")
        .without_default("half of `cache-memory`")
        .says(
            "How much memory the cache of folders' listings may take, of all shares together.",
            "A folder takes some 230 bytes for each file while it is listed, and some 50 where only its names are kept, \
             which is done for folders that do not fit. 256 MiB hold a folder of 1,000,000 files whole. `fourfold caches set \
             directory=SIZE` changes it in the running server.",
        ),
    new(Server, "cache-files", Number(16, 1_000_000), "20000")
        .without_default("as many as an eighth of `cache-memory` and a sixth of the limit of descriptors allow, at most 100,000")
        .says(
            "How many files are kept open between requests of clients that name files by handles and ids.",
            "A file takes one or two descriptors and some 1,500 bytes, most of them in the host. `fourfold caches set \
             files=COUNT` changes it in the running server.",
        ),
    new(Server, "cache-buffers", Size, "\"48 MiB\"")
        .without_default("a quarter of `cache-memory`, at most 24 MiB for each event loop")
        .says(
            "How much memory buffers for messages may take while they are not in use.",
            "They are freed after a second without use. `fourfold caches set buffers=SIZE` changes it in the running server.",
        ),
    new(Server, "transfer-memory", Size, "\"256 MiB\"")
        .without_default("an eighth of the memory that the server may use, at least 32 MiB and at most 256 MiB")
        .restart()
        .says(
            "How much memory replies that clients have not received yet, and long messages on their way to the server, may \
             take, over all clients and protocols.",
            "A client may have an eighth of it, and 256 KiB before it has logged in. Long requests wait when it is used up. A \
             client that has received and sent nothing for 3 seconds then loses its connection, the one that holds most \
             first. What is sent from the page cache takes none. Less than 32 MiB counts as 32 MiB.",
        ),
    new(Server, "threads", Number(1, 1024), "4")
        .without_default("one per processor")
        .restart()
        .says("Event loops that serve connections.", ""),
    new(Server, "grace-period", Number(0, 600), "45").restart().says(
        "Seconds after a start in which clients may only take back locks they had before.",
        "Only counts where a client held locks when the server last stopped.",
    ),
    new(Share, "name", Kind::ShareName, "\"Share\"").without_default("").own().says(
        "The name clients see: the NFS export /NAME, the SMB share and the AFP volume NAME.",
        "Two names that differ only in upper and lower case count as the same. Names with slashes make a tree: \
         `studio/video` lies below the share `studio`, which must be there. It inherits the settings that it does not set \
         itself, and the `[[share.client]]` rules if it has none. SMB and AFP clients see it as `studio_video`.",
    ),
    new(Share, "path", Path, "\"/srv/share\"").without_default("").own().says(
        "The folder to share.",
        "A share below another one is by default the folder of the last part of its name, in the folder of the other share. \
         A relative path counts from the folder of the settings file. While the folder is missing or cannot be read, the \
         share is not served; the other shares are. The server looks for it every 2 seconds. When the folder of a share \
         that is served is removed, the share ends as soon as no file of it is open.",
    ),
    new(Share, "must-be-mounted", Bool, "false").own().says(
        "The folder must be the root of a mounted file system.",
        "While no file system is mounted there, the share is not served, and nothing is written to the folder below. Set \
         it for shares on disks that are mounted late or can be removed. When the disk is unmounted, the share ends for \
         connected clients within 2 seconds; it comes back when the disk is mounted.",
    ),
    new(Share, "comment", Kind::Text, "\"\"")
        .own()
        .example("\"Plans and photographs\"")
        .says("What clients show beside the name (SMB).", ""),
    new(Share, "nfs", Bool, "true").says("The share is an NFS export.", ""),
    new(Share, "smb", Bool, "true").says("SMB clients see the share.", ""),
    new(Share, "afp", Bool, "true").says("AFP clients see the share as a volume.", ""),
    new(Share, "iscsi", Bool, "true").says("The LUNs of the share are iSCSI targets.", ""),
    new(Share, "read-only", Bool, "false")
        .flag("read-only", "")
        .says("Clients cannot change anything in the share.", "As a flag it counts for every share."),
    new(Share, "guests", Bool, "false").flag("guest", "").says(
        "People without an account may enter.",
        "Counts for protocols with a login (SMB, AFP, iSCSI); for NFS the client rules decide. As a flag it counts for \
         every share.",
    ),
    new(Share, "users", Texts, "[]").example("[\"ada\", \"grace\"]").says(
        "Accounts that may enter; everyone with an account when this and `groups` are empty.",
        "Counts for protocols with a login (SMB, AFP, iSCSI); for NFS the client rules decide.",
    ),
    new(Share, "groups", Texts, "[]")
        .example("[\"staff\"]")
        .says("Unix groups whose members may enter.", "See `users`."),
    new(Share, "encryption", OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether SMB clients must encrypt what they send to and get from the share.",
        "Required keeps out guests, and clients before SMB 3.0. Other protocols are not concerned: see `protocols`.",
    ),
    new(Share, "time-machine", Bool, "false").says(
        "Macs may back up to the share with Time Machine.",
        "Give it a share of its own, and set `time-machine-size`: a backup takes all the room there is.",
    ),
    new(Share, "time-machine-size", Size, "\"2 TiB\"")
        .without_default("all of the disk")
        .own()
        .says("How large the share is said to be to Macs that back up to it.", ""),
    new(Share, "time-machine-snapshots", Number(0, 1000), "0").says(
        "How many snapshots are kept that are taken after sessions of Time Machine; 0: none is taken.",
        "A session is over when no client has a file of the backup open for writing. The snapshots have names such as \
         `time-machine-20261123T013400Z`; held ones are never removed. It needs a file system that makes snapshots.",
    ),
    new(Share, "volume-id", Kind::Identity, "\"00112233-4455-6677-8899-AABBCCDDEEFF\"")
        .without_default("the share's own, made once and kept in the state folder")
        .own()
        .says(
            "The id by which Time Machine remembers the share.",
            "Set it only to take over from another server: Netatalk keeps its own in `afp_voluuid.conf`.",
        ),
    new(Share, "afp-password", Kind::VolumePassword, "\"plans\"").without_default("none").says(
        "What AFP clients are asked when they open the share, beside the account's password.",
        "All users have the same one, and it is sent in clear: it does not keep attackers out. Every user who can read the \
         settings file sees it.",
    ),
    new(Share, "case-sensitive", Bool, "false").says(
        "SMB and AFP clients tell \"a\" from \"A\".",
        "NFS clients always do. When it is false, two names that differ only in case both stay reachable.",
    ),
    new(Share, "mac-sidecars", Bool, "true").says(
        "A Mac's `._name` files are the Mac half of the file `name`, on every protocol.",
        "They are not listed; looking one up answers the file's Finder info and resource fork, and writing one \
         changes them. When it is false they are plain files.",
    ),
    new(Share, "mac-layout", OneOf(&["netatalk", "samba", "samba-streams"]), "\"netatalk\"").says(
        "How Finder info, resource forks and named streams are stored that are new.",
        "What a file has stays in the layout that it has, and a new part of it gets the layout of the file, then that of the \
         files beside it. This setting counts where neither tells one. \"netatalk\": as Netatalk 3 and 4 with `ea = sys`. \
         \"samba\": as Samba's fruit by default, with named streams in `user.DosStream`. \"samba-streams\": as Samba with \
         `fruit:metadata = stream` and `fruit:resource = stream`; a fork that is too large for an attribute goes to `._name`.",
    ),
    new(Share, "deny-modes", OneOf(&["strict", "silly-rename", "data-only"]), "\"strict\"").says(
        "What a client that denies others an access to an open file denies besides reading and writing.",
        "\"strict\": a Mac over AFP that denies writing also denies removing and renaming the file to clients of SMB and NFS; \
         another Mac may still rename it. \"silly-rename\": an NFS client may give an open file a name of the form `.nfs*`, \
         whoever has it open, and remove it by such a name: Linux does so with files that it has open itself. \"data-only\": \
         a Mac's deny modes concern reading and writing only.",
    ),
    new(Share, "read-only-by-mode", Bool, "true").says(
        "A file whose mode has no right to write is shown as read-only over SMB and as locked over AFP.",
        "NFS clients and local programs make such a file with `chmod a-w`. SMB and AFP clients can then neither write nor \
         remove it, until one of them makes it writable, which adds the owner's right to write. Files with an ACL of Windows \
         or a Mac are not concerned. When it is false, the mode only says who may write.",
    ),
    new(Share, "safe-save", Bool, "true").says(
        "A file that an SMB or NFS client saves by putting a new one in its place keeps what only Macs know of.",
        "The new file gets the Finder info, tags, comment, resource fork and creation date of the old one, unless it has some of \
         these itself. This concerns files of the same folder, the new one less than an hour old; and the name that a file had \
         less than 15 seconds ago. Macs over AFP and SMB do it themselves. When it is false, the new file has only what was written.",
    ),
    new(Share, "local-recall", Bool, "false").says(
        "A local program that opens a file waits until SMB clients have given back what they cache of it.",
        "A program that reads gets what the clients have written last, and a client reads what a program has written. A client \
         that does not answer delays the program for 35 seconds, or for those in `/proc/sys/fs/lease-break-time` if they are fewer. \
         A client caches nothing of a file that a local program has open for writing. After a rename or removal by a program, \
         clients close the file and list the folder again. File systems without leases (NFS, some FUSE ones) cannot do this.",
    ),
    new(Share, "dfs", Bool, "false").own().says(
        "The share is a namespace: symbolic links whose text is `msdfs:SERVER\\SHARE` lead SMB clients to other servers.",
        "Several targets have commas between them. Make links on the host, as for Samba: `ln -s 'msdfs:filer2\\archive' archive`.",
    ),
    new(Share, "cross-mounts", Bool, "true").says(
        "File systems that are mounted inside the share's folder are part of the share.",
        "Clients enter them like folders. They see the free space of the file system that they are in, and cannot move a file \
         from one to the other. When it is false, a client that tries to enter one is refused.",
    ),
    new(Share, "hide", Texts, "[]").example("[\"*.tmp\", \"lost+found\"]").says(
        "Names that listings leave out, over every protocol; `*` and `?` match as in a shell.",
        "They can still be opened by name. A folder that contains such entries is not empty and cannot be removed.",
    ),
    new(Share, "show", Texts, "[]").example("[\".AppleDouble\"]").says(
        "Names that listings show although `hide` or the server would leave them out.",
        "Without `hide`, SMB and AFP leave out `.AppleDB`, `.AppleDesktop` and `.AppleDouble`, in which Netatalk keeps its own \
         data, and `.streams` and `@eaDir` of Samba and Synology. NFS lists them, because UNIX programs copy and remove whole \
         trees. A folder in which only these are left counts as empty and can be removed.",
    ),
    new(Share, "snapshot-folder", OneOf(&["hidden", "visible", "off"]), "\"hidden\"").says(
        "Where clients see the snapshots of the share.",
        "Each folder has them in `.snapshot` and `~snapshot`, which no listing shows: `cd .snapshot` works. With \"visible\" \
         the share's folder lists `Snapshots`, too, for Macs. Windows shows them as Previous Versions unless it is \"off\". Real \
         entries with these names are hidden. It needs a file system that makes snapshots: see `fourfold snapshot --help`.",
    ),
    new(Share, "snapshot-schedule", Kind::Schedule, "\"\"").example("\"hourly:24 nightly:7 weekly:4\"").says(
        "Which snapshots the server takes by itself, and how many of each period it keeps.",
        "The newest of each period is `hourly.0`, the one before it `hourly.1`. Periods begin at full hours and at midnight of \
         the host's time zone; what was missed while the server did not run is taken once. Held snapshots are never removed.",
    ),
    new(Share, "snapshot-floor", Size, "\"50 GiB\"").without_default("none").says(
        "How much space must stay free: with less, the oldest snapshot that is not held is removed.",
        "The newest snapshot stays. The log says which ones were removed.",
    ),
    new(Share, "replicate-from", Kind::Text, "\"\"").example("\"ssh://studio/studio/video\"").own().says(
        "The share of which this one is a replica: the server fetches it regularly.",
        "It is written as for `fourfold replicate`, which tells more. The share's folder must be empty before the first time. \
         Clients can only read it until `fourfold replicate --promote`.",
    ),
    new(
        Share,
        "replicate-schedule",
        OneOf(&["hourly", "daily", "nightly", "weekly", "monthly"]),
        "\"hourly\"",
    )
    .says(
        "How often `replicate-from` is fetched.",
        "At full hours, at midnight, before Monday or before the first day of a month, in the host's time zone; what was \
         missed while the server did not run is done once.",
    ),
    new(Share, "quota", Size, "\"200 GiB\"").without_default("none").own().says(
        "How much space the files below the share's folder may take together.",
        "Clients see it as the size of the disk. It is not inherited: it binds the shares below it, too, and each can have a \
         smaller one. Snapshots do not count, except on ZFS. On btrfs subvolumes and ZFS datasets the host keeps it, if the \
         server was started as root; elsewhere the server counts. See docs/snapshots.md.",
    ),
    new(Share, "device-nodes", OneOf(&["allow", "deny"]), "\"deny\"").says(
        "Whether NFS clients may make block and character devices.",
        "FIFOs and sockets are always allowed.",
    ),
    new(Share, "nfs-whole-names", Bool, "false").says(
        "NFS clients list names of more than 255 bytes as they are.",
        "SMB and AFP clients can make such names, of up to 255 characters. Linux's NFS client cannot list a folder that has one \
         (version 3) or use such a file (version 4). So NFS listings show these files by the shortened names that programs on the \
         server see. Both names lead to the file. For clients that can hold longer names, set it to true.",
    ),
    new(Share, "audit", OneOf(&["none", "changes", "all"]), "\"none\"").says(
        "Which operations on the share the audit log has.",
        "\"changes\": whatever changes files, folders, names or rights, also if it fails. \"all\": in addition opening, reading and \
         listing. LUNs are not included. See `audit-log` and docs/logs.md.",
    ),
    new(Client, "match", Clients, "\"192.168.1.0/24\"").without_default("").says(
        "The hosts that the rule is for: an address, a network, \"*\" for every host, or a list of these.",
        "The first rule of a share that matches counts. A host that no rule matches is refused, over every protocol. \
         A share without rules is open to every host, as if it had `match = \"*\"`.",
    ),
    new(Client, "access", OneOf(&["rw", "ro", "none"]), "\"rw\"")
        .says("What these hosts may do over every protocol: read and write, read, or nothing.", ""),
    new(Client, "squash", OneOf(&["root", "all", "none"]), "\"root\"").says(
        "Which users of these hosts act as the anonymous user, over NFS.",
        "\"none\" lets root on the client be root in the share.",
    ),
    new(Client, "anon-uid", Number(0, 4_294_967_294), "65534").says("The uid of the anonymous user of NFS.", ""),
    new(Client, "anon-gid", Number(0, 4_294_967_294), "65534").says("The gid of the anonymous user of NFS.", ""),
    new(Client, "secure", Bool, "false").says(
        "NFS clients of these hosts must use a source port below 1024.",
        "A Mac does so with the mount option `resvport`.",
    ),
    new(Lun, "name", Kind::LunName, "\"video\"").without_default("").says(
        "The LUN's name, of which its target's is made.",
        "Two names that differ only in upper and lower case count as the same.",
    ),
    new(Lun, "size", Size, "\"2 TiB\"").without_default("that of the file, which must be there").says(
        "How large the LUN is; rounded up to whole blocks of 4096 bytes.",
        "It is made when it is missing, takes room only as it is written to, and may be larger than the file system. A \
         larger size than before lets it grow. A smaller one is refused: `fourfold lun resize --shrink` cuts.",
    ),
    new(Lun, "block-size", Kind::BlockSize, "512").says(
        "Bytes of a block, as initiators see it: 512 or 4096.",
        "It cannot change once the LUN is made: whatever is on it would be unreadable.",
    ),
    new(Lun, "read-only", Bool, "false").says("Initiators cannot write to the LUN.", ""),
    new(Lun, "file", Kind::File, "\"images/old-disk.img\"")
        .without_default("one of the server's own, hidden from the clients of the share")
        .says(
            "An image inside the share to serve as it is, such as one of tgt or LIO.",
            "A relative path counts from the share's folder. The file must exist and is not changed by this. While it is \
             served, clients of other protocols can read but not write or remove it.",
        ),
    new(Lun, "target", Kind::LunName, "\"vms\"").without_default("the LUN's name").says(
        "The target's name behind the share's. LUNs of a share with the same word share a target.",
        "",
    ),
    new(Lun, "number", Number(0, MOST_NUMBER as u64), "0")
        .without_default("the lowest that is free in its target, kept from then on")
        .says("The number of the LUN in its target.", ""),
    new(Lun, "initiators", Kind::Initiators, "[]")
        .example("[\"iqn.1991-05.com.microsoft:*\", \"iqn.1993-08.org.debian:01:studio\"]")
        .says(
            "Names of the initiators that see the LUN; `*` matches any characters. All of them when it is empty.",
            "A name is no proof: every initiator can claim it. Accounts with a CHAP secret are the proof, see `guests`.",
        ),
    new(Lun, "readers", Kind::Initiators, "[]").example("[\"iqn.2005-03.org.open-iscsi:*\"]").says(
        "Names of initiators that may only read the LUN; `*` matches any characters.",
        "An initiator that `initiators` and `readers` both name may only read.",
    ),
    new(User, "name", Kind::AccountName, "\"ada\"").without_default("").says(
        "The account's name.",
        "Its password is set with `fourfold user passwd NAME`; the settings file holds none.",
    ),
    new(User, "uid", Number(0, 4_294_967_294), "1000")
        .without_default("that of the host user of the same name, else `default-user`")
        .says("The Unix user the account acts as.", "A server that does not run as root does everything as its own user."),
    new(User, "gid", Number(0, 4_294_967_294), "1000")
        .without_default("the first group of that user; 65534 for a uid that no user of the host has")
        .says("The first group of the account, which the files it makes belong to.", ""),
    new(User, "disabled", Bool, "false").says("The account may not log in.", ""),
    new(User, "admin", Bool, "false").says(
        "The account may administer the server.",
        "It can log in to the console (`admin-port`). `fourfold user add --admin` says the same for accounts of the state folder.",
    ),
];
