"""24 clients of all protocols on one folder, which die at random, and a server that is killed twice. Afterwards: nothing is lost
that was acknowledged as stable, no fork belongs to another file, nothing is locked or open, `fourfold scrub` finds nothing but
what local programs leave behind, the server has not panicked.
Prints "pass NAME" and "fail NAME: WHY". The server is started by this script: its command line follows `--`."""

import argparse
import collections
import json
import mmap
import os
import queue
import random
import select
import signal
import struct
import subprocess
import sys
import threading
import time

import afp
import local_client
import nfs4
import smb_client as smb
from scene import REFUSALS, Place

KINDS = ["smb"] * 6 + ["afp"] * 5 + ["nfs3"] * 5 + ["nfs4"] * 5 + ["local"] * 3
FILES, SLOT, SLOTS = 12, 256, 1024  # each client has a slot of its own in each file, for all its life
NAMES = [f"mac{i}" for i in range(16)]  # files with two forks that say the same
ID = 64
STUCK = 90.0  # a client that does nothing for so long is a failure: caches are given up after 35 s
OPERATIONS = ["stable"] * 12 + ["loose"] * 3 + ["read"] * 3 + ["lock"] * 4 + ["deny"] * 2 + ["pair"] * 3 + ["rename"] * 4 + ["remove"] * 2
SHARE = "share"
LEFT_BY_PROGRAMS = ("sidecar-of-gone-file", "streams-of-gone-file")  # kinds of findings of `fourfold scrub`


def record(file, slot, number):
    return f"{file} {slot} {number:010d} ".encode().ljust(SLOT, b".")


def apple_double(fork):
    """RFC 1740 appendix B: Finder info and a resource fork."""
    head = struct.pack(">II16xH", 0x00051607, 0x00020000, 2) + struct.pack(">IIIIII", 9, 50, 32, 2, 82, len(fork))
    return head + bytes(32) + fork


class Lost(Exception):
    """The connection is gone, or the client has cut it."""


