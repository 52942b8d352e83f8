# What a person does on a mounted share: `bash day.sh FUNCTION DIR KIND`, where KIND says by which protocol DIR is mounted, `nfs` or
# `smb`.

set -ex
cd /tmp
export HOME=/tmp LANG=C.UTF-8 GIT_CONFIG_NOSYSTEM=1
is() { [ "$1" = "$2" ] || { echo "it is $1, not $2"; return 1; }; }
refused() { if "$@"; then echo "it succeeds: $*"; return 1; fi; }

# The local folder /tmp/tree: the programs of a few packages, with their modes and times.
tree() {
	mkdir /tmp/tree && cd /tmp/tree
	mkdir -p "a folder/below" bin etc empty
	cp -p /usr/bin/{ls,cp,grep,sed} bin
	cp -rp /usr/share/git-core/templates .
	for i in $(seq 40); do echo "line $i of a file" >"a folder/file $i"; done
	head -c 1000000 /dev/urandom >"a folder/below/größe.bin"
	touch -d '2001-02-03 04:05:06' "a folder/file 7" empty
}

in_git() {
	dir=$1/git
	mkdir -p "$1" && git init -q "$dir" && cd "$dir"
	git config user.name Ada && git config user.email ada@example.org
	mkdir src doc
	for i in $(seq 30); do seq $i 200 >src/part-$i.txt; done
	echo first >doc/read.me
	git add . && git commit -qm first
	git checkout -qb other
	seq 5 >src/part-7.txt && git mv doc/read.me doc/README && git rm -q src/part-9.txt
	git commit -qam second
	git checkout -q - && echo more >>doc/read.me && git commit -qam third
	git merge -q -m merged other
	is "$(git status --porcelain)" ""
	grep -q more doc/README && [ ! -e src/part-9.txt ]
	git gc -q && git fsck --strict
	git clone -q . ../clone && diff -r --exclude=.git . ../clone
}

with_tar() {
	mkdir -p "$1" && cd "$1"
	tar -C /tmp/tree -cf - . | (mkdir tar && tar -C tar -xf -)
	diff -r /tmp/tree tar
	is "$(stat -c %Y "tar/a folder/file 7")" "$(stat -c %Y "/tmp/tree/a folder/file 7")"
	tar -C tar -cf all.tar . && mkdir /tmp/untar-$2 && tar -C /tmp/untar-$2 -xf all.tar && diff -r /tmp/tree /tmp/untar-$2
	rm -r tar && [ ! -e tar ]
}

# What rsync would do again is a change that the share did not keep. Over SMB all files have the mode of the mount.
with_rsync() {
	mkdir -p "$1/rsync"
	rsync -a --delete /tmp/tree/ "$1/rsync/"
	rsync -ai --delete /tmp/tree/ "$1/rsync/" >/tmp/rsync-$2
	cat /tmp/rsync-$2
	[ "$2" = nfs ] || sed -i '/^\.[fd]\.\.\.p/d' /tmp/rsync-$2
	is "$(cat /tmp/rsync-$2)" ""
	touch "$1/rsync/too much"
	echo changed >>"$1/rsync/a folder/file 9"
	rsync -a --delete /tmp/tree/ "$1/rsync/"
	diff -r /tmp/tree "$1/rsync"
}

# Four jobs of make at once; then only what depends on a changed file is made again.
with_make() {
	mkdir -p "$1/make" && cd "$1/make"
	for i in $(seq 24); do seq $i $((i * 50)) >part-$i.txt; done
	printf 'all: whole\n%%.sum: %%.txt\n\tcksum $< >$@\nwhole: %s\n\tcat $^ >$@\n' "$(seq -f part-%g.sum -s ' ' 24)" >Makefile
	make -s -j 4
	is "$(wc -l <whole)" 24
	make -s -q
	sleep 0.1
	echo more >>part-7.txt
	is "$(make -j 4 | grep -c cksum)" 1
	is "$(cksum part-7.txt)" "$(sed -n 7p whole)"
}

# Past the cache of the kernel, and locks of whole files.
direct_and_locked() {
	mkdir -p "$1" && cd "$1"
	head -c 1048576 /dev/urandom >/tmp/random-$2
	dd if=/tmp/random-$2 of=direct bs=64k oflag=direct status=none
	dd if=direct of=/tmp/read-$2 bs=128k iflag=direct status=none && cmp /tmp/random-$2 /tmp/read-$2
	dd if=/tmp/random-$2 of=direct bs=4k seek=100 skip=7 count=3 conv=notrunc oflag=direct status=none
	cmp -n 12288 -i 409600:28672 direct /tmp/random-$2
	touch locked
	flock -x locked -c "flock -n -x '$PWD/locked' -c true && exit 3; sleep 0.2; echo first >>locked" &
	sleep 0.1
	flock -x locked -c "echo second >>locked" && wait
	is "$(tr '\n' ' ' <locked)" "first second "
}

