#!/bin/busybox sh
# The first program of the virtual machine (crates/xtask/src/interop/guest). It prepares the machine, then runs the checks: /checks.sh
# in the first file system, or, where the machine has a disk, with the programs of that disk.

# busybox's shell runs its own applets before the programs of the path.
export PATH=/bin:/applets
/bin/busybox mkdir -p /applets /proc /sys /dev /disk /run/lock /etc /tmp
/bin/busybox --install -s /applets
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
exec </dev/console >/dev/console 2>&1
# The second serial line leads to the tests.
exec 3<>/dev/ttyS1
stty raw -echo <&3
while read -r module; do modprobe "$module"; done </modules
ifconfig lo 127.0.0.1
ifconfig eth0 10.0.2.15 netmask 255.255.255.0
[ ! -e /sys/class/net/eth1 ] || ifconfig eth1 10.0.3.15 netmask 255.255.255.0

if [ -b /dev/vda ]; then
	mount -t ext4 /dev/vda /disk
	for file in words.sh settings checks; do [ ! -e /$file ] || cp -a /$file /disk; done
	for folder in proc sys dev; do
		mkdir -p /disk/$folder
		mount --move /$folder /disk/$folder
	done
	export PATH=/usr/sbin:/usr/bin
	exec /bin/busybox switch_root /disk /bin/bash /checks/main.sh
fi
. /checks/main.sh
