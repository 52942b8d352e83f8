"""NFS by Kerberos (RFC 2203, RFC 2623): versions 3 and 4.1 with krb5, krb5i and krb5p, by MIT Kerberos through python-gssapi.

Run with the port, the user's credential cache in KRB5CCNAME, and a keytab of the machine. Prints `pass NAME` and `fail NAME: WHY`."""

import os
import socket
import struct
import sys
import traceback

import gssapi

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))
from rpc import Reader, Writer, auth_sys  # noqa: E402

PORT, UID, KEYTAB = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
SERVICE = gssapi.Name("nfs@filer.lab.test", gssapi.NameType.hostbased_service)
KERBEROS = bytes.fromhex("2a864886f712010202")
MOUNT, NFS = 100005, 100003
FLAVORS = {"krb5": 1, "krb5i": 2, "krb5p": 3}
DATA, INIT, DESTROY = 0, 1, 3
CREDPROBLEM, CTXPROBLEM, TOOWEAK, GARBAGE = "denied 13", "denied 14", "denied 5", "accept_stat 4"


class Refused(Exception):
    pass


class Transport:
    """Records over TCP."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT), 20)
        self.xid = int.from_bytes(os.urandom(3), "big")

    def exchange(self, message):
        self.send(message)
        return self.receive()

    def send(self, message):
        self.socket.sendall(struct.pack(">I", 0x80000000 | len(message)) + message)

    def receive(self):
        data, last = b"", False
        while not last:
            mark = struct.unpack(">I", self.exactly(4))[0]
            last = bool(mark >> 31)
            data += self.exactly(mark & 0x7fffffff)
        return data

    def exactly(self, length):
        data = b""
        while len(data) < length:
            more = self.socket.recv(length - len(data))
            if not more:
                raise Refused("the connection is closed")
            data += more
        return data

    def head(self, program, version, procedure):
        self.xid += 1
        return Writer().u32(self.xid, 0, 2, program, version, procedure).bytes()


def reply(message):
    """The verifier's flavour and body, and the results."""
    reader = Reader(message)
    reader.u32()
    assert reader.u32() == 1, "no reply"
    if reader.u32() != 0:
        kind, why = reader.u32(), reader.u32()
        raise Refused(f"denied {why}" if kind == 1 else "RPC version")
    verifier = reader.u32(), reader.opaque()
    if (status := reader.u32()) != 0:
        raise Refused(f"accept_stat {status}")
    return verifier, reader


class Login:
    """A security context."""

    def __init__(self, flavor, credentials=None, transport=None, change=None):
        self.service, self.transport, self.sequence = FLAVORS[flavor], transport or Transport(), 0
        flags = gssapi.RequirementFlag.mutual_authentication
        self.context = gssapi.SecurityContext(
            name=SERVICE, mech=gssapi.MechType.kerberos, usage="initiate", flags=flags, creds=credentials)
        self.token = self.context.step()
        self.enter(change(self.token) if change else self.token)

    def enter(self, token):
        head = self.transport.head(NFS, 3, 0) + credential(INIT, 0, 1, b"") + bytes(8)
        verifier, results = reply(self.transport.exchange(head + Writer().opaque(token).bytes()))
        self.handle, major, minor, window = results.opaque(), results.u32(), results.u32(), results.u32()
        answer = results.opaque()
        if major:
            raise Refused(f"major {major >> 16} minor {minor - 0x96c73a00 if minor else 0}")
        self.context.step(answer)
        assert self.context.complete, "the server's token does not end the login"
        assert verifier[0] == 6, "the verifier is not of RPCSEC_GSS"
        self.context.verify_signature(struct.pack(">I", window), verifier[1])

    def message(self, program, version, procedure, args, kind=DATA):
        self.sequence += 1
        head = self.transport.head(program, version, procedure)
        head += credential(kind, self.sequence, self.service, self.handle)
        message = head + Writer().u32(6).opaque(self.context.get_signature(head)).bytes()
        body = struct.pack(">I", self.sequence) + args
        if kind == DESTROY or self.service == 1:
            return message + args
        if self.service == 2:
            return message + Writer().opaque(body).opaque(self.context.get_signature(body)).bytes()
        return message + Writer().opaque(self.context.wrap(body, True).message).bytes()

    def call(self, program, version, procedure, args, kind=DATA):
        return self.opened(self.transport.exchange(self.message(program, version, procedure, args, kind)), kind)

    def opened(self, message, kind=DATA):
        verifier, results = reply(message)
        assert verifier[0] == 6, "the verifier is not of RPCSEC_GSS"
        self.context.verify_signature(struct.pack(">I", self.sequence), verifier[1])
        if kind == DESTROY or self.service == 1:
            return results
        if self.service == 2:
            body = results.opaque()
            self.context.verify_signature(body, results.opaque())
        else:
            opened = self.context.unwrap(results.opaque())
            assert opened.encrypted, "the results are not encrypted"
            body = opened.message
        reader = Reader(body)
        assert reader.u32() == self.sequence, "the results are of another call"
        return reader


