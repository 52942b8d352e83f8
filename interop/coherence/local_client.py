"""Processes of the server's machine: open file description locks, leases (fcntl(2)), inotify(7)."""

import ctypes
import fcntl
import os
import select
import signal
import struct

LEASE_SIGNAL = signal.SIGRTMIN + 5
IN_MODIFY, IN_MOVED_FROM, IN_MOVED_TO, IN_CREATE, IN_DELETE = 0x2, 0x40, 0x80, 0x100, 0x200
WATCHED = {IN_MODIFY: "MODIFY", IN_MOVED_FROM: "MOVED_FROM", IN_MOVED_TO: "MOVED_TO", IN_CREATE: "CREATE", IN_DELETE: "DELETE"}


def lock(fd, offset, length, exclusive):
    """F_OFD_SETLK. BlockingIOError if another has it."""
    kind = fcntl.F_WRLCK if exclusive else fcntl.F_RDLCK
    fcntl.fcntl(fd, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", kind, os.SEEK_SET, offset, length, 0))


class Lease:
    """F_SETLEASE on a file. The main thread must have LEASE_SIGNAL blocked, as all others."""

    def __init__(self, path, writes):
        self.fd = os.open(path, os.O_RDWR if writes else os.O_RDONLY)
        fcntl.fcntl(self.fd, 10, LEASE_SIGNAL)  # F_SETSIG
        fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_WRLCK if writes else fcntl.F_RDLCK)

    def next_break(self, timeout):
        """What the kernel says must be left."""
        if signal.sigtimedwait([LEASE_SIGNAL], timeout) is None:
            return None
        kind = fcntl.fcntl(self.fd, fcntl.F_GETLEASE)
        return {fcntl.F_RDLCK: "R", fcntl.F_UNLCK: "nothing"}[kind]

    def give_up(self):
        fcntl.fcntl(self.fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)

    def end(self):
        os.close(self.fd)
        while signal.sigtimedwait([LEASE_SIGNAL], 0):
            pass


class Watched:
    """inotify on a folder."""

    def __init__(self, folder):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        if libc.inotify_add_watch(self.fd, os.fsencode(folder), sum(WATCHED)) < 0:
            raise OSError(ctypes.get_errno(), "inotify_add_watch")

    def next(self, timeout):
        """Pairs of event and name that have come."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return []
        data, found = os.read(self.fd, 65536), []
        while data:
            _, mask, _, length = struct.unpack("iIII", data[:16])
            name = data[16:16 + length].rstrip(b"\0").decode()
            found += [(text, name) for bit, text in WATCHED.items() if mask & bit]
            data = data[16 + length:]
        return found

    def end(self):
        os.close(self.fd)
