# What Linux's file clients do in a virtual machine (crates/xtask/src/interop/linux): one share is mounted in every way, and used through
# all of these mounts. Bash runs this with the programs of the machine's disk; day.sh has what a person does, as user 1000.

. /words.sh
SERVER=10.0.2.2
FILES=/checks/files

hostname linux
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
chmod 1777 /tmp
mkdir -p /run/rpcbind /run/sendsigs.omit.d
rpcbind -w
rpc.statd --no-notify

# person NAME COMMAND...: a check that user 1000 makes; the command is a function of day.sh.
person() {
	name=$1
	shift
	check "$name" as_person "$@"
}
as_person() { setpriv --reuid=1000 --regid=1000 --clear-groups bash -e /checks/day.sh "$@"; }

# mounted NAME TYPE OPTIONS: the share, or the folder below it, at /mnt/NAME.
mounted() {
	mkdir -p "/mnt/$1"
	case $2 in
	nfs) mount -t nfs -o "vers=3,proto=tcp,mountproto=tcp,$3" $SERVER:/share "/mnt/$1" ;;
	cifs) mount -t cifs -o "username=$USER,password=$PASSWORD,uid=1000,gid=1000,nosharesock,$3" //$SERVER/share "/mnt/$1" ;;
	esac
	grep " /mnt/$1 " /proc/mounts
	shift 3
	for word in "$@"; do grep " /mnt/$name " /proc/mounts | grep -q "$word"; done
}

has_option() { grep " /mnt/$1 " /proc/mounts | grep -q "[ ,]$2[ ,]"; }

mount_nfs() {
	mounted nfs nfs hard,actimeo=1
	has_option nfs vers=3
	has_option nfs local_lock=none
}
mount_nolock() {
	mounted nolock nfs hard,nolock,nosharecache
	has_option nolock local_lock=all
}
# mount_smb NAME DIALECT [OPTION]: the dialect that was asked for is the one that is spoken.
mount_smb() {
	mounted "$1" cifs "vers=$2,nohandlecache${3:+,$3}"
	has_option "$1" "vers=$2"
	[ "$3" != seal ] || has_option "$1" seal
}
mount_multichannel() {
	mount_smb multi 3.1.1 multichannel,max_channels=2
	cat /proc/fs/cifs/DebugData >/tmp/debug
	cat /tmp/debug
	grep -q 'Channel: 2' /tmp/debug || grep -q 'Extra Channels: 1' /tmp/debug
}

# Each of the two mounts of one folder in a process of its own, at the same time.
# both NAME FUNCTION [ARGUMENT...]: as a person, once in /mnt/nfs and once in /mnt/smb.
both() {
	what=$1
	shift
	(person "nfs: $what" "$1" "/mnt/nfs/day" nfs "${@:2}") &
	first=$!
	(person "smb: $what" "$1" "/mnt/smb/day" smb "${@:2}") &
	wait $first $!
}

basics() { setpriv --reuid=1000 --regid=1000 --clear-groups $FILES basics "/mnt/$1/basics-$1" "$1" >&3; }

check "mounts: NFS with locks" mount_nfs
check "mounts: NFS without locks" mount_nolock
check "mounts: SMB 2.1" mount_smb smb21 2.1
check "mounts: SMB 3.0" mount_smb smb30 3.0
check "mounts: SMB 3.0, sealed" mount_smb sealed30 3.0 seal
check "mounts: SMB 3.1.1" mount_smb smb 3.1.1
check "mounts: SMB 3.1.1, sealed" mount_smb sealed 3.1.1 seal
check "mounts: SMB 3.1.1, multichannel" mount_multichannel
for mount in nfs nolock smb21 smb30 sealed30 smb sealed multi; do
	check "$mount: basics" basics $mount
done

echo done >&3
sleep 1
poweroff -f
