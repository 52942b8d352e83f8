"""What more servers bring: 1, 2, 3 and 4 servers in network namespaces, each with a network of a fixed rate, so that this machine's
processors do not decide. By hand: `cargo xtask interop cluster --scale`. Prints the table of docs/cluster.md."""

import subprocess
import sys
import threading
import time

from scene import is_equal, smb
from spaces import Apart, Bridge, end, etcd_at

STREAM_RATE = "8mbit"  # of each server, for streams: 1 MB/s
SMALL_RATE = "240kbit"  # of each server, for small operations: some 100 answers a second
PIECE, LENGTH = 64 << 10, 4 << 20
SECONDS = 8
TURNS = 240


def limit(gateway, rate):
    words = ["tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate, "burst", "16k", "latency", "200ms"]
    subprocess.run([*gateway.within, *words], check=True, capture_output=True)


class Load(threading.Thread):
    """One client of one server: how many units it does until it is told to end."""

    def __init__(self, options, gateway, do):
        super().__init__(daemon=True)
        self.client = smb.Client(445, "share", options.user, options.password, host=gateway.own)
        self.name, self.do, self.count, self.ending, self.error = gateway.name, do, 0, False, None

    def run(self):
        try:
            for units in self.do(self.client, self.name):
                self.count += units
                if self.ending:
                    return
        except Exception as error:
            self.error = error


def stream(client, name):
    """Reads its own file again and again: bytes."""
    file, offset = client.open(f"stream-{name}", smb.READ), 0
    while True:
        yield len(client.read(file, offset, PIECE))
        offset = (offset + PIECE) % LENGTH


def small(client, name):
    """Opens, reads and closes its own small file: operations."""
    while True:
        file = client.open(f"small-{name}", smb.READ)
        client.read(file, 0, 100)
        client.close(file)
        yield 3


def rate(options, gateways, do):
    """Units a second of all of them."""
    loads = [Load(options, gateway, do) for gateway in gateways]
    for load in loads:
        load.start()
    time.sleep(2)  # what the limits let pass at first
    before, begun = sum(load.count for load in loads), time.monotonic()
    time.sleep(SECONDS)
    done, took = sum(load.count for load in loads) - before, time.monotonic() - begun
    for load in loads:
        load.ending = True
    for load in loads:
        load.join(10)
        is_equal(load.error, None)
    return done / took


def shared(options, gateways):
    """Milliseconds to open and close one file, by clients of all servers in turns."""
    clients = [smb.Client(445, "share", options.user, options.password, host=gateway.own) for gateway in gateways]
    begun = time.monotonic()
    for turn in range(TURNS):
        client = clients[turn % len(clients)]
        client.close(client.open("shared", smb.READ))
    return (time.monotonic() - begun) / TURNS * 1000


def prepare(options, gateways):
    client = smb.Client(445, "share", options.user, options.password, host=gateways[0].own)
    for gateway in gateways:
        file = client.open(f"stream-{gateway.name}", smb.BOTH, disposition=smb.OPEN_IF)
        for offset in range(0, LENGTH, PIECE):
            client.write(file, offset, bytes(PIECE))
        client.close(file)
        file = client.open(f"small-{gateway.name}", smb.BOTH, disposition=smb.OPEN_IF)
        client.write(file, 0, bytes(100))
        client.close(file)
    client.close(client.open("shared", smb.BOTH, disposition=smb.OPEN_IF))


def measure(options, certificates, log):
    bridge = Bridge(3)
    etcd = etcd_at(bridge, certificates, log)
    gateways = [Apart(options, number, etcd, bridge) for number in range(1, 5)]
    try:
        for gateway in gateways:
            certificates.make(gateway.name)
            gateway.start()
        prepare(options, gateways)
        rows = []
        for count in range(1, len(gateways) + 1):
            some = gateways[:count]
            turns = shared(options, some)
            for gateway in some:
                limit(gateway, STREAM_RATE)
            streams = rate(options, some, stream)
            for gateway in some:
                limit(gateway, SMALL_RATE)
            rows.append((count, streams, rate(options, some, small), turns))
            for gateway in some:
                subprocess.run([*gateway.within, "tc", "qdisc", "del", "dev", "eth0", "root"], check=True)
        _, stream1, small1, _ = rows[0]
        print("| servers | streams | small operations, each server | a shared file |\n|---|---|---|---|", file=sys.stderr)
        for count, streams, smalls, turns in rows:
            print(f"| {count} | {streams / 1e6:.1f} MB/s, {streams / stream1:.2f} times | {smalls / count:.0f}/s, "
                  f"{smalls / count / small1:.0%} | {turns:.1f} ms |", file=sys.stderr, flush=True)
        if rows[-1][1] < 3.5 * stream1:
            raise AssertionError("streams of 4 servers are not 3.5 times those of one")
        if min(smalls / count for count, _, smalls, _ in rows) < 0.85 * small1:
            raise AssertionError("small operations of a server are slower than 85 % of those of one")
    finally:
        end(bridge, etcd, gateways)
