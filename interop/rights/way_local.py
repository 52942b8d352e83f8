"""Programs of the server's machine, as the person's Unix user: system calls, and cp, mv, rsync, tar and vim."""

import json
import os
import subprocess
import sys

from way import DATA, Denied, Missing, Session

LIMIT_S = 20


class Worker:
    """What the process of one user does. The share's root is its folder, so that it needs no rights on the way there."""

    def __init__(self, syncs):
        self.syncs = syncs

    def _write(self, fd, write):
        write(fd)
        if self.syncs:
            os.fsync(fd)
        os.close(fd)

    def make(self, path, data, mode):
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        self._write(fd, lambda fd: os.write(fd, data.encode()))

    def make_folder(self, path, mode):
        os.mkdir(path, mode)

    def list(self, path):
        return os.listdir(path or ".")

    def read(self, path):
        with open(path, "rb") as file:
            return file.read().decode()

    def edit(self, path, offset, data):
        self._write(os.open(path, os.O_WRONLY), lambda fd: os.pwrite(fd, data.encode(), offset))

    def append(self, path, data):
        self._write(os.open(path, os.O_WRONLY | os.O_APPEND), lambda fd: os.write(fd, data.encode()))

    def truncate(self, path, size):
        os.truncate(path, size)

    def rename(self, path, new):
        os.rename(path, new)

    def remove(self, path):
        os.unlink(path)

    def remove_folder(self, path):
        os.rmdir(path)

    def chmod(self, path, mode):
        os.chmod(path, mode)

    def utimes(self, path, seconds):
        os.utime(path, (seconds, seconds))

    def run(self, words):
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=LIMIT_S)
        if done.returncode != 0:
            raise PermissionError(f"{words[0]}: {done.returncode}: {done.stderr[-200:]}")


def become(uid, groups):
    os.setgroups(groups)
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    os.umask(0o022)
    os.environ.update(HOME="/nonexistent", LC_ALL="C")


def serve(requests, replies, syncs=False):
    """Answers each line with a line, in the folder and as the user of this process. `syncs`: a client with a delegation sends what is
    written when it likes, and the other side looks at the disk."""
    worker = Worker(syncs)
    for line in requests:
        name, words = json.loads(line)
        try:
            answer = ["ok", getattr(worker, name)(*words)]
        except PermissionError as error:
            answer = ["denied", str(error)]
        except FileNotFoundError as error:
            answer = ["missing", str(error)]
        except Exception as error:  # noqa: BLE001: told to the other side
            answer = ["odd", f"{type(error).__name__}: {error}"]
        replies.write(json.dumps(answer) + "\n")
        replies.flush()


class Local(Session):
    """It forks: no thread may run yet."""

    programs = {"cp", "mv", "rsync", "tar", "vim"}

    def __init__(self, place, person):
        root = os.open(place.folder, os.O_RDONLY | os.O_DIRECTORY)
        requests, replies = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(requests[1]), os.close(replies[0])
            try:
                os.fchdir(root)  # before the person's rights count: whoever may not enter is refused later
                become(person.uid, person.groups)
                serve(os.fdopen(requests[0]), os.fdopen(replies[1], "w"))
            except BaseException as error:  # noqa: BLE001: the process ends here
                print(f"local worker of {person.name}: {error}", file=sys.stderr)
            os._exit(0)
        for fd in (root, requests[0], replies[1]):
            os.close(fd)
        os.set_inheritable(requests[1], False)
        self.requests, self.replies = os.fdopen(requests[1], "w"), os.fdopen(replies[0])

    def _ask(self, name, *words):
        self.requests.write(json.dumps([name, words]) + "\n")
        self.requests.flush()
        line = self.replies.readline()
        if not line:
            raise ConnectionError("the process has ended")
        kind, found = json.loads(line)
        if kind == "denied":
            raise Denied(found)
        if kind == "missing":
            raise Missing(found)
        if kind == "odd":
            raise OSError(found)
        return found

    # Programs ask for these modes, and the umask or the folder's default ACL makes less of them.

    def make(self, path, data=DATA, mode=0o666):
        self._ask("make", path, data.decode(), mode)

    def make_folder(self, path, mode=0o777):
        self._ask("make_folder", path, mode)

    def list(self, path):
        return set(self._ask("list", path))

    def read(self, path):
        return self._ask("read", path).encode()

    def edit(self, path, offset=0, data=b"W"):
        self._ask("edit", path, offset, data.decode())

    def append(self, path, data=b"more"):
        self._ask("append", path, data.decode())

    def truncate(self, path, size):
        self._ask("truncate", path, size)

    def rename(self, path, new):
        self._ask("rename", path, new)

    def remove(self, path):
        self._ask("remove", path)

    def remove_folder(self, path):
        self._ask("remove_folder", path)

    def chmod(self, path, mode):
        self._ask("chmod", path, mode)

    def utimes(self, path, seconds):
        self._ask("utimes", path, seconds)

    def run(self, *words):
        self._ask("run", words)
