"""etcd, certificates and servers for the checks of a cluster."""

import json
import os
import select
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from base64 import b64encode

COHERENCE = os.path.join(os.path.dirname(__file__), "..", "coherence")
sys.path.insert(0, COHERENCE)
import nfs3
import smb_client as smb

SHARES = {"share": "", "quiet": "", "silly": 'deny-modes = "silly-rename"', "data": 'deny-modes = "data-only"',
          "continuous": "continuous = true", "limited": 'quota = "8 MiB"', "model": "nfs-whole-names = true\nsafe-save = false"}
SETTINGS = """
[server]
bonjour = "off"
grace-period = {grace}
nfs-versions = ["3", "4.1", "4.2"]
afp-logins = ["dhx2", "cleartext"]
cluster = "etcds://{etcd}"
cluster-server = "{name}"
cluster-listen = "{address}:{port}"
cluster-certificate = "{name}.pem"
cluster-key = "{name}.key"
cluster-ca = "ca.pem"
"""
EXTENSIONS = """
[req]
distinguished_name = name
x509_extensions = extensions
[name]
[extensions]
basicConstraints = critical,{constraints}
{more}
"""


def free_port(address="127.0.0.1"):
    with socket.socket() as found:
        found.bind((address, 0))
        return found.getsockname()[1]


def base64(octets):
    return b64encode(octets).decode()


def stop(process):
    """SIGSTOP. Returns when all threads have stopped: on a busy machine, some answer for milliseconds after the signal."""
    process.send_signal(signal.SIGSTOP)
    until, threads = time.monotonic() + 10, f"/proc/{process.pid}/task"
    while time.monotonic() < until:
        states = set()
        for thread in os.listdir(threads):
            try:
                with open(f"{threads}/{thread}/stat") as file:
                    states.add(file.read().rpartition(")")[2].split()[0])
            except OSError:  # it has ended
                pass
        if states == {"T"}:
            return
        time.sleep(0.002)
    raise AssertionError(f"process {process.pid} does not stop")


def is_equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"is {found!r:.200}, not {wanted!r:.200}")


class Etcd:
    """One member of etcd, over TLS, which wants a certificate of each client. It is alone unless `peers` has the ports of all."""

    def __init__(self, certificates, log, host="127.0.0.1", flags=(), peers=(), number=0):
        self.log, self.host, self.flags, self.number = log, host, flags, number
        self.name = f"etcd-{host}-{number}" if peers else f"etcd-{host}"
        self.folder, self.port, self.peers = os.path.join(certificates.folder, self.name), free_port(host), peers or [free_port()]
        self.hosts = f"{host}:{self.port}"
        certificates.make(self.name, f"IP:{host}")
        self.files = [os.path.join(certificates.folder, part) for part in (f"{self.name}.pem", f"{self.name}.key", "ca.pem")]
        self.trust = ssl.create_default_context(cafile=self.files[2])
        self.trust.load_cert_chain(*self.files[:2])
        self.begin()
        if not peers:
            self.until_healthy()

    def start(self):
        self.begin()
        self.until_healthy()

    def begin(self):
        own, peers = f"https://{self.host}:{self.port}", [f"http://127.0.0.1:{port}" for port in self.peers]
        peer, all_peers = peers[self.number], ",".join(f"n{number}={peer}" for number, peer in enumerate(peers))
        words = ["etcd", "--data-dir", self.folder, "--name", f"n{self.number}", "--listen-client-urls", own,
                 "--advertise-client-urls", own, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", all_peers, "--cert-file", self.files[0], "--key-file", self.files[1],
                 "--trusted-ca-file", self.files[2], "--client-cert-auth", *self.flags]
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log)

    def until_healthy(self):
        for _ in range(200):
            try:
                if b"true" in self._open("/health").read():
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise RuntimeError("etcd does not answer")

    def _open(self, path, data=None):
        return urllib.request.urlopen(f"https://{self.host}:{self.port}{path}", data, timeout=5, context=self.trust)

    def ask(self, path, **request):
        return json.load(self._open(path, json.dumps(request).encode()))

    def want_user(self, name, password):
        """From now on only this user may have the keys of Fourfold, and needs the password."""
        end = {"key": base64(b"fourfold"), "range_end": base64(b"fourfole")}
        self.ask("/v3/auth/role/add", name="gateway")
        self.ask("/v3/auth/role/grant", name="gateway", perm={"permType": "READWRITE", **end})
        for user, role in ((name, "gateway"), ("root", "root")):
            self.ask("/v3/auth/user/add", name=user, password=password)
            if role == "root":
                self.ask("/v3/auth/role/add", name=role)
            self.ask("/v3/auth/user/grant", user=user, role=role)
        self.ask("/v3/auth/enable")

    def kill(self):
        self.process.kill()
        self.process.wait()


class Trio:
    """Three members of etcd."""

    def __init__(self, certificates, log):
        peers = [free_port() for _ in range(3)]
        self.members = [Etcd(certificates, log, peers=peers, number=number) for number in range(3)]
        self.hosts = ",".join(member.hosts for member in self.members)
        [member.until_healthy() for member in self.members]

    def leader(self):
        """The member that says so."""
        for member in self.members:
            status = member.ask("/v3/maintenance/status")
            if status["leader"] == status["header"]["member_id"]:
                return member
        raise AssertionError("no member of etcd is the leader")

    def kill(self):
        [member.kill() for member in self.members]

    def start(self):
        [member.begin() for member in self.members]
        [member.until_healthy() for member in self.members]


