"""The servers over CephFS: shares with a `store`, a mon, an osd and an mds, and three members of etcd. What is lost: a server that was
stopped with data of clients in its memory, the mds, the leader of etcd. `check` runs in each run, beside the other checks; with
`--ceph`, all checks and the matrix run over CephFS, too."""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time

from scene import SHARES, Gateway, Trio, is_equal, nfs3, opened_within, smb, stop
from spaces import CEPH, ip

sys.path.append(os.path.join(os.path.dirname(__file__), "..", "ceph"))
from cluster import Client, Cluster

FENCED = 75
TAKEOVER = 30.0  # seconds, on a busy machine: a lease of 5 s, its end in etcd, the eviction, for which the mon makes a map of the OSDs
MDS_DOWN, MDS_UP = 1.0, 40.0
LEADER = 7.0
LATE = 4 << 20
HOST = f"{CEPH}.253"


def is_locked(client, file):
    try:
        client.lock(file, 5, 1, True)
    except smb.Refused as error:
        return is_equal(str(error), "LOCK_NOT_GRANTED")
    raise AssertionError("the lock of another client does not bind")


class Place:
    """The file system, which all servers share. It is at an address that servers in namespaces reach, too."""

    def __init__(self, options):
        ip("link", "add", "ceph0", "type", "bridge")
        ip("link", "set", "ceph0", "up")
        ip("address", "add", f"{HOST}/24", "dev", "ceph0")
        begun, self.local = time.monotonic(), None
        self.ceph = Cluster(os.path.join(options.folder, "ceph"), HOST)
        print(f"Ceph: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        self.conf, self.beside = self.ceph.conf, Client(self.ceph.conf)
        for share in SHARES:
            self.beside.mkdir(f"/{share}", options.uid, 0o777)
            self.beside.give(f"/{share}", options.uid, 0o777)

    def mount(self, folder):
        """A mount for local programs: the folder."""
        self.local = os.path.join(folder, "mounted")
        os.mkdir(self.local)
        words = ["ceph-fuse", "-c", self.conf, "-n", "client.admin", "--client-fs", "fs1", self.local]
        subprocess.run(words, check=True, capture_output=True, timeout=30)
        return self.local

    def end(self):
        if self.local:
            subprocess.run(["umount", "-l", self.local], check=False)
        self.ceph.stop()
        ip("link", "delete", "ceph0")


def again(call, *arguments):
    """As clients of NFS do: a server that has to wait says so (RFC 1813 2.6: NFS3ERR_JUKEBOX)."""
    end = time.monotonic() + MDS_UP
    while True:
        try:
            return call(*arguments)
        except nfs3.Refused as error:
            if str(error) != "JUKEBOX" or time.monotonic() > end:
                raise
        time.sleep(0.1)


class Load(threading.Thread):
    """A client of NFS that makes files and writes to them."""

    def __init__(self, gateway):
        super().__init__(daemon=True)
        self.gateway, self.nfs, self.names, self.error, self.ending = gateway, gateway.nfs(), [], None, False
        self.start()

    def run(self):
        try:
            while not self.ending:
                name = f"load-{self.gateway.name}-{len(self.names)}"
                again(self.nfs.create, name)
                again(self.nfs.write, name, 0, name.encode())
                self.names.append(name)
        except Exception as error:  # of the library, if its server is lost
            self.error = error


def more(loads, count, limit):
    """Each load has done so many more."""
    wanted, end = [len(load.names) + count for load in loads], time.monotonic() + limit
    while any(len(load.names) < least for load, least in zip(loads, wanted)):
        if any(load.error for load in loads) or time.monotonic() > end:
            raise AssertionError(f"{[len(load.names) for load in loads]} of {wanted} files; {[load.error for load in loads]}")
        time.sleep(0.05)


class Checks:
    """In this order: each leaves all servers running."""

    def __init__(self, place, etcd, gateways):
        self.place, self.etcd, self.gateways = place, etcd, gateways
        self.first, self.other = gateways[:2]

    def all_are_members(self):
        is_equal(self.other.status(), {gateway.name: "member" for gateway in self.gateways})
        is_equal([gateway.process.poll() for gateway in self.gateways], [None] * len(self.gateways))

    def what_a_stopped_server_has_in_memory_does_not_arrive_over_cephfs(self):
        here, there, beside = self.first.smb(), self.other.smb(), self.place.beside
        file = here.open("late", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        here.write(file, 0, b"before", through=True)
        blocked = self.place.ceph.blocked()
        # Acknowledged, but not as stable: Ceph's library keeps it for 5 s.
        for offset in range(0, LATE, 64 << 10):
            here.write(file, offset, b"late" * (16 << 10))
        stop(self.first.process)
        took = opened_within(there, "late", TAKEOVER)
        print(f"took over after {took:.1f} s, with the eviction", file=sys.stderr, flush=True)
        is_equal(len(self.place.ceph.blocked() - blocked) > 0, True)
        now = there.open("late", smb.BOTH, share=0)
        there.write(now, 0, b"after!", through=True)
        there.truncate(now, 6)
        self.first.process.send_signal(signal.SIGCONT)
        is_equal(self.first.process.wait(10), FENCED)
        time.sleep(0.5)
        is_equal(there.read(now, 0, 100), b"after!")
        there.close(now)
        is_equal(beside.read("/share/late"), b"after!")
        self.first.start()

    def a_server_that_stops_in_order_is_not_evicted_from_cephfs(self):
        here, there, beside = self.first.smb(), self.other.smb(), self.place.beside
        file = here.open("in order", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        here.write(file, 0, b"not flushed by the client")
        blocked = self.place.ceph.blocked()
        is_equal(self.first.kill(signal.SIGTERM), 0)
        took = opened_within(there, "in order", 2.0)
        print(f"took over after {took:.1f} s", file=sys.stderr, flush=True)
        is_equal(beside.read("/share/in order"), b"not flushed by the client")
        is_equal(self.place.ceph.blocked(), blocked)
        self.first.start()

    def clients_wait_for_an_mds_that_was_killed_over_cephfs(self):
        here, there = self.first.smb(), self.other.smb()
        file = here.open("held", smb.BOTH, disposition=smb.OPEN_IF)
        here.write(file, 0, b"held", through=True)
        here.lock(file, 0, 10, True)
        loads = [Load(gateway) for gateway in self.gateways]
        more(loads, 3, 20)
        self.place.ceph.signal("mds.a", signal.SIGKILL)
        time.sleep(MDS_DOWN)
        begun = time.monotonic()
        self.place.ceph.start_mds()
        more(loads, 10, MDS_UP)
        print(f"went on {time.monotonic() - begun:.1f} s after the mds was started", file=sys.stderr, flush=True)
        for load in loads:
            load.ending = True
            load.join(20)
        self.all_are_members()
        is_locked(there, there.open("held", smb.BOTH))
        here.unlock(file, 0, 10)
        for load, gateway in zip(loads, reversed(self.gateways)):
            nfs = gateway.nfs()
            for name in load.names:
                is_equal(again(nfs.read, name, 0, 100), name.encode())

    def what_is_held_stays_when_the_leader_of_etcd_is_killed_over_cephfs(self):
        here, there = self.first.smb(), self.other.smb()
        file = here.open("led", smb.BOTH, disposition=smb.OPEN_IF)
        here.lock(file, 0, 10, True)
        leader, end = self.etcd.leader(), time.monotonic() + LEADER
        leader.kill()
        while time.monotonic() < end:
            other = there.open("led", smb.BOTH)
            is_locked(there, other)
            there.close(other)
            time.sleep(0.1)
        self.all_are_members()
        here.close(file)
        other = there.open("led", smb.BOTH)
        there.lock(other, 5, 1, True)
        there.close(other)
        leader.start()


def names():
    return [name for name in vars(Checks) if name.endswith("_over_cephfs") or name.endswith("_from_cephfs")]


def apart(options, conf):
    """The options for servers over CephFS."""
    return argparse.Namespace(**vars(options) | {"conf": conf})


def check(options, certificates, log, tell):
    """`tell(name, call)` runs a check, if it is wanted."""
    place, etcd, gateways = Place(options), Trio(certificates, log), []
    try:
        gateways = [Gateway(apart(options, place.conf), f"-ceph{number}", etcd) for number in (1, 2)]
        for gateway in gateways:
            certificates.make(gateway.name)
            gateway.start()
        checks = Checks(place, etcd, gateways)
        for name in names():
            tell(name, getattr(checks, name))
    finally:
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.kill()
                gateway.process.wait()
        etcd.kill()
        place.end()
