"""ONC RPC over TCP (RFC 5531) and XDR (RFC 4506), as far as nlm.py and nfs4.py need them."""

import itertools
import queue
import socket
import struct
import threading


class Writer:
    """Values to bytes."""

    def __init__(self):
        self.parts = []

    def u32(self, *values):
        self.parts += [struct.pack(">I", value) for value in values]
        return self

    def u64(self, *values):
        self.parts += [struct.pack(">Q", value) for value in values]
        return self

    def fixed(self, data):
        self.parts.append(data + bytes(-len(data) % 4))
        return self

    def opaque(self, data):
        data = data.encode() if isinstance(data, str) else data
        return self.u32(len(data)).fixed(data)

    def bytes(self):
        return b"".join(self.parts)


class Reader:
    """Bytes to values."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def fixed(self, length):
        found = self.data[self.at:self.at + length]
        if len(found) < length:
            raise EOFError(f"{length} bytes are wanted at {self.at} of {len(self.data)}")
        self.at += length + -length % 4
        return found

    def u32(self):
        return struct.unpack(">I", self.fixed(4))[0]

    def u64(self):
        return struct.unpack(">Q", self.fixed(8))[0]

    def opaque(self):
        return self.fixed(self.u32())

    def words(self):
        return [self.u32() for _ in range(self.u32())]


def auth_sys(uid):
    body = Writer().u32(0).opaque("coherence").u32(uid, uid, 0).bytes()
    return Writer().u32(1).opaque(body).bytes()


class Connection:
    """A connection to one program. `called` gets (procedure, Reader) of calls by the server, and returns the result."""

    def __init__(self, port, program, version, uid, called=None, source="127.0.0.1"):
        self.program, self.version, self.cred, self.called = program, version, auth_sys(uid), called
        self.socket = socket.create_connection(("127.0.0.1", port), 10, (source, 0))
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.xids, self.waiting, self.sending = itertools.count(1), {}, threading.Lock()
        self.broken = False
        threading.Thread(target=self._receive, daemon=True).start()

    def call(self, procedure, args, timeout=45):
        """The results, or an exception."""
        xid, answer = next(self.xids), queue.SimpleQueue()
        self.waiting[xid] = answer
        head = Writer().u32(xid, 0, 2, self.program, self.version, procedure).bytes()
        self._send(head + self.cred + Writer().u32(0, 0).bytes() + args)
        if self.broken:
            raise ConnectionError("the connection is lost")
        try:
            found = answer.get(timeout=timeout)
        except queue.Empty:
            raise TimeoutError(f"no reply within {timeout} s") from None
        if found is None:
            raise ConnectionError("the connection is lost")
        reader = Reader(found)
        if reader.u32() != 0:
            raise ConnectionError("the call is denied")
        reader.u32(), reader.opaque()  # the verifier
        if (status := reader.u32()) != 0:
            raise ConnectionError(f"accept_stat {status}")
        return reader

    def close(self):
        self.socket.close()

    def _send(self, message):
        with self.sending:
            self.socket.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)

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
                message, last = b"", False
                while not last:
                    mark = struct.unpack(">I", self._exactly(4))[0]
                    last = bool(mark & 0x80000000)
                    message += self._exactly(mark & 0x7fffffff)
                self._arrived(message)
        except (OSError, EOFError):
            self.broken = True
            for answer in list(self.waiting.values()):
                answer.put(None)

    def _arrived(self, message):
        xid, is_reply = struct.unpack(">II", message[:8])
        if is_reply:
            if answer := self.waiting.pop(xid, None):
                answer.put(message[8:])
            return
        reader = Reader(message[8:])
        reader.u32(), reader.u32(), reader.u32()  # RPC version, program, version
        procedure = reader.u32()
        for _ in range(2):  # credential, verifier
            reader.u32(), reader.opaque()
        result = self.called(procedure, reader) if self.called else None
        head = Writer().u32(xid, 1, 0, 0, 0, 0 if result is not None else 3).bytes()
        self._send(head + (result or b""))
