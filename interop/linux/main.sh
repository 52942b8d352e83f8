# What Linux's file clients do in a virtual machine (crates/xtask/src/interop/linux): one share is mounted in every way, and used through
# all of these mounts. Bash runs this with the programs of the machine's disk; day.sh has what a person does, as user 1000.

. /words.sh
SERVER=10.0.2.2
FILES=/checks/files

hostname linux
[ -e /bin/sh ] || ln -s bash /bin/sh
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
chmod 1777 /tmp
mkdir -p /run/rpcbind /run/sendsigs.omit.d
rpcbind -w
rpc.statd --no-notify

as_user() { setpriv --reuid=1000 --regid=1000 --clear-groups "$@"; }
as_number() {
	number=$1
	shift
	setpriv --reuid=$number --regid=$number --clear-groups "$@"
}
# day FUNCTION [ARGUMENT...]: a function of day.sh.
day() { as_user bash /checks/day.sh "$@"; }

# mounted NAME TYPE OPTIONS: the share at /mnt/NAME.
mounted() {
	mkdir -p "/mnt/$1"
	case $2 in
	nfs) mount -t nfs -o "vers=3,proto=tcp,mountproto=tcp,$3" $SERVER:/share "/mnt/$1" ;;
	nfs4) mount -t nfs -o "proto=tcp,$3" $SERVER:/share "/mnt/$1" ;;
	cifs) mount -t cifs -o "username=$USER,password=$PASSWORD,uid=1000,gid=1000,nosharesock,$3" //$SERVER/share "/mnt/$1" ;;
	esac
	grep " /mnt/$1 " /proc/mounts
}

has_option() { grep " /mnt/$1 " /proc/mounts | grep -q "[ ,]$2[ ,]"; }

# Attributes of files and folders are kept for a second at most, as over SMB.
mount_nfs() {
	mounted nfs nfs hard,actimeo=1
	has_option nfs vers=3
	has_option nfs local_lock=none
}
mount_nfs4() {
	mounted nfs4 nfs4 vers=4.0,hard,actimeo=1
	has_option nfs4 vers=4.0
	has_option nfs4 local_lock=none
}
# Four connections in one session.
mount_nfs41() {
	mounted nfs41 nfs4 vers=4.1,nconnect=4,hard,actimeo=1
	has_option nfs41 vers=4.1
	has_option nfs41 nconnect=4
	has_option nfs41 local_lock=none
}
mount_nfs42() {
	mounted nfs42 nfs4 vers=4.2,hard,actimeo=1
	has_option nfs42 vers=4.2
}
# Without a cache of names.
mount_uncached() {
	mounted uncached nfs4 vers=4.2,hard,actimeo=1,lookupcache=none,nosharecache
	has_option uncached vers=4.2
	has_option uncached lookupcache=none
}
mount_nolock() {
	mounted nolock nfs hard,actimeo=1,nolock,nosharecache
	has_option nolock local_lock=all
}
# mount_smb NAME DIALECT [OPTION]: the dialect that was asked for is the one that is spoken. `hard`: calls wait for a server that is
# away, where `soft` (the default) says EAGAIN.
mount_smb() {
	mounted "$1" cifs "vers=$2,hard${3:+,$3}"
	has_option "$1" "vers=$2"
	[ "$3" != seal ] || has_option "$1" seal
}
mount_multichannel() {
	mount_smb multi 3.1.1 multichannel,max_channels=2
	cat /proc/fs/cifs/DebugData >/tmp/debug
	cat /tmp/debug
	grep -q 'Channel: 2' /tmp/debug || grep -q 'Extra Channels: 1' /tmp/debug
}

# both NAME FUNCTION [ARGUMENT...]: a person does it over NFS and over SMB at the same time, in two folders of one folder.
both() {
	what=$1
	did=$2
	shift 2
	if [ "$PEER" = 0 ]; then (check "nfs, $what" day "$did" /mnt/nfs/day-nfs nfs "$@") & fi
	(check "smb, $what" day "$did" /mnt/smb/day-smb smb "$@") &
	wait
}

