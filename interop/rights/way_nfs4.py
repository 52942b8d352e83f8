"""NFSv4.2 by the client of the suite coherence, which is written from RFC 8881 and RFC 7862."""

import nfs4
from rpc import Writer
from way import DATA, Denied, Missing, Session

ATTR_ACL, ATTR_MODE, ATTR_TIME_MODIFY_SET = 12, 33, 54
READ, MODIFY, EXTEND, DELETE = 1, 4, 8, 16  # bits of ACCESS
nfs4.SKIP.setdefault(3, lambda r: r.fixed(8))


def attributes(number, value):
    """A fattr4 of one attribute."""
    words = [0] * (number // 32 + 1)
    words[number // 32] = 1 << number % 32
    return Writer().u32(len(words), *words).opaque(value)


def private_acl(uid):
    """Everything to one user, denied to everyone else."""
    ace = lambda kind, flags, who: Writer().u32(kind, flags, 0x1601FF).opaque(who)  # noqa: E731
    return Writer().u32(2).fixed(ace(0, 0, str(uid)).bytes()).fixed(ace(1, 0, "EVERYONE@").bytes()).bytes()


class Nfs4(Session):

    def __init__(self, place, person):
        self.uid = person.uid
        self.client = self._do(lambda: nfs4.Client(place.nfs_port, place.share, person.uid, f"rights of {person.name}", groups=person.groups,
                                                   minor=place.nfs4_minor))

    def _do(self, call, *words):
        try:
            return call(*words)
        except nfs4.Refused as error:
            if error.status in (1, 13):
                raise Denied(str(error)) from None
            if error.status == 2:
                raise Missing(str(error)) from None
            raise

    def _at(self, path, *operations):
        """Operations on a file."""
        steps = [(15, Writer().opaque(part).bytes()) for part in path.split("/") if part]
        put = (22, Writer().opaque(self.client.root).bytes())
        return self._do(self.client.compound, [put, *steps, *operations])[1 + len(steps):]

    def _parent(self, path):
        return path.rpartition("/")[0], path.rpartition("/")[2]

    def _handle(self, path):
        return self._at(path, (10, b""))[0].opaque()

    def _open(self, path, access, create=None):
        """(stateid, handle). `create`: the attributes of a file that is made, which must not be there."""
        folder, name = self._parent(path)
        args = Writer().u32(0, access | nfs4.NO_DELEGATION, 0).u64(self.client.id).opaque(self.client.owner)
        if create is None:
            args.u32(0)
        else:
            args.u32(1, 1).fixed(create.bytes())  # GUARDED4
        args.u32(0).opaque(name)
        found = self._at(folder, (18, args.bytes()), (10, b""))
        return found[0].fixed(16), found[1].opaque()

    def _with(self, path, access, what, create=None):
        state, handle = self._open(path, access, create)
        try:
            return self._do(what, state, handle)
        finally:
            self._do(self.client.close, state, handle)

    def _make(self, path, data, create):
        self._with(path, nfs4.WRITE, lambda state, handle: self.client.write(handle, 0, data, state=state), create)

    def make(self, path, data=DATA, mode=0o644):
        self._make(path, data, attributes(ATTR_MODE, Writer().u32(mode).bytes()))

    def make_private(self, path, uid, data=DATA):
        self._make(path, data, attributes(ATTR_ACL, private_acl(uid)))

    def make_folder(self, path, mode=0o755):
        folder, name = self._parent(path)
        args = Writer().u32(2).opaque(name).fixed(attributes(ATTR_MODE, Writer().u32(mode).bytes()).bytes())
        self._at(folder, (6, args.bytes()))

    def list(self, path):
        names, cookie, verifier = set(), 0, bytes(8)
        while True:
            found = self._at(path, (26, Writer().u64(cookie).fixed(verifier).u32(1 << 15, 1 << 16, 1, 1 << 11).bytes()))[0]
            verifier = found.fixed(8)
            while found.u32():
                cookie = found.u64()
                names.add(found.opaque().decode())
                found.words(), found.opaque()
            if found.u32():
                return names

    def read(self, path):
        return self._with(path, nfs4.READ, lambda state, handle: self.client.read(handle, 0, 1 << 16, state))

    def edit(self, path, offset=0, data=b"W"):
        self._with(path, nfs4.WRITE, lambda state, handle: self.client.write(handle, offset, data, state=state))

    def append(self, path, data=b"more"):
        self.edit(path, len(DATA), data)

    def truncate(self, path, size):
        self._with(path, nfs4.WRITE, lambda state, handle: self.client.truncate(handle, size, state))

    def rename(self, path, new):
        (folder, name), (other, new_name) = self._parent(path), self._parent(new)
        target = self._handle(other)
        self._at(folder, (32, b""), (22, Writer().opaque(target).bytes()), (29, Writer().opaque(name).opaque(new_name).bytes()))

    def remove(self, path):
        folder, name = self._parent(path)
        self._at(folder, (28, Writer().opaque(name).bytes()))

    remove_folder = remove

    def _set(self, path, number, value):
        self._at(path, (34, Writer().fixed(bytes(16)).fixed(attributes(number, value).bytes()).bytes()))

    def chmod(self, path, mode):
        self._set(path, ATTR_MODE, Writer().u32(mode).bytes())

    def utimes(self, path, seconds):
        self._set(path, ATTR_TIME_MODIFY_SET, Writer().u32(1).u64(seconds).u32(0).bytes())

    def set_acl(self, path, uid):
        self._set(path, ATTR_ACL, private_acl(uid))
