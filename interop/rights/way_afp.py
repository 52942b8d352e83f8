"""AFP 3.4 by the client of the suite coherence, which is written from the Apple Filing Protocol Reference."""

import struct

import afp
from way import DATA, Denied, Missing, Session

ACCESS_DENIED, NOT_FOUND = (-5000, -5023, -5032, -5058), (-5018, -5025)
CHANGED, FINDER_INFO, UNIX_PRIVILEGES = 0x8, 0x20, 0x8000
EPOCH_2000 = 946_684_800
EVERYONE = bytes.fromhex("ABCDEFABCDEFABCDEFABCDEF0000000C")
SLASH = "\0"  # between the parts of a path


def even(body):
    return body + bytes(len(body) % 2)


class Afp(Session):
    makes_with_mode = False

    def __init__(self, place, person):
        self.client = self._do(afp.Client, place.afp_port, place.share, person.name, place.password)

    def _do(self, call, *words):
        try:
            return call(*words)
        except afp.Refused as error:
            if error.code in NOT_FOUND:
                raise Missing(str(error)) from None
            if error.code in ACCESS_DENIED:
                raise Denied(str(error)) from None
            raise

    def _name(self, path):
        return path.replace("/", SLASH)

    def _at(self, command, flag, path):
        self._do(self.client.command, self.client._at(command, flag, self._name(path)))

    def _fork(self, path, access, what):
        fork = self._do(self.client.open, self._name(path), access)
        try:
            return self._do(what, fork)
        finally:
            self.client.close(fork)

    def _set(self, path, bitmap, value):
        head = struct.pack(">BBHIH", 35, 0, self.client.volume, afp.ROOT, bitmap)
        self._do(self.client.command, even(head + afp.path(self._name(path))) + value)

    def _privileges(self, path):
        head = struct.pack(">BBHIHH", 34, 0, self.client.volume, afp.ROOT, UNIX_PRIVILEGES, UNIX_PRIVILEGES)
        return self._do(self.client.command, head + afp.path(self._name(path)))[6:22]

    def make(self, path, data=DATA, mode=0o644):
        self._at(7, 0, path)
        self._fork(path, afp.WRITE, lambda fork: self.client.write(fork, 0, data))

    def finder_copy(self, path, data=DATA, mode=0o644):
        """Create, Finder info, data, modes, dates: the order of the Finder."""
        self._at(7, 0, path)
        self._set(path, FINDER_INFO, b"TEXTttxt".ljust(32, b"\0"))
        self._fork(path, afp.WRITE, lambda fork: self.client.write(fork, 0, data))
        self.chmod(path, mode)
        self.utimes(path, 1_600_000_000)

    def make_folder(self, path, mode=0o755):
        self._at(6, 0, path)

    def list(self, path):
        # FPEnumerateExt2: long Unicode names of files and folders.
        head = struct.pack(">BBHIHHHII", 68, 0, self.client.volume, afp.ROOT, 0x2000, 0x2000, 500, 1, 1 << 16)
        try:
            data = self._do(self.client.command, head + afp.path(self._name(path)))
        except Missing:
            # Nothing in it, or nothing that this person may see.
            return self._empty(path)
        names, count, at = set(), struct.unpack(">H", data[4:6])[0], 6
        for _ in range(count):
            length, is_folder = struct.unpack(">HB", data[at:at + 3])
            offset = struct.unpack(">H", data[at + 4:at + 6])[0]
            where = at + 4 + offset
            size = struct.unpack(">H", data[where + 4:where + 6])[0]
            names.add(data[where + 6:where + 6 + size].decode())
            at += length
        return names

    def _empty(self, path):
        self._privileges(path)
        return set()

    def read(self, path):
        def get(fork):
            try:
                return self.client.read(fork, 0, 1 << 16)
            except afp.Refused as error:
                if error.code == -5009:  # fewer bytes than that
                    return error.data
                raise
        return self._fork(path, afp.READ, get)

    def edit(self, path, offset=0, data=b"W"):
        self._fork(path, afp.WRITE, lambda fork: self.client.write(fork, offset, data))

    def append(self, path, data=b"more"):
        self.edit(path, len(DATA), data)

    def truncate(self, path, size):
        self._fork(path, afp.WRITE, lambda fork: self.client.truncate(fork, size))

    def rename(self, path, new):
        """FPMoveAndRename. It replaces nothing, so a Mac removes what is there first."""
        try:
            self._move(path, new)
        except afp.Refused as error:
            if error.code != -5017:
                raise
            self.remove(new)
            self._move(path, new)

    def _move(self, path, new):
        folder, _, name = new.rpartition("/")
        head = struct.pack(">BBHII", 23, 0, self.client.volume, afp.ROOT, afp.ROOT)
        self._do(self.client.command, head + afp.path(self._name(path)) + afp.path(self._name(folder)) + afp.path(name))

    def remove(self, path):
        self._at(8, 0, path)

    remove_folder = remove

    def chmod(self, path, mode):
        found = self._privileges(path)
        self._set(path, UNIX_PRIVILEGES, found[:8] + struct.pack(">I", mode) + found[12:])

    def utimes(self, path, seconds):
        self._set(path, CHANGED, struct.pack(">i", seconds - EPOCH_2000))

    def set_acl(self, path, uid):
        """Everything denied to everyone."""
        acl = struct.pack(">II", 1, 0) + EVERYONE + struct.pack(">II", 2, 0x1FFE)
        head = struct.pack(">BBHIH", 74, 0, self.client.volume, afp.ROOT, 4) + afp.path(self._name(path))
        self._do(self.client.command, even(head) + acl)