# all_day NAME: a day's work over one mount, all of it at once.
all_day() {
	folder=/mnt/$1/day-$1
	(CHECK_LIMIT_S=150 check "$1, git" day in_git $folder nfs) &
	(check "$1, make -j" day with_make $folder nfs) &
	(check "$1, rsync -a --delete" day with_rsync $folder nfs) &
	(check "$1, sqlite" day in_sqlite $folder/sqlite nfs) &
	(check "$1, random reads, writes, maps and truncations" day fsx $folder nfs) &
	(check "$1, O_DIRECT and flock" day direct_and_locked $folder/direct nfs) &
	(check "$1, extended attributes" day attributes $folder/attributes nfs) &
	wait
}

# both_ways NAME FUNCTION: with the first mount NFS and the second SMB, and the other way round.
both_ways() {
	check "nfs and smb, $1" "$2" nfs smb
	check "smb and nfs, $1" "$2" smb nfs
}

basics() { as_user $FILES basics "/mnt/$1/basics-$1" "$1" >&3; }

seen() {
	as_user mkdir "/mnt/nfs/links-$1"
	day make_links "/mnt/nfs/links-$1/all"
	day links "/mnt/$1/links-$1/all" "$1"
	day remove_links "/mnt/$1/links-$1/all"
}
followed() {
	as_user mkdir "/mnt/nfs/links-$1"
	day make_links "/mnt/nfs/links-$1/all"
	day followed_links "/mnt/$1/links-$1/all"
	is "$(readlink "/mnt/nfs/links-$1/all/moved")" ../links-target
	is "$(cat "/mnt/nfs/links-$1/links-target/kept")" kept
	is "$(cat "/mnt/nfs/links-$1/all/folder/inner")" inner
}

# ACLs by the tools of nfs4-acl-tools: the server shows the mode as a list, keeps what is set, denies a user by number, and passes
# entries on. A mode takes the place of a list.
acls() {
	dir=/mnt/$1/acls-$1
	as_user mkdir "$dir"
	as_user sh -c "echo kept >'$dir/file'"
	as_user chmod 644 "$dir/file"
	as_user nfs4_getfacl "$dir/file" >/tmp/acl-$1
	cat /tmp/acl-$1
	grep -q '^A::OWNER@:rw' /tmp/acl-$1
	is "$(as_number 2000 cat "$dir/file")" kept
	# What was read is written back: nothing changes.
	as_user nfs4_setfacl -S /tmp/acl-$1 "$dir/file"
	is "$(stat -c %a "$dir/file")" 644
	is "$(as_user nfs4_getfacl "$dir/file")" "$(cat /tmp/acl-$1)"
	as_user nfs4_setfacl -a D::2000:r "$dir/file"
	is "$(as_user nfs4_getfacl "$dir/file" | grep 2000)" D::2000:r
	refused as_number 2000 cat "$dir/file"
	is "$(as_number 3000 cat "$dir/file")" kept
	as_user chmod 600 "$dir/file"
	refused sh -c "nfs4_getfacl '$dir/file' | grep 2000"
	refused as_number 3000 cat "$dir/file"
	as_user nfs4_setfacl -a A:fd:2000:rx "$dir"
	as_user mkdir "$dir/below"
	as_user sh -c "nfs4_getfacl '$dir/below' | grep '^A:fd:2000:rx'"
	# So it is with lists that were set or inherited.
	as_user nfs4_setfacl -a D::2000:w "$dir/file"
	for name in . below file; do
		as_user nfs4_getfacl "$dir/$name" >/tmp/acl-$1
		mode=$(stat -c %a "$dir/$name")
		as_user nfs4_setfacl -S /tmp/acl-$1 "$dir/$name"
		is "$(as_user nfs4_getfacl "$dir/$name")" "$(cat /tmp/acl-$1)"
		is "$(stat -c %a "$dir/$name")" "$mode"
	done
	refused as_user nfs4_setfacl -a A::ada@nowhere.example:r "$dir/file"
}

# across COMMAND FIRST SECOND: FILES in one folder through two mounts.
across() {
	as_user mkdir "/mnt/$2/$1-$2-$3"
	as_user $FILES "$1" "/mnt/$2/$1-$2-$3" "/mnt/$3/$1-$2-$3"
}
coherent() { across cross "$@"; }
locked() { across cross-locks "$@"; }

