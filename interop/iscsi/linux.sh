# What Linux's own initiator does in a virtual machine (crates/xtask/src/interop/iscsi/linux.rs), run by busybox's shell.

. /words.sh
mkdir -p /run/lock/iscsi /etc/iscsi /mnt /scratch

PORTAL=10.0.2.2:$PORT
CLIENT=iqn.2026-11.org.example.client:linux
OTHER=iqn.2026-11.org.example.client:other
SMALL=$PREFIX:open.small
LARGE=$PREFIX:open.large
VAULT=$PREFIX:closed.vault

echo "InitiatorName=$CLIENT" >/etc/iscsi/initiatorname.iscsi
echo 'root:x:0:0:root:/:/bin/sh' >/etc/passwd
cat >/etc/iscsi/iscsid.conf <<END
node.startup = manual
node.leading_login = No
node.session.initial_login_retry_max = 2
node.session.timeo.replacement_timeout = 60
node.conn[0].timeo.login_timeout = 10
node.conn[0].timeo.noop_out_interval = 2
node.conn[0].timeo.noop_out_timeout = 5
END
head -c 32m /dev/urandom >/scratch/random
SUM=$(md5sum </scratch/random)

node() {
	target=$1
	shift
	iscsiadm -m node -T "$target" -p "$PORTAL" "$@"
}

