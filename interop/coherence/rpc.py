"""ONC RPC over TCP (RFC 5531), with TLS (RFC 9289), and XDR (RFC 4506), as far as nlm.py, nfs4.py and tls.py need them."""

import itertools
import queue
import socket
import ssl
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


def auth_sys(uid, groups=()):
    body = Writer().u32(0).opaque("coherence").u32(uid, uid, len(groups), *groups).bytes()
    return Writer().u32(1).opaque(body).bytes()


class Tls:
    """TLS of a connection that two threads use: OpenSSL works in memory, under a lock."""

    def __init__(self, connection, context):
        self.socket, self.lock = connection, threading.Lock()
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.state = context.wrap_bio(self.incoming, self.outgoing, server_hostname="127.0.0.1")
        while True:
            try:
                self.state.do_handshake()
                self.socket.sendall(self.outgoing.read())
                return
            except ssl.SSLWantReadError:
                self.socket.sendall(self.outgoing.read())
                self._feed()
            except ssl.SSLError:
                self.socket.sendall(self.outgoing.read())  # the alert
                raise

    def _feed(self):
        data = self.socket.recv(1 << 17)
        if not data:
            raise ConnectionError("closed")
        self.incoming.write(data)

    def sendall(self, data):
        with self.lock:
            self.state.write(data)
            self.socket.sendall(self.outgoing.read())

    def recv(self, length):
        while True:
            with self.lock:
                try:
                    return self.state.read(length)
                except ssl.SSLWantReadError:
                    pass
                except ssl.SSLZeroReturnError:
                    return b""
            self._feed()


def probe(connection, program, version):
    """The reply, without its record mark, to a NULL call with AUTH_TLS."""
    call = Writer().u32(1, 0, 2, program, version, 0, 7, 0, 0, 0).bytes()
    connection.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
    length = struct.unpack(">I", connection.recv(4, socket.MSG_WAITALL))[0] & 0x7fffffff
    return connection.recv(length, socket.MSG_WAITALL)


class Connection:
    """A connection to one program. `called` gets (procedure, Reader) of calls by the server, and returns the result. `tls`: a
    context of the module ssl."""

    def __init__(self, port, program, version, uid, called=None, source="127.0.0.1", tls=None, host="127.0.0.1", groups=()):
        self.program, self.version, self.cred, self.called = program, version, auth_sys(uid, groups), called
        self.socket = socket.create_connection((host, port), 10, (source if host == "127.0.0.1" else "", 0))
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.xids, self.waiting, self.sending = itertools.count(1), {}, threading.Lock()
        self.broken, self.transport = False, self.socket
        if tls:
            found = probe(self.socket, program, version)
            if found[12:24] != struct.pack(">II", 0, 8) + b"STAR" or found[24:28] != b"TTLS":
                raise ConnectionError(f"no STARTTLS: {found.hex()}")
            self.transport = Tls(self.socket, tls)
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
            self.transport.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)

    def _exactly(self, length):
        data = b""
        while len(data) < length:
            more = self.transport.recv(length - len(data))
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