# A name that was made through one mount is found and listed through the other, as it is, and removed.
same_names() {
	folder=names-$1
	as_user mkdir "/mnt/$1/$folder"
	for name in plain 'größe' $'gro\xcc\x88\xc3\x9fe 2' 'q?:*"<>|' 'ends.' 'blank ' 'con'; do
		as_user touch "/mnt/$1/$folder/$name"
		soon [ -e "/mnt/$2/$folder/$name" ]
		is "$(ls -A "/mnt/$2/$folder" | od -c)" "$(echo "$name" | od -c)"
		is "$(ask names $folder)" "$(echo -n "$name" | od -An -tx1 | tr -d ' \n')"
		as_user rm "/mnt/$2/$folder/$name"
		soon [ ! -e "/mnt/$1/$folder/$name" ]
	done
}

# Two of each append to one file under locks; every record is there once. REOPEN says whether each record is an open of its own. Linux's
# SMB client appends at the end that it knows, so it must ask for the size each time. And when a lease is broken, Linux 6.1 tells the
# server only the locks of one of the opens: two programs on one machine can hold the same lock then. `now` is a mount without both.
appended() {
	file=log-$1
	pids=
	for mount in nfs now; do
		for who in 1 2; do
			as_user $FILES append-locked /mnt/$mount/$file $mount-$who 20 "$1" &
			pids="$pids $!"
		done
	done
	for pid in $pids; do wait "$pid"; done
	for mount in nfs now; do
		sort -u /mnt/$mount/$file >/tmp/sorted
		is "$(wc -l </mnt/$mount/$file)" 80
		is "$(grep -cE '^(nfs|now)-[12] [0-9]+ of 20$' /tmp/sorted)" 80
	done
}

# Locks that an SMB client holds bind others' reads and writes, as long as they are held: they are refused, through another open of SMB
# (FILE_LOCK_CONFLICT, which Linux calls EACCES) and over NFS. Locks of NFS are advisory.
bound() {
	as_user bash -c 'head -c 100 /dev/zero >/mnt/nfs/bound'
	rm -f /tmp/stop /tmp/held
	as_user $FILES hold-lock "/mnt/$1/bound" /tmp/held /tmp/stop &
	holder=$!
	soon [ -e /tmp/held ]
	case $1 in
	nfs) as_user $FILES write-plain /mnt/smb/bound 3 ;;
	smb)
		# `sealed` is another client for the server.
		for mount in sealed nfs; do
			refused as_user $FILES write-plain /mnt/$mount/bound 3 2>/tmp/refused
			cat /tmp/refused
			grep -q 'Permission denied' /tmp/refused
		done
		;;
	esac
	touch /tmp/stop
	wait $holder
	for mount in sealed nfs; do as_user $FILES write-plain /mnt/$mount/bound 3; done
}

# sent NAME OPERATION: how often the client has sent it through this mount.
sent() { sed -n "/ \/mnt\/$1 with /,/^device/s/^[[:space:]]*$2: \([0-9]*\) .*/\1/p" /proc/self/mountstats; }

# Holes and copies go by operations of NFSv4.2, and other mounts see what they did.
ranges() {
	cd /mnt/nfs42
	as_user mkdir ranges
	cd ranges
	as_user bash -c 'head -c 3000000 /dev/urandom >data'
	as_user truncate -s 8000000 data
	as_user fallocate -l 100000 reserved
	is "$(stat -c %s reserved)" 100000
	as_user fallocate -p -o 1048576 -l 1048576 data
	as_user cp data copy
	cmp data copy
	cmp /mnt/smb/ranges/data /mnt/smb/ranges/copy
	is "$(head -c 2097152 copy | tail -c 1048576 | tr -d '\0' | wc -c)" 0
	for operation in ALLOCATE DEALLOCATE SEEK COPY; do
		echo "$operation: $(sent nfs42 $operation)"
		[ "$(sent nfs42 $operation)" -gt 0 ]
	done
	cd /
}

