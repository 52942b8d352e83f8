# What a virtual machine does for `cargo xtask interop rights kernel`: it mounts the team folder, over SMB once for each person, and
# lets kernel_worker.py do what the other side asks for. Bash runs this with the programs of the machine's disk.

. /words.sh
SERVER=10.0.2.2

hostname rights
[ -e /bin/sh ] || ln -s bash /bin/sh
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
chmod 1777 /tmp

# Nothing is cached: others change the files at the same time.
mount_nfs() {
	mkdir -p "/mnt/$1"
	mount -t nfs -o "$2,proto=tcp,port=$NFS_PORT,hard,actimeo=0,lookupcache=none,nosharecache" $SERVER:/share "/mnt/$1"
}
mount_cifs() {
	mkdir -p "/mnt/cifs-$1"
	options="username=$1,password=$PASSWORD,uid=$2,gid=$2,forceuid,forcegid,noperm,nosharesock,cache=none,actimeo=0,vers=3.1.1"
	mount -t cifs -o "$options,port=$SMB_PORT" //$SERVER/share "/mnt/cifs-$1"
}
check "mount, nfs3" mount_nfs nfs3 "vers=3,mountproto=tcp,mountport=$NFS_PORT,nolock"
check "mount, nfs4.2" mount_nfs nfs4 vers=4.2
for person in $PEOPLE; do
	check "mount, cifs of ${person%:*}" mount_cifs "${person%:*}" "${person#*:}"
done
check "mount, cifs of the outsider" refused mount_cifs "${OUTSIDER%:*}" "${OUTSIDER#*:}"
cd /checks
python3 -B kernel_worker.py >/tmp/worker 2>&1 &
check "the worker listens" soon grep -q listening /tmp/worker
ask play
cat /tmp/worker
echo done >&3
