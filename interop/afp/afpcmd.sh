#!/bin/sh
# Netatalk's client (afpcmd): started by xtask in a process namespace of its own, since it leaves a daemon behind.
# afpcmd.sh PORT USER PASSWORD VOLUME FOLDER WORK: FOLDER is the volume's on the server, WORK an empty one for files of ours.
. "$(dirname "$0")/checks.sh"
port=$1 user=$2 password=$3 volume=$4 folder=$5 work=$6
cd "$work" || exit 1
export HOME="$work"
head -c 3000000 /dev/urandom > random
printf abc > small

# afp LOGIN COMMAND...: one session; each command is an argument.
afp() {
    login=$1
    shift
    case $login in
    guest) url="afp://;AUTH=guest@127.0.0.1:$port/$volume" ;;
    *) url="afp://$user;AUTH=$login:$password@127.0.0.1:$port/$volume" ;;
    esac
    { printf '%s\n' "$@" disconnect; } | timeout 30 afpcmd ${version:+-f "$version"} "$url" 2>&1
}
wrong() { printf 'ls\ndisconnect\n' | timeout 30 afpcmd "afp://$user;AUTH=$1:wrong@127.0.0.1:$port/$volume" 2>&1; }
got() { rm -f "$1"; afp dhx2 "$@" > said; }

for login in dhx2 srp dhx randnum randnum2 clrtxt guest; do
    check "log in, $login" says "^Connected" afp $login ls
done
for login in dhx2 dhx clrtxt; do
    check "a wrong password is refused, $login" refused eval "wrong $login | grep -q ^Connected"
done
for version in 2.2 3.0 3.1 3.2 3.3 3.4; do
    check "put and get, AFP $version" eval 'rm -f back; afp dhx2 "put $work/random" "get random back" > said && cmp random "$folder/random" && cmp random back'
done
version=
check "server information" says "AFP3.4" afpgetstatus "afp://127.0.0.1:$port"
check "make a folder" eval 'afp dhx2 "mkdir one" > said; test -d "$folder/one"'
check "move into it" eval 'afp dhx2 "mv random one" > said; cmp random "$folder/one/random"'
check "rename" eval 'afp dhx2 "cd one" "mv random other" > said; cmp random "$folder/one/other"'
check "list" says "3000000 .* other" afp dhx2 "cd one" ls
check "copy" eval 'afp dhx2 "cd one" "cp other copy" > said; cmp random "$folder/one/copy"'
check "set the mode" eval 'afp dhx2 "chmod 640 one/other" > said; is 640 stat -c %a "$folder/one/other"'
check "free space" says "Free space: *[1-9]" afp dhx2 df
check "comment, set and got" says "^.*a remark" afp dhx2 "comment set one/other 'a remark'" "comment get one/other"
check "extended attribute, set and listed" says "user.colour\|colour" afp dhx2 "xattr set one/other colour blue" "xattr list one/other"
check "extended attribute, got" says "blue" afp dhx2 "xattr get one/other colour"
check "finder information, set and got" says "TEXT\|54 *45 *58 *54\|54455854" afp dhx2 "finderinfo set one/other 5445585474747874000000000000000000000000000000000000000000000000" "finderinfo get one/other"
check "remove files" eval 'afp dhx2 "rm one/other" "rm one/copy" > said; test ! -e "$folder/one/other" -a ! -e "$folder/one/copy"'
check "remove the folder" eval 'afp dhx2 "rmdir one" > said; test ! -e "$folder/one"'
echo end
