# What a mount of SMB with the POSIX extensions (`-o posix`) has in common with one of NFS: checks of main.sh, which reads this file.

# mount_posix NAME [OPTION]. Linux takes a file that it has just made for one of the mount's user, until it asks the server (6.1, 6.12).
mount_posix() {
	mkdir -p "/mnt/$1"
	mount -t cifs -o "username=$USER,password=$PASSWORD,uid=1000,gid=1000,nosharesock,vers=3.1.1,hard,posix${2:+,$2}" //$SERVER/share "/mnt/$1"
	grep " /mnt/$1 " /proc/mounts
	has_option "$1" posix
}

# What stat(2) tells of all in a folder. A folder's size is only that of a file over NFS.
told() {
	as_user bash -c "cd $1 && find . ! -type d -exec stat -c '%n %F %a %u %g %h %s %i %Y' {} + | sort; \
		find . -type d -exec stat -c '%n %F %a %u %g %i %Y' {} + | sort"
}

# What was made over NFS looks the same.
posix_told() {
	dir=posix-told
	as_user bash -c "mkdir /mnt/nfs/$dir && cd /mnt/nfs/$dir && umask 0 && echo text >plain && echo text >tool && chmod 640 plain && \
		chmod 4751 tool && mkdir sub shared && chmod 2750 sub && chmod 1777 shared && ln plain sub/second && ln -s plain link && \
		ln -s sub to-sub && ln -s nowhere/at/all broken"
	# Linux 6.1 shows the owners that a listing tells, but for a single file those of the mount.
	case $(uname -r) in 6.1.*) ;; *) as_number 2000 bash -c "echo other >/mnt/nfs/$dir/shared/other" ;; esac
	told /mnt/nfs/$dir >/tmp/told-nfs
	told /mnt/posix/$dir >/tmp/told-posix
	diff /tmp/told-nfs /tmp/told-posix
	for mount in nfs posix; do as_user bash -c "cd /mnt/$mount/$dir && ls -lR | grep -v '^total\|^d' | tr -s ' '" >/tmp/ls-$mount; done
	diff /tmp/ls-nfs /tmp/ls-posix
	for link in link to-sub broken; do is "$(readlink /mnt/posix/$dir/$link)" "$(readlink /mnt/nfs/$dir/$link)"; done
	is "$(cat /mnt/posix/$dir/link)" text
	is "$(ls /mnt/posix/$dir/to-sub)" second
	is "$(stat -f -c '%c' /mnt/posix)" "$(stat -f -c '%c' /mnt/nfs)"
}

# What is made over SMB has the mode that the program asked for, and its owner.
posix_made() {
	dir=posix-made
	as_user bash -c "mkdir /mnt/posix/$dir && cd /mnt/posix/$dir && umask 027 && echo text >made && mkdir sub && umask 0 && echo more >open && \
		mkdir all && ln made second"
	soon [ -e /mnt/nfs/$dir/second ]
	told /mnt/nfs/$dir >/tmp/told-nfs
	told /mnt/posix/$dir >/tmp/told-posix
	diff /tmp/told-nfs /tmp/told-posix
	is "$(cd /mnt/nfs/$dir && stat -c '%n %a %u' made sub open all | tr '\n' ' ')" "made 640 1000 sub 750 1000 open 666 1000 all 777 1000 "
}

has_mode() { [ "$(stat -c %a "$1")" = "$2" ]; }

# Linux sends a chmod over SMB with `modefromsid`, and from 6.13 on without it.
posix_chmod() {
	as_user bash -c "mkdir /mnt/nfs/posix-chmod && cd /mnt/nfs/posix-chmod && echo text >file && chmod 644 file && mkdir dir && chmod 755 dir"
	for mode in 600 4755 444 1640; do
		as_user chmod $mode /mnt/posix-modes/posix-chmod/file
		soon has_mode /mnt/nfs/posix-chmod/file $mode
		soon has_mode /mnt/posix/posix-chmod/file $mode
	done
	as_user chmod 2770 /mnt/posix-modes/posix-chmod/dir
	soon has_mode /mnt/nfs/posix-chmod/dir 2770
	# The mode is all that counts: no other user may read.
	as_user chmod 600 /mnt/posix-modes/posix-chmod/file
	refused as_number 2000 cat /mnt/nfs/posix-chmod/file
}

