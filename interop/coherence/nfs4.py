"""NFSv4.1 (RFC 8881) with one session of one slot, and a backchannel for those that want delegations."""

import os
import queue
import threading

from rpc import Connection, Reader, Writer

READ, WRITE, BOTH = 1, 2, 3
NO_DELEGATION = 0x400  # OPEN4_SHARE_ACCESS_WANT_NO_DELEG
ANONYMOUS = bytes(16)
NAMES = {1: "PERM", 2: "NOENT", 5: "IO", 13: "ACCESS", 17: "EXIST", 30: "ROFS", 70: "STALE", 10008: "DELAY", 10010: "DENIED",
         10012: "LOCKED", 10013: "GRACE", 10033: "NO_GRACE", 10015: "SHARE_DENIED", 10025: "BAD_STATEID", 10046: "FILE_OPEN", 10087: "DELEG_REVOKED"}


class Refused(Exception):
    def __init__(self, status):
        super().__init__(NAMES.get(status, str(status)))
        self.status = status

CHANGE_AND_SIZE = 1 << 3 | 1 << 4  # attributes


class Client:
    """One client with one open owner. `name` makes it a client of its own."""

    def __init__(self, port, share, uid, name, delegations=False, tls=None, reclaims=False, host="127.0.0.1", groups=(), minor=1):
        self.groups, self.minor = groups, minor
        self.tls, self.reclaims, self.host = tls, reclaims, host
        self.name, self.port, self.share, self.uid, self.delegations = name, port, share, uid, delegations
        self.owner, self.recalls, self.one = f"owner of {name}".encode(), queue.SimpleQueue(), threading.Lock()
        self.handles = {}
        self.cached = None  # (change, size) of the file that it has a delegation of
        self.connect()

    def connect(self):
        self.connection = Connection(self.port, 100003, 4, self.uid, self._called, tls=self.tls, host=self.host, groups=self.groups)
        verifier = os.urandom(8)
        found = self._compound([(42, Writer().fixed(verifier).opaque(self.name).u32(0, 0, 0).bytes())])[0]
        self.id, sequence = found.u64(), found.u32()
        found.u32(), found.u32(), found.u64()  # flags, SP4_NONE, the minor part of server_owner4
        self.server_owner, self.server_scope = found.opaque(), found.opaque()
        channel = Writer().u32(0, 1 << 20, 1 << 20, 4096, 16, 1, 0).bytes()
        args = Writer().u64(self.id).u32(sequence, 2 if self.delegations else 0).fixed(channel).fixed(channel)
        found = self._compound([(43, args.u32(0x40000000, 1, 0).bytes())])[0]
        self.session, self.sequence = found.fixed(16), 0
        if not self.reclaims:
            self.reclaim_complete()
        root = self.compound([(24, b""), (15, Writer().opaque(self.share).bytes()), (10, b"")])
        self.root = root[2].opaque()

    def reclaim_complete(self):
        self.compound([(58, Writer().u32(0).bytes())])

    def compound(self, operations):
        """Results of the operations, each as a Reader after its status. The first failure is raised."""
        with self.one:
            self.sequence += 1
            head = Writer().fixed(self.session).u32(self.sequence, 0, 0, 0).bytes()
            return self._compound([(53, head)] + operations)[1:]

    def _compound(self, operations):
        args = Writer().opaque("").u32(self.minor, len(operations))
        for number, body in operations:
            args.u32(number).fixed(body)
        reader = self.connection.call(1, args.bytes())
        status = reader.u32()
        reader.opaque()
        count, results = reader.u32(), []
        for (number, _), last in zip(operations, range(count - 1, -1, -1)):
            reader.u32()
            result = reader.u32()
            if result != 0:
                raise Refused(result)
            # A result has no length: what follows is found by what the operation returns.
            start = reader.at
            if last:
                SKIP[number](reader)
            results.append(Reader(reader.data[start:reader.at] if last else reader.data[start:]))
        if status != 0:
            raise Refused(status)
        return results

    def handle(self, name):
        found = self.compound([(22, Writer().opaque(self.root).bytes()), (15, Writer().opaque(name).bytes()), (10, b"")])
        return found[2].opaque()

    def open(self, name, access, deny=0, create=False, delegation=False):
        """(stateid, handle, delegation's stateid and kind)."""
        want = access if delegation else access | NO_DELEGATION
        args = Writer().u32(0, want, deny).u64(self.id).opaque(self.owner)
        if create:
            args.u32(1, 0, 2, 0, 2, 4, 0o666)  # UNCHECKED4; fattr4 with mode (attribute 33)
        else:
            args.u32(0)
        args.u32(0).opaque(name)
        put = (22, Writer().opaque(self.root).bytes())
        found = self.compound([put, (18, args.bytes()), (10, b"")])
        state = found[1].fixed(16)
        found[1].fixed(20), found[1].u32(), found[1].words()
        kind = found[1].u32()
        given = (found[1].fixed(16), kind) if kind in (1, 2) else None
        return state, found[2].opaque(), given

    def reclaim(self, handle, access, deny=0):
        """The stateid of a file that the client had open at a lost server: CLAIM_PREVIOUS, RFC 8881 18.16.3."""
        args = Writer().u32(0, access, deny).u64(self.id).opaque(self.owner).u32(0, 1, 0)
        return self.on(handle, (18, args.bytes()))[0].fixed(16)

    def on(self, handle, *operations):
        return self.compound([(22, Writer().opaque(handle).bytes()), *operations])[1:]

    def close(self, state, handle):
        self.on(handle, (4, Writer().u32(0).fixed(state).bytes()))

    def read(self, handle, offset, length, state=ANONYMOUS):
        found = self.on(handle, (25, Writer().fixed(state).u64(offset).u32(length).bytes()))[0]
        found.u32()
        return found.opaque()

    def write(self, handle, offset, data, stable=2, state=ANONYMOUS):
        """The verifier."""
        found = self.on(handle, (38, Writer().fixed(state).u64(offset).u32(stable).opaque(data).bytes()))[0]
        found.u32(), found.u32()
        return found.fixed(8)

    def commit(self, handle):
        return self.on(handle, (5, Writer().u64(0).u32(0).bytes()))[0].fixed(8)

    def truncate(self, handle, size, state=ANONYMOUS):
        self.on(handle, (34, Writer().fixed(state).u32(1, 1 << 4, 8).u64(size).bytes()))

    def stat(self, handle):
        """(change, size)."""
        found = self.on(handle, (9, Writer().u32(1, CHANGE_AND_SIZE).bytes()))[0]
        found.words(), found.u32()
        return found.u64(), found.u64()

    def rename(self, old, new):
        put = (22, Writer().opaque(self.root).bytes())
        self.compound([put, (32, b""), put, (29, Writer().opaque(old).opaque(new).bytes())])

    def remove(self, name):
        self.compound([(22, Writer().opaque(self.root).bytes()), (28, Writer().opaque(name).bytes())])

    def lock(self, handle, state, offset, length, exclusive, owner=b"locks", reclaim=False):
        args = Writer().u32(2 if exclusive else 1, int(reclaim)).u64(offset, length).u32(1, 0).fixed(state).u32(0).u64(self.id).opaque(owner)
        return self.on(handle, (12, args.bytes()))[0].fixed(16)

    def unlock(self, handle, state, offset, length):
        self.on(handle, (14, Writer().u32(2, 0).fixed(state).u64(offset, length).bytes()))

    def return_delegation(self, handle, state):
        self.on(handle, (8, Writer().fixed(state).bytes()))

    def disconnect(self):
        self.connection.close()

    def _called(self, procedure, reader):
        """CB_NULL or CB_COMPOUND with CB_SEQUENCE and CB_GETATTR or CB_RECALL, RFC 8881 20."""
        if procedure == 0:
            return b""
        reader.opaque(), reader.u32(), reader.u32()
        count = reader.u32()
        results = Writer()
        for _ in range(count):
            number = reader.u32()
            if number == 11:
                session, sequence, slot, highest = reader.fixed(16), reader.u32(), reader.u32(), reader.u32()
                reader.u32()
                for _ in range(reader.u32()):
                    reader.fixed(16), [reader.u64() for _ in range(reader.u32())]
                results.u32(11, 0).fixed(session).u32(sequence, slot, highest, highest)
            elif number == 3 and self.cached:
                reader.opaque(), reader.words()
                results.u32(3, 0, 1, CHANGE_AND_SIZE, 16).u64(*self.cached)
            elif number == 4:
                state = reader.fixed(16)
                reader.u32()
                self.recalls.put((state, reader.opaque()))
                results.u32(4, 0)
            else:
                return Writer().u32(10004).opaque("").u32(1, 10044, 10044).bytes()  # OP_ILLEGAL
        return Writer().u32(0).opaque("").u32(count).fixed(results.bytes()).bytes()


def _skip_open(reader):
    reader.fixed(36), reader.u32(), reader.words()
    kind = reader.u32()
    if kind in (1, 2):
        reader.fixed(20)  # stateid, recall
        if kind == 2:
            reader.fixed(12)  # nfs_space_limit4: both arms have 8 bytes
        reader.fixed(12), reader.opaque()
    elif kind == 3 and reader.u32() in (1, 2):
        reader.u32()


# What the results of operations have that others follow in our requests.
SKIP = {10: Reader.opaque, 15: lambda r: None, 18: _skip_open, 22: lambda r: None, 24: lambda r: None, 32: lambda r: None,
        53: lambda r: r.fixed(36)}
