//! The settings of shares, and of what stands below them.

use super::super::ClientSec;
use super::super::authority::Authority;
use super::super::kind::{Kind, MOST_NUMBER};
use super::super::preset::WORDS as PRESET_WORDS;
use super::super::setting::{Setting, Table, new};

use Authority::{Administrator, Host, Limit, Operator};
use Kind::{Bool, Clients, Duration, Number, OneOf, Path, People, Size, SomeOf, Texts};
use Table::{Client, Lun, Share};

/// In the order of the documentation.
pub(super) const SHARE: &[Setting] = &[
    new(Share, "name", Administrator, Kind::ShareName, "\"Share\"").without_default("").own().says(
        "The name clients see: the NFS export /NAME, the SMB share and the AFP volume NAME.",
        "Two names that differ only in upper and lower case count as the same. Names with slashes make a tree: \
         `studio/video` lies below the share `studio`, which must be there. It inherits the settings that it does not set \
         itself, and the `[[share.client]]` rules if it has none. SMB and AFP clients see it as `studio_video`.",
    ),
    new(Share, "path", Administrator, Path, "\"/srv/share\"").without_default("").own().says(
        "The folder to share.",
        "A share below another one is by default the folder of the last part of its name, in the folder of the other share. \
         A relative path counts from the folder of the settings file. While the folder is missing or cannot be read, the \
         share is not served; the other shares are. The server looks for it every 2 seconds. When the folder of a share \
         that is served is removed, the share ends as soon as no file of it is open. With `%U` at its end, such as in \
         `/srv/homes/%U`, SMB and AFP clients see the folder with the name of their account, and NFS clients the folder of all: \
         see docs/security.md.",
    ),
    new(Share, "make-homes", Administrator, Bool, "false").own().says(
        "Missing folders of accounts are made, in a share whose path ends with `%U`.",
        "The folder is made when its user first opens it, belongs to the user, and has the mode 0700. A server that is not \
         root makes it as its own user. When it is false, a user without a folder has no home.",
    ),
    new(Share, "store", Host, Kind::Text, "\"cephfs:home\"").without_default("a folder of this machine").own().says(
        "Where the folder is: `cephfs:NAME` is the file system NAME of a Ceph cluster.",
        "`path` is then a path in that file system, which need not be mounted: the server uses Ceph's client library \
         (libcephfs2), as the user `client.admin`, or as another one with `cephfs:USER@NAME`. Such a share can neither lie \
         inside another one nor have one inside it. docs/ceph.md has the details.",
    ),
    new(Share, "shared", Operator, Bool, "false").says(
        "Other machines change the files, too: the folder is on a shared file system, such as CephFS, GPFS or Lustre.",
        "The kernel does not notify this machine of their changes. So no listing is kept, and clients are not notified of what \
         others change. A share with a `store` is always shared. docs/ceph.md says what else is different.",
    ),
    new(Share, "from", Administrator, Kind::Url(&["smb", "afp", "nfs", "file"]), "\"smb://old/studio\"")
        .without_default("nowhere: all files are here")
        .own()
        .flag("from", "URL")
        .says(
            "The share of another server from which the files arrive while clients use this one.",
            "Clients see all files of the other server at once. What they read arrives, the rest in the background, and what they \
             write stays here. The folder needs extended attributes. As a flag it is for the one folder of the command line. \
             docs/migrating.md has the details.",
        ),
    new(Share, "from-credentials", Host, Kind::File, "\"/etc/fourfold/old.credentials\"")
        .without_default("a guest, or the account of the URL")
        .own()
        .flag("from-credentials", "FILE")
        .says(
            "A file with the account for `from`.",
            "Its lines are `username=` and `password=`, as mount.cifs has them.",
        ),
    new(Share, "must-be-mounted", Limit("true"), Bool, "false").own().says(
        "The folder must be the root of a mounted file system.",
        "While no file system is mounted there, the share is not served, and nothing is written to the folder below. Set \
         it for shares on disks that are mounted late or can be removed. When the disk is unmounted, the share ends for \
         connected clients within 2 seconds; it comes back when the disk is mounted.",
    ),
    new(Share, "comment", Operator, Kind::Text, "\"\"")
        .own()
        .example("\"Plans and photographs\"")
        .says("What clients show beside the name (SMB).", ""),
    new(Share, "preset", Operator, OneOf(PRESET_WORDS), "\"none\"").example("\"editing\"").says(
        "What the share is for: settings that it does not set itself get the values for this job.",
        "\"editing\" is for Final Cut Pro, Premiere Pro, Resolve, Pro Tools and Logic Pro: `case-sensitive = false`, \
         `mac-sidecars = true`, `name-encoding = \"plain\"`, `safe-save = true` and `read-ahead = \"double\"`. Leases, locks, \
         durable handles and F_FULLFSYNC need no setting. What the share sets itself counts before the preset, and the preset before \
         what it would inherit. It changes no rights. `fourfold verify-edit` tries what these programs do.",
    ),
    new(Share, "nfs", Limit("false"), Bool, "true").says("The share is an NFS export.", ""),
    new(Share, "smb", Limit("false"), Bool, "true").says("SMB clients see the share.", ""),
    new(Share, "afp", Limit("false"), Bool, "true").says("AFP clients see the share as a volume.", ""),
    new(Share, "iscsi", Limit("false"), Bool, "true").says("The LUNs of the share are iSCSI targets.", ""),
    new(Share, "read-only", Limit("true"), Bool, "false")
        .flag("read-only", "")
        .says("Clients cannot change anything in the share.", "As a flag it counts for every share."),
    new(Share, "guests", Limit("false"), Bool, "false").flag("guest", "").says(
        "People without an account may enter.",
        "Counts for protocols with a login (SMB, AFP, iSCSI). Over NFS such a share is for every host, unless client rules or \
         `nfs-clients` say otherwise. As a flag it counts for every share.",
    ),
    new(Share, "users", Administrator, Texts, "[]").example("[\"ada\", \"grace\"]").says(
        "Accounts that may enter; everyone with an account when this and `groups` are empty.",
        "What they may do is what the modes of files on the disk say; `editors` and `readers` say it for all files at once. Counts for protocols with a login (SMB, AFP, iSCSI); for NFS the client rules decide.",
    ),
    new(Share, "groups", Administrator, Texts, "[]")
        .example("[\"staff\", 'LAB\\designers']")
        .says(
            "Groups whose members may enter: Unix groups of the host, and groups of the `domain`.",
            "See `users`. A group of the domain is named as `LAB\\designers` or `designers@lab.test`, or by its SID; groups of other \
             domains by their SIDs only. As long as the server does not know a group, it admits no user: see docs/domain.md.",
        ),
    new(Share, "owners", Administrator, People, "[\"ada\"]").without_default("no one by this list").says(
        "People who may change everything in the share, and say who may do what.",
        "With one of `owners`, `editors`, `contributors`, `readers` and `drop` the share is a team folder. What each may do there is \
         the same over every protocol, whatever modes and rights clients send. People in none of the lists may not enter. `users`, \
         `groups` and `guests` are not set then. An entry is an account, a group such as `@studio` (of the server, of the \
         host, or of the `domain`, also by its SID), `everyone` (with an account), or `guests` (also those without). Somebody in several \
         lists may do what any of them allows. A share below another one inherits the five lists together, if it has none of them. \
         `fourfold share access` shows and changes them, and docs/sharing.md explains them.",
    ),
    new(Share, "editors", Administrator, People, "[\"ada\", \"@studio\"]").without_default("no one by this list").says(
        "People who may change all files and folders in the share, also those of others.",
        "See `owners`. They do not say who may do what.",
    ),
    new(Share, "contributors", Administrator, People, "[\"@students\"]").without_default("no one by this list").says(
        "People who may read all of the share, add files and folders, and change and remove what they have made.",
        "See `owners`. In a share with `time-machine` they see only what they have made. A server that does not run as root cannot \
         tell who has made a file: contributors then only read and add.",
    ),
    new(Share, "readers", Administrator, People, "[\"everyone\"]").without_default("no one by this list").says(
        "People who may read all of the share, and change nothing.",
        "See `owners`.",
    ),
    new(Share, "drop", Administrator, People, "[\"guests\"]").without_default("no one by this list").says(
        "People who may put files and folders into the share's top folder, and see nothing of what is there.",
        "See `owners`. They cannot take back what they have put in. They may give it another name, if nothing has that.",
    ),
    new(Share, "encryption", Limit("required"), OneOf(&["optional", "required"]), "\"optional\"").says(
        "Whether SMB clients must encrypt what they send to and get from the share.",
        "Required keeps out guests, and clients before SMB 3.0. Other protocols are not concerned: see `protocols`.",
    ),
    new(Share, "time-machine", Operator, Bool, "false").says(
        "Macs may back up to the share with Time Machine.",
        "Give it a share of its own, and set `time-machine-size`: a backup takes all the room there is. `contributors` back up to it, \
         and see only their own backups: see docs/time-machine.md.",
    ),
    new(Share, "time-machine-size", Operator, Size, "\"2 TiB\"")
        .without_default("all of the disk")
        .own()
        .says("How large the share is said to be to Macs that back up to it.", ""),
    new(Share, "time-machine-snapshots", Operator, Number(0, 1000), "0").says(
        "How many snapshots are kept that are taken after sessions of Time Machine; 0: none is taken.",
        "A session is over when no client has a file of the backup open for writing. The snapshots have names such as \
         `time-machine-20261123T013400Z`; held ones are never removed. It needs a file system that makes snapshots.",
    ),
    new(Share, "time-machine-journal", Operator, Number(0, 100), "0").says(
        "How many sessions of Time Machine can be undone where the file system has no snapshots; 0: none.",
        "Before a session changes a band of a backup for the first time, the server copies the band and puts the copy on the disk. So a \
         session takes the space of the bands that it changes, and writes each of them twice, unless the file system can share \
         blocks (XFS, Btrfs). `fourfold backups rollback` goes back. Not for shares that other servers serve, too.",
    ),
    new(Share, "time-machine-macs", Operator, Kind::Macs, "[\"Ada's Mac: limit=800GiB alert=14d\", \"Old Mac: retired\"]")
        .without_default("what counts for the share")
        .own()
        .says(
            "What counts for the backups of single Macs, by the names of their bundles without the ending.",
            "`limit` is the size that the share is said to have to the user that the bundle belongs to. `alert` is how old its newest \
             backup may become before an alert; `never` switches the alert off. `retired` says that it backs up no longer. \
             `fourfold backups` changes it.",
        ),
    new(Share, "time-machine-verify", Operator, Kind::Duration, "\"30 d\"").says(
        "How often the backups of Macs are verified while none is written; off: never, and their bands have no checksums.",
        "All of a backup is read, slowly and at low priority. Checksums are made of what a Mac has changed, after its session.",
    ),
    new(Share, "volume-id", Operator, Kind::Identity, "\"00112233-4455-6677-8899-AABBCCDDEEFF\"")
        .without_default("the share's own, made once and kept in the state folder")
        .own()
        .says(
            "The id by which Time Machine remembers the share.",
            "Set it only to take over from another server: Netatalk keeps its own in `afp_voluuid.conf`.",
        ),
    new(Share, "afp-password", Administrator, Kind::VolumePassword, "\"plans\"").without_default("none").says(
        "What AFP clients are asked when they open the share, beside the account's password.",
        "All users have the same one, and it is sent in clear: it does not keep attackers out. Every user who can read the \
         settings file sees it.",
    ),
    new(Share, "case-sensitive", Operator, Bool, "false").says(
        "SMB and AFP clients tell \"a\" from \"A\".",
        "NFS clients always do. When it is false, two names that differ only in case both stay reachable.",
    ),
    new(Share, "mac-sidecars", Operator, Bool, "true").says(
        "A Mac's `._name` files are the Mac half of the file `name`, on every protocol.",
        "They are not listed; looking one up answers the file's Finder info and resource fork, and writing one \
         changes them. When it is false they are plain files.",
    ),
    new(Share, "mac-layout", Operator, OneOf(&["netatalk", "samba", "samba-streams"]), "\"netatalk\"").says(
        "How Finder info, resource forks and named streams are stored that are new.",
        "What a file has stays in the layout that it has, and a new part of it gets the layout of the file, then that of the \
         files beside it. This setting counts where neither tells one. \"netatalk\": as Netatalk 3 and 4 with `ea = sys`. \
         \"samba\": as Samba's fruit by default, with named streams in `user.DosStream`. \"samba-streams\": as Samba with \
         `fruit:metadata = stream` and `fruit:resource = stream`; a fork that is too large for an attribute goes to `._name`.",
    ),
    new(Share, "name-encoding", Operator, OneOf(&["plain", "private"]), "\"plain\"").says(
        "How new names store a character that Windows forbids, or a space or dot at the end, from clients of SMB and AFP.",
        "\"plain\": as itself, as NFS and local programs see it. \"private\": as a private code point, as Samba with \
         `fruit:encoding = private` does, which shows clients no other such names. Characters of `catia-mappings` \
         are stored as themselves. Names are found in either form.",
    ),
    new(Share, "catia-mappings", Operator, Kind::Characters, "\"\"").example("\"0x22:0xa8,0x3a:0xf7,0x3f:0xbf\"").own().says(
        "Characters of names that SMB clients see as others: `catia:mappings` of Samba.",
        "Each pair is a character on the disk and the one that clients see, by their Unicode numbers. Without it clients see private \
         code points for characters that Windows forbids, which Macs show as the characters themselves.",
    ),
    new(Share, "deny-modes", Operator, OneOf(&["strict", "silly-rename", "data-only"]), "\"strict\"").says(
        "What a client that denies others an access to an open file denies besides reading and writing.",
        "\"strict\": a Mac over AFP that denies writing also denies removing and renaming the file to clients of SMB and NFS; \
         another Mac may still rename it. \"silly-rename\": an NFS client may give an open file a name of the form `.nfs*`, \
         whoever has it open, and remove it by such a name. Linux does so with files that it has open itself. \"data-only\": \
         a Mac's deny modes concern reading and writing only.",
    ),
    new(Share, "read-only-by-mode", Limit("true"), Bool, "true").says(
        "A file whose mode has no right to write is shown as read-only over SMB and as locked over AFP.",
        "NFS clients and local programs make such a file with `chmod a-w`. SMB and AFP clients can then neither write nor \
         remove it, until one of them makes it writable, which adds the owner's right to write. Files with an ACL of Windows \
         or a Mac are not concerned. When it is false, the mode only says who may write.",
    ),
    new(Share, "safe-save", Operator, Bool, "true").says(
        "A file that an SMB or NFS client saves, by putting a new one in its place or overwriting it, keeps what only Macs know of.",
        "The new file gets the Finder info, tags, comment, resource fork and creation date of the old one, unless it has some of \
         these itself. This concerns files of the same folder, the new one less than an hour old; and the name that a file had \
         less than 15 seconds ago. A file that an SMB client overwrites in place keeps the same, and loses its other streams. Macs over \
         AFP and SMB do it themselves. When it is false, the file has only what was written.",
    ),
    new(Share, "read-ahead", Operator, OneOf(&["normal", "double", "none"]), "\"normal\"").says(
        "How far ahead the host reads the files of the share from its disk.",
        "\"normal\": as far as the host does for each file, which `/sys/class/bdi/*/read_ahead_kb` says for the disk. \"double\": twice \
         as far (POSIX_FADV_SEQUENTIAL), for large files that are read from front to back, such as media. \"none\": nothing \
         (POSIX_FADV_RANDOM), for databases and images of virtual machines. It counts for files that are opened from then on. \
         `fourfold caches` shows how far it is. A share with a `store` has no read-ahead of the host.",
    ),
    new(Share, "local-recall", Operator, Bool, "false").says(
        "A local program that opens a file waits until SMB clients have given back what they cache of it.",
        "A program that reads gets what the clients have written last, and a client reads what a program has written. A client \
         that does not answer delays the program for 35 seconds, or for those in `/proc/sys/fs/lease-break-time` if they are fewer. \
         A client caches nothing of a file that a local program has open for writing. After a rename or removal by a program, \
         clients close the file and list the folder again. File systems without leases (NFS, some FUSE ones) cannot do this.",
    ),
    new(Share, "dfs", Limit("false"), Bool, "false").own().says(
        "The share is a namespace: symbolic links whose text is `msdfs:SERVER\\SHARE` lead SMB clients to other servers.",
        "Several targets have commas between them. Make links on the host, as for Samba: `ln -s 'msdfs:filer2\\archive' archive`.",
    ),
    new(Share, "continuous", Operator, Bool, "false").says(
        "In a cluster: SMB clients keep what they have open when their server is lost, as on a continuously available share of Windows.",
        "A client that asks for a persistent handle has it also without a lease or an oplock, and its programs notice a pause only. \
         Each open, close and lock of such a handle waits for the server that would take over, and each write is on the disk when it is \
         answered. While the client is away, SMB clients cannot open the file. See docs/cluster.md.",
    ),
    new(Share, "cross-mounts", Limit("false"), Bool, "true").says(
        "File systems that are mounted inside the share's folder are part of the share.",
        "Clients enter them like folders. They see the free space of the file system that they are in, and cannot move a file \
         from one to the other. When it is false, a client that tries to enter one is refused.",
    ),
    new(Share, "create-mask", Administrator, Kind::Mode, "\"0664\"").without_default("all bits that the client asks for").says(
        "The bits that the mode of a new file may have, as `create mask` of Samba, over every protocol.",
        "SMB clients ask for 0666 where this is set, and for 0644 where it is not. It does not concern access control lists, nor \
         a later `chmod`. These settings are for folders that are used as with Samba or Netatalk; for people who work together, \
         a team folder needs none of them.",
    ),
    new(Share, "directory-mask", Administrator, Kind::Mode, "\"0775\"").without_default("all bits that the client asks for").says(
        "The bits that the mode of a new folder may have, as `directory mask` of Samba.",
        "See `create-mask`. SMB clients ask for 0777 where this is set, and for 0755 where it is not.",
    ),
    new(Share, "force-create-mode", Administrator, Kind::Mode, "\"0660\"").without_default("none").says(
        "The bits that the mode of a new file gets in any case, after `create-mask`.",
        "A default ACL of the folder may take some of them.",
    ),
    new(Share, "force-directory-mode", Administrator, Kind::Mode, "\"2770\"").without_default("none").says(
        "The bits that the mode of a new folder gets in any case, after `directory-mask`.",
        "With setgid (2000) what is made in it belongs to its group.",
    ),
    new(Share, "force-user", Host, Kind::Text, "\"media\"").without_default("users act as themselves").says(
        "The user of the host that all users of the share act as.",
        "The account decides before whether a person may enter. The user's groups count, not those of the account. It needs a server that runs as \
         root, and cannot be root. If the host does not know the user, all act as nobody.",
    ),
    new(Share, "force-group", Host, Kind::Text, "\"film\"").without_default("users act with their own first group").says(
        "The group of the host that all users of the share act with as their first one: what they make belongs to it.",
        "With `+` before the name only users that are in the group anyway do. The other groups of users count as before.",
    ),
    new(Share, "inherit-owner", Host, Bool, "false").says(
        "What is new belongs to the owner of its folder, not to its maker.",
        "Makers may then do with it what its mode and ACL let them. It needs a server that runs as root.",
    ),
    new(Share, "hide", Operator, Texts, "[]").example("[\"*.tmp\", \"lost+found\"]").says(
        "Names that listings leave out, over every protocol; `*` and `?` match as in a shell.",
        "They can still be opened by name. A folder that contains such entries is not empty and cannot be removed.",
    ),
    new(Share, "show", Operator, Texts, "[]").example("[\".AppleDouble\"]").says(
        "Names that listings show although `hide` or the server would leave them out.",
        "Without `hide`, the server leaves out `.AppleDB`, `.AppleDesktop` and `.AppleDouble`, in which Netatalk keeps its own \
         data, and `.streams` and `@eaDir` of Samba and Synology. They can be opened by name, and what is in them goes with the \
         files that it belongs to. A folder in which only these are left counts as empty and can be removed.",
    ),
    new(Share, "search", Operator, OneOf(&["off", "names", "contents"]), "\"off\"").own().says(
        "What searches find in the share, by an index that the server keeps in its state folder.",
        "\"names\": names, kinds, sizes, dates, owners, and the tags and comments of Macs. \"contents\": also the words of documents. \
         The index is built in the background and follows every change. A search finds what the asker may list, and nothing \
         else. It serves `fourfold find` and the console. A folder with a file `.metadata_never_index`, and all below it, is \
         left out. docs/search.md has the details.",
    ),
    new(Share, "snapshot-folder", Limit("off"), OneOf(&["hidden", "visible", "off"]), "\"hidden\"").says(
        "Where clients see the snapshots of the share.",
        "Each folder has them in `.snapshot` and `~snapshot`, which no listing shows: `cd .snapshot` works. With \"visible\" \
         the share's folder lists `Snapshots`, too, for Macs. Windows shows them as Previous Versions unless it is \"off\". Real \
         entries with these names are hidden. It needs a file system that makes snapshots: see `fourfold snapshot --help`.",
    ),
    new(Share, "snapshot-schedule", Operator, Kind::Schedule, "\"\"").example("\"hourly:24 nightly:7 weekly:4\"").says(
        "Which snapshots the server takes by itself, and how many of each period it keeps.",
        "The newest of each period is `hourly.0`, the one before it `hourly.1`. Periods begin at full hours and at midnight of \
         the host's time zone; what was missed while the server did not run is taken once. Held snapshots are never removed.",
    ),
    new(Share, "snapshot-floor", Operator, Size, "\"50 GiB\"").without_default("none").says(
        "How much space must stay free: with less, the oldest snapshot that is not held is removed.",
        "The newest snapshot stays. The log says which ones were removed.",
    ),
    new(Share, "replicate-from", Administrator, Kind::Text, "\"\"").example("\"ssh://studio/studio/video\"").own().says(
        "The share of which this one is a replica: the server fetches it regularly.",
        "It is written as for `fourfold replicate`, which tells more. The share's folder must be empty before the first time. \
         Clients can only read it until `fourfold replicate --promote`.",
    ),
    new(
        Share,
        "replicate-schedule",
        Operator,
        OneOf(&["hourly", "daily", "nightly", "weekly", "monthly"]),
        "\"hourly\"",
    )
    .says(
        "How often `replicate-from` is fetched.",
        "At full hours, at midnight, before Monday or before the first day of a month, in the host's time zone; what was \
         missed while the server did not run is done once.",
    ),
    new(Share, "quota", Operator, Size, "\"200 GiB\"").without_default("none").own().says(
        "How much space the files below the share's folder may take together.",
        "Clients see it as the size of the disk. It is not inherited: it binds the shares below it, too, and each can have a \
         smaller one. Snapshots do not count, except on ZFS. On btrfs subvolumes and ZFS datasets the host keeps it, if the \
         server was started as root; elsewhere the server counts. See docs/snapshots.md.",
    ),
    new(Share, "device-nodes", Limit("deny"), OneOf(&["allow", "deny"]), "\"deny\"").says(
        "Whether NFS clients may make block and character devices.",
        "FIFOs and sockets are always allowed.",
    ),
    new(Share, "nfs-whole-names", Operator, Bool, "false").says(
        "NFS clients list names of more than 255 bytes as they are.",
        "SMB and AFP clients can make such names, of up to 255 characters. Linux's NFS client cannot list a folder that has one \
         (version 3) or use such a file (version 4). So NFS listings show these files by the shortened names that programs on the \
         server see. Both names lead to the file. For clients that can hold longer names, set it to true.",
    ),
    new(Share, "bin", Operator, Duration, "\"off\"").example("\"30 d\"").says(
        "How long what people remove on the console's page Files stays in the share's bin.",
        "The bin is the folder `.bin` of the share, in which each account has a folder of its own. What clients of SMB, AFP and NFS remove does \
         not come into it. Files in it count against the share's space, and go when their time is over.",
    ),
    new(Share, "audit", Limit("all"), OneOf(&["none", "changes", "all"]), "\"none\"").says(
        "Which operations on the share the audit log has.",
        "\"changes\": whatever changes files, folders, names or rights, also if it fails. \"all\": in addition opening, reading and \
         listing. LUNs are not included. See `audit-log` and docs/logs.md.",
    ),
    new(Client, "match", Administrator, Clients, "\"192.168.1.0/24\"").without_default("").says(
        "The hosts that the rule is for: an address, a network, the name of a host, a pattern such as \"*.example.org\", \"*\" for \
         every host, or a list of these.",
        "The first rule of a share that matches counts. A host that no rule matches is refused, over every protocol. \
         A share without rules is open to every host, as if it had `match = \"*\"`. A name matches the addresses that the name \
         service of this machine has for it. A pattern (`*`, `?` and `[a-z]`) matches the name of the client's address, if that \
         name leads back to the address. If a look-up fails, a host that may be one of the rule gets no more than that rule and \
         the next one that matches both allow. See docs/security.md.",
    ),
    new(Client, "access", Administrator, OneOf(&["rw", "ro", "none"]), "\"rw\"")
        .says("What these hosts may do over every protocol: read and write, read, or nothing.", ""),
    new(Client, "squash", Administrator, OneOf(&["root", "all", "none"]), "\"root\"").says(
        "Which users of these hosts act as the anonymous user, over NFS.",
        "\"none\" lets root on the client be root in the share.",
    ),
    new(Client, "anon-uid", Administrator, Number(0, 4_294_967_294), "65534").says("The uid of the anonymous user of NFS.", ""),
    new(Client, "anon-gid", Administrator, Number(0, 4_294_967_294), "65534").says("The gid of the anonymous user of NFS.", ""),
    new(Client, "secure", Administrator, Bool, "false").says(
        "NFS clients of these hosts must use a source port below 1024.",
        "A Mac does so with the mount option `resvport`.",
    ),
    new(Client, "tls", Administrator, OneOf(&["optional", "required", "mutual"]), "\"optional\"").says(
        "Whether NFS clients of these hosts must use TLS.",
        "\"required\": NFS calls in clear are refused. \"mutual\": the client must show a certificate, too, see `nfs-client-ca`. \
         Linux 6.5 and newer: `mount -o xprtsec=tls` or `xprtsec=mtls`. MOUNT and locks of version 3 are answered without: Linux sends \
         those in clear.",
    ),
    new(Client, "sec", Administrator, SomeOf(ClientSec::WORDS), "[\"sys\", \"krb5\", \"krb5i\", \"krb5p\"]").says(
        "How NFS calls of these hosts may prove whose they are, the preferred way first.",
        "\"sys\": they do not, and the server believes the client machine about its users. The others need `kerberos-keytab`: with \
         \"krb5\" users log in by Kerberos, with \"krb5i\" everything is signed, too, and with \"krb5p\" it is encrypted. Linux: \
         `mount -o sec=krb5p`. Clients that do not name a flavour take the first one that they have. See docs/nfs.md.",
    ),
    new(Lun, "name", Operator, Kind::LunName, "\"video\"").without_default("").says(
        "The LUN's name, of which its target's is made.",
        "Two names that differ only in upper and lower case count as the same.",
    ),
    new(Lun, "size", Operator, Size, "\"2 TiB\"").without_default("that of the file, which must be there").says(
        "How large the LUN is; rounded up to whole blocks of 4096 bytes.",
        "It is made when it is missing, takes room only as it is written to, and may be larger than the file system. A \
         larger size than before lets it grow. A smaller one is refused: `fourfold lun resize --shrink` cuts.",
    ),
    new(Lun, "block-size", Operator, Kind::BlockSize, "512").says(
        "Bytes of a block, as initiators see it: 512 or 4096.",
        "It cannot change once the LUN is made: whatever is on it would be unreadable.",
    ),
    new(Lun, "read-only", Limit("true"), Bool, "false").says("Initiators cannot write to the LUN.", ""),
    new(Lun, "file", Administrator, Kind::File, "\"images/old-disk.img\"")
        .without_default("one of the server's own, hidden from the clients of the share")
        .says(
            "An image inside the share to serve as it is, such as one of tgt or LIO.",
            "A relative path counts from the share's folder. The file must exist and is not changed by this. While it is \
             served, clients of other protocols can read but not write or remove it.",
        ),
    new(Lun, "target", Operator, Kind::LunName, "\"vms\"").without_default("the LUN's name").says(
        "The target's name behind the share's. LUNs of a share with the same word share a target.",
        "",
    ),
    new(Lun, "number", Operator, Number(0, MOST_NUMBER as u64), "0")
        .without_default("the lowest that is free in its target, kept from then on")
        .says("The number of the LUN in its target.", ""),
    new(Lun, "address", Operator, Kind::Text, "\"10.0.0.50\"")
        .without_default("one that the cluster chooses")
        .says(
            "The virtual address of the cluster at which initiators reach the LUN: one of `cluster-addresses`.",
            "The server that has the address serves the LUN. All LUNs of a target have the same one. See docs/cluster.md.",
        ),
    new(Lun, "initiators", Administrator, Kind::Initiators, "[]")
        .example("[\"iqn.1991-05.com.microsoft:*\", \"iqn.1993-08.org.debian:01:studio\"]")
        .says(
            "Names of the initiators that see the LUN; `*` matches any characters. All of them when it is empty.",
            "A name is no proof: every initiator can claim it. Accounts with a CHAP secret are the proof, see `guests`.",
        ),
    new(Lun, "readers", Administrator, Kind::Initiators, "[]").example("[\"iqn.2005-03.org.open-iscsi:*\"]").says(
        "Names of initiators that may only read the LUN; `*` matches any characters.",
        "An initiator that `initiators` and `readers` both name may only read.",
    ),
];
