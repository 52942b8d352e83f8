"""Partitions: servers in network namespaces, whose networks are cut for a while from each other and from etcd, while clients take and
give back locks and opens that exclude each other at all servers. All that they ask and are told is recorded. What must hold: one server
could have given the same answers, no acknowledged stable write is lost, and clients go on when the network is whole again."""

import itertools
import os
import random
import sys
import threading
import time

import nfs4
from history import GIVE, TAKE, USE, History
from scene import is_equal, smb
from spaces import Apart, Bridge, end, etcd_at

FILES = 2  # for locks, and as many for opens
FENCED = 75
PAUSE = 0.02  # seconds between two requests of a client
TAKEOVER = 8.0  # seconds: the lease of a server, and what others need to take over
GRACE = 2  # seconds
BUSY = 15.0  # seconds that a busy machine may need beside that
CLOCK = 100_000  # seconds by which the clocks since the start of the host differ between two servers

REFUSED = {"LOCK_NOT_GRANTED", "FILE_LOCK_CONFLICT", "SHARING_VIOLATION", "DENIED", "LOCKED", "SHARE_DENIED"}
FAILED = {"GRACE", "DELAY"}


class Values:
    """What is written to each file under its lock, and what may be read: the last acknowledged value, or one without an answer."""

    def __init__(self):
        self.one, self.next = threading.Lock(), itertools.count(1)
        self.known, self.perhaps = {}, {}

    def begin(self, name):
        with self.one:
            value = f"{next(self.next):010}".encode()
            self.perhaps.setdefault(name, set()).add(value)
            return value

    def written(self, name, value):
        with self.one:
            self.known[name] = value
            self.perhaps[name].discard(value)

    def check(self, name, found):
        with self.one:
            allowed = {self.known.get(name, b"")} | self.perhaps.get(name, set())
        if found not in allowed:
            raise AssertionError(f"{name} has {found!r}; acknowledged was {self.known.get(name)!r}")


class BySmb:
    def __init__(self, options, gateway, _):
        self.client = smb.Client(445, "share", options.user, options.password, host=gateway.own)

    def open(self, name, access, deny):
        access = {1: smb.READ, 2: smb.WRITE, 3: smb.BOTH}[access]
        return self.client.open(name, access, smb.SHARE_ALL & ~deny, smb.OPEN_IF)

    def lock(self, file):
        self.client.lock(file, 0, 10, True)

    def unlock(self, file):
        self.client.unlock(file, 0, 10)

    def read(self, file):
        try:
            return self.client.read(file, 0, 10)
        except smb.Refused as error:
            if str(error) == "END_OF_FILE":
                return b""
            raise

    def write(self, file, data):
        self.client.write(file, 0, data, through=True)

    def close(self, file):
        self.client.close(file)


class ByNfs:
    numbers = itertools.count(1)

    def __init__(self, options, gateway, name):
        self.name = f"{name}-{next(self.numbers)}"
        self.client = nfs4.Client(2049, "share", options.uid, self.name, host=gateway.own)

    def open(self, name, access, deny):
        state, handle, _ = self.client.open(name, access, deny, create=True)
        return {"state": state, "handle": handle}

    def lock(self, file):
        file["lock"] = self.client.lock(file["handle"], file["state"], 0, 10, True, owner=os.urandom(8))

    def unlock(self, file):
        self.client.unlock(file["handle"], file.pop("lock"), 0, 10)

    def read(self, file):
        return self.client.read(file["handle"], 0, 10, state=file.get("lock", file["state"]))

    def write(self, file, data):
        self.client.write(file["handle"], 0, data, state=file.get("lock", file["state"]))

    def close(self, file):
        self.client.close(file["state"], file["handle"])


class Worker(threading.Thread):
    """A client of one server, which begins anew when that server is lost."""

    def __init__(self, scene, number, gateway, protocol):
        super().__init__(daemon=True)
        self.scene, self.number, self.gateway, self.protocol = scene, number, gateway, protocol
        self.random, self.error, self.done, self.way = random.Random(number), None, 0, None

    def run(self):
        while not self.scene.ending:
            try:
                if self.way is None:
                    self.way = self.protocol(self.scene.options, self.gateway, f"worker-{self.number}")
                if self.random.random() < 0.6:
                    self._lock()
                else:
                    self._open(self.random.choice(["reading", "writing"]))
            except AssertionError as error:
                self.error = error
                return
            except (smb.Refused, nfs4.Refused):
                pass  # of an open or a close that is not recorded
            except Exception:  # the libraries have several for a lost connection
                self._leave()
                time.sleep(0.3)
            time.sleep(PAUSE)

    def _leave(self):
        way, self.way = self.way, None
        try:
            way.client.disconnect()
        except Exception:  # it is lost already, or was never made
            pass

    def _call(self, kind, file, right, do, *arguments):
        """Records a request, and whether it was granted."""
        history = self.scene.history
        call = history.call(kind, self.number, file, right)
        try:
            found = do(*arguments)
        except (smb.Refused, nfs4.Refused) as error:
            if kind == TAKE and str(error) in REFUSED | FAILED:
                history.answer(call, "refused" if str(error) in REFUSED else "failed")
                return False, None
            history.lost(call)
            raise ConnectionError(f"{kind} {file}: {error}") from error
        except Exception:
            history.lost(call)
            raise
        history.answer(call, "done")
        self.done += 1
        return True, found

    def _lock(self):
        name = f"lock-{self.random.randrange(FILES)}"
        file = self.way.open(name, 3, 0)
        if self._call(TAKE, name, "lock", self.way.lock, file)[0]:
            found = self._call(USE, name, "lock", self.way.read, file)[1]
            self.scene.values.check(name, found)
            value = self.scene.values.begin(name)
            self._call(USE, name, "lock", self.way.write, file, value)
            self.scene.values.written(name, value)
            self._call(GIVE, name, "lock", self.way.unlock, file)
        self.way.close(file)

    def _open(self, right):
        name = f"open-{self.random.randrange(FILES)}"
        access, deny = (1, 2) if right == "reading" else (2, 0)
        taken, file = self._call(TAKE, name, right, self.way.open, name, access, deny)
        if taken:
            time.sleep(PAUSE)
            self._call(GIVE, name, right, self.way.close, file)