in_sqlite() {
	mkdir -p "$1" && cd "$1"
	sqlite3 db 'create table t (id integer primary key, text);'
	for i in 1 2 3; do
		sqlite3 db "with recursive n(i) as (select 1 union all select i + 1 from n where i < 500) insert into t (text) select hex(randomblob(100)) from n;" &
	done
	sqlite3 -cmd '.timeout 20000' db "update t set text = 'x' where id % 7 = 0; delete from t where id % 11 = 0;"
	wait
	sqlite3 -cmd '.timeout 20000' db 'delete from t where id % 10 = 0; vacuum;'
	is "$(sqlite3 db 'pragma integrity_check;')" ok
	cp db /tmp/db-$2 && is "$(sqlite3 /tmp/db-$2 'pragma integrity_check; select count(*) from t;' | head -n 1)" ok
}

fsx() {
	mkdir -p "$1"
	/checks/files fsx "$1/fsx" "${3:-1}" "${4:-400}"
}

# Two rounds. For each name stress-ng asks for the space of the file system nine times: 3,000 of them were 27,000 questions, each of which
# waits for its answer, and the emulated machine did not end that within 150 s.
entries() {
	mkdir -p "$1/dentry"
	stress-ng --quiet --dentry 1 --dentries 100 --dentry-ops 200 --dentry-order random --temp-path "$1/dentry"
	is "$(ls -A "$1/dentry")" ""
}

# Links that were made over NFS, as they are seen over DIR. Linux 6.1 takes links for files where it lists an SMB folder, and finds out
# when it asks for one: `find -type` believes the listing.
links() {
	cd "$1"
	is "$(readlink "to file")" file
	is "$(readlink dangling)" "no such file"
	is "$(readlink loop)" loop
	is "$(readlink absolute)" /etc/hostname
	is "$(readlink "to folder")" folder
	is "$(readlink up)" ../links-target
	is "$(cat "to file")" content
	is "$(cat "to folder/inner")" inner
	[ -L loop ] && [ -L dangling ] && [ -L "to folder" ] && [ -L absolute ]
	refused cat dangling
	refused cat loop
	if [ "$2" = nfs ]; then
		is "$(find . -type l | wc -l)" 7
		is "$(find . -type f | wc -l)" 2
	fi
	is "$(ls -l | grep -c '^l')" 7
	is "$(tar -cf - . | tar -tvf - | grep -c '^l')" 7
}

# The same links where the server follows them, as it does for clients that cannot be told from Windows.
followed_links() {
	cd "$1"
	is "$(cat "to file")" content
	is "$(cat "to folder/inner")" inner
	is "$(cat up/kept)" kept
	is "$(cat through)" content
	refused cat dangling
	refused cat loop
	refused cat absolute
	is "$(ls | wc -l)" 9
	rm dangling && rm loop && rm absolute && rm "to file" && rm through && is "$(cat file)" content
	mv up moved && is "$(cat moved/kept)" kept
	is "$(ls | wc -l)" 4
}

make_links() {
	mkdir -p "$1/folder" "$1/../links-target" && cd "$1"
	echo content >file && echo inner >folder/inner && echo kept >../links-target/kept
	ln -s file "to file" && ln -s folder "to folder" && ln -s "no such file" dangling && ln -s loop loop && ln -s /etc/hostname absolute
	ln -s ../links-target up && ln -s "folder/../file" through
}

remove_links() {
	cd "$1"
	mv dangling renamed && is "$(readlink renamed)" "no such file"
	mv "to folder" "folder link" && is "$(readlink "folder link")" folder && [ -d folder ] && [ ! -L folder ]
	rm "to file" && is "$(cat file)" content
	rm renamed && rm loop
	cd .. && rm -rf "$(basename "$1")" && [ ! -e "$1" ]
	is "$(cat links-target/kept)" kept
}

attributes() {
	mkdir -p "$1" && cd "$1"
	echo x >file
	setfattr -n user.one -v 1 file && setfattr -n user.Mixed.Case -v "größe" file && setfattr -n user.binary -v 0x0001ff00 file
	is "$(getfattr --only-values -n user.one file)" 1
	is "$(getfattr --only-values -n user.Mixed.Case file)" größe
	getfattr -d -e hex file
	is "$(getfattr -d file | grep -c '^user')" 3
	getfattr -d file | grep -q '^user.Mixed.Case='
	getfattr -n user.binary -e hex file | grep -q '=0x0001ff00$'
	setfattr -n user.one -v 2 file && is "$(getfattr --only-values -n user.one file)" 2
	setfattr -x user.one file && refused getfattr -n user.one file
	long=$(head -c 8000 /dev/zero | tr '\0' v)
	setfattr -n user.long -v "$long" file && is "$(getfattr --only-values -n user.long file)" "$long"
	mkdir folder && setfattr -n user.folder -v f folder && is "$(getfattr --only-values -n user.folder folder)" f
	is "$(cat file)" x
}

"$@"
