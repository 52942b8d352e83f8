# What the checks of virtual machines are written with. They talk over descriptor 3: `pass NAME`, `fail NAME: why`, `ask WHAT` (the
# other side answers with a line), `done`.

. /settings

uptime_s() { cut -d . -f 1 /proc/uptime; }

# Whether a check is wanted: ONLY is a pattern of names. Mounts are always wanted, since the rest needs them.
wanted() { [ -z "$ONLY" ] || echo "$1" | grep -Eq -e '^mounts, ' -e "$ONLY"; }

# check NAME COMMAND...: the command runs with -e, and the last thing it says is why it failed. It has CHECK_LIMIT_S seconds; one that
# hangs in the kernel is left behind.
check() {
	name=$1
	shift
	wanted "$name" || return 0
	echo "--- $name ($(uptime_s) s)"
	dmesg -c >/dev/null
	said=/tmp/said-$(echo "$name" | tr -c 'a-zA-Z0-9\n' -)
	rm -f "$said.status"
	{
		(set -ex; "$@") >"$said" 2>&1
		echo $? >"$said.new"
		mv "$said.new" "$said.status"
	} &
	worker=$!
	deadline=$(($(uptime_s) + ${CHECK_LIMIT_S:-60}))
	until [ -e "$said.status" ] || [ "$(uptime_s)" -ge $deadline ]; do sleep 0.1; done
	if [ -e "$said.status" ]; then
		status=$(cat "$said.status")
	else
		status="it has not ended after ${CHECK_LIMIT_S:-60} s"
		echo w >/proc/sysrq-trigger
		kill -9 $worker
	fi
	report "$name" "$said" "$status"
}

# report NAME FILE STATUS: the outcome of a check that wrote what it says into a file.
report() {
	cat "$2"
	if [ "$3" = 0 ]; then
		echo "pass $1" >&3
	else
		dmesg | tail -n 60
		echo "fail $1: $(tail -n 4 "$2" | tr '\n\r' '; ') (status $3)" >&3
	fi
}

ask() {
	echo "ask $*" >&3
	read -r answer <&3
	echo "$answer"
}

# soon COMMAND...: it succeeds within 20 s.
soon() {
	for _ in $(seq 100); do
		if "$@"; then return 0; fi
		sleep 0.2
	done
	echo "not within 20 s: $*"
	return 1
}

is() { [ "$1" = "$2" ] || { echo "it is $1, not $2"; return 1; }; }
refused() { if "$@"; then echo "it succeeds: $*"; return 1; fi; }
