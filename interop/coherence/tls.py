"""NFS over TLS (RFC 9289) with OpenSSL's TLS: the probe, the handshake, calls of versions 3 and 4.1, delegations that are
recalled over TLS, and a share that requires TLS. Prints "pass NAME" or "fail NAME: WHY"."""

import argparse
import os
import socket
import ssl
import struct
import sys
import threading

import nfs4
from rpc import Connection, Writer, probe

NFS, MOUNT = 100003, 100005
ACCES, WRONGSEC = 13, 10016
SIZE = (1 << 20) - 4096 + 17  # some records, and an end within a word


def context(folder, alpn="sunrpc", newest=ssl.TLSVersion.TLSv1_3):
    """A client that trusts the server's own certificate."""
    made = ssl.create_default_context(cafile=os.path.join(folder, "state", "api-certificate.pem"))
    made.maximum_version = newest
    if alpn:
        made.set_alpn_protocols([alpn])
    return made


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"is {str(found)[:80]}, not {str(expected)[:80]}")


def refused(kind, what):
    try:
        what()
    except kind as error:
        return error
    raise AssertionError("was not refused")


class Version3:
    """A client of NFSv3 in one share."""

    def __init__(self, args, share, tls=None):
        # As Linux and libnfs do: MOUNT is in clear.
        mount = Connection(args.nfs_port, MOUNT, 3, args.uid)
        reply = mount.call(1, Writer().opaque(f"/{share}").bytes())
        equal(reply.u32(), 0)
        self.root = reply.opaque()
        mount.close()
        self.nfs = Connection(args.nfs_port, NFS, 3, args.uid, tls=tls)

    def call(self, procedure, writer):
        reply = self.nfs.call(procedure, writer.bytes())
        return reply.u32(), reply

    def attributes(self):
        return self.call(1, Writer().opaque(self.root))[0]

    def create(self, name):
        status, reply = self.call(8, Writer().opaque(self.root).opaque(name).u32(0, 1, 0o666, 0, 0, 0, 0, 0))
        equal(status, 0)
        equal(reply.u32(), 1)
        return reply.opaque()

    def write(self, handle, data):
        status, reply = self.call(7, Writer().opaque(handle).u64(0).u32(len(data), 2).opaque(data))
        equal(status, 0)
        reply.fixed(24 if reply.u32() else 0)
        reply.fixed(84 if reply.u32() else 0)
        equal(reply.u32(), len(data))

    def read(self, handle, length):
        status, reply = self.call(6, Writer().opaque(handle).u64(0).u32(length))
        equal(status, 0)
        reply.fixed(84 if reply.u32() else 0)
        reply.u32(), reply.u32()
        return reply.opaque()


def the_probe(args):
    # xid, REPLY, MSG_ACCEPTED, AUTH_NONE with 8 bytes, SUCCESS: RFC 9289 4.1.
    expected = struct.pack(">IIIII", 1, 1, 0, 0, 8) + b"STARTTLS" + struct.pack(">I", 0)
    for program, version in [(NFS, 3), (NFS, 4), (MOUNT, 3)]:
        with socket.create_connection(("127.0.0.1", args.nfs_port), 10) as connection:
            equal(probe(connection, program, version), expected)


def the_handshake(args):
    tls = Connection(args.nfs_port, NFS, 3, args.uid, tls=context(args.folder)).transport.state
    equal((tls.version(), tls.selected_alpn_protocol()), ("TLSv1.3", "sunrpc"))


def a_client_without_alpn(args):
    Connection(args.nfs_port, NFS, 3, args.uid, tls=context(args.folder, alpn=None)).call(0, b"")


def older_versions_and_other_protocols(args):
    for other in [{"newest": ssl.TLSVersion.TLSv1_2}, {"alpn": "h2"}]:
        refused(ssl.SSLError, lambda: Connection(args.nfs_port, NFS, 3, args.uid, tls=context(args.folder, **other)))


def a_second_probe(args):
    connection = Connection(args.nfs_port, NFS, 3, args.uid, tls=context(args.folder))
    connection.cred = Writer().u32(7, 0).bytes()
    equal(str(refused(ConnectionError, lambda: connection.call(0, b""))), "the call is denied")


def version_3(args):
    client, data = Version3(args, "sealed", context(args.folder)), os.urandom(SIZE)
    handle = client.create("three")
    client.write(handle, data)
    equal(client.read(handle, SIZE), data)
    for length in (0, 1, 100, 16384, 100_000):
        equal(client.read(handle, length), data[:length])


def version_4(args):
    client, data = nfs4.Client(args.nfs_port, "sealed", args.uid, "tls", tls=context(args.folder)), os.urandom(500_001)
    state, handle, _ = client.open("four", nfs4.BOTH, create=True)
    client.write(handle, 0, data, state=state)
    equal(client.read(handle, 0, len(data), state), data)
    client.close(state, handle)


def a_recall(args):
    """The server's own calls come over TLS, too."""
    holder = nfs4.Client(args.nfs_port, "sealed", args.uid, "holder", True, tls=context(args.folder))
    state, handle, _ = holder.open("recalled", nfs4.BOTH, create=True)
    holder.close(state, handle)
    state, handle, given = holder.open("recalled", nfs4.READ | 0x100, delegation=True)  # WANT_READ_DELEG
    if not given:
        raise AssertionError("there is no delegation")
    other = Version3(args, "sealed", context(args.folder))
    writing = threading.Thread(target=lambda: other.call(2, Writer().opaque(handle).u32(0, 0, 0, 1).u64(0).u32(0, 0, 0)))
    writing.start()
    recalled, file = holder.recalls.get(timeout=20)
    equal((recalled, file), (given[0], handle))
    holder.return_delegation(handle, given[0])
    writing.join(20)


def in_clear(args):
    equal(Version3(args, "sealed").attributes(), ACCES)
    equal(Version3(args, "share").attributes(), 0)
    error = refused(nfs4.Refused, lambda: nfs4.Client(args.nfs_port, "sealed", args.uid, "clear"))
    equal(error.status, WRONGSEC)


def clear_after_the_probe(args):
    with socket.create_connection(("127.0.0.1", args.nfs_port), 10) as connection:
        probe(connection, NFS, 3)
        call = Writer().u32(2, 0, 2, NFS, 3, 0, 0, 0, 0, 0).bytes()
        connection.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
        left = b""
        while more := connection.recv(100):
            left += more
        equal(left[:1], b"\x15")  # an alert, RFC 8446 5.1, and no reply


TESTS = [the_probe, the_handshake, a_client_without_alpn, older_versions_and_other_protocols, a_second_probe, version_3, version_4,
         a_recall, in_clear, clear_after_the_probe]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--uid", "--nfs-port", "--smb-port", "--afp-port"):
        parser.add_argument(name, type=int, required=name in ("--uid", "--nfs-port"))
    for name in ("--folder", "--nfs3", "--user", "--password", "--expected"):
        parser.add_argument(name, required=name == "--folder")
    args = parser.parse_args()
    for test in TESTS:
        name = test.__name__.replace("_", " ")
        try:
            test(args)
            print("pass", name)
        except Exception as error:  # noqa: BLE001: each is an outcome
            print(f"fail {name}: {type(error).__name__}: {error}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
