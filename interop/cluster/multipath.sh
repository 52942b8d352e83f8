# What Linux's own initiator does with two paths to a LUN of a cluster, in a virtual machine (crates/xtask/src/interop/cluster/multipath.rs).
# Bash runs this with the programs of the machine's disk: open-iscsi, multipath-tools, mpathpersist.

. /words.sh
CHECK_LIMIT_S=480
CLIENT=iqn.2026-11.org.example.client:multipath
KEY=0xcafe
DISK=/dev/mapper/mpatha
PAUSE=180 # seconds until writes go on at the latest: the takeover takes 6 s, and this machine may be slow

[ -e /bin/sh ] || ln -s bash /bin/sh
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
mkdir -p /run/lock/iscsi /run/udev /etc/iscsi /etc/multipath /var/lib/iscsi
ip link set eth0 up
ip route add default via 10.0.2.2
echo "InitiatorName=$CLIENT" >/etc/iscsi/initiatorname.iscsi
cat >/etc/iscsi/iscsid.conf <<END
node.startup = manual
node.leading_login = No
node.session.initial_login_retry_max = 2
node.session.timeo.replacement_timeout = 5
node.conn[0].timeo.login_timeout = 10
node.conn[0].timeo.noop_out_interval = 5
node.conn[0].timeo.noop_out_timeout = 5
END
cat >/etc/multipath.conf <<END
defaults {
	user_friendly_names yes
	find_multipaths no
	polling_interval 1
	max_polling_interval 2
	no_path_retry 60
	reservation_key $KEY
}
blacklist {
	devnode "^vd"
}
devices {
	device {
		vendor "FOURFOLD"
		product ".*"
		hardware_handler "1 alua"
		prio alua
		path_grouping_policy group_by_prio
		path_checker tur
		failback immediate
	}
}
END

# paths: the state of each path, as its checker says: ready, or ghost in standby.
paths() { multipathd show paths format '%T' | grep -Eo '(ready|ghost|faulty|shaky)' | sort | tr '\n' ' '; }
device_of() { multipathd show paths format '%d %T' | gawk -v state="$1" '$2 == state || $3 == state || $4 == state { print $1 }'; }
has_paths() { [ "$(paths)" = "$1" ]; }
lines() { cat "$1" 2>/dev/null | wc -l; }
# within SECONDS COMMAND...
within() {
	limit=$1 first=$(uptime_s)
	shift
	until "$@"; do
		[ $(($(uptime_s) - first)) -lt "$limit" ] || { echo "not within $limit s: $*"; return 1; }
		sleep 0.2
	done
}

logged_in() {
	iscsiadm -m discovery -t sendtargets -p "$PORTAL:3260"
	iscsiadm -m node -T "$(iscsiadm -m node | gawk '/disks\.one$/ { print $2; exit }')" --login
	is "$(iscsiadm -m session | wc -l)" 2
}

one_device() {
	multipathd
	within 60 test -b $DISK
	within 30 has_paths "ghost ready "
	multipath -ll
	multipath -ll | grep -q "hwhandler='1 alua'"
	is "$(ls /sys/block/dm-*/slaves | grep -c sd)" 2
	for device in $(device_of ready) $(device_of ghost); do
		cat /sys/block/"$device"/device/access_state
	done
	is "$(cat /sys/block/"$(device_of ready)"/device/access_state)" active/optimized
	is "$(cat /sys/block/"$(device_of ghost)"/device/access_state)" standby
}

registered() { sg_persist --in --read-full-status /dev/"$1" | grep -Eo '(relative port|Relative port address): *[0-9a-fx]+' | grep -Eo '[0-9a-fx]+$' | sort | tr '\n' ' '; }

