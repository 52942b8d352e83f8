"""The witness service: servers in network namespaces of their own, and clients beside them by Samba's library and test suite. A client
of one server is told by the other one when its server is killed, comes back, and is drained."""

import json
import os
import queue
import subprocess
import sys
import threading
import time

import realm
from scene import is_equal
from spaces import Apart, Bridge, end, etcd_at

PYTHON = "/usr/bin/python3"  # Debian's, which has Samba's library
CLIENT = os.path.join(os.path.dirname(__file__), "witness_client.py")
AVAILABLE, UNAVAILABLE = 1, 255  # MS-SWN 2.2.2.3
TOLD_WITHIN = 20.0  # seconds from kill -9: a lease of 5 s, and the time in which etcd and a member see its end; on a busy machine
MOVED_WITHIN = 20.0  # seconds from the order to drain, on a busy machine
# `Map_full` and `Insert_noreplace` of epmapper add endpoints, which clients may not. `Lookup_simple` wants entries and the status
# that there are none in one answer.
SUITE = ["rpc.epmapper.epmapper.Map_simple", "rpc.epmapper.epmapper.Lookup_terminate_search",
         "rpc.witness.witness.GetInterfaceList", "rpc.witness.witness.UnRegister"]
# They try registrations that are wrong, and pass there. Then they look for a share with signatures in a named pipe, which the server refuses.
HALF = ["rpc.witness.witness.Register", "rpc.witness.witness.RegisterEx"]
REFUSED = "failed to setup srvsvc connection"


class Registered:
    """A client that registers at a server, in a program of its own, and what it says."""

    def __init__(self, options, server, address, protection, log, tickets=None):
        user = realm.MACHINE if tickets else (options.user, options.password)
        words = [PYTHON, "-B", CLIENT, server, protection, *user, address] + ([realm.NAME] if tickets else [])
        environment = tickets.environment if tickets else None
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.lines = queue.Queue()
        threading.Thread(target=lambda: [self.lines.put(json.loads(line)) for line in self.process.stdout], daemon=True).start()

    def says(self, key, within):
        """What it says of this next."""
        line = self.lines.get(timeout=within)
        if key not in line:
            raise AssertionError(f"it says {line}, and nothing of {key!r}")
        return line[key]

    def says_later(self, key, within):
        """The same, after other things."""
        end = time.monotonic() + within
        while True:
            line = self.lines.get(timeout=max(0.01, end - time.monotonic()))
            if key in line:
                return line[key]

    def kill(self):
        self.process.kill()
        self.process.wait()


def suite(options, server, name):
    """A test of smbtorture at this server."""
    protection = "" if "epmapper" in name else "[sign]"
    words = ["smbtorture", f"ncacn_ip_tcp:{server}{protection}", "-U", f"{options.user}%{options.password}",
             "--option=torture:net_name=files", "--option=client use kerberos=off", name]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if (REFUSED if name in HALF else f"success: {'.'.join(name.split('.')[-2:])}") not in done.stdout:
        raise AssertionError(f"{name}: {done.stdout[-1500:]}")


def check(options, certificates, log):
    bridge = Bridge(4)
    etcd = etcd_at(bridge, certificates, log)
    keytab = os.path.join(options.folder, "witness.keytab")
    tickets = realm.Realm(os.path.join(options.folder, "realm"), log, ["host/gate.lab.test", "cifs/gate.lab.test"], keytab)
    lines = f'kerberos-keytab = "{keytab}"\n'
    gateways = [Apart(options, number, etcd, bridge, lines) for number in (1, 2)]
    try:
        for gateway in gateways:
            certificates.make(gateway.name)
            gateway.start()
        first, other = gateways
        for name in SUITE + HALF:
            suite(options, other.own, name)
        for protection in ("ntlm,sign", "seal", "spnego,sign"):
            tell(options, first, other, protection, log)
        tell(options, first, other, "target_hostname=gate.lab.test,sign", log, tickets)
        drain(options, first, other, log)
    finally:
        tickets.kill()
        end(bridge, etcd, gateways)


def tell(options, first, other, protection, log, tickets=None):
    """The server is killed, and started again."""
    client = Registered(options, other.own, first.own, protection, log, tickets)
    try:
        interfaces = {one["address"]: one for one in client.says("interfaces", 10)}
        is_equal(interfaces[first.own], {"group": first.name, "state": AVAILABLE, "address": first.own, "witness": True})
        is_equal(interfaces[other.own], {"group": other.name, "state": AVAILABLE, "address": other.own, "witness": False})
        client.says("registered", 20)
        begun = time.monotonic()
        first.kill()
        is_equal(client.says("change", TOLD_WITHIN), [[first.own, UNAVAILABLE]])
        print(f"the witness told of a killed server after {time.monotonic() - begun:.1f} s ({protection})", file=sys.stderr, flush=True)
        client.says("ended", 20)
        client.says("registered", 20)
        first.start()
        is_equal(client.says("change", 20), [[first.own, AVAILABLE]])
    finally:
        client.kill()


def drain(options, first, other, log):
    """Clients are told where to go before their sessions end."""
    client = Registered(options, other.own, first.own, "sign", log)
    try:
        client.says_later("registered", 10)
        begun = time.monotonic()
        ordered = threading.Thread(target=lambda: other.run("cluster", "drain", first.name))
        ordered.start()
        [to] = client.says("move", MOVED_WITHIN)
        took = time.monotonic() - begun
        print(f"the witness told clients of a drained server to move after {took:.1f} s", file=sys.stderr, flush=True)
        is_equal(to[0], [other.own, 0x09])  # IPv4, online
        is_equal(client.says("change", 10), [[first.own, UNAVAILABLE]])  # after that
        ordered.join(30)
        is_equal(first.process.wait(10), 0)
        first.start()
    finally:
        client.kill()
