# Debian 13's AppleTalk in a virtual machine (crates/xtask/src/interop/appletalk), run by busybox's shell. atalkd routes between two
# cables. On eth0 it gives the nodes their network; there are our server, Museum, and a node of ours that asks. On eth1 it gets its network
# from our router, Depot.

. /words.sh
export PATH=/usr/sbin:/usr/bin:$PATH
CHECK_LIMIT_S=40
CONF=/etc/netatalk/atalkd.conf

syslogd -O /syslog
mkdir -p /etc/netatalk /var/lock /var/lib/netatalk/CNID /var/run /share
chmod 777 /share
echo 'root:x:0:0:root:/:/bin/sh
nobody:x:65534:65534:nobody:/:/bin/false' >/etc/passwd
echo 'root:x:0:
nogroup:x:65534:' >/etc/group
echo '127.0.0.1 localhost' >/etc/hosts
echo '[Global]
appletalk = yes
server name = Netatalk
afp listen = 127.0.0.1
zeroconf = no
spotlight = no
uam list = uams_guest.so
guest account = nobody
log file = /afpd.log
log level = default:info
[share]
path = /share
appledouble = v2' >/etc/netatalk/afp.conf

# It returns when both interfaces have their addresses and zones.
start_atalkd() {
	echo 'eth1 -phase 2
eth0 -seed -router -phase 2 -net 10-12 -zone Workshop -zone Yard' >$CONF
	LD_PRELOAD=/checks/timers.so atalkd -f $CONF -P /atalkd.pid || { cat /syslog; return 1; }
	cat $CONF /proc/net/atalk/interface
	case $(own_node eth1) in 20.*|21.*|22.*) ;; *) return 1 ;; esac
}
# own_node INTERFACE: the address that the kernel has on it.
own_node() {
	hex=$(awk -v interface="$1" '$1 == interface { print $2 }' /proc/net/atalk/interface)
	echo $((0x${hex%:*})).$((0x${hex#*:}))
}

# lists TEXT COMMAND...: its output has a line with this text.
lists() {
	text=$1
	shift
	listed=$(mktemp)
	"$@" >$listed
	cat $listed
	grep -Fq "$text" $listed
}
# asks TEXT WORD...: the answer of our node has this text.
asks() {
	text=$1
	shift
	lists "$text" ask "$@"
}
# found NAME NODE: nbplkup finds it at this node.
found() { soon lists "$2:" nbplkup -r 1 "$1"; }
# echoes NODE COUNT LEAST: it answers at least so many of our echo requests.
echoes() {
	echoed=$(mktemp)
	aecho -c "$2" "$1" >$echoed || true
	cat $echoed
	received=$(grep -o '[0-9]* packets received' $echoed | cut -d ' ' -f 1)
	[ "${received:-0}" -ge "$3" ]
}
their_zones() { getzones "$@" | sort | tr '\n' '|' | sed 's/|$//'; }
has_all_zones() { [ "$("$@")" = 'Attic|Cellar|Workshop|Yard' ]; }
refused_name() { refused nbprgstr Museum:AFPServer; }
start_afpd() {
	cnid_metad -d -F /etc/netatalk/afp.conf >/tmp/cnid_metad 2>&1 &
	afpd -d -F /etc/netatalk/afp.conf >/tmp/afpd 2>&1 &
	soon lists Netatalk:AFPServer nbplkup -r 1 Netatalk:AFPServer || { cat /tmp/afpd /afpd.log; return 1; }
}

# socket NODE NAME: where our node finds the name.
socket() {
	answer=$(ask "$1" find "$2")
	echo "${answer##* }"
}
# guest NODE NAME: our node writes, reads and removes a file of this server.
guest() { asks 'volume share: 14872 bytes are the same' "$1" guest "$(socket "$1" "$2")"; }

STATE=$(ask router state)
ROUTER=${STATE%% *}
check "our router seeds a network" is "$STATE" "$ROUTER 20-22 Attic"
check "atalkd gets a network from our router and gives one" start_atalkd
check "atalkd knows all zones" soon has_all_zones their_zones
check "our router knows all zones" soon has_all_zones ask router zones
ask start server >/dev/null
ask start node >/dev/null
STATE=$(ask server state)
SERVER=${STATE%% *}
ask node state >/dev/null
THEIRS=$(own_node eth0)
check "our server is in their network and zone" is "$STATE" "$SERVER 10-12 Workshop"
# What waits for timers waits together, as long as it asks nothing of the other side. nbprgstr looks for a name in the zone of eth0, and
# registers it in that of eth1.
check "aecho to our server" echoes "$SERVER" 3 3 &
check "aecho to our router" echoes "$ROUTER" 3 3 &
check "nbplkup finds our server in its zone" found Museum:AFPServer@Workshop "$SERVER" &
check "nbplkup finds our server by a wildcard" found =:AFPServer@Workshop "$SERVER" &
check "nbplkup finds our router in its zone" found Depot:AFPServer@Attic "$ROUTER" &
check "nbprgstr is refused the name of our server" refused_name &
check "nbprgstr registers a name" nbprgstr Grün:Workstation &
check "afpd starts" start_afpd &
check "getzones lists the zones of the first network" is "$(their_zones -l)" 'Attic|Cellar' &
wait
check "our server knows all zones" soon has_all_zones ask server zones
check "atalkd echoes to our node" asks yes node echo "$THEIRS"
check "our node echoes with our router through atalkd" asks yes node echo "$ROUTER"
check "our node finds our router through atalkd" asks "Depot:AFPServer $ROUTER:" node find Depot:AFPServer@Attic
check "our router finds the name" asks Grün:Workstation router find Grün:Workstation
check "our node finds the name in its zone" asks Grün:Workstation node find =:Workstation@Attic
check "our node finds afpd" asks Netatalk:AFPServer node find Netatalk:AFPServer@Attic
check "our node is a guest of afpd" guest node Netatalk:AFPServer@Attic
check "our node is a guest of our server" guest node Museum:AFPServer@Workshop
check "our router is a guest of our server through atalkd" guest router Museum:AFPServer@Workshop
ask lossy 5 >/dev/null
check "of 10 echo requests, 5 are answered when 5 % of all frames are lost" echoes "$SERVER" 10 5 &
check "nbplkup finds our server when frames are lost" found Museum:AFPServer@Workshop "$SERVER" &
check "our node is a guest of our server when frames are lost" guest node Museum:AFPServer@Workshop
check "our node finds afpd when frames are lost" soon asks Netatalk:AFPServer node find Netatalk:AFPServer@Attic
wait

cat /syslog
echo done >&3
poweroff -f