class Certificates:
    """An issuer, and certificates of it, by OpenSSL."""

    def __init__(self, folder):
        self.folder = folder
        self._make("ca", "CA:TRUE", "", [])

    def _make(self, name, constraints, more, issuer, named=True):
        path = os.path.join(self.folder, name)
        with open(f"{path}.cnf", "w") as file:
            file.write(EXTENSIONS.format(constraints=constraints, more=more))
        words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                 "-config", f"{path}.cnf", "-subj", f"/CN={name}" if named else "/", "-keyout", f"{path}.key", "-out", f"{path}.pem", *issuer]
        subprocess.run(words, check=True, capture_output=True)

    def make(self, name, also=None):
        issuer = [os.path.join(self.folder, part) for part in ("ca.pem", "ca.key")]
        names = f"DNS:{name}" if also is None else f"DNS:{name},{also}"
        self._make(name, "CA:FALSE", f"subjectAltName = {names}", ["-CA", issuer[0], "-CAkey", issuer[1]])

    def make_nameless(self, name):
        """For an etcd with users: the certificate has no common name."""
        issuer = [os.path.join(self.folder, part) for part in ("ca.pem", "ca.key")]
        self._make(name, "CA:FALSE", f"subjectAltName = DNS:{name}", ["-CA", issuer[0], "-CAkey", issuer[1]], named=False)

    def make_foreign(self, name):
        """A certificate of another issuer, which is itself."""
        self._make(name, "CA:TRUE", f"subjectAltName = DNS:{name}", [])


class Gateway:
    """A server of the cluster."""

    def __init__(self, options, number, etcd):
        self.options, self.name, self.process = options, f"gate{number}", None
        self.within, self.listen = [], ["--listen", "127.0.0.1"]
        self.folder, self.state = options.folder, os.path.join(options.folder, f"state-{number}")
        self.smb_port, self.afp_port, self.nfs_port, self.iscsi_port = free_port(), free_port(), free_port(), "off"
        self.peers = address = f"127.0.1.{number if isinstance(number, int) else 99}"
        text = SETTINGS.format(etcd=etcd.hosts, name=self.name, address=address, port=free_port(address), grace=options.grace)
        conf = getattr(options, "conf", None)  # of Ceph
        if conf:
            text += f'ceph-conf = "{conf}"\n'
        for share, more in SHARES.items():
            place = f'store = "cephfs:fs1"\npath = "/{share}"' if conf else f'path = "{self.folder}/{share}"\niscsi = false'
            text += f'\n[[share]]\nname = "{share}"\n{place}\n{more}\n'
        self.settings = os.path.join(self.folder, f"{self.name}.toml")
        with open(self.settings, "w") as file:
            file.write(text)
        words = [options.program, "user", "add", options.user, "--uid", str(options.uid), "--state", self.state, "--password-stdin"]
        subprocess.run(words, input=options.password + "\n", text=True, check=True, capture_output=True)

    def set(self, before, after):
        """Other lines in its settings."""
        with open(self.settings) as file:
            text = file.read()
        if before not in text:
            raise AssertionError(f"the settings have no {before!r}")
        with open(self.settings, "w") as file:
            file.write(text.replace(before, after, 1))

    def start(self):
        words = [*self.within, self.options.program, "serve", "--config", self.settings, "--state", self.state, *self.listen,
                 "--smb-port", self.smb_port, "--afp-port", self.afp_port, "--nfs-port", self.nfs_port, "--nfs-clients", "all",
                 "--iscsi-port", self.iscsi_port, "--portmap-port", "off"]
        log = open(os.path.join(self.folder, f"{self.name}.log"), "a")
        self.process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=log)
        said, end = b"", time.monotonic() + 30
        while b"ready\n" not in said:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"{self.name} is not ready: {said!r}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise RuntimeError(f"{self.name} has ended: {said!r}")
            said += more

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)
        return self.process.wait(30)

    def smb(self, guid=None, share="share"):
        return smb.Client(self.smb_port, share, self.options.user, self.options.password, guid=guid)

    def nfs(self):
        return nfs3.Client(self.options.nfs3, self.nfs_port, "share", self.options.uid)

    def run(self, *command):
        """The exit code of a command with the settings of this server."""
        return self.say(*command)[0]

    def say(self, *command, settings=None):
        """The exit code of a command, and what it prints."""
        words = [*self.within, self.options.program, *command, "--config", settings or self.settings, "--state", self.state]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90)
        return done.returncode, done.stdout

    def status(self):
        return {row["name"]: row["state"] for row in self.rows()}

    def virtual(self):
        return {row["name"]: row["virtual_addresses"] for row in self.rows()}

    def rows(self):
        words = [*self.within, self.options.program, "cluster", "status", "--json", "--config", self.settings, "--state", self.state]
        return json.loads(subprocess.run(words, capture_output=True, text=True, timeout=30).stdout)


def opened_within(client, name, limit):
    """How long it takes until a file can be opened beside what a client of a lost server had of it."""
    begun = time.monotonic()
    while True:
        try:
            client.close(client.open(name, smb.BOTH))
            return time.monotonic() - begun
        except smb.Refused as error:
            if time.monotonic() - begun > limit:
                raise AssertionError(f"still {error} after {limit} s") from None
        time.sleep(0.05)
