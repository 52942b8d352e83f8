"""Virtual addresses: servers in network namespaces of their own, on one bridge, and clients beside it. Their addresses move when a
server is killed, and when it is stopped."""

import ipaddress
import os
import signal
import sys
import time

import trust
from scene import is_equal, smb
from spaces import Apart, Bridge, end, etcd_at

VIRTUAL = ["10.77.1.50", "fd77:1::50", "10.77.1.51", "fd77:1::51"]
USER = ("gateways", "of etcd")
ANSWER_WITHIN = 25.0  # seconds from kill -9 to an answer at the same address, on a busy machine


def by_value(address):
    """IPv4 first, as the server sorts them."""
    ip = ipaddress.ip_address(address)
    return ip.version, int(ip)


def spread_within(gateways, wanted, limit):
    """Each address is at one server, and they have as many as wanted."""
    begun = time.monotonic()
    while True:
        found = [gateway.addresses(VIRTUAL) for gateway in gateways]
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
    bridge = Bridge(1)
    etcd = etcd_at(bridge, certificates, log, ["--auth-token-ttl", "2"])  # its tokens end while the servers run
    etcd.want_user(*USER)
    with open(os.path.join(options.folder, "etcd.credentials"), "w") as file:
        file.write("username={}\npassword={}\n".format(*USER))
    addresses = ", ".join(f'"{address}/{64 if ":" in address else 24}@eth0"' for address in VIRTUAL)
    certificates.make_nameless("nameless")
    lines = 'cluster-etcd-certificate = "nameless.pem"\ncluster-etcd-key = "nameless.key"\n'
    lines += f'cluster-etcd-credentials = "etcd.credentials"\ncluster-addresses = [{addresses}]\n'
    gateways = [Apart(options, number, etcd, bridge, lines) for number in (1, 2)]
    try:
        for gateway in gateways:
            certificates.make(gateway.name)
            gateway.start()
        refused(gateways[0])
        move(options, *gateways)
    finally:
        end(bridge, etcd, gateways)


def refused(gateway):
    """Users of etcd that do not exist, and a certificate by which etcd's gateway does not let users in."""
    own, named = 'cluster-etcd-certificate = "nameless.pem"', f'cluster-etcd-certificate = "{gateway.name}.pem"'
    key, credentials = 'cluster-etcd-key = "nameless.key"', 'cluster-etcd-credentials = "etcd.credentials"\n'
    with open(os.path.join(gateway.folder, "wrong.credentials"), "w") as file:
        file.write(f"username={USER[0]}\npassword=wrong\n")
    wrong = credentials.replace("etcd.c", "wrong.c")
    trust.says(gateway, trust.STATUS, {credentials: wrong}, 1, "etcd refused the user (`cluster-etcd-credentials`)")
    trust.says(gateway, trust.STATUS, {credentials: ""}, 1, "permission denied")
    trust.says(gateway, trust.STATUS, {own: named, key: key.replace("nameless", gateway.name)}, 1, "without a common name")


def move(options, first, other):
    gateways = [first, other]
    spread_within(gateways, [2, 2], 20)  # the first one had all
    at = first.addresses(VIRTUAL)
    is_equal(sorted(":" in address for address in at), [False, True])  # one of each version
    is_equal(other.virtual(), {gateway.name: gateway.addresses(sorted(VIRTUAL, key=by_value)) for gateway in gateways})
    clients = [smb.Client(445, "share", options.user, options.password, host=address) for address in at]
    file = clients[0].open("by address", smb.BOTH, disposition=smb.OPEN_IF)
    clients[0].write(file, 0, b"acknowledged", through=True)
    first.kill()
    took = [answered_within(ANSWER_WITHIN, address, options) for address in at]
    for address in at:
        client = smb.Client(445, "share", options.user, options.password, host=address)
        is_equal(client.read(client.open("by address", smb.BOTH), 0, 100), b"acknowledged")
    # The kernel has taken them from the host of the killed server.
    spread_within(gateways, [0, 4], 10)
    first.start()
    spread_within(gateways, [2, 2], 20)  # the addresses without clients go back
    is_equal(other.kill(signal.SIGTERM), 0)
    gone = [address for address in at if address not in first.addresses(VIRTUAL)] or at
    stopped = answered_within(4.5, gone[0], options)  # at once: a lease lasts 5 s
    print(f"{at} answered after {sum(took):.1f} s (kill -9), {stopped:.1f} s (stopped)", file=sys.stderr, flush=True)
    spread_within(gateways, [4, 0], 4)
