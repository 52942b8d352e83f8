"""NFSv3 and NLM by the program nfs3.c, which uses libnfs."""

import subprocess
import threading

NAMES = {1: "PERM", 2: "NOENT", 5: "IO", 13: "ACCES", 17: "EXIST", 30: "ROFS", 70: "STALE", 10008: "JUKEBOX"}
NLM_NAMES = {1: "DENIED", 2: "DENIED_NOLOCKS", 3: "BLOCKED", 4: "DENIED_GRACE_PERIOD"}


class Refused(Exception):
    def __init__(self, status, names=NAMES):
        super().__init__(names.get(status, str(status)))
        self.status = status


class Client:
    def __init__(self, program, port, share, uid):
        options = ["--export", f"/{share}", "--nfs-port", str(port), "--mount-port", str(port), "--uid", str(uid), "--gid", str(uid)]
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.one = threading.Lock()

    def call(self, *words, names=NAMES):
        """What follows the status."""
        with self.one:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        if not line:
            raise ConnectionError("the connection is lost")
        status, _, rest = line.strip().partition(" ")
        if status != "0":
            raise Refused(int(status), names)
        return bytes.fromhex(rest)

    def disconnect(self):
        self.process.kill()
        self.process.wait()

    def handle(self, name):
        return self.call("handle", name)

    def create(self, name):
        self.call("create", name)

    def read(self, name, offset, length):
        return self.call("read", name, offset, length)

    def write(self, name, offset, data, stable=2):
        """The verifier."""
        return self.call("write", name, offset, data.hex(), stable)

    def commit(self, name):
        return self.call("commit", name)

    def truncate(self, name, size):
        self.call("truncate", name, size)

    def rename(self, name, new):
        self.call("rename", name, new)

    def remove(self, name):
        self.call("remove", name)

    def lock(self, owner, name, offset, length, exclusive):
        self.call("lock", owner, name, offset, length, int(exclusive), names=NLM_NAMES)

    def unlock(self, owner, name, offset, length):
        self.call("unlock", owner, name, offset, length, names=NLM_NAMES)
