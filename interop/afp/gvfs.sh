#!/bin/sh
# GNOME's AFP client (gvfs), as its programs use it: started by xtask within dbus-run-session, in a network where the server has port 548.
# gvfs.sh USER PASSWORD VOLUME FOLDER WORK: FOLDER is the volume's on the server, WORK an empty one for files of ours.
. "$(dirname "$0")/checks.sh"
user=$1 password=$2 volume=$3 folder=$4 work=$5
at=afp://$user@127.0.0.1/$volume
cd "$work" || exit 1
head -c 300000 /dev/urandom > random
printf abc > small
: > empty

# gvfs's daemon ends or hangs now and then, whatever the server (with Netatalk, too): then the volume is mounted again.
gio() {
    for _ in 1 2 3 4; do
        timeout 10 gio "$@" > gio.said 2>&1
        ended=$?
        [ $ended = 124 ] || grep -q "is not mounted\|connection is closed\|End of stream" gio.said || break
        for comm in $(grep -slx 'gvfsd\|gvfsd-afp' /proc/[0-9]*/comm); do
            kill -9 "$(echo "$comm" | cut -d / -f 3)"
        done
        mount_again > /dev/null 2>&1
    done
    cat gio.said
    return $ended
}
mount_with() { printf '%s\n' "$1" | timeout 10 gio mount "$at"; }
mount_again() { mount_with "$password"; }
back() { rm -f back; gio copy "$at/$1" back && cmp "$2" back; }
mode() { stat -c %a "$folder/$1"; }
names() { gio list "$at/$1" | sort | tr '\n' ' '; }

check "a wrong password is refused" refused mount_with wrong
check "mount, with DHX2" mount_with "$password"
check "put" gio copy random "$at/random"
check "the server has it" cmp random "$folder/random"
check "get" back random random
check "a small file, there and back" eval 'gio copy small "$at/small" && back small small'
check "an empty file, there and back" eval 'gio copy empty "$at/empty" && back empty empty'
check "replace a file" eval 'gio copy small "$at/random" && back random small'
check "a decomposed name is one with the composed" eval 'gio copy random "$at/grün" && cmp random "$(printf "$folder/gr\303\274n")"'
check "list" is "empty grün random small " names ""
check "a file made on the server is seen" eval 'printf local > "$folder/local"; chmod 666 "$folder/local"; printf local > local; back local local'
# What is done may have been done when the daemon ended: so these look at the server.
check "make a folder" eval 'gio mkdir "$at/folder"; test -d "$folder/folder"'
check "rename" eval 'gio rename "$at/small" smaller; cmp small "$folder/smaller" && test ! -e "$folder/small"'
check "move into the folder" eval 'gio move "$at/smaller" "$at/folder/moved"; cmp small "$folder/folder/moved" && test ! -e "$folder/smaller"'
check "copy within the volume" eval 'gio copy "$at/folder/moved" "$at/folder/copy"; cmp small "$folder/folder/copy"'
check "the copy is the same" back folder/copy small
check "list the folder" is "copy moved " names folder
check "size and type" says "size: *3" gio info "$at/folder/moved"
check "a folder is a folder" says "standard::type: 2" gio info "$at/folder"
check "set the mode" eval 'gio set -t uint32 "$at/folder/moved" unix::mode 416 && is 640 mode folder/moved'
check "free space" says "filesystem::free: [1-9]" gio info -f "$at"
check "a folder that is not empty is not removed" refused gio remove "$at/folder"
check "remove files" eval 'gio remove "$at/folder/moved" "$at/folder/copy"; is "" ls "$folder/folder"'
check "remove the folder" eval 'gio remove "$at/folder"; test ! -e "$folder/folder"'
check "a long name" eval 'n=$(printf %0120d 7)ü; gio copy random "$at/$n" && back "$n" random'
check "unmount" eval 'gio mount -u "$at"; refused timeout 10 gio list "$at"'
mount_again() { timeout 10 gio mount -a "afp://127.0.0.1/$volume"; }
check "a guest mounts" eval 'gio mount -a "afp://127.0.0.1/$volume"; says local gio list "afp://127.0.0.1/$volume"'
check "a guest reads" eval 'chmod 644 "$folder/local"; rm -f back; gio copy "afp://127.0.0.1/$volume/local" back && cmp local back'
mount_again() { timeout 10 gio mount -a afp://127.0.0.1/; }
check "browse, with the volumes listed" eval 'mount_again; says "$volume" gio list afp://127.0.0.1/'
echo end
