"""AFP by Kerberos (`Client Krb v2`), by MIT Kerberos through python-gssapi.

afp_krb.py PORT FILE makes a file in the volume `files` with the user's ticket (KRB5CCNAME). The layout of the second step is what
Netatalk's uams_gss.c says that clients of Apple send: the name as a Pascal string, and padding before the length of the token.
"""

import itertools
import os
import queue
import socket
import struct
import sys
import threading

import gssapi

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))
import afp  # noqa: E402

CONTINUE = -5001
KERBEROS_SESSION_KEY = 8


def even(body):
    return body + bytes(len(body) % 2)


class Client(afp.Client):
    def __init__(self, port, volume):
        self.socket = socket.create_connection(("127.0.0.1", port), 10)
        self.socket.settimeout(None)
        self.ids, self.waiting, self.sending = itertools.count(1), {}, threading.Lock()
        self.attentions, self.broken = queue.SimpleQueue(), False
        threading.Thread(target=self._receive, daemon=True).start()
        status = self._request(3, b"")
        assert b"Client Krb v2" in status and b"afpserver/filer.lab.test@LAB.TEST" in status, status
        self._request(4, b"")
        self.log_in()
        answer = self.command(struct.pack(">BBH", 24, 0, 0x20) + afp.pascal(volume))
        self.volume = struct.unpack(">H", answer[2:4])[0]

    def log_in(self):
        service = gssapi.Name("afpserver@filer.lab.test", gssapi.NameType.hostbased_service)
        flags = gssapi.RequirementFlag.mutual_authentication | gssapi.RequirementFlag.replay_detection
        context = gssapi.SecurityContext(name=service, flags=flags, usage="initiate")
        login = struct.pack(">BBH", 63, 0, 0) + afp.pascal("AFP3.4") + afp.pascal("Client Krb v2")
        login = even(login + b"\x03\x00\x06nobody") + b"\x03\x00\x00"
        try:
            raise AssertionError(f"logged in without a ticket: {self.command(even(login))}")
        except afp.Refused as refused:
            assert refused.code == CONTINUE, refused
            number = refused.data[:2]
        token = context.step()
        message = even(b"\x13\x00" + number + afp.pascal("nobody")) + struct.pack(">H", len(token)) + token
        answer = self.command(message)
        context.step(answer[2:2 + struct.unpack(">H", answer[:2])[0]])
        assert context.complete, "the server has not proved that it has the key"
        answer = self.command(struct.pack(">BBHI", 64, 0, KERBEROS_SESSION_KEY, 0))
        key = context.unwrap(answer[4:4 + struct.unpack(">I", answer[:4])[0]])
        assert key.encrypted and len(key.message) == 16, key


def main():
    port, name = sys.argv[1:]
    Client(int(port), "files").create(name)


if __name__ == "__main__":
    main()
