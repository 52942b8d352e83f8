"""Reads and writes files with their named attributes over NFSv4.1, as Macs do: `nfs_items.py write|check PORT SHARE UID FILE`. FILE and
what is printed are those of `afp_items.py`."""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))
import nfs4  # noqa: E402
from rpc import Writer  # noqa: E402

from afp_items import short  # noqa: E402

EPOCH = 946684800  # 2000-01-01
CHUNK = 1 << 16
INFO, FORK = "com.apple.FinderInfo", "com.apple.ResourceFork"
PUTFH, LOOKUP, GETFH, GETATTR, OPENATTR, OPEN, CREATE = 22, 15, 10, 9, 19, 18, 6
# Attributes: hidden and system (booleans), the times of creation and of the last change (RFC 8881 5.7, 5.8).
HIDDEN, SYSTEM, CREATED, CHANGED = 25, 46, 50, 53
nfs4.SKIP[OPENATTR] = lambda reader: None


class Mac(nfs4.Client):
    """A client that reads and writes named attributes."""

    def _on(self, name, *operations):
        """The results of operations on a file of the share."""
        put = [(PUTFH, Writer().opaque(self.root).bytes()), (LOOKUP, Writer().opaque(name).bytes())]
        return self.compound(put + list(operations))[2:]

    def named(self, name, attribute):
        """The handle of a named attribute."""
        folder = (OPENATTR, Writer().u32(0).bytes())
        found = self._on(name, folder, (LOOKUP, Writer().opaque(attribute).bytes()), (GETFH, b""))
        return found[2].opaque()

    def all_of(self, handle):
        found = b""
        while piece := self.read(handle, len(found), CHUNK):
            found += piece
        return found

    def put_all(self, handle, state, value):
        for at in range(0, len(value), CHUNK):
            self.write(handle, at, value[at:at + CHUNK], state=state)
        self.truncate(handle, len(value), state)
        self.close(state, handle)

    def set_named(self, name, attribute, value):
        want = Writer().u32(0, nfs4.BOTH | nfs4.NO_DELEGATION, 0).u64(self.id).opaque(self.owner)
        want.u32(1, 0, 0, 0, 0).opaque(attribute)  # UNCHECKED4 without attributes; CLAIM_NULL
        found = self._on(name, (OPENATTR, Writer().u32(1).bytes()), (OPEN, want.bytes()), (GETFH, b""))
        self.put_all(found[2].opaque(), found[1].fixed(16), value)

    def values(self, name, *attributes):
        """A reader of the values of these attributes, which are in the order of their numbers."""
        words = [0, 0]
        for attribute in attributes:
            words[attribute // 32] |= 1 << attribute % 32
        found = self._on(name, (GETATTR, Writer().u32(2, *words).bytes()))[0]
        told = found.words()
        if told[:2] != words:
            raise nfs4.Refused(10032)  # ATTRNOTSUPP
        found.u32()
        return found

    def bits(self, name):
        found = self.values(name, HIDDEN, SYSTEM)
        return found.u32() | found.u32() << 2

    def date(self, name, attribute):
        return struct.unpack(">q", self.values(name, attribute).fixed(8))[0] - EPOCH

    def put(self, item):
        name = item["name"]
        if item.get("folder"):
            # NF4DIR with mode (attribute 33)
            make = (CREATE, Writer().u32(2).opaque(name).u32(2, 0, 2, 4, 0o755).bytes())
            try:
                self.compound([(PUTFH, Writer().opaque(self.root).bytes()), make])
            except nfs4.Refused as refused:
                if str(refused) != "EXIST":
                    raise
        elif item.get("data") is not None:
            state, handle, _ = self.open(name, nfs4.BOTH, create=True)
            self.put_all(handle, state, bytes.fromhex(item["data"]))
        for key, attribute in (("info", INFO), ("fork", FORK)):
            if item.get(key) is not None:
                self.set_named(name, attribute, bytes.fromhex(item[key]))
        for attribute, value in item.get("attributes", {}).items():
            self.set_named(name, attribute, bytes.fromhex(value))

    def found(self, item):
        """What an item should have, and has: the parts, in the form of the item."""
        name = item["name"]
        read = {
            "bits": lambda: self.bits(name),
            "created": lambda: self.date(name, CREATED),
            "changed": lambda: self.date(name, CHANGED),
            "data": lambda: self.all_of(self.handle(name)).hex(),
            "info": lambda: self.all_of(self.named(name, INFO)).hex(),
            "fork": lambda: self.all_of(self.named(name, FORK)).hex(),
        }
        for key, get in read.items():
            if item.get(key) is not None:
                yield key, item[key], value_of(get)
        for known, value in item.get("attributes", {}).items():
            yield known, value, value_of(lambda known=known: self.all_of(self.named(name, known)).hex())


def value_of(get):
    """What the server says; a refusal is a value that nothing has."""
    try:
        return get()
    except nfs4.Refused as refused:
        return f"refused: {refused}"


def main():
    command, port, share, uid, path = sys.argv[1:]
    client = Mac(int(port), share, int(uid), f"items {os.getpid()}")
    with open(path, encoding="utf-8") as file:
        items = json.load(file)
    wrong = None
    for item in items:
        if command == "write":
            client.put(item)
            continue
        is_there = not str(value_of(lambda item=item: client.handle(item["name"]))).startswith("refused")
        print("right name" if is_there else "wrong name")
        for key, expected, found in client.found(item):
            print("right" if found == expected else "wrong", key)
            if found != expected and wrong is None:
                wrong = f"{item['name']}: {key} is {short(found)}, not {short(expected)}"
    return wrong


if __name__ == "__main__":
    sys.exit(main())
