"""Virtual addresses: servers in network namespaces of their own, on one bridge, and clients beside it. Their addresses move when a
server is killed, and when it is stopped."""

import os
import signal
import subprocess
import sys
import time

from scene import Etcd, Gateway, is_equal, smb

BRIDGE = "10.77.0.254"
VIRTUAL = ["10.77.0.50", "10.77.0.51"]
USER = ("gateways", "of etcd")
ANSWER_WITHIN = 10.0  # seconds from kill -9 to an answer at the same address


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Apart(Gateway):
    """A server in a network namespace of its own. Its ports are those of the protocols."""

    def __init__(self, options, number, etcd):
        super().__init__(options, 10 + number, etcd)
        self.space, self.own = f"gate{10 + number}", f"10.77.0.{number}"
        ip("netns", "add", self.space)
        ip("link", "add", f"veth{number}", "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", f"veth{number}", "master", "br0", "up")
        ip("-n", self.space, "link", "set", "lo", "up")
        ip("-n", self.space, "address", "add", f"{self.own}/24", "dev", "eth0")
        ip("-n", self.space, "link", "set", "eth0", "up")
        self.within, self.listen = ["ip", "netns", "exec", self.space], []
        self.smb_port, self.afp_port, self.nfs_port = 445, 548, 2049
        addresses = ", ".join(f'"{address}/24@eth0"' for address in VIRTUAL)
        with open(self.settings) as file:
            text = file.read()
        text = text.replace(f"127.0.0.1:{etcd.port}", f"{BRIDGE}:{etcd.port}").replace(f"127.0.1.{10 + number}", self.own)
        text = text.replace("[server]\n", f'[server]\ncluster-name = "apart"\ncluster-etcd-credentials = "etcd.credentials"\ncluster-addresses = [{addresses}]\n', 1)
        with open(self.settings, "w") as file:
            file.write(text)

    def addresses(self):
        words = ["ip", "-n", self.space, "-brief", "address", "show", "dev", "eth0"]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return [address for address in VIRTUAL if f"{address}/" in shown]


def spread_within(gateways, wanted, limit):
    """Each address is at one server, and they have as many as wanted."""
    begun = time.monotonic()
    while True:
        found = [gateway.addresses() for gateway in gateways]
        if [len(of) for of in found] == wanted and sorted(sum(found, [])) == sorted(VIRTUAL):
            return time.monotonic() - begun
        if time.monotonic() - begun > limit:
            raise AssertionError(f"the addresses are {found} after {limit} s")
        time.sleep(0.1)


def answered_within(limit, address, options):
    """How long it takes until a new client can log in at this address."""
    begun = time.monotonic()
    while True:
        try:
            smb.Client(445, "share", options.user, options.password, host=address).disconnect()
            return time.monotonic() - begun
        except Exception as error:  # the library has several for a lost connection
            if time.monotonic() - begun > limit:
                raise AssertionError(f"{address} does not answer within {limit} s: {error}") from None
        time.sleep(0.1)


def check(options, certificates, log):
    ip("link", "add", "br0", "type", "bridge")
    ip("link", "set", "br0", "up")
    ip("address", "add", f"{BRIDGE}/24", "dev", "br0")
    etcd = Etcd(certificates, log, BRIDGE, ["--auth-token-ttl", "2"])  # its tokens end while the servers run
    etcd.want_user(*USER)
    with open(os.path.join(options.folder, "etcd.credentials"), "w") as file:
        file.write("username={}\npassword={}\n".format(*USER))
    gateways = [Apart(options, number, etcd) for number in (1, 2)]
    try:
        for gateway in gateways:
            certificates.make(gateway.name)
            gateway.start()
        first, other = gateways
        spread_within(gateways, [1, 1], 5)  # the first one had both
        at = first.addresses()[0]
        client = smb.Client(445, "share", options.user, options.password, host=at)
        file = client.open("by address", smb.BOTH, disposition=smb.OPEN_IF)
        client.write(file, 0, b"acknowledged", through=True)
        first.kill()
        took = answered_within(ANSWER_WITHIN, at, options)
        client = smb.Client(445, "share", options.user, options.password, host=at)
        is_equal(client.read(client.open("by address", smb.BOTH), 0, 100), b"acknowledged")
        # The kernel has taken it from the host of the killed server.
        spread_within(gateways, [0, 2], 3)
        first.start()
        spread_within(gateways, [1, 1], 5)  # the address without clients goes back
        is_equal(at in other.addresses(), True)
        is_equal(other.kill(signal.SIGTERM), 0)
        stopped = answered_within(3.0, at, options)
        print(f"{at} answered after {took:.1f} s (kill -9), {stopped:.1f} s (stopped)", file=sys.stderr, flush=True)
        spread_within(gateways, [2, 0], 1)
    finally:
        etcd.kill()
        for gateway in gateways:
            if gateway.process:
                gateway.kill()
            ip("netns", "delete", gateway.space)
        ip("link", "delete", "br0")