class Worker:
    """A client. Its own numbers, in its own slot, grow; the journal knows which of them are stable."""

    def __init__(self, place, slot, seed, journal, beats):
        self.place, self.slot, self.rng, self.beats = place, slot, random.Random(seed), beats
        self.journal = os.open(os.path.join(journal, str(slot)), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.number, self.pairs, self.ending = 0, 0, False
        self.folder = place.folder(SHARE)

    def note(self, word, *values):
        os.write(self.journal, (" ".join(map(str, (word, *values))) + "\n").encode())

    def run(self):
        signal.signal(signal.SIGTERM, self._end)
        is_connected = False
        while not self.ending:
            operation = self.rng.choice(OPERATIONS)
            self.beats.beat(self.slot, operation)
            try:
                if not is_connected:
                    self.connect()
                    is_connected = True
                getattr(self, f"do_{operation}")()
                self.note("done", operation)
                if self.rng.random() < 0.01:
                    raise Lost
            except REFUSALS as refused:
                self.note("refused", operation, refused)
                if str(refused) in ("BAD_STATEID", "STALE") or getattr(refused, "status", 0) in (10022, 10023, 10052):
                    is_connected = False
                time.sleep(0.02)
            except (FileNotFoundError, BlockingIOError) as refused:  # of a local process
                self.note("refused", operation, type(refused).__name__)
            except (OSError, Lost, queue.Empty) as error:
                self.note("lost", operation, type(error).__name__)
                is_connected = self._cut()
            except Exception as error:  # smbprotocol has many for a lost connection
                self.note("lost", operation, type(error).__name__, str(error).replace("\n", " ")[:100])
                is_connected = self._cut()
        os._exit(0)  # with all it has open

    def _cut(self):
        try:
            self.disconnect()
        except Exception:  # it may be gone
            pass
        time.sleep(0.2)
        return False

    def _end(self, *_):
        self.ending = True

    def file(self):
        return f"data{self.rng.randrange(FILES)}"

    def do_stable(self):
        file = self.file()
        self.number += 1
        self.note("try", file, self.number)
        if self.write(file, self.slot * SLOT, record(file, self.slot, self.number), True):
            self.note("stable", file, self.number)

    def do_loose(self):
        file = self.file()
        self.number += 1
        self.note("try", file, self.number)
        self.write(file, self.slot * SLOT, record(file, self.slot, self.number), False)

    def do_read(self):
        self.read(self.file(), self.rng.randrange(SLOTS) * SLOT, SLOT)

    def do_lock(self):
        self.lock(self.file(), self.rng.randrange(SLOTS * SLOT), self.rng.randrange(1, 4 * SLOT), self.rng.random() < 0.5)

    def do_deny(self):
        self.deny(self.file())

    def do_pair(self):
        """Made under a name that nobody else uses, then moved."""
        self.pairs += 1
        private, text = f"own{self.slot}-{self.pairs}", f"id {self.slot} {self.pairs}".encode().ljust(ID)
        self.pair(private, text)
        self.rename(private, self.rng.choice(NAMES))

    def do_rename(self):
        self.rename(*self.rng.sample(NAMES, 2))

    def do_remove(self):
        self.remove(self.rng.choice(NAMES))

    def pause(self):
        time.sleep(self.rng.random() * 0.05)


class Smb(Worker):
    def connect(self):
        self.client = self.place.smb(SHARE)
        threading.Thread(target=self._gives_way, args=(self.client,), daemon=True).start()

    def disconnect(self):
        self.client.connection.transport._sock.close()

    def _gives_way(self, client):
        while self.client is client:
            notice = client.next_break(1.0)
            try:
                if notice and notice.answer:
                    client.acknowledge(notice)
            except Exception:  # it was late, or the connection is gone
                pass

    def _with(self, name, access, action, **options):
        opened = self.client.open(name, access, **options)
        try:
            return action(opened)
        finally:
            self.client.close(opened)

    def write(self, name, offset, data, stable):
        through, lease = self.rng.random() < 0.5, self.rng.choice([None, 1, 3, 7])

        def action(opened):
            self.client.write(opened, offset, data, through=stable and through)
            if stable and not through:
                self.client.flush(opened)
            return True
        return self._with(name, smb.BOTH, action, lease=lease)

    def read(self, name, offset, length):
        self._with(name, smb.READ, lambda opened: self.client.read(opened, offset, length), lease=self.rng.choice([None, 1, 3]))

    def lock(self, name, offset, length, exclusive):
        def action(opened):
            self.client.lock(opened, offset, length, exclusive)
            self.pause()
            if self.rng.random() < 0.5:
                self.client.unlock(opened, offset, length)
        self._with(name, smb.BOTH, action)

    def deny(self, name):
        self._with(name, smb.READ, lambda _: self.pause(), share=smb.SHARE_READ)

    def pair(self, name, text):
        def action(_):
            self._with(f"{name}:AFP_Resource", smb.BOTH, lambda fork: self.client.write(fork, 0, text), disposition=smb.OPEN_IF)
        self._with(name, smb.BOTH, lambda data: (self.client.write(data, 0, text), action(data)), disposition=smb.CREATE)

    def rename(self, name, new):
        self._with(name, smb.DELETE, lambda opened: self.client.rename(opened, new))

    def remove(self, name):
        self._with(name, smb.DELETE, lambda opened: self.client.remove(opened))


class Afp(Worker):
    def connect(self):
        self.client = self.place.afp(SHARE)

    def disconnect(self):
        self.client.disconnect()

    def _with(self, name, access, action, resource=False):
        fork = self.client.open(name, access, resource)
        try:
            return action(fork)
        finally:
            self.client.close(fork)

    def write(self, name, offset, data, stable):
        def action(fork):
            self.client.write(fork, offset, data)
            if stable:
                self.client.flush(fork)
            return True
        return self._with(name, afp.WRITE, action)

    def read(self, name, offset, length):
        self._with(name, afp.READ, lambda fork: self.client.read(fork, offset, length))

    def lock(self, name, offset, length, exclusive):
        def action(fork):
            self.client.lock(fork, offset, length)
            self.pause()
            if self.rng.random() < 0.5:
                self.client.lock(fork, offset, length, unlock=True)
        self._with(name, afp.READ | afp.WRITE, action)

    def deny(self, name):
        self._with(name, afp.READ | afp.DENY_WRITE, lambda _: self.pause())

    def pair(self, name, text):
        self.client.create(name)
        self._with(name, afp.WRITE, lambda fork: self.client.write(fork, 0, text))
        self._with(name, afp.WRITE, lambda fork: self.client.write(fork, 0, text), True)

    def rename(self, name, new):
        self.client.rename(name, new)

    def remove(self, name):
        self.client.remove(name)


class Nfs3(Worker):
    def connect(self):
        self.client = self.place.nfs3(SHARE)

    def disconnect(self):
        self.client.disconnect()

    def write(self, name, offset, data, stable):
        if not stable:
            return self.client.write(name, offset, data, 0)
        if self.rng.random() < 0.5:
            return self.client.write(name, offset, data, 2)
        return self.client.write(name, offset, data, 0) == self.client.commit(name)  # else the server was restarted

    def read(self, name, offset, length):
        self.client.read(name, offset, length)

    def lock(self, name, offset, length, exclusive):
        owner = f"soak{self.slot}"
        self.client.lock(owner, name, offset, length, exclusive)
        self.pause()
        self.client.unlock(owner, name, offset, length)

    def deny(self, name):
        shares = self.place.shares("127.0.0.1")
        handle = self.client.handle(name)
        shares.share(handle, 1, 2)
        self.pause()
        shares.unshare(handle)
        shares.connection.close()

    def pair(self, name, text):
        self.client.create(name)
        self.client.write(name, 0, text)
        self.client.create(f"._{name}")
        self.client.write(f"._{name}", 0, apple_double(text))

    def rename(self, name, new):
        self.client.rename(name, new)

    def remove(self, name):
        self.client.remove(name)


class Nfs4(Worker):
    def connect(self):
        self.client = self.place.nfs4(SHARE, f"soak{self.slot}", delegations=True)
        threading.Thread(target=self._gives_way, args=(self.client,), daemon=True).start()

    def disconnect(self):
        self.client.disconnect()

    def _gives_way(self, client):
        while self.client is client:
            try:
                state, handle = client.recalls.get(timeout=1.0)
                client.return_delegation(handle, state)
            except Exception:  # none now; or it was late, or the connection is gone
                pass

    def _with(self, name, access, action, deny=0, create=False):
        delegation = deny == 0 and not create and self.rng.random() < 0.3
        state, handle, given = self.client.open(name, access, deny, create, delegation)
        try:
            return action(handle, state)
        finally:
            if given and self.rng.random() < 0.7:
                self.client.return_delegation(handle, given[0])
            self.client.close(state, handle)

    def write(self, name, offset, data, stable):
        def action(handle, state):
            if not stable or self.rng.random() < 0.5:
                return self.client.write(handle, offset, data, 2 if stable else 0, state)
            return self.client.write(handle, offset, data, 0, state) == self.client.commit(handle)
        return self._with(name, nfs4.WRITE, action)

    def read(self, name, offset, length):
        self._with(name, nfs4.READ, lambda handle, state: self.client.read(handle, offset, length, state))

    def lock(self, name, offset, length, exclusive):
        def action(handle, state):
            locked = self.client.lock(handle, state, offset, length, exclusive, f"{self.number}".encode())
            self.pause()
            self.client.unlock(handle, locked, offset, length)
        self._with(name, nfs4.BOTH, action)

    def deny(self, name):
        self._with(name, nfs4.READ, lambda *_: self.pause(), deny=nfs4.WRITE)

    def pair(self, name, text):
        for each, content in ((name, text), (f"._{name}", apple_double(text))):
            self._with(each, nfs4.BOTH, lambda handle, state: self.client.write(handle, 0, content, 2, state), create=True)

    def rename(self, name, new):
        self.client.rename(name, new)

    def remove(self, name):
        self.client.remove(name)


class Local(Worker):
    def connect(self):
        pass

    disconnect = connect

    def path(self, name):
        return os.path.join(self.folder, name)

    def _with(self, name, action):
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            return action(fd)
        finally:
            os.close(fd)

    def write(self, name, offset, data, stable):
        def action(fd):
            os.pwrite(fd, data, offset)
            if stable:
                os.fsync(fd)
            return True
        return self._with(name, action)

    def read(self, name, offset, length):
        self._with(name, lambda fd: os.pread(fd, length, offset))

    def lock(self, name, offset, length, exclusive):
        self._with(name, lambda fd: (local_client.lock(fd, offset, length, exclusive), self.pause()))

    def deny(self, name):
        self._with(name, lambda fd: self.pause())

    def do_pair(self):
        self.pause()  # local processes have no forks

    def rename(self, name, new):
        os.rename(self.path(name), self.path(new))
        time.sleep(0.3)  # fewer of them: they replace files

    def remove(self, name):
        os.remove(self.path(name))


WORKERS = {"smb": Smb, "afp": Afp, "nfs3": Nfs3, "nfs4": Nfs4, "local": Local}


class Beats:
    """When each client did something last, in memory that all processes share."""

    def __init__(self):
        self.memory = mmap.mmap(-1, SLOTS * 24)

    def beat(self, slot, what):
        self.memory[slot * 24:slot * 24 + 24] = struct.pack("d16s", time.monotonic(), what.encode())

    def last(self, slot):
        when, what = struct.unpack("d16s", self.memory[slot * 24:slot * 24 + 24])
        return when, what.rstrip(b"\0").decode()


class Server:
    """The program under test, with a log for all its lives."""

    def __init__(self, command, log):
        self.command, self.log = command, open(log, "wb")

    def start(self):
        # It ends with this script.
        self.process = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *self.command], stdout=subprocess.PIPE,
                                        stderr=self.log)
        end, said = time.monotonic() + 20, b""
        while b"ready\n" not in said:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                sys.exit(f"the server is not ready: {said!r}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                sys.exit("the server has ended")
            said += more

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Soak:
    def __init__(self, options, place):
        self.options, self.place = options, place
        self.rng = random.Random(options.seed)
        self.journal, self.beats = os.path.join(options.folder, "journal"), Beats()
        os.makedirs(self.journal, exist_ok=True)
        self.server = Server(options.server, os.path.join(options.folder, "soak-server.log"))
        self.clients_log = os.open(os.path.join(options.folder, "soak-clients.log"), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self.slot, self.workers, self.kinds, self.problems = 0, {}, {}, []

    def spawn(self, kind):
        slot, self.slot = self.slot, self.slot + 1
        if slot >= SLOTS:
            return
        self.beats.beat(slot, "born")
        self.kinds[slot] = kind
        seed = f"{self.options.seed} {slot}"
        if (child := os.fork()) == 0:
            os.dup2(self.clients_log, 2)
            threading.excepthook = lambda _: None  # smbprotocol's threads, when a connection is cut
            try:
                WORKERS[kind](self.place, slot, seed, self.journal, self.beats).run()
            finally:
                os._exit(9)
        self.workers[child] = (slot, kind)

    def run(self):
        for i in range(FILES):
            path = os.path.join(self.place.folder(SHARE), f"data{i}")
            with open(path, "wb") as file:
                file.write(bytes(SLOTS * SLOT))
            os.chmod(path, 0o666)
            os.chown(path, self.options.uid, self.options.uid)
        self.server.start()
        [self.spawn(kind) for kind in KINDS]
        begun, seconds = time.monotonic(), self.options.seconds
        deaths = sorted(self.rng.uniform(2, seconds) for _ in range(min(int(seconds / 1.5), SLOTS - 100)))
        kills = [seconds * self.rng.uniform(0.3, 0.4), seconds * self.rng.uniform(0.6, 0.7)]
        while (now := time.monotonic() - begun) < seconds:
            if deaths and deaths[0] < now:
                deaths.pop(0)
                self.one_dies()
            if kills and kills[0] < now:
                kills.pop(0)
                self.server.kill()
                time.sleep(self.rng.uniform(0, 0.5))
                self.server.start()
            self.look_after()
            time.sleep(0.05)
        self.end()

    def one_dies(self):
        child = self.rng.choice(list(self.workers))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        self.spawn(self.workers.pop(child)[1])

    def look_after(self):
        for child, (slot, kind) in list(self.workers.items()):
            when, what = self.beats.last(slot)
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() - when > STUCK:
                self.problems.append(f"client {slot} ({kind}) has been in {what} for {STUCK:.0f} s")
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            elif ended:
                self.problems.append(f"client {slot} ({kind}) has ended in {what}: {status}")
            else:
                continue
            self.workers.pop(child)
            self.spawn(kind)

    def end(self):
        """Half of the clients die with what they hold. The others are asked to end, and die soon."""
        children = list(self.workers)
        for child in children[::2]:
            os.kill(child, signal.SIGKILL)
        for child in children[1::2]:
            os.kill(child, signal.SIGTERM)
        time.sleep(1)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)

    # --- What must be true at the end ---------------------------------------------------------------------------------

    def read_journals(self):
        """The last stable and the last tried number by file and slot; how often each kind did what."""
        self.stable, self.tried = {}, {}
        self.counts = collections.Counter()
        for slot in map(int, os.listdir(self.journal)):
            with open(os.path.join(self.journal, str(slot))) as journal:
                for line in journal:
                    word, *rest = line.split()
                    if word in ("try", "stable") and len(rest) == 2:
                        (self.stable if word == "stable" else self.tried)[rest[0], slot] = int(rest[1])
                    self.counts[self.kinds[slot], word] += 1
                    if word in ("lost", "refused"):
                        self.counts[self.kinds[slot], line.strip()[:90]] += 1

    def check_stable(self):
        for i in range(FILES):
            name = f"data{i}"
            with open(os.path.join(self.place.folder(SHARE), name), "rb") as file:
                content = file.read()
            for slot in range(self.slot):
                stable, tried = self.stable.get((name, slot), 0), self.tried.get((name, slot), 0)
                found = content[slot * SLOT:(slot + 1) * SLOT]
                number = 0 if found == bytes(SLOT) else int(found.split()[2]) if len(found.split()) > 2 else -1
                if not stable <= number <= tried or (number and found != record(name, slot, number)):
                    raise AssertionError(f"{name}, client {slot} ({self.kinds[slot]}): {found[:40]!r}, stable is {stable}, tried {tried}")

    def check_pairs(self):
        """What the forks say, over AFP and SMB."""
        mac, windows = self.place.afp(SHARE), self.place.smb(SHARE)
        pairs = 0
        for name in sorted(os.listdir(self.place.folder(SHARE))):
            if name.startswith((".", "data")):
                continue
            said = [by(name, resource) for by in (self.by_afp(mac), self.by_smb(windows)) for resource in (False, True)]
            data, fork = said[:2]
            if said[2:] != said[:2]:
                raise AssertionError(f"{name} is {said[:2]} over AFP, and {said[2:]} over SMB")
            if name.startswith("own"):
                continue  # a client died before it was complete
            if data != fork:
                raise AssertionError(f"{name}: the data fork is {data!r}, the resource fork {fork!r}")
            pairs += 1
        if pairs == 0:
            raise AssertionError("no file with two forks is left to look at")

    def by_afp(self, client):
        def read(name, resource):
            fork = client.open(name, afp.READ, resource)
            try:
                return client.read(fork, 0, ID)
            except afp.Refused as refused:
                return b"" if refused.code == -5009 else str(refused)
            finally:
                client.close(fork)
        return read

    def by_smb(self, client):
        def read(name, resource):
            try:
                opened = client.open(f"{name}:AFP_Resource" if resource else name, smb.READ)
            except smb.Refused as refused:
                return b"" if refused.status == 0xC0000034 else str(refused)
            try:
                return client.read(opened, 0, ID)
            except smb.Refused as refused:
                return b"" if refused.status == 0xC0000011 else str(refused)
            finally:
                client.close(opened)
        return read

    def check_free(self):
        """A fresh client of each protocol can have each file for itself. Machines that died have freed their NLM locks, as they
        do when they start again. A silent client of NFSv4 keeps what it has until its lease ends."""
        shares = self.place.shares("127.0.0.1")
        shares.free_all()
        windows, mac, unix = self.place.smb(SHARE), self.place.afp(SHARE), self.place.nfs3(SHARE)
        four, end = self.place.nfs4(SHARE, "at the end"), time.monotonic() + 20
        length = SLOTS * SLOT
        for name in (f"data{i}" for i in range(FILES)):
            def by_smb():
                opened = windows.open(name, smb.BOTH, share=0)
                try:
                    windows.lock(opened, 0, length, True)
                finally:
                    windows.close(opened)

            def by_afp():
                fork = mac.open(name, afp.READ | afp.WRITE | afp.DENY_READ | afp.DENY_WRITE)
                try:
                    mac.lock(fork, 0, length)
                finally:
                    mac.close(fork)

            def by_nlm():
                unix.lock("end", name, 0, length, True)
                unix.unlock("end", name, 0, length)

            def by_nfs4():
                state, handle, _ = four.open(name, nfs4.BOTH, nfs4.BOTH)
                try:
                    four.unlock(handle, four.lock(handle, state, 0, length, True), 0, length)
                finally:
                    four.close(state, handle)
            for check in (by_smb, by_afp, by_nlm, by_nfs4):
                while True:
                    try:
                        check()
                        break
                    except REFUSALS as refused:
                        if time.monotonic() > end:
                            raise AssertionError(f"{name} {check.__name__}: {refused}") from None
                        time.sleep(0.5)

    def check_sound(self):
        """By `fourfold scrub`, which asks the running server. Local processes remove files without what the server keeps for
        them: that is found and mended, and nothing else may be wrong."""
        command = self.options.server
        named = [part for word in ("--config", "--state") for part in command[command.index(word):command.index(word) + 2]]

        def scrub(*more):
            done = subprocess.run([command[0], "scrub", SHARE, *named, "--json", *more], capture_output=True, text=True, timeout=60)
            found = [finding for report in json.loads(done.stdout)["reports"] for finding in report["findings"]]
            for finding in found:
                print("scrub", *more, finding["kind"], finding["path"], finding["outcome"], file=sys.stderr)
            return done.returncode, [finding for finding in found if finding["kind"] not in LEFT_BY_PROGRAMS]
        for more in ((), ("--repair",), ()):
            code, wrong = scrub(*more)
            if wrong:
                raise AssertionError(f"{wrong[0]['kind']} {wrong[0]['path']}: {wrong[0]['what']}; {len(wrong)} in total")
        if code != 0:
            raise AssertionError(f"exit code {code} after a repair")

    def check_log(self):
        with open(self.server.log.name, errors="replace") as log:
            panics = [line for line in log if "panicked" in line]
        if panics:
            raise AssertionError(panics[0].strip()[:200])

    def check_clients(self):
        if self.problems:
            raise AssertionError("; ".join(self.problems[:3]))
        if idle := [kind for kind in WORKERS if self.counts[kind, "stable"] < self.options.seconds / 2]:
            raise AssertionError(f"few stable writes by {', '.join(idle)}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("--smb-port", "--afp-port", "--nfs-port", "--uid", "--seconds", "--seed"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--folder", "--user", "--password", "--nfs3", "--expected"):
        parser.add_argument(name, required=True)
    parser.add_argument("server", nargs="+")
    options = parser.parse_args()
    soak = Soak(options, Place(options))
    soak.run()
    soak.read_journals()
    time.sleep(1.5)  # moves by local processes are followed
    checks = {"what was acknowledged as stable is there": soak.check_stable, "each fork is with its own file": soak.check_pairs,
              "nothing is locked or open": soak.check_free,
              "the tree is sound": soak.check_sound, "the server has not panicked": soak.check_log,
              "each client goes on": soak.check_clients}
    failed = 0
    for name, check in checks.items():
        try:
            check()
            print(f"pass {name}", flush=True)
        except Exception as error:  # of any client
            failed += 1
            print(f"fail {name}: {type(error).__name__} {error}"[:600].replace("\n", " "), flush=True)
    for (kind, what), count in sorted(soak.counts.items()):
        print(f"{kind}: {what}: {count}", file=sys.stderr)
    sys.stderr.flush()
    soak.server.process.terminate()
    soak.server.process.wait()
    os._exit(0)


main()