# mpathpersist registers over each path, by PERSISTENT RESERVE OUT.
reserved() {
	mpathpersist --out --register --param-sark=$KEY $DISK
	mpathpersist --in --read-keys $DISK
	is "$(mpathpersist --in --read-keys $DISK | grep -c $KEY)" 2
	mpathpersist --out --reserve --param-rk=$KEY --prout-type=5 $DISK
	mpathpersist --in --read-reservation $DISK | tee /tmp/reservation
	grep -q 'Write Exclusive, registrants only' /tmp/reservation
	sg_persist --in --read-full-status /dev/"$(device_of ghost)"
	is "$(registered "$(device_of ghost)")" "0x2 0x3 "
}

file_system() {
	mkfs.ext4 -F -q -E lazy_itable_init=0,lazy_journal_init=0 $DISK
	mount -t ext4 $DISK /mnt
}

content() { yes "file $1" | head -c 65536; }

# Files, one after the other. A number in /tmp/synced is that of a file that fsync has answered.
load() {
	number=$(lines /tmp/synced)
	while [ ! -e /tmp/stop ] && [ "$number" -lt 2000 ]; do
		number=$((number + 1))
		content $number | dd of=/mnt/file-$number bs=16k iflag=fullblock conv=fsync 2>>/tmp/load || break
		echo $number >>/tmp/synced
	done
	[ -e /tmp/stop ] || echo "the load ends at file $number" >>/tmp/failed
}
is_written() { [ "$(lines /tmp/synced)" -ge "$1" ] || [ -e /tmp/failed ]; }

# The active server is killed in mid-load, and the load goes on over the other path.
killed() {
	rm -f /tmp/stop /tmp/failed
	dmesg -c >/dev/null
	load &
	loader=$!
	within 60 is_written $(($(lines /tmp/synced) + 20))
	before=$(lines /tmp/synced)
	is "$(ask kill)" "done"
	begun=$(uptime_s)
	within $PAUSE is_written $((before + 2)) # one may have been in flight
	echo "went on after $(($(uptime_s) - begun)) s" >>/tmp/pauses
	within $PAUSE is_written $((before + 20))
	touch /tmp/stop
	wait $loader
	refused cat /tmp/failed
	refused grep -E 'error' /tmp/load
	dmesg >/tmp/kernel
	refused grep -E 'EXT4-fs (error|warning)|I/O error, dev dm-|Buffer I/O error on dev dm-|Aborting journal|Remounting' /tmp/kernel
	all_there
}

all_there() {
	umount /mnt
	e2fsck -fn $DISK
	echo 3 >/proc/sys/vm/drop_caches
	mount -t ext4 $DISK /mnt
	for number in $(cat /tmp/synced); do
		is "$(md5sum </mnt/file-"$number")" "$(content "$number" | md5sum)"
	done
}

still_reserved() {
	mpathpersist --in --read-reservation $DISK | tee /tmp/reservation
	grep -q 'Write Exclusive, registrants only' /tmp/reservation
}

back() {
	is "$(ask start)" "done"
	within 120 has_paths "ghost ready "
	multipath -ll
	is "$(registered "$(device_of ghost)")" "0x2 0x3 "
}

released() {
	mpathpersist --out --release --param-rk=$KEY --prout-type=5 $DISK
	mpathpersist --out --register --param-rk=$KEY --param-sark=0 $DISK
	refused sh -c "mpathpersist --in --read-keys $DISK | grep $KEY"
}

logged_out() {
	umount /mnt
	multipathd shutdown || true # it may end before it answers
	multipath -F
	iscsiadm -m node --logoutall=all
}

/lib/systemd/systemd-udevd --daemon
udevadm trigger
udevadm settle
iscsid -c /etc/iscsi/iscsid.conf -i /etc/iscsi/initiatorname.iscsi
check "open-iscsi logs in at both servers" logged_in
check "dm-multipath makes one device of both paths" one_device
check "mpathpersist registers over both paths" reserved
check "ext4 is made" file_system
check "the active server is killed under load" killed
check "the reservation is at the next server" still_reserved
check "the path to the server is back" back
check "the next active server is killed under load" killed
check "the path to that server is back" back
check "mpathpersist releases" released
check "logout" logged_out
cat /tmp/pauses
echo done >&3
sleep 1
poweroff -f
