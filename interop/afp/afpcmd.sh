#!/bin/sh
# Netatalk's client (afpcmd): started by xtask in a process namespace of its own, since it leaves a daemon behind.
# afpcmd.sh PORT USER PASSWORD VOLUME FOLDER WORK: FOLDER is the volume's on the server, WORK an empty one for files of ours.
. "$(dirname "$0")/checks.sh"
port=$1 user=$2 password=$3 volume=$4 folder=$5 work=$6
cd "$work" || exit 1
export HOME="$work"
head -c 3000000 /dev/urandom > random
printf abc > small
mkdir got

# afp LOGIN COMMAND...: one session; each command is an argument.
afp() {
    login=$1
    shift
    case $login in
    guest) url="afp://;AUTH=guest@127.0.0.1:$port/$volume" ;;
    *) url="afp://$user;AUTH=$login:$password@127.0.0.1:$port/$volume" ;;
    esac
    { printf '%s\n' "$@" disconnect; } | timeout 30 afpcmd ${version:+-f "$version"} "$url" 2>&1
    daemon_ended
}
wrong() {
    printf 'ls\ndisconnect\n' | timeout 30 afpcmd "afp://$user;AUTH=$1:wrong@127.0.0.1:$port/$volume" 2>&1
    daemon_ended
}
# The next session would meet the daemon of the last one on its way out, which takes seconds.
daemon_ended() {
    for comm in $(grep -slx afpsld /proc/[0-9]*/comm); do
        kill -9 "$(echo "$comm" | cut -d / -f 3)" 2> /dev/null
    done
    rm -f /tmp/afp_sl-*
}

for pair in dhx2:DHX2 srp:SRP dhx:DHCAST128 randnum:Randnum.Exchange randnum2:2-Way.Randnum.Exchange clrtxt:Cleartxt.Passwrd guest:No.User.Authent; do
    check "log in, ${pair%%:*}" says "server UAMs.*${pair#*:} (used)" afp "${pair%%:*}" status
done
for login in dhx2 dhx clrtxt; do
    check "a wrong password is refused, $login" refused eval "wrong $login | grep -q ^Connected"
done
for version in 2.2 3.0 3.1 3.2 3.3 3.4; do
    check "put and get, AFP $version" eval 'rm -f got/random; afp dhx2 "put $work/random" "lcd $work/got" "get random" > said && cmp random "$folder/random" && cmp random got/random'
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
check "comment, set and got" says "^a.remark" afp dhx2 "comment set one/other a-remark" "comment get one/other"
check "extended attribute, set and listed" says "colour" afp dhx2 "xattr set one/other colour small" "xattr list one/other"
check "extended attribute, got" eval 'afp dhx2 "xattr get one/other colour back" > said; cmp small back'
printf 'TEXTttxt\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000' > info
check "finder information, set and got" eval 'afp dhx2 "finderinfo set one/other info" "finderinfo get one/other back" > said; cmp info back'
check "resource fork, set and got" eval 'afp dhx2 "resourcefork set one/other random" "resourcefork get one/other back" > said; cmp random back'
check "a copy has the resource fork" eval 'afp dhx2 "cd one" "cp other twin" "resourcefork get twin back" > said; cmp random back'
check "remove files" eval 'afp dhx2 "rm one/other" "rm one/copy" "rm one/twin" > said; test ! -e "$folder/one/other" -a ! -e "$folder/one/copy"'
check "remove the folder" eval 'afp dhx2 "rmdir one" > said; test ! -e "$folder/one"'
echo end
