"""Writes and reads files as Macs do, over AFP: `afp_items.py write|check PORT VOLUME USER PASSWORD FILE`. FILE is JSON: a list of
items with a name, and what is not null of `folder`, `data`, `info` (Finder info), `fork`, `comment` (text), `bits` (invisible 1,
system 4), `created` and `changed`
(seconds from 2000 on) and `attributes` (by name). Bytes are in hexadecimal. `check` prints `right PART` or
`wrong PART` for each part. `rename`, `exchange` and `remove` take names instead of FILE."""

import json
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))
import afp  # noqa: E402

FINDER_INFO = 0x20
BITS = 0x01
CREATED = 0x04
CHANGED = 0x08
# Of the bits: invisible, system; and the one that says to set the others and not to clear them.
SHOWN_BITS = 0x0005
SET = 0x8000
CHUNK = 1 << 16


def even(body):
    return body + bytes(len(body) % 2)


class Mac(afp.Client):
    """A client that reads and writes all that a Mac stores with a file."""

    def _params(self, name, bitmap):
        body = struct.pack(">BBHIHH", 34, 0, self.volume, afp.ROOT, bitmap, bitmap) + afp.path(name)
        return self.command(body)[6:]

    def make_folder(self, name):
        try:
            self.command(self._at(6, 0, name))
        except afp.Refused as refused:
            if str(refused) != "ObjectExists":
                raise

    def make_file(self, name):
        self.command(self._at(7, 0x80, name))  # a hard create: what was there is gone

    def finder_info(self, name):
        return self._params(name, FINDER_INFO)[:32]

    def set_finder_info(self, name, info):
        body = struct.pack(">BBHIH", 35, 0, self.volume, afp.ROOT, FINDER_INFO) + afp.path(name)
        self.command(even(body) + info)

    def changed(self, name):
        return struct.unpack(">i", self._params(name, CHANGED)[:4])[0]

    def set_changed(self, name, seconds):
        """The date of the last change, in seconds from 2000 on."""
        body = struct.pack(">BBHIH", 35, 0, self.volume, afp.ROOT, CHANGED) + afp.path(name)
        self.command(even(body) + struct.pack(">i", seconds))

    def bits(self, name):
        return struct.unpack(">H", self._params(name, BITS)[:2])[0] & SHOWN_BITS

    def set_bits(self, name, bits):
        for value in (SET | bits, SHOWN_BITS & ~bits):
            if value & SHOWN_BITS:
                body = struct.pack(">BBHIH", 35, 0, self.volume, afp.ROOT, BITS) + afp.path(name)
                self.command(even(body) + struct.pack(">H", value))

    def created(self, name):
        return struct.unpack(">i", self._params(name, CREATED)[:4])[0]

    def set_created(self, name, seconds):
        body = struct.pack(">BBHIH", 35, 0, self.volume, afp.ROOT, CREATED) + afp.path(name)
        self.command(even(body) + struct.pack(">i", seconds))

    def fork(self, name, resource):
        number, found = self.open(name, afp.READ, resource), b""
        try:
            while True:
                found += self.read(number, len(found), CHUNK)
        except afp.Refused as refused:
            if refused.code != -5009:
                raise
            found += refused.data
        finally:
            self.close(number)
        return found

    def set_fork(self, name, resource, data):
        number = self.open(name, afp.READ | afp.WRITE, resource)
        self.truncate(number, 0, resource)
        for at in range(0, len(data), CHUNK):
            self.write(number, at, data[at:at + CHUNK])
        self.close(number)

    def _attribute(self, command, name, attribute, numbers, more=b""):
        body = struct.pack(">BBHIH", command, 0, self.volume, afp.ROOT, 0) + numbers + afp.path(name)
        attribute = attribute.encode()
        return self.command(even(body) + struct.pack(">H", len(attribute)) + attribute + more)

    def attribute(self, name, attribute):
        data = self._attribute(69, name, attribute, struct.pack(">QQI", 0, 0xffffffffffffffff, 1 << 17))
        return data[6:6 + struct.unpack(">I", data[2:6])[0]]

    def set_attribute(self, name, attribute, value):
        self._attribute(70, name, attribute, struct.pack(">Q", 0), struct.pack(">I", len(value)) + value)

    def attributes(self, name):
        body = struct.pack(">BBHIHHII", 72, 0, self.volume, afp.ROOT, 0, 0, 0, 1 << 17) + afp.path(name)
        return {name.decode() for name in self.command(body)[6:].split(b"\0") if name}

    def _desktop(self):
        return struct.unpack(">H", self.command(struct.pack(">BBH", 48, 0, self.volume)))[0]

    def set_comment(self, name, text):
        body = struct.pack(">BBHI", 56, 0, self._desktop(), afp.ROOT) + afp.path(name)
        self.command(even(body) + afp.pascal(text))

    def comment(self, name):
        data = self.command(struct.pack(">BBHI", 58, 0, self._desktop(), afp.ROOT) + afp.path(name))
        return data[1:1 + data[0]].decode()

    def exchange(self, name, other):
        body = struct.pack(">BBHII", 42, 0, self.volume, afp.ROOT, afp.ROOT)
        self.command(body + afp.path(name) + afp.path(other))

    def put(self, item):
        name, data = item["name"], item.get("data")
        if item.get("folder"):
            self.make_folder(name)
        elif data is not None:
            self.make_file(name)
            self.set_fork(name, False, bytes.fromhex(data))
        if item.get("info") is not None:
            self.set_finder_info(name, bytes.fromhex(item["info"]))
        if item.get("fork") is not None:
            self.set_fork(name, True, bytes.fromhex(item["fork"]))
        if item.get("comment") is not None:
            self.set_comment(name, item["comment"])
        for attribute, value in item.get("attributes", {}).items():
            self.set_attribute(name, attribute, bytes.fromhex(value))
        if item.get("bits") is not None:
            self.set_bits(name, item["bits"])
        if item.get("created") is not None:
            self.set_created(name, item["created"])
        if item.get("changed") is not None:
            self.set_changed(name, item["changed"])

    def found(self, item):
        """What an item should have, and has: the parts, in the form of the item."""
        name = item["name"]
        read = {
            "bits": lambda: self.bits(name),
            "created": lambda: self.created(name),
            "changed": lambda: self.changed(name),
            "data": lambda: self.fork(name, False).hex(),
            "info": lambda: self.finder_info(name).hex(),
            "fork": lambda: self.fork(name, True).hex(),
            "comment": lambda: self.comment(name),
        }
        for key, get in read.items():
            if item.get(key) is not None:
                yield key, item[key], value_of(get)
        for known, value in item.get("attributes", {}).items():
            yield known, value, value_of(lambda known=known: self.attribute(name, known).hex())


def value_of(get):
    """What the server says; a refusal is a value that nothing has."""
    try:
        return get()
    except afp.Refused as refused:
        return f"refused: {refused}"


def short(value):
    value = str(value)
    return f"{value[:160]}... ({len(value)})" if len(value) > 160 else value


def main():
    command, port, volume, user, password, *words = sys.argv[1:]
    client = Mac(int(port), volume, user, password)
    if command == "rename":
        client.rename(*words)
        return None
    if command == "exchange":
        client.exchange(*words)
        return None
    if command == "remove":
        client.remove(*words)
        return None
    with open(words[0], encoding="utf-8") as file:
        items = json.load(file)
    wrong = None
    for item in items:
        if command == "write":
            client.put(item)
            continue
        is_there = not str(value_of(lambda item=item: client.finder_info(item["name"]))).startswith("refused")
        print("right name" if is_there else "wrong name")
        for key, expected, found in client.found(item):
            print("right" if found == expected else "wrong", key)
            if found != expected and wrong is None:
                wrong = f"{item['name']}: {key} is {short(found)}, not {short(expected)}"
    return wrong


if __name__ == "__main__":
    sys.exit(main())