# Names that differ in case, and characters that Windows forbids, without a mapping by the client, too.
posix_names() {
	dir=posix-names-$1
	as_user bash -c "mkdir /mnt/$1/$dir && cd /mnt/$1/$dir && for name in name Name NAME 'a:b' ':c' 'q?*\"<>|' 'ends.' 'blank ' con 'a:b:\$DATA'; do \
		echo \"\$name\" >\"\$name\"; done"
	soon [ -e "/mnt/nfs/$dir/a:b:\$DATA" ]
	is "$(ls -A "/mnt/$1/$dir" | od -c)" "$(ls -A "/mnt/nfs/$dir" | od -c)"
	for name in name Name NAME 'a:b' ':c' 'q?*"<>|' 'ends.' 'blank ' con 'a:b:$DATA'; do
		is "$(cat "/mnt/nfs/$dir/$name")" "$name"
		is "$(cat "/mnt/$1/$dir/$name")" "$name"
	done
	as_user mv "/mnt/$1/$dir/name" "/mnt/$1/$dir/nAME"
	as_user mv "/mnt/$1/$dir/a:b" "/mnt/$1/$dir/c:d?"
	as_user rm "/mnt/$1/$dir/Name" "/mnt/$1/$dir/:c"
	soon [ ! -e "/mnt/nfs/$dir/:c" ]
	is "$(ls -A "/mnt/nfs/$dir" | od -c)" "$(ls -A "/mnt/$1/$dir" | od -c)"
	is "$(cat "/mnt/nfs/$dir/nAME" "/mnt/nfs/$dir/NAME" "/mnt/nfs/$dir/c:d?")" "$(printf 'name\nNAME\na:b')"
	as_user rm -r "/mnt/$1/$dir"
	soon [ ! -e "/mnt/nfs/$dir" ]
}

# rename(2) says why it fails, and files that nobody may write are removed.
posix_moved() {
	dir=/mnt/posix/posix-moved
	as_user bash -c "mkdir -p $dir/full/in $dir/empty $dir/moved && echo text >$dir/file && chmod 444 /mnt/nfs/posix-moved/file && echo x >$dir/moved/x"
	refused as_user mv -T $dir/moved $dir/full 2>/tmp/refused
	grep -q 'not empty' /tmp/refused
	as_user mv -T $dir/moved $dir/empty
	is "$(ls /mnt/nfs/posix-moved/empty)" x
	as_user rm -f $dir/file
	soon [ ! -e /mnt/nfs/posix-moved/file ]
}

# Devices, FIFOs and sockets.
posix_special() {
	dir=posix-special
	as_user bash -c "mkdir /mnt/nfs/$dir && mkfifo -m 620 /mnt/nfs/$dir/fifo"
	ls -l /mnt/posix/$dir || true
	stat /mnt/posix/$dir/fifo || true
	is "$(stat -c '%F %a %u' /mnt/posix/$dir/fifo)" "$(stat -c '%F %a %u' /mnt/nfs/$dir/fifo)"
	as_user mkfifo -m 640 /mnt/posix/$dir/made
	soon [ -p /mnt/nfs/$dir/made ]
	as_user rm /mnt/posix/$dir/fifo /mnt/posix/$dir/made
	soon [ ! -e /mnt/nfs/$dir/made ]
}
posix_linked() {
	as_user mkdir /mnt/nfs/posix-linked
	as_user ln -s '../a:b/c d' /mnt/posix/posix-linked/link
	soon [ -L /mnt/nfs/posix-linked/link ]
	is "$(readlink /mnt/nfs/posix-linked/link)" '../a:b/c d'
}