# removed NAME: files are removed over SMB of which the client of NFS at NAME has delegations. The next files, which get their numbers, are
# made at once: nobody waits until the delegation of a file that is gone is taken from its holder, which is after 35 s.
removed() {
	dir=removed-$1
	as_user mkdir "/mnt/smb/$dir"
	before=$(sent $1 DELEGRETURN)
	for number in $(seq 10); do
		as_user bash -c "echo $number >/mnt/smb/$dir/file-$number"
		# The client of SMB keeps the file open for a moment after it is closed, and no delegation is given until then. Linux
		# asks the server for each open of a file without a delegation.
		for attempt in $(seq 15); do
			opens=$(sent $1 OPEN)
			is "$(as_user cat /mnt/$1/$dir/file-$number)" $number
			[ "$(sent $1 OPEN)" -gt "$opens" ] || break
			sleep 0.2
		done
		as_user rm "/mnt/smb/$dir/file-$number"
		began=$(uptime_s)
		as_user bash -c "echo next >/mnt/$1/$dir/next-$number; echo next >/mnt/nfs/$dir/other-$number"
		[ $(($(uptime_s) - began)) -lt 15 ]
	done
	echo "DELEGRETURN: $before $(sent $1 DELEGRETURN)"
	[ "$(sent $1 DELEGRETURN)" -gt "$before" ]
}

# replaced NAME BY COUNT: files take the place of another one through the mount BY, while a client of NFS opens it again and again and gets
# delegations. Each time it then reads the newest one. The mount NAME has no cache of names: with one, Linux opens what had the name before
# by its handle, for as long as it keeps attributes of the folder; in 17 of 200 rounds it did, and the server had forgotten each of these files.
replaced() {
	dir=replaced-$1-$2
	as_user mkdir "/mnt/$2/$dir"
	before=$(sent $1 DELEGRETURN)
	as_user $FILES replaced "/mnt/$2/$dir" "/mnt/$1/$dir" "$3"
	echo "DELEGRETURN: $before $(sent $1 DELEGRETURN)"
	[ "$(sent $1 DELEGRETURN)" -gt "$before" ]
}

counts_on() { [ "$(wc -l <"$1")" -gt "$2" ]; }

# survives NAME REQUEST: while clients write, the other side does what is asked, and the clients go on by themselves: what they synced is
# there, and locks hold. Each lock's holder writes at the end, which Linux refuses (EIO) if the server has given up the lock.
survives() {
	dir=survives-$1
	rm -f /tmp/stop /tmp/noted-* /tmp/held-*
	as_user mkdir /mnt/nfs/$dir
	pids=
	for mount in nfs nfs4 nfs41 nfs42 smb; do
		as_user $FILES journal /mnt/$mount/$dir/$mount /tmp/noted-$mount /tmp/stop &
		pids="$pids $!"
	done
	for mount in nfs nfs4 nfs41 nfs42; do
		as_user $FILES hold-lock /mnt/$mount/$dir/lock-$mount /tmp/held-$mount /tmp/stop &
		pids="$pids $!"
	done
	for mount in nfs nfs4 nfs41 nfs42 smb; do soon counts_on /tmp/noted-$mount 10; done
	for mount in nfs nfs4 nfs41 nfs42; do soon [ -e /tmp/held-$mount ]; done
	is "$(ask "$2")" "done"
	for mount in nfs nfs4 nfs41 nfs42 smb; do
		before=$(wc -l </tmp/noted-$mount)
		soon counts_on /tmp/noted-$mount $((before + 10)) || soon counts_on /tmp/noted-$mount $((before + 10))
	done
	sleep 3
	for mount in nfs nfs4 nfs41 nfs42; do refused as_user $FILES try-lock /mnt/smb/$dir/lock-$mount; done
	touch /tmp/stop
	for pid in $pids; do wait "$pid"; done
	for mount in nfs nfs4 nfs41 nfs42 smb; do
		for other in nfs nfs41 smb; do $FILES journal-is-whole /mnt/$other/$dir/$mount /tmp/noted-$mount; done
	done
	for mount in nfs nfs4 nfs41 nfs42; do as_user $FILES try-lock /mnt/smb/$dir/lock-$mount; done
}

