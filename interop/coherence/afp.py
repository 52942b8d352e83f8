"""AFP 3.4 over DSI, and AFP 2.2 over a bridge to AppleTalk, by the Apple Filing Protocol Reference: forks, deny modes, ranges, attentions."""

import itertools
import queue
import socket
import struct
import threading

READ, WRITE, DENY_READ, DENY_WRITE = 1, 2, 0x10, 0x20
ROOT = 2
NAMES = {-5000: "AccessDenied", -5006: "DenyConflict", -5009: "EOFErr", -5010: "FileBusy", -5013: "LockErr", -5017: "ObjectExists",
         -5018: "ObjectNotFound", -5020: "RangeNotLocked", -5021: "RangeOverlap", -5032: "ObjectLocked", -5014: "MiscErr",
         -5023: "UserNotAuth"}


class Refused(Exception):
    def __init__(self, code, data=b""):
        super().__init__(NAMES.get(code, str(code)))
        self.code, self.data = code, data


def pascal(text):
    return bytes([len(text)]) + text.encode()


def path(name):
    """A path in Unicode."""
    name = name.encode()
    return struct.pack(">BIH", 3, 0x08000103, len(name)) + name


class Client:
    """A session with one volume."""

    version, path = "AFP3.4", staticmethod(path)

    def __init__(self, port, volume, user, password):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.ids, self.waiting, self.sending = itertools.count(1), {}, threading.Lock()
        self.attentions, self.broken = queue.SimpleQueue(), False
        threading.Thread(target=self._receive, daemon=True).start()
        self._request(4, b"")
        login = b"\x12" + pascal(self.version) + pascal("Cleartxt Passwrd") + pascal(user)
        login += bytes(len(login) % 2) + password.encode().ljust(8, b"\0")
        self.command(login)
        answer = self.command(struct.pack(">BBH", 24, 0, 0x20) + pascal(volume))
        self.volume = struct.unpack(">H", answer[2:4])[0]

    def command(self, body):
        return self._request(2, body)

    def write_command(self, body, data):
        return self._request(6, body + data, len(body))

    def _request(self, command, body, offset=0):
        number = next(self.ids) & 0xffff
        answer = self.waiting[number] = queue.SimpleQueue()
        with self.sending:
            self.socket.sendall(struct.pack(">BBHIII", 0, command, number, offset, len(body), 0) + body)
        if self.broken:
            raise ConnectionError("the connection is lost")
        try:
            found = answer.get(timeout=60)
        except queue.Empty:
            raise TimeoutError("no reply within 60 s") from None
        if found is None:
            raise ConnectionError("the connection is lost")
        code, data = found
        if code != 0:
            raise Refused(code, data)
        return data

    def _exactly(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise ConnectionError("closed")
            data += more
        return data

    def _receive(self):
        try:
            while True:
                flags, command, number, code, length, _ = struct.unpack(">BBHiII", self._exactly(16))
                data = self._exactly(length)
                if flags == 1:
                    if answer := self.waiting.pop(number, None):
                        answer.put((code, data))
                    continue
                if command == 8:
                    self.attentions.put(struct.unpack(">H", data[:2])[0])
                with self.sending:  # of a tickle, too
                    self.socket.sendall(struct.pack(">BBHIII", 1, command, number, 0, 0, 0))
        except OSError:
            self.broken = True
            for answer in list(self.waiting.values()):
                answer.put(None)

    def disconnect(self):
        self.socket.close()

    def _at(self, command, flag, name):
        return struct.pack(">BBHI", command, flag, self.volume, ROOT) + self.path(name)

    def create(self, name):
        self.command(self._at(7, 0, name))

    def open(self, name, access, resource=False):
        """The reference number of the fork."""
        body = struct.pack(">BBHIHH", 26, 0x80 if resource else 0, self.volume, ROOT, 0, access) + self.path(name)
        return struct.unpack(">H", self.command(body)[2:4])[0]

    def close(self, fork):
        self.command(struct.pack(">BBH", 4, 0, fork))

    def read(self, fork, offset, length):
        return self.command(struct.pack(">BBHQQ", 60, 0, fork, offset, length))

    def write(self, fork, offset, data):
        self.write_command(struct.pack(">BBHQQ", 61, 0, fork, offset, len(data)), data)

    def truncate(self, fork, size, resource=False):
        self.command(struct.pack(">BBHHQ", 31, 0, fork, 0x4000 if resource else 0x0800, size))

    def flush(self, fork):
        self.command(struct.pack(">BBH", 11, 0, fork))

    def lock(self, fork, offset, length, unlock=False):
        self.command(struct.pack(">BBHQQ", 59, 1 if unlock else 0, fork, offset, length))

    def rename(self, name, new):
        self.command(self._at(28, 0, name) + self.path(new))

    def remove(self, name):
        self.command(self._at(8, 0, name))


class OldClient(Client):
    """AFP 2.2: names of 31 bytes at most, and numbers of 32 bits."""

    version, path = "AFP2.2", staticmethod(lambda name: b"\x02" + pascal(name))

    def read(self, fork, offset, length):
        return self.command(struct.pack(">BBHiiBB", 27, 0, fork, offset, length, 0, 0))

    def write(self, fork, offset, data):
        self.write_command(struct.pack(">BBHii", 33, 0, fork, offset, len(data)), data)

    def truncate(self, fork, size, resource=False):
        self.command(struct.pack(">BBHHI", 31, 0, fork, 0x0400 if resource else 0x0200, size))

    def lock(self, fork, offset, length, unlock=False):
        self.command(struct.pack(">BBHii", 1, 1 if unlock else 0, fork, offset, length))
