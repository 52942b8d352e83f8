"""The clients of one share: what they can hold (`HOLDERS`) and what they can do beside it (`OPERATIONS`)."""

import argparse
import errno
import os
import struct
import subprocess
import threading
from contextlib import contextmanager
from functools import cached_property

import afp
import local_client
import nfs3
import nfs4
import nlm
import smb_client as smb

REFUSALS = (afp.Refused, nfs3.Refused, nfs4.Refused, smb.Refused)
CLIENTS = ("smb", "afp", "nfs3", "nfs4", "local")
CONTENT = b"0123456789abcdef"


class Place:
    """Where the server is and who logs in."""

    def __init__(self, options):
        self.options, self.bridge, self.starting = options, None, threading.Lock()

    def other(self):
        """Where the clients of side b log in: here, too, unless there is another server of the same shares."""
        ports = getattr(self.options, "other", None)
        if not ports:
            return self
        smb_port, afp_port, nfs_port = ports
        return Place(argparse.Namespace(**vars(self.options) | {"smb_port": smb_port, "afp_port": afp_port, "nfs_port": nfs_port}))

    def smb(self, share):
        return smb.Client(self.options.smb_port, share, self.options.user, self.options.password)

    def afp(self, share):
        return afp.Client(self.options.afp_port, share, self.options.user, self.options.password)

    def asp(self, share):
        """A client of AFP over AppleTalk, by way of a bridge, which finds the server some seconds after it is up."""
        with self.starting:
            if self.bridge is None:
                self.bridge = subprocess.Popen(self.options.asp, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                self.asp_port = int(self.bridge.stdout.readline())
        return afp.OldClient(self.asp_port, share, self.options.user, self.options.password)

    def nfs3(self, share):
        return nfs3.Client(self.options.nfs3, self.options.nfs_port, share, self.options.uid)

    def nfs4(self, share, name, delegations=False):
        return nfs4.Client(self.options.nfs_port, share, self.options.uid, f"{name} of {share}", delegations)

    def shares(self, source):
        return nlm.Shares(self.options.nfs_port, self.options.uid, source)

    def folder(self, share):
        return os.path.join(self.options.folder, share)


class File:
    """A fork of a file, by the names that clients have for it."""

    def __init__(self, scene, name, resource=False):
        self.name, self.resource = name, resource
        self.new = f"{name}-new"
        self.smb = f"{name}:AFP_Resource" if resource else name
        self.nfs = f"._{name}" if resource else name
        self.path = os.path.join(scene.folder, name)


class Scene:
    """Clients of a share. Those of `a` hold something, those of `b` come upon it."""

    def __init__(self, place, share, tag):
        self.share, self.folder, self.count, self.tag = share, place.folder(share), 0, tag
        self.uid = place.options.uid
        self.a, self.b = Side(place, share, tag, "a"), Side(place.other(), share, tag, "b")

    def new(self, resource=False):
        """A name of its own."""
        self.count += 1
        return File(self, f"{self.tag}{self.count}", resource)

    def file(self, resource=False):
        """A new file, made by a local process."""
        file = self.new(resource)
        self.fill(file)
        if resource:
            fork = self.a.afp.open(file.name, afp.READ | afp.WRITE, True)
            self.a.afp.write(fork, 0, CONTENT)
            self.a.afp.close(fork)
        return file

    def keep(self, file):
        """No other file gets its number, by which the server knows for a while that a delegation of it was recalled."""
        os.open(file.path, os.O_PATH)

    def fill(self, file):
        with open(file.path, "wb") as stored:
            stored.write(CONTENT)
        os.chmod(file.path, 0o666)
        if os.geteuid() == 0:
            os.chown(file.path, self.uid, self.uid)


class Side:
    """A client of each protocol."""

    def __init__(self, place, share, tag, name):
        self.smb, self.afp, self.nfs3 = place.smb(share), place.afp(share), place.nfs3(share)
        self.nfs4 = place.nfs4(share, tag + name)
        self.delegated = place.nfs4(share, f"{tag}delegated", True) if name == "a" else None
        self.shares = place.shares("127.0.0.2" if name == "a" else "127.0.0.3")
        self.name, self.place, self.share = name, place, share

    @cached_property
    def asp(self):
        """A node has eight sessions at most: only who needs one has one."""
        return self.place.asp(self.share)


def said(call, *arguments):
    """"done", or the name of the status."""
    try:
        return call(*arguments) or "done"
    except REFUSALS as refused:
        return str(refused)
    except OSError as error:
        return errno.errorcode.get(error.errno, type(error).__name__)
    except Exception as error:  # a client of another project may fail in any way
        return f"{type(error).__name__} {error}"[:120]


# --- What B does ------------------------------------------------------------------------------------------------------


def with_smb(side, name, access, action=lambda client, opened: None, share=smb.SHARE_ALL):
    opened = side.smb.open(name, access, share)
    try:
        action(side.smb, opened)
    finally:
        side.smb.close(opened)


def with_afp(client, file, access, action=lambda client, fork: None):
    fork = client.open(file.name, access, file.resource)
    try:
        action(client, fork)
    finally:
        client.close(fork)


def afp_operations(client):
    """What a client of AFP does; `client` finds it at its side."""
    return {
        "read": lambda b, f: with_afp(client(b), f, afp.READ, lambda c, o: c.read(o, 0, 4) and None),
        "write": lambda b, f: with_afp(client(b), f, afp.WRITE, lambda c, o: c.write(o, 0, WRITTEN)),
        "truncate": lambda b, f: with_afp(client(b), f, afp.WRITE, lambda c, o: c.truncate(o, 2, f.resource)),
        "open-deny": lambda b, f: with_afp(client(b), f, afp.READ | afp.DENY_READ | afp.DENY_WRITE),
        "lock": lambda b, f: with_afp(client(b), f, afp.READ | afp.WRITE, lambda c, o: c.lock(o, 0, 4)),
        "rename": lambda b, f: client(b).rename(f.name, f.new),
        "remove": lambda b, f: client(b).remove(f.name),
        "create": lambda b, f: client(b).create(f.name),
    }


def with_nfs4(side, file, access, action=lambda client, handle, state: None, deny=0):
    state, handle, _ = side.nfs4.open(file.nfs, access, deny)
    try:
        action(side.nfs4, handle, state)
    finally:
        side.nfs4.close(state, handle)


def with_fd(file, flags, action=lambda fd: None):
    fd = os.open(file.path, flags)
    try:
        action(fd)
    finally:
        os.close(fd)


def nfs3_lock(side, file, exclusive):
    side.nfs3.lock(side.name, file.nfs, 0, 4, exclusive)
    side.nfs3.unlock(side.name, file.nfs, 0, 4)


def nfs3_open_deny(side, file):
    handle = side.nfs3.handle(file.nfs)
    answer = side.shares.share(handle, 1, 3)
    side.shares.unshare(handle)
    return answer


def silly(rename, remove, file):
    """As Linux removes a file that one of its processes has open."""
    name = f".nfs{hash(file.name) & 0xffffffffffff:024x}"
    rename(file.nfs, name)
    remove(name)


def local_lock(file, exclusive):
    with_fd(file, os.O_RDWR, lambda fd: local_client.lock(fd, 0, 4, exclusive))


def begin(side, file):
    """Where the fork begins in the file that NFS shows: a resource fork is entry 2 of an AppleDouble file (RFC 1740 appendix B)."""
    if not file.resource:
        return 0
    head = side.nfs3.read(file.nfs, 0, 50)
    entries = [struct.unpack(">III", head[26 + 12 * i:38 + 12 * i]) for i in range(struct.unpack(">H", head[24:26])[0])]
    return next(offset for number, offset, _ in entries if number == 2)


WRITTEN = b"done"

OPERATIONS = {
    "smb": {
        "read": lambda b, f: with_smb(b, f.smb, smb.READ, lambda c, o: c.read(o, 0, 4) and None),
        "write": lambda b, f: with_smb(b, f.smb, smb.WRITE, lambda c, o: c.write(o, 0, WRITTEN)),
        "truncate": lambda b, f: with_smb(b, f.smb, smb.WRITE, lambda c, o: c.truncate(o, 2)),
        "open-deny": lambda b, f: with_smb(b, f.smb, smb.READ, share=0),
        "lock-shared": lambda b, f: with_smb(b, f.smb, smb.BOTH, lambda c, o: c.lock(o, 0, 4, False)),
        "lock": lambda b, f: with_smb(b, f.smb, smb.BOTH, lambda c, o: c.lock(o, 0, 4, True)),
        "rename": lambda b, f: with_smb(b, f.name, smb.DELETE, lambda c, o: c.rename(o, f.new)),
        "remove": lambda b, f: with_smb(b, f.name, smb.DELETE, lambda c, o: c.remove(o)),
        "create": lambda b, f: b.smb.close(b.smb.open(f.name, smb.BOTH, disposition=smb.CREATE)),
    },
    "afp": afp_operations(lambda b: b.afp),
    "asp": afp_operations(lambda b: b.asp),
    "nfs3": {
        "read": lambda b, f: b.nfs3.read(f.nfs, begin(b, f), 4) and None,
        "write": lambda b, f: b.nfs3.write(f.nfs, begin(b, f), WRITTEN) and None,
        "truncate": lambda b, f: b.nfs3.truncate(f.nfs, 2),
        "open-deny": nfs3_open_deny,
        "lock-shared": lambda b, f: nfs3_lock(b, f, False),
        "lock": lambda b, f: nfs3_lock(b, f, True),
        "rename": lambda b, f: b.nfs3.rename(f.name, f.new),
        "remove": lambda b, f: b.nfs3.remove(f.name),
        "sidecar-rename": lambda b, f: b.nfs3.rename(f.nfs, f.new),
        "sidecar-remove": lambda b, f: b.nfs3.remove(f.nfs),
        "silly": lambda b, f: silly(b.nfs3.rename, b.nfs3.remove, f),
        "create": lambda b, f: b.nfs3.create(f.name),
    },
    "nfs4": {
        "open-read": lambda b, f: with_nfs4(b, f, nfs4.READ),
        "open-write": lambda b, f: with_nfs4(b, f, nfs4.WRITE),
        "read": lambda b, f: b.nfs4.read(b.nfs4.handle(f.nfs), begin(b, f), 4) and None,
        "write": lambda b, f: b.nfs4.write(b.nfs4.handle(f.nfs), begin(b, f), WRITTEN) and None,
        "truncate": lambda b, f: b.nfs4.truncate(b.nfs4.handle(f.nfs), 2),
        "open-deny": lambda b, f: with_nfs4(b, f, nfs4.READ, deny=nfs4.BOTH),
        "lock-shared": lambda b, f: with_nfs4(b, f, nfs4.BOTH, lambda c, h, s: c.lock(h, s, 0, 4, False) and None),
        "lock": lambda b, f: with_nfs4(b, f, nfs4.BOTH, lambda c, h, s: c.lock(h, s, 0, 4, True) and None),
        "stat": lambda b, f: b.nfs4.stat(b.nfs4.handle(f.nfs)) and None,
        "rename": lambda b, f: b.nfs4.rename(f.name, f.new),
        "remove": lambda b, f: b.nfs4.remove(f.name),
        "sidecar-rename": lambda b, f: b.nfs4.rename(f.nfs, f.new),
        "sidecar-remove": lambda b, f: b.nfs4.remove(f.nfs),
        "silly": lambda b, f: silly(b.nfs4.rename, b.nfs4.remove, f),
        "create": lambda b, f: b.nfs4.close(*b.nfs4.open(f.name, nfs4.BOTH, create=True)[:2]),
    },
    "local": {
        "read": lambda b, f: with_fd(f, os.O_RDONLY, lambda fd: os.pread(fd, 4, 0) and None),
        "write": lambda b, f: with_fd(f, os.O_WRONLY, lambda fd: os.pwrite(fd, WRITTEN, 0) and None),
        "truncate": lambda b, f: os.truncate(f.path, 2),
        "lock-shared": lambda b, f: local_lock(f, False),
        "lock": lambda b, f: local_lock(f, True),
        "rename": lambda b, f: os.rename(f.path, f.path + "-new"),
        "remove": lambda b, f: os.remove(f.path),
        "chmod": lambda b, f: os.chmod(f.path, 0o600),
        "create": lambda b, f: os.close(os.open(f.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)),
    },
}


# --- What A holds -----------------------------------------------------------------------------------------------------


def smb_open(access, share):
    @contextmanager
    def hold(a, f):
        opened = a.smb.open(f.smb, access, share)
        yield None
        a.smb.close(opened)
    return hold


def afp_open(access, client=lambda a: a.afp):
    @contextmanager
    def hold(a, f):
        fork = client(a).open(f.name, access, f.resource)
        yield None
        client(a).close(fork)
    return hold


def nfs3_share(access, deny):
    @contextmanager
    def hold(a, f):
        handle = a.nfs3.handle(f.nfs)
        if (answer := a.shares.share(handle, access, deny)) != "done":
            raise RuntimeError(f"SHARE: {answer}")
        yield None
        a.shares.unshare(handle)
    return hold


def nfs4_open(access, deny):
    @contextmanager
    def hold(a, f):
        state, handle, _ = a.nfs4.open(f.nfs, access, deny)
        yield None
        a.nfs4.close(state, handle)
    return hold


@contextmanager
def local_open(a, f):
    fd = os.open(f.path, os.O_RDWR)
    yield None
    os.close(fd)


def smb_lock(exclusive):
    @contextmanager
    def hold(a, f):
        opened = a.smb.open(f.smb, smb.BOTH)
        a.smb.lock(opened, 0, 8, exclusive)
        yield None
        a.smb.close(opened)
    return hold


def afp_lock(client):
    @contextmanager
    def hold(a, f):
        fork = client(a).open(f.name, afp.READ | afp.WRITE, f.resource)
        client(a).lock(fork, 0, 8)
        yield None
        client(a).close(fork)
    return hold


def nfs3_range(exclusive):
    @contextmanager
    def hold(a, f):
        a.nfs3.lock("a", f.nfs, 0, 8, exclusive)
        yield None
        a.nfs3.unlock("a", f.nfs, 0, 8)
    return hold


def nfs4_range(exclusive):
    @contextmanager
    def hold(a, f):
        state, handle, _ = a.nfs4.open(f.nfs, nfs4.BOTH)
        locked = a.nfs4.lock(handle, state, 0, 8, exclusive)
        yield None
        a.nfs4.unlock(handle, locked, 0, 8)
        a.nfs4.close(state, handle)
    return hold


@contextmanager
def local_range(a, f):
    fd = os.open(f.path, os.O_RDWR)
    local_client.lock(fd, 0, 8, True)
    yield None
    os.close(fd)


class SmbCache:
    """A lease or an oplock of an open file."""

    def __init__(self, client, level):
        self.client, self.level = client, level

    def next_break(self, timeout):
        """(what is left, whether an answer is awaited)."""
        self.notice = self.client.next_break(timeout)
        if self.notice is None:
            return None
        before, self.level = self.level, self.notice.to
        return self.notice.to, self.notice.answer is not None and before != "II"  # MS-SMB2 3.3.4.6

    def acknowledge(self):
        self.client.acknowledge(self.notice)


def smb_cache(access, lease=None, oplock="none"):
    @contextmanager
    def hold(a, f):
        opened = a.smb.open(f.smb, access, lease=lease, oplock=oplock)
        if lease is not None and opened.lease != lease:
            raise RuntimeError(f"the lease is {smb.lease_text(opened.lease)}")
        if lease is None and opened.oplock_level != smb.OPLOCKS[oplock]:
            raise RuntimeError(f"the oplock is {opened.oplock_level}")
        yield SmbCache(a.smb, oplock)
        a.smb.close(opened)
    return hold


class Delegation:
    def __init__(self, client, handle):
        self.client, self.handle = client, handle

    def next_break(self, timeout):
        try:
            self.state, _ = self.client.recalls.get(timeout=timeout)
        except Exception:  # queue.Empty
            return None
        return "nothing", True

    def acknowledge(self):
        self.client.return_delegation(self.handle, self.state)


def nfs4_delegation(access, kind):
    @contextmanager
    def hold(a, f):
        state, handle, given = a.delegated.open(f.nfs, access, delegation=True)
        if given is None or given[1] != kind:
            raise RuntimeError(f"the delegation is {given}")
        held = Delegation(a.delegated, handle)
        held.state = None
        a.delegated.cached = a.delegated.stat(handle)
        yield held
        a.delegated.cached = None
        if held.state is None:
            a.delegated.return_delegation(handle, given[0])
        a.delegated.close(state, handle)
    return hold


class LocalLease:
    def __init__(self, lease):
        self.lease = lease

    def next_break(self, timeout):
        left = self.lease.next_break(timeout)
        return left and (left, True)

    def acknowledge(self):
        self.lease.give_up()


def local_lease(writes):
    @contextmanager
    def hold(a, f):
        lease = local_client.Lease(f.path, writes)
        yield LocalLease(lease)
        lease.end()
    return hold


DENY_BOTH = afp.DENY_READ | afp.DENY_WRITE
HOLDERS = {
    "smb has it open": smb_open(smb.BOTH, smb.SHARE_ALL),
    "smb denies writing": smb_open(smb.READ, smb.SHARE_READ | smb.SHARE_DELETE),
    "smb denies reading": smb_open(smb.WRITE, smb.SHARE_WRITE | smb.SHARE_DELETE),
    "smb denies removal": smb_open(smb.BOTH, smb.SHARE_READ | smb.SHARE_WRITE),
    "smb denies all": smb_open(smb.BOTH, 0),
    "afp has it open": afp_open(afp.READ | afp.WRITE),
    "afp denies writing": afp_open(afp.READ | afp.DENY_WRITE),
    "afp denies reading": afp_open(afp.WRITE | afp.DENY_READ),
    "afp denies all": afp_open(afp.READ | afp.WRITE | DENY_BOTH),
    "asp has it open": afp_open(afp.READ | afp.WRITE, lambda a: a.asp),
    "asp denies writing": afp_open(afp.READ | afp.DENY_WRITE, lambda a: a.asp),
    "asp denies reading": afp_open(afp.WRITE | afp.DENY_READ, lambda a: a.asp),
    "asp denies all": afp_open(afp.READ | afp.WRITE | DENY_BOTH, lambda a: a.asp),
    "nfs3 has it open": nfs3_share(3, 0),
    "nfs3 denies writing": nfs3_share(1, 2),
    "nfs3 denies all": nfs3_share(3, 3),
    "nfs4 has it open": nfs4_open(nfs4.BOTH, 0),
    "nfs4 denies writing": nfs4_open(nfs4.READ, nfs4.WRITE),
    "nfs4 denies all": nfs4_open(nfs4.BOTH, nfs4.BOTH),
    "local has it open": local_open,
    "smb locks": smb_lock(True),
    "smb locks shared": smb_lock(False),
    "afp locks": afp_lock(lambda a: a.afp),
    "asp locks": afp_lock(lambda a: a.asp),
    "nfs3 locks": nfs3_range(True),
    "nfs3 locks shared": nfs3_range(False),
    "nfs4 locks": nfs4_range(True),
    "nfs4 locks shared": nfs4_range(False),
    "local locks": local_range,
    "smb lease RWH": smb_cache(smb.BOTH, 7),
    "smb lease RW": smb_cache(smb.BOTH, 5),
    "smb lease RH": smb_cache(smb.BOTH, 3),
    "smb lease R": smb_cache(smb.BOTH, 1),
    "smb oplock batch": smb_cache(smb.BOTH, oplock="batch"),
    "smb oplock exclusive": smb_cache(smb.BOTH, oplock="exclusive"),
    "smb oplock II": smb_cache(smb.BOTH, oplock="II"),
    "nfs4 delegation to read": nfs4_delegation(nfs4.READ, 1),
    "nfs4 delegation to write": nfs4_delegation(nfs4.BOTH, 2),
    "local lease to read": local_lease(False),
    "local lease to write": local_lease(True),
}