def credential(procedure, sequence, service, handle):
    return Writer().u32(6).opaque(Writer().u32(1, procedure, sequence, service).opaque(handle).bytes()).bytes()


def by_auth_sys(program, version, procedure, args):
    transport = Transport()
    head = transport.head(program, version, procedure) + auth_sys(UID) + bytes(8)
    return reply(transport.exchange(head + args))[1]


def mounted(share):
    """The handle of a share, and its flavours."""
    results = by_auth_sys(MOUNT, 3, 1, Writer().opaque("/" + share).bytes())
    if (status := results.u32()) != 0:
        raise Refused(f"MNT {status}")
    return results.opaque(), results.words()


class Version3:
    """One file through version 3."""

    def __init__(self, login, share="files"):
        self.login, self.root = login, mounted(share)[0]

    def call(self, procedure, args):
        results = self.login.call(NFS, 3, procedure, args)
        if (status := results.u32()) != 0:
            raise Refused(f"NFS3 {status}")
        return results

    def create(self, name):
        results = self.call(8, Writer().opaque(self.root).opaque(name).u32(0, 0, 0, 0, 0, 0, 0).bytes())
        assert results.u32() == 1, "no handle"
        return results.opaque()

    def write(self, handle, data):
        results = self.call(7, Writer().opaque(handle).u64(0).u32(len(data), 2).opaque(data).bytes())
        self.wcc(results)
        return results.u32()

    def read(self, handle, length):
        results = self.call(6, Writer().opaque(handle).u64(0).u32(length).bytes())
        if results.u32():
            results.fixed(84)
        results.u32(), results.u32()
        return results.opaque()

    def owner(self, handle):
        attributes = self.call(1, Writer().opaque(handle).bytes())
        attributes.fixed(12)
        return attributes.u32()

    @staticmethod
    def wcc(results):
        if results.u32():
            results.fixed(24)
        if results.u32():
            results.fixed(84)


class Version4:
    """A session of version 4.1."""

    def __init__(self, login):
        self.login, self.sequence = login, 0
        found = self.compound([(42, Writer().fixed(os.urandom(8)).opaque(os.urandom(8)).u32(0, 0, 0).bytes())])
        self.id, sequence = found[0].u64(), found[0].u32()
        channel = Writer().u32(0, 1 << 20, 1 << 20, 4096, 16, 1, 0).bytes()
        args = Writer().u64(self.id).u32(sequence, 0).fixed(channel).fixed(channel).u32(0x40000000, 1, 0)
        self.session = self.compound([(43, args.bytes())])[0].fixed(16)
        self.in_session([(58, Writer().u32(0).bytes())])

    def compound(self, operations):
        args = Writer().opaque("").u32(1, len(operations))
        for number, body in operations:
            args.u32(number).fixed(body)
        results = self.login.call(NFS, 4, 1, args.bytes())
        status = results.u32()
        results.opaque(), results.u32()
        found = []
        for number, _ in operations:
            assert results.u32() == number
            if results.u32() != 0:
                raise Refused(f"NFS4 {status}")
            found.append(Reader(results.data[results.at:]))
            if number == 53:
                results.fixed(36)
        return found

    def in_session(self, operations):
        """The results of the last operation."""
        self.sequence += 1
        head = Writer().fixed(self.session).u32(self.sequence, 0, 0, 0).bytes()
        args = Writer().opaque("").u32(1, len(operations) + 1).u32(53).fixed(head)
        for number, body in operations:
            args.u32(number).fixed(body)
        results = self.login.call(NFS, 4, 1, args.bytes())
        if (status := results.u32()) != 0:
            raise Refused(f"NFS4 {status}")
        return results


def expect(refusal, work):
    try:
        work()
    except Refused as error:
        assert str(error) == refusal, f"{error} instead of {refusal}"
        return
    raise AssertionError(f"it works, instead of {refusal}")


def files(flavor):
    files = Version3(Login(flavor))
    data = os.urandom(1 << 20)
    handle = files.create(f"file-{flavor}")
    assert files.write(handle, data) == len(data)
    assert files.read(handle, len(data)) == data
    assert files.owner(handle) == UID, f"it belongs to {files.owner(handle)}"
    files.login.call(NFS, 3, 0, b"", DESTROY)
    expect(CREDPROBLEM, lambda: files.owner(handle))


