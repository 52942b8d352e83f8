"""A Ceph cluster of one monitor, one OSD in memory and one metadata server at one address, with a file system `fs1`, and a
client of it beside the server: Ceph's own library."""

import ctypes
import os
import signal
import socket
import subprocess
import time
import uuid

CONF = """
[global]
fsid = {fsid}
mon host = v2:{host}:{port}
ms bind ipv4 = true
ms bind ipv6 = false
public addr = {host}
cluster addr = {host}
auth cluster required = none
auth service required = none
auth client required = none
run dir = {folder}/run
pid file = {folder}/run/$name.pid
admin socket = {folder}/run/$name.$pid.asok
log file = {folder}/log/$name.log
crash dir = {folder}/log
keyring = {folder}/keyring
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pgp num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon allow pool size one = true
mon warn on pool no redundancy = false
mon data avail crit = -1
mon data avail warn = 0
mon data = {folder}/mon
osd data = {folder}/osd
mds data = {folder}/mds
osd objectstore = memstore
memstore device bytes = 4294967296
osd memory target = 939524096
mds cache memory limit = 268435456
client mount timeout = 10
client acl type = posix_acl
[client]
pid file =
log file =
"""


def free_port(host="127.0.0.1"):
    with socket.socket() as one:
        one.bind((host, 0))
        return one.getsockname()[1]


class Cluster:
    def __init__(self, folder, host="127.0.0.1"):
        self.folder, self.conf = folder, os.path.join(folder, "ceph.conf")
        for name in ("mon", "osd", "mds", "run", "log"):
            os.makedirs(os.path.join(folder, name))
        self.env = {**os.environ, "CEPH_CONF": self.conf}
        fsid, keyring, monmap = str(uuid.uuid4()), os.path.join(folder, "keyring"), os.path.join(folder, "monmap")
        port = free_port(host)
        with open(self.conf, "w") as file:
            file.write(CONF.format(fsid=fsid, host=host, port=port, folder=folder))
        try:
            self.begin(fsid, (keyring, monmap), f"{host}:{port}")
        except Exception:
            self.stop()
            raise

    def begin(self, fsid, files, address):
        keyring, monmap = files
        allow = ["--cap", "mon", "allow *", "--cap", "osd", "allow *", "--cap", "mds", "allow *"]
        self.run("ceph-authtool", keyring, "--create-keyring", "--gen-key", "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", keyring, "--gen-key", "-n", "client.admin", *allow)
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v2:{address}]", monmap)
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", monmap, "--keyring", keyring)
        self.run("ceph-mon", "-i", "a")
        osd = str(uuid.uuid4())
        self.run("ceph", "osd", "new", osd)
        self.run("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.run("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default", "host=localhost")
        self.run("ceph-osd", "-i", "0")
        for pool in ("meta", "data"):
            self.run("ceph", "osd", "pool", "create", pool, "8")
        self.run("ceph", "fs", "new", "fs1", "meta", "data")
        self.start_mds()
        self.until_active()

    def run(self, *words):
        done = subprocess.run(words, env=self.env, capture_output=True, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def start_mds(self):
        self.run("ceph-mds", "-i", "a")

    def until_active(self):
        end = time.monotonic() + 60
        while "up:active" not in self.run("ceph", "mds", "stat"):
            if time.monotonic() > end:
                raise RuntimeError("the metadata server does not become active")
            time.sleep(0.2)

    def blocked(self):
        """The addresses of clients from which OSDs accept nothing."""
        return {line.split()[0] for line in self.run("ceph", "osd", "blocklist", "ls").splitlines() if "/" in line}

    def pid(self, name):
        with open(os.path.join(self.folder, "run", f"{name}.pid")) as file:
            return int(file.read())

    def signal(self, name, number):
        os.kill(self.pid(name), number)

    def stop(self):
        for name in ("mds.a", "osd.0", "mon.a"):
            try:
                os.kill(self.pid(name), signal.SIGCONT)
                os.kill(self.pid(name), signal.SIGKILL)
            except (OSError, ValueError):
                pass  # it has not started, or has ended


class Client:
    """A client of the cluster that is not the server."""

    def __init__(self, conf):
        self.ceph, self.mount = ctypes.CDLL("libcephfs.so.2", use_errno=True), ctypes.c_void_p()
        self.call("create", ctypes.byref(self.mount), b"admin", mounted=False)
        self.call("conf_read_file", conf.encode())
        self.call("mount", b"/")

    def call(self, name, *arguments, mounted=True):
        function = getattr(self.ceph, f"ceph_{name}")
        done = function(self.mount, *arguments) if mounted else function(*arguments)
        if done < 0:
            raise OSError(-done, os.strerror(-done), name)
        return done

    def mkdir(self, path, owner=0, mode=0o755):
        self.call("mkdir", path.encode(), mode)
        self.call("chown", path.encode(), owner, owner)

    def rmdir(self, path):
        self.call("rmdir", path.encode())

    def give(self, path, owner, mode):
        self.call("chown", path.encode(), owner, owner)
        self.call("chmod", path.encode(), mode)

    def read(self, path, most=1 << 20):
        file, buffer = self.call("open", path.encode(), os.O_RDONLY, 0), ctypes.create_string_buffer(most)
        try:
            read = self.call("read", file, buffer, ctypes.c_int64(most), ctypes.c_int64(0))
            return buffer.raw[:read]
        finally:
            self.call("close", file)

    def write(self, path, data):
        file = self.call("open", path.encode(), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            self.call("write", file, data, ctypes.c_int64(len(data)), ctypes.c_int64(0))
        finally:
            self.call("close", file)

    def xattr(self, path, name):
        buffer = ctypes.create_string_buffer(65536)
        length = self.call("getxattr", path.encode(), name.encode(), buffer, ctypes.c_size_t(65536))
        return buffer.raw[:length]

    def unmount(self):
        self.call("unmount")