# past NAME ROOT: in /mnt/NAME is a share with the snapshot `one`, which is found below ROOT in each folder, and listed in none.
past() {
	is "$(cat /mnt/$1/subdir/hardlink)" "as it is"
	is "$(cat /mnt/$1/$2/one/subdir/hardlink)" "as it was"
	is "$(cat /mnt/$1/subdir/$2/one/hardlink)" "as it was"
	is "$(ls -A /mnt/$1)" subdir
	is "$(ls -A /mnt/$1/subdir)" hardlink
	is "$(ls /mnt/$1/$2)" one
	is "$(find /mnt/$1/$2/one -type f)" /mnt/$1/$2/one/subdir/hardlink
	refused as_user touch /mnt/$1/$2/one/subdir/new 2>/tmp/refused
	cat /tmp/refused
	grep -qE 'Read-only file system|Permission denied' /tmp/refused
	refused as_user rm /mnt/$1/$2/one/subdir/hardlink
	umount /mnt/$1/$2/one || true # Linux mounts another file system by itself
	umount /mnt/$1
}
past_nfs() {
	mkdir -p /mnt/past
	mount -t nfs -o vers=3,proto=tcp,mountproto=tcp,hard $SERVER:/past /mnt/past
	past past .snapshot
}
past_smb() {
	mkdir -p /mnt/past
	mount -t cifs -o "username=$USER,password=$PASSWORD,uid=1000,gid=1000,nosharesock,vers=3.1.1" //$SERVER/past /mnt/past
	past past '~snapshot'
}

# A link of a namespace leads to another server, and to the second one when the first is killed while a file is copied from it.
dfs_followed() {
	mkdir -p /mnt/names
	mount -t cifs -o "username=$USER,password=$PASSWORD,uid=1000,gid=1000,vers=3.1.1,hard" //$SERVER/names /mnt/names
	is "$(ls /mnt/names)" far
	is "$(cat /mnt/names/far/where)" 0
	as_user sh -c 'echo kept >/mnt/names/far/made'
	is "$(ask far far0/made)" kept
	grep /mnt/names /proc/mounts
	grep -q ' /mnt/names/far cifs .*,addr=10.0.2.3,' /proc/mounts
}
dfs_killed() {
	exec 4</mnt/names/far/large
	for piece in $(seq 24); do
		dd bs=1M count=1 iflag=fullblock status=none <&4 >>/tmp/large
		[ $piece != 3 ] || is "$(ask kill-far)" "done"
	done
	is "$(md5sum </tmp/large | cut -d ' ' -f 1)" "$(ask far-sum)"
	is "$(cat /mnt/names/far/where)" 1
	rm /tmp/large
}

. /checks/posix.sh

MOUNTS="smb21 smb30 sealed30 smb sealed multi"
if [ "$PEER" = 0 ]; then
	check "mounts, NFS with locks" mount_nfs
	check "mounts, NFS without locks" mount_nolock
	check "mounts, NFS 4.0" mount_nfs4
	check "mounts, NFS 4.1" mount_nfs41
	check "mounts, NFS 4.2" mount_nfs42
	check "mounts, NFS 4.2, without a cache of names" mount_uncached
	MOUNTS="nfs nolock nfs4 nfs41 nfs42 $MOUNTS"
fi
check "mounts, SMB 2.1" mount_smb smb21 2.1
check "mounts, SMB 3.0" mount_smb smb30 3.0
check "mounts, SMB 3.0, sealed" mount_smb sealed30 3.0 seal
check "mounts, SMB 3.1.1" mount_smb smb 3.1.1
check "mounts, SMB 3.1.1, sealed" mount_smb sealed 3.1.1 seal
check "mounts, SMB 3.1.1, multichannel" mount_multichannel
check "mounts, SMB 3.1.1, without leases and a cache of attributes" mount_smb now 3.1.1 nolease,actimeo=0
# SQLite changes a lock that it holds for reading into one for writing. SMB has no such change, so SQLite needs locks that stay here.
check "mounts, SMB 3.1.1, with its locks here" mount_smb nobrl 3.1.1 nobrl
if [ "$PEER" = 0 ]; then
	check "mounts, SMB 3.1.1 with the POSIX extensions" mount_posix posix actimeo=1
	check "mounts, SMB 3.1.1 with the POSIX extensions and modes" mount_posix posix-modes modefromsid,cifsacl,actimeo=1
	check "mounts, SMB 3.1.1 with the POSIX extensions and names as they are" mount_posix posix-raw nomapposix,actimeo=1
	MOUNTS="$MOUNTS posix"