def sessions(flavor):
    client = Version4(Login(flavor))
    name = f"four-{flavor}"
    opened = Writer().u32(0, 2 | 0x400, 0).u64(client.id).opaque("owner").u32(1, 0, 0, 0, 0).opaque(name).bytes()
    put = [(24, b""), (15, Writer().opaque("files").bytes())]
    client.in_session(put + [(18, opened)])
    attributes = client.in_session(put + [(15, Writer().opaque(name).bytes()), (9, Writer().u32(2, 0, 1 << 4).bytes())])
    assert attributes.data.endswith(Writer().opaque(str(UID)).bytes()), "it has another owner"


def machine():
    """The credentials of the machine."""
    store = {"client_keytab": KEYTAB, "ccache": f"MEMORY:{os.getpid()}"}
    name = gssapi.Name("nfs/client.lab.test@LAB.TEST", gssapi.NameType.kerberos_principal)
    return gssapi.Credentials(name=name, usage="initiate", store=store)


def a_machine():
    files = Version3(Login("krb5i", machine()))
    assert files.owner(files.create("of-the-machine")) == 65534
    files = Version3(Login("krb5i", machine()), "trusting")
    assert files.owner(files.create("of-the-machine")) == 0


def rules():
    assert mounted("files")[1] == [1, 390003, 390004, 390005, 0]
    handle, flavors = mounted("private")
    assert flavors == [390005, 390004], flavors
    attributes = by_auth_sys(NFS, 3, 1, Writer().opaque(handle).bytes())
    assert attributes.u32() == 0, "the folder of a share is not shown before the login"
    look_up = Writer().opaque(handle).opaque("nothing").bytes()
    assert by_auth_sys(NFS, 3, 3, look_up).u32() == 13
    expect("NFS3 13", lambda: Version3(Login("krb5"), "private").create("file"))
    Version3(Login("krb5p"), "private").create("file")


def secinfo():
    login = Login("krb5")
    args = Writer().opaque("").u32(0, 2, 24, 33).opaque("private").bytes()
    results = login.call(NFS, 4, 1, args)
    assert results.u32() == 0
    results.opaque(), results.fixed(20)  # two results: PUTROOTFH, and the head of SECINFO
    found = [(results.u32(), results.opaque(), results.u32(), results.u32()) for _ in range(results.u32())]
    assert found == [(6, KERBEROS, 0, 3), (6, KERBEROS, 0, 2)], found


def hostile():
    login = Login("krb5i")
    null = lambda: login.call(NFS, 3, 0, b"")
    null()
    # The same call again gets no answer; the next one does.
    again = login.message(NFS, 3, 0, b"")
    login.opened(login.transport.exchange(again))
    login.transport.send(again)
    null()
    # The procedure of RPCSEC_GSS, the sequence number, the service, the handle, the verifier's flavour and checksum, and the body.
    for at in [*range(36, 48), *range(52, 72), *range(76, 104), *range(108, len(again) - 32), *range(len(again) - 28, len(again))]:
        changed = bytearray(login.message(NFS, 3, 0, b""))
        changed[at] ^= 0x40
        try:
            login.opened(login.transport.exchange(bytes(changed)))
        except Refused:
            continue
        raise AssertionError(f"byte {at} may change")
    null()
    # Tickets: cut, changed, and used before.
    fresh = Login("krb5")
    for change in (lambda token: token[:-9], lambda token: token[:40], lambda token: b"",
                   lambda token: token[:-40] + bytes(40), lambda token: token + bytes(200_000)):
        try:
            Login("krb5", change=change)
        except Refused:
            continue
        raise AssertionError("a damaged ticket is taken")
    expect("major 13 minor 34", lambda: Login("krb5", change=lambda _: fresh.token))
    fresh.call(NFS, 3, 0, b"")
    null()


def refused():
    """Run with the cache of a user without an account."""
    expect("major 15 minor 0", lambda: Login("krb5"))


CHECKS = {f"version 3 with {flavor}": lambda flavor=flavor: files(flavor) for flavor in FLAVORS}
CHECKS |= {f"version 4.1 with {flavor}": lambda flavor=flavor: sessions(flavor) for flavor in FLAVORS}
CHECKS |= {
    "a machine is anonymous, and root where root is": a_machine,
    "a rule lets in its flavours, and MOUNT lists them": rules,
    "SECINFO lists the flavours": secinfo,
    "damaged, repeated and cut messages change nothing": hostile,
}
if sys.argv[4:] == ["domain"]:
    CHECKS = {title: check for title, check in CHECKS.items() if title.startswith(("version", "damaged"))}
elif len(sys.argv) > 4:
    CHECKS = {"a user without an account is refused": refused}
for title, check in CHECKS.items():
    try:
        check()
        print(f"pass {title}")
    except Exception as error:
        traceback.print_exc()
        print(f"fail {title}: {type(error).__name__} {error}")