class Scene:
    def __init__(self, options, gateways):
        self.options, self.gateways = options, gateways
        self.history, self.values, self.ending = History(), Values(), False
        self.workers = []
        for gateway, protocol in itertools.product(gateways, (BySmb, ByNfs)):
            self.workers.append(Worker(self, len(self.workers), gateway, protocol))

    def go_on(self, limit, workers=None):
        """All clients get answers."""
        workers, end = workers or self.workers, time.monotonic() + limit
        before = [worker.done for worker in workers]
        while True:
            self.is_right()
            stuck = [worker for worker, done in zip(workers, before) if worker.done < done + 3]
            if not stuck:
                return
            if time.monotonic() > end:
                names = [f"{worker.protocol.__name__} at {worker.gateway.name}" for worker in stuck]
                raise AssertionError(f"no answers within {limit} s: {', '.join(names)}")
            time.sleep(0.1)

    def is_right(self):
        """No client has read something else than what was written."""
        for worker in self.workers:
            if worker.error:
                raise worker.error

    def of(self, gateway):
        return [worker for worker in self.workers if worker.gateway is gateway]

    def end(self):
        self.ending = True
        for worker in self.workers:
            worker.join(15)


def apart_from_each_other(scene, one, other, seconds):
    """Both are members all the time, so operations on files that both use wait."""
    one.cut(other.own)
    time.sleep(seconds)
    one.heal()
    scene.go_on(20)
    is_equal([one.process.poll(), other.process.poll()], [None, None])


def apart_from_etcd(scene, one, other, seconds):
    """It ends itself before the others take over; they go on."""
    one.cut(one.bridge.etcd)
    is_equal(one.process.wait(10), FENCED)
    scene.go_on(TAKEOVER + GRACE + BUSY, scene.of(other))
    time.sleep(max(0, seconds - TAKEOVER))
    one.heal()
    one.start()
    scene.go_on(20)


def apart_from_all(scene, one, other, seconds):
    one.cut(one.bridge.etcd, *[gateway.own for gateway in scene.gateways if gateway is not one])
    is_equal(one.process.wait(10), FENCED)
    scene.go_on(TAKEOVER + GRACE + BUSY, scene.of(other))
    time.sleep(max(0, seconds - TAKEOVER))
    one.heal()
    one.start()
    scene.go_on(20)


def check(options, certificates, log):
    """`options.partitions`: how long each pair is cut. 0: a short one of two kinds."""
    bridge = Bridge(2)
    etcd = etcd_at(bridge, certificates, log)
    gateways = [Apart(options, number, etcd, bridge) for number in range(1, options.gateways + 1)]
    # Their clocks since the start of the host differ; only durations may count.
    gateways[1].within += ["unshare", "--time", "--monotonic", str(CLOCK), "--boottime", str(CLOCK)]
    for gateway in gateways:
        certificates.make(gateway.name)
        gateway.set(f"grace-period = {options.grace}", f"grace-period = {GRACE}")
    scene = Scene(options, gateways)
    try:
        for gateway in gateways:
            gateway.start()
        for worker in scene.workers:
            worker.start()
        scene.go_on(20)
        for kind, one, other, seconds in cuts(options, gateways):
            begun = time.monotonic()
            kind(scene, one, other, seconds)
            print(f"{kind.__name__}: {one.name}, {other.name}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        scene.end()
        scene.is_right()
        print(f"{scene.history.write(os.path.join(options.folder, 'history.json'))} events", file=sys.stderr, flush=True)
    finally:
        scene.ending = True
        end(bridge, etcd, gateways)


def cuts(options, gateways):
    if not options.partitions:
        first, other = gateways[:2]
        return [(apart_from_each_other, first, other, 5), (apart_from_etcd, other, first, 0)]
    pairs = list(itertools.combinations(gateways, 2))
    found = [(apart_from_each_other, one, other, options.partitions) for one, other in pairs]
    for at, one in enumerate(gateways):
        found += [(kind, one, gateways[at - 1], options.partitions) for kind in (apart_from_etcd, apart_from_all)]
    return found