fi
for mount in $MOUNTS; do
	check "$mount, basics" basics $mount
done
# Once, before the checks of both protocols use it at the same time.
day tree
both "tar" with_tar
both "rsync -a --delete" with_rsync
both "random reads, writes, maps and truncations" fsx
if [ "$PEER" = 0 ]; then
	both_ways "a change is seen by the next open" coherent
	both_ways "a lock holds, and who waits gets it" locked
	for other in nfs smb; do
		check "nfs4 and $other, a change is seen by the next open" coherent nfs4 $other
		check "$other and nfs4, a change is seen by the next open" coherent $other nfs4
		check "nfs4 and $other, a lock holds, and who waits gets it" locked nfs4 $other
		check "$other and nfs4, a lock holds, and who waits gets it" locked $other nfs4
	done
	for other in nfs4 smb; do
		check "nfs41 and $other, a change is seen by the next open" coherent nfs41 $other
		check "$other and nfs41, a change is seen by the next open" coherent $other nfs41
		check "nfs41 and $other, a lock holds, and who waits gets it" locked nfs41 $other
		check "$other and nfs41, a lock holds, and who waits gets it" locked $other nfs41
	done
	check "nfs42, holes and copies" ranges
	CHECK_LIMIT_S=120 check "nfs42, a file is removed over SMB under its delegation" removed nfs42
	for other in nfs smb; do
		CHECK_LIMIT_S=120 check "$other and uncached, a file is replaced beside opens" replaced uncached $other 50
	done
	for mount in nfs4 nfs42; do check "$mount, ACLs" acls $mount; done
	for mount in nfs4 nfs41; do
		check "$mount, tar" day with_tar /mnt/$mount/day-$mount $mount
	done
	all_day nfs42
fi
both "git" in_git
CHECK_LIMIT_S=120 both "stress-ng dentry" entries
check "nobrl, sqlite" day in_sqlite /mnt/nobrl/day-nobrl smb
check "smb, extended attributes" day attributes /mnt/smb/attributes smb
if [ "$PEER" = 0 ]; then
	check "nfs, sqlite" day in_sqlite /mnt/nfs/day-nfs nfs
	for mount in nfs smb sealed; do
		check "$mount, symbolic links" seen $mount
	done
	check "smb21, symbolic links" followed smb21
	check "posix and nfs, what is there is told alike" posix_told
	check "posix and nfs, modes and owners of what is made" posix_made
	check "posix and nfs, chmod" posix_chmod
	for mount in posix posix-raw; do check "$mount and nfs, names" posix_names $mount; done
	check "posix and nfs, moves and removals" posix_moved
	check "posix and nfs, special files" posix_special
	check "posix and nfs, a symbolic link is made" posix_linked
	if [ "$(ask past)" = yes ]; then
		check "nfs, a snapshot" past_nfs
		check "smb, a snapshot" past_smb
	fi
	check "smb, a link to another server" dfs_followed
	check "smb, a link whose server is killed while a file is copied" dfs_killed
	both_ways "names" same_names
	check "nfs and smb, appending under locks" appended 0
	check "nfs and smb, appending under locks, an open for each record" appended 1
	check "nfs and smb, a lock of NFS does not bind writes over SMB" bound nfs
	check "smb and nfs, a lock of SMB binds writes" bound smb
	CHECK_LIMIT_S=120 check "nfs, nfs4, nfs41, nfs42 and smb, the server is killed under writes" survives killed kill
	# Longer than a lease.
	CHECK_LIMIT_S=120 check "nfs, nfs4, nfs41, nfs42 and smb, the network is cut under writes" survives cut "cut 12"
fi
echo done >&3
sleep 1
poweroff -f