# set TARGET NAME VALUE...: settings of its node.
set_all() {
	target=$1
	shift
	while [ $# -gt 0 ]; do
		iscsiadm -m node -T "$target" -p "$PORTAL" -o update -n "$1" -v "$2"
		shift 2
	done
}

# session TARGET [INITIATOR]: the folder of its session.
session() {
	for folder in /sys/class/iscsi_session/session*; do
		[ "$(cat "$folder/targetname")" = "$1" ] || continue
		[ "$(cat "$folder/initiatorname")" = "${2:-$CLIENT}" ] || continue
		echo "$folder"
		return 0
	done
	return 1
}

block() {
	folder=$(session "$@") || return 1
	basename "$folder"/device/target*/*/block/*
}
has_disk() { [ -b "/dev/$(block "$@")" ]; }
has_size() { [ "$(cat "/sys/block/$1/size")" = "$2" ]; }
is_gone() { refused session "$1"; }

login() {
	node "$1" --login
	soon has_disk "$1"
}

logout() {
	node "$1" --logout
	soon is_gone "$1"
}

# read_sum DISK MIB [AT]: the sum of what the disk holds. Through a pipe it takes many times as long: there is one processor.
read_sum() {
	dd if="$1" of=/tmp/read iflag=direct bs=1M count="$2" skip="${3:-0}"
	md5sum </tmp/read
}

# sum FILE MIB: the sum of a file's beginning.
sum() {
	dd if="$1" of=/tmp/part bs=1M count="$2"
	md5sum </tmp/part
}

# The server tells the address that it was reached at, which is its loopback address: this machine has to reach it by another.
finds() {
	"$@" >/tmp/found
	cat /tmp/found
	grep -qx "127.0.0.1:$PORT,1 $SMALL" /tmp/found
	grep -qx "127.0.0.1:$PORT,1 $LARGE" /tmp/found
}

discovery() {
	finds iscsiadm -m discovery -t sendtargets -p "$PORTAL" -o nonpersistent
	refused grep "$VAULT" /tmp/found
	iscsiadm -m node -T "$SMALL" -p "$PORTAL" -o new
	iscsiadm -m node -T "$LARGE" -p "$PORTAL" -o new
}

discovery_with_chap() {
	set -- iscsiadm -m discoverydb -t sendtargets -p "$PORTAL"
	"$@" -o new
	for setting in "authmethod CHAP" "username $USER" "password $SECRET"; do
		"$@" -o update -n "discovery.sendtargets.auth.${setting% *}" -v "${setting#* }"
	done
	finds "$@" --discover
	grep -qx "127.0.0.1:$PORT,1 $VAULT" /tmp/found
	iscsiadm -m node -T "$VAULT" -p "$PORTAL" -o new
}

# Its exit code for "authorization failure".
not_let_in() {
	status=0
	node "$1" --login || status=$?
	is $status 24
}

nobody() { not_let_in "$VAULT"; }

chap() {
	set_all "$VAULT" node.session.auth.authmethod CHAP node.session.auth.username "$USER" \
		node.session.auth.password "$SECRET"
	login "$VAULT"
	dd if="/dev/$(block "$VAULT")" of=/dev/null bs=4k count=4
	logout "$VAULT"
}

wrong_secret() {
	set_all "$VAULT" node.session.auth.password wrong-horse-12
	not_let_in "$VAULT"
	set_all "$VAULT" node.session.auth.password "$SECRET"
}

mutual_chap() {
	set_all "$VAULT" node.session.auth.username_in "$TARGET_USER" node.session.auth.password_in "$TARGET_SECRET"
	login "$VAULT"
	logout "$VAULT"
}

wrong_target() {
	set_all "$VAULT" node.session.auth.password_in another-secret-56
	refused node "$VAULT" --login
	set_all "$VAULT" node.session.auth.password_in "$TARGET_SECRET"
}

small_blocks() {
	login "$SMALL"
	disk=$(block "$SMALL")
	is "$(cat "/sys/block/$disk/size")" 524288
	is "$(cat "/sys/block/$disk/queue/logical_block_size")" 512
	is "$(cat "/sys/block/$disk/queue/rotational")" 0
	[ "$(cat "/sys/block/$disk/queue/discard_max_bytes")" -gt 0 ]
	[ "$(cat "/sys/block/$disk/queue/write_zeroes_max_bytes")" -gt 0 ]
	is "$(cat "/sys/block/$disk/ro")" 0
}

large_blocks() {
	login "$LARGE"
	disk=$(block "$LARGE")
	is "$(cat "/sys/block/$disk/size")" 524288 # Linux counts in 512 bytes always
	is "$(cat "/sys/block/$disk/queue/logical_block_size")" 4096
}

# Linux trusts a disk that says that it has a cache to flush it.
flushes() {
	cat "/sys/block/$(block "$SMALL")/queue/write_cache"
	is "$(cat "/sys/block/$(block "$SMALL")/queue/write_cache")" "write back"
}

write_and_read() {
	disk=/dev/$(block "$1")
	dd if=/scratch/random of="$disk" oflag=direct bs=1M seek=3
	is "$(read_sum "$disk" 32 3)" "$SUM"
	dd if=/scratch/random of="$disk" bs=64k conv=fsync
	echo 3 >/proc/sys/vm/drop_caches
	dd if="$disk" of=/tmp/read bs=8k count=4096
	is "$(md5sum </tmp/read)" "$SUM"
}

digests() {
	logout "$LARGE"
	set_all "$LARGE" 'node.conn[0].iscsi.HeaderDigest' CRC32C 'node.conn[0].iscsi.DataDigest' CRC32C
	login "$LARGE"
	for folder in "$(session "$LARGE")"/device/connection*/iscsi_connection/*; do
		is "$(cat "$folder/header_digest")" 1
		is "$(cat "$folder/data_digest")" 1
	done
	write_and_read "$LARGE"
}

# What the initiator proposes otherwise: no R2T is saved, and everything is asked for.
without_immediate_data() {
	logout "$LARGE"
	set_all "$LARGE" node.session.iscsi.InitialR2T Yes node.session.iscsi.ImmediateData No \
		node.session.iscsi.MaxBurstLength 16384 'node.conn[0].iscsi.MaxRecvDataSegmentLength' 4096
	login "$LARGE"
	dd if=/scratch/random of="/dev/$(block "$LARGE")" oflag=direct bs=1M count=8
	is "$(read_sum "/dev/$(block "$LARGE")" 8)" "$(sum /scratch/random 8)"
	logout "$LARGE"
	set_all "$LARGE" node.session.iscsi.InitialR2T No node.session.iscsi.ImmediateData Yes \
		node.session.iscsi.MaxBurstLength 16776192 'node.conn[0].iscsi.MaxRecvDataSegmentLength' 262144
	login "$LARGE"
}

file_system() {
	disk=/dev/$(block "$1")
	mkfs.ext4 -F -q -E discard,lazy_itable_init=0 "$disk"
	mount -t ext4 "$disk" /mnt
	mkdir /mnt/folder
	cp /scratch/random /mnt/folder/random
	cp -r /bin /etc /mnt/folder
	sync
	umount /mnt
	echo 3 >/proc/sys/vm/drop_caches
	e2fsck -fn "$disk"
	mount -t ext4 -o ro "$disk" /mnt
	is "$(md5sum </mnt/folder/random)" "$SUM"
	cmp /bin/iscsid /mnt/folder/bin/iscsid
	umount /mnt
}

trimmed() {
	disk=/dev/$(block "$1")
	mount -t ext4 "$disk" /mnt
	cat /scratch/random /scratch/random >/mnt/gone
	sync
	before=$(ask allocated "${1##*.}")
	rm /mnt/gone
	sync
	/bin/fstrim -v /mnt
	after=$(ask allocated "${1##*.}")
	umount /mnt
	e2fsck -fn "$disk"
	[ $((before - after)) -ge $((60 << 20)) ] || { echo "$before bytes became $after"; return 1; }
}

discarded() {
	disk=/dev/$(block "$SMALL")
	dd if=/scratch/random of="$disk" oflag=direct bs=1M
	/bin/blkdiscard -o 1048576 -l 8388608 "$disk"
	/bin/blkdiscard -z -o 16777216 -l 1048576 "$disk"
	is "$(read_sum "$disk" 8 1)" "$(sum /dev/zero 8)"
	is "$(read_sum "$disk" 1 16)" "$(sum /dev/zero 1)"
	is "$(read_sum "$disk" 1)" "$(sum /scratch/random 1)"
}

inquiries() {
	disk=/dev/$(block "$SMALL")
	sg_inq "$disk" | grep -q 'PQual=0'
	for page in sv sn di bl bdc lbpv ei mpp; do sg_vpd --page=$page "$disk" || echo "no page $page"; done
	sg_vpd --page=di "$disk" | grep -q "$SMALL"
	sg_vpd --page=bl "$disk" | grep -q 'Maximum unmap LBA count'
	sg_readcap --16 "$disk" | grep -q 'lbpme=1, lbprz=1'
	sg_opcodes "$disk" | grep -q 'Compare and write'
}

unmapped() {
	disk=/dev/$(block "$SMALL")
	dd if=/scratch/random of="$disk" oflag=direct bs=1M
	sg_unmap --force --lba=4096 --num=4096 "$disk"
	sg_write_same --16 --unmap --lba=16384 --num=4096 "$disk"
	is "$(read_sum "$disk" 2 2)" "$(sum /dev/zero 2)"
	is "$(read_sum "$disk" 2 8)" "$(sum /dev/zero 2)"
	# Address, blocks, 0 (mapped) or 1 (not), and another status.
	sg_get_lba_status --brief --lba=0 "$disk" >/tmp/status
	cat /tmp/status
	grep -Eq '^0x0+  0x1000  0 ' /tmp/status
	sg_get_lba_status --brief --lba=4096 "$disk" >/tmp/status
	cat /tmp/status
	grep -Eq '^0x0*1000  0x1000  1 ' /tmp/status
}

compared() {
	disk=/dev/$(block "$SMALL")
	dd if=/scratch/random of="$disk" oflag=direct bs=1M count=1
	dd if=/scratch/random bs=512 skip=8 count=1 >/tmp/both
	head -c 512 /dev/zero >>/tmp/both
	sg_compare_and_write --in=/tmp/both --lba=8 --num=1 --xferlen=1024 "$disk"
	dd if="$disk" of=/tmp/read iflag=direct bs=512 skip=8 count=1
	head -c 512 /dev/zero | cmp - /tmp/read
	refused sg_compare_and_write --in=/tmp/both --lba=8 --num=1 --xferlen=1024 "$disk"
}

# Another initiator of this machine, so that there are two.
other_session() {
	iscsiadm -m iface -I other -o new
	iscsiadm -m iface -I other -o update -n iface.initiatorname -v "$OTHER"
	iscsiadm -m node -T "$SMALL" -p "$PORTAL" -I other -o new
	iscsiadm -m node -T "$SMALL" -p "$PORTAL" -I other --login
	soon has_disk "$SMALL" "$OTHER"
	[ "$(block "$SMALL")" != "$(block "$SMALL" "$OTHER")" ]
}

reserved() {
	mine=/dev/$(block "$SMALL")
	other=/dev/$(block "$SMALL" "$OTHER")
	sg_persist --out --register --param-sark=0xabc "$mine"
	sg_persist --out --reserve --param-rk=0xabc --prout-type=1 "$mine" # write exclusive
	sg_persist --in --read-keys "$other" | grep -q 0xabc
	sg_persist --in --read-reservation "$other" | grep -q 'Write Exclusive'
	refused dd if=/scratch/random of="$other" oflag=direct bs=4k count=1
	dd if="$other" iflag=direct of=/dev/null bs=4k count=1
	dd if=/scratch/random of="$mine" oflag=direct bs=4k count=1
	sg_persist --out --register --param-sark=0xdef "$other"
	sg_persist --out --preempt --param-rk=0xdef --param-sark=0xabc --prout-type=1 "$other"
	refused dd if=/scratch/random of="$mine" oflag=direct bs=4k count=1
	sg_persist --out --clear --param-rk=0xdef "$other"
	dd if=/scratch/random of="$mine" oflag=direct bs=4k count=1
	iscsiadm -m node -T "$SMALL" -p "$PORTAL" -I other --logout
}

resized() {
	disk=$(block "$LARGE")
	is "$(ask resize open/large 320M)" "done"
	iscsiadm -m session -R
	soon has_size "$disk" 655360
	dd if=/scratch/random of="/dev/$disk" oflag=direct bs=1M count=1 seek=319
	is "$(read_sum "/dev/$disk" 1 319)" "$(sum /scratch/random 1)"
}

# survives WHAT: the server goes and comes back under writes.
survives() {
	disk=/dev/$(block "$SMALL")
	(for _ in 1 2 3; do dd if=/scratch/random of="$disk" oflag=direct bs=256k || exit 1; done; touch /tmp/wrote) &
	writer=$!
	sleep 0.5
	is "$(ask "$1")" "done"
	wait $writer
	rm /tmp/wrote
	soon has_disk "$SMALL"
	is "$(read_sum "$disk" 32)" "$SUM"
	is "$(cat "$(session "$SMALL")/state")" LOGGED_IN
}

logged_out() {
	logout "$SMALL"
	logout "$LARGE"
	refused iscsiadm -m session
}

iscsid -c /etc/iscsi/iscsid.conf -i /etc/iscsi/initiatorname.iscsi
check "discovery" discovery
check "discovery with CHAP" discovery_with_chap
check "CHAP, nobody is refused" nobody
check "CHAP" chap
check "CHAP, a wrong secret is refused" wrong_secret
check "mutual CHAP" mutual_chap
check "mutual CHAP, another target is refused" wrong_target
check "login, a disk of blocks of 512 bytes" small_blocks
check "login, a disk of blocks of 4096 bytes" large_blocks
check "the disk's cache is flushed" flushes
check "writing and reading" write_and_read "$SMALL"
check "CRC32C digests" digests
check "small bursts without immediate data" without_immediate_data
check "ext4 on blocks of 512 bytes" file_system "$SMALL"
check "ext4 on blocks of 4096 bytes" file_system "$LARGE"
check "fstrim gives space back" trimmed "$LARGE"
check "blkdiscard" discarded
check "sg_inq, sg_vpd, sg_readcap, sg_opcodes" inquiries
check "sg_unmap, sg_write_same, sg_get_lba_status" unmapped
check "sg_compare_and_write" compared
check "two initiators" other_session
check "persistent reservations" reserved
check "a new size" resized
check "the server is killed under writes" survives kill
check "the server is restarted under writes" survives restart
check "logout" logged_out
echo done >&3
sleep 1
poweroff -f
