"""What the servers of a cluster have once: accounts, settings, and the schedules of shares."""

import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time
from base64 import b64decode

from scene import Etcd, Gateway, base64, is_equal, smb

import afp

WITHIN = 20.0  # seconds: a change is at all servers within one; a reload and a login take their time on a busy machine
TAKEOVER = 25.0  # seconds: a lease of 5 s, the time in which etcd sees its end, and a look of the next server; on a busy machine
SETTINGS = """
[[share]]
name = "late"
path = "{folder}/quiet"
iscsi = false
"""
SCHEDULED = """
[[share]]
name = "kept"
path = "{pool}"
iscsi = false
snapshot-schedule = "hourly:3"
"""
BACKUPS = """
[[share]]
name = "backups"
path = "{pool}"
iscsi = false
time-machine = true
time-machine-snapshots = 3
"""


def until(limit, what, look):
    """How long it takes until this is true."""
    begun = time.monotonic()
    while not look():
        if time.monotonic() - begun > limit:
            raise AssertionError(f"not within {limit} s: {what}")
        time.sleep(0.05)
    return time.monotonic() - begun


def user(gateway, *words, password=None):
    command = [*gateway.within, gateway.options.program, "user", *words, "--config", gateway.settings, "--state", gateway.state]
    if password:
        command.append("--password-stdin")
    subprocess.run(command, input=f"{password}\n", text=True, check=True, capture_output=True, timeout=30)


def may_log_in(gateway, name, password, share="share"):
    try:
        smb.Client(gateway.smb_port, share, name, password).disconnect()
        return True
    except Exception:  # the library has several for a refused login
        return False


def add(gateway, text):
    """Adds to the settings of a server, and has it read them."""
    with open(gateway.settings, "a") as file:
        file.write(text)
    gateway.process.send_signal(signal.SIGHUP)


def log(gateway):
    with open(os.path.join(gateway.folder, f"{gateway.name}.log"), errors="replace") as file:
        return re.sub("\x1b\\[[0-9;]*m", "", file.read())


def accounts(first, other):
    """An account that one server gets, another one has; and what two servers change at the same time both stays."""
    uid = str(first.options.uid)
    user(first, "add", "eve", "--uid", uid, password="one")
    took = until(WITHIN, "eve logs in at the other server", lambda: may_log_in(other, "eve", "one"))
    both = [threading.Thread(target=user, args=(gateway, "add", name, "--uid", uid), kwargs={"password": "x"})
            for gateway, name in ((first, "kim"), (other, "lee"))]
    [thread.start() for thread in both]
    [thread.join() for thread in both]
    for gateway in (first, other):
        for name in ("kim", "lee"):
            until(WITHIN, f"{name} logs in at {gateway.name}", lambda: may_log_in(gateway, name, "x"))
    user(other, "remove", "lee")
    until(WITHIN, "lee is gone", lambda: not may_log_in(first, "lee", "x"))
    return took


def settings(first, other):
    """A share that one server gets, another one serves; and a password that a client changes there."""
    with open(first.settings) as file:
        text = file.read()
    text = text.replace("[server]\n", "[server]\nafp-change-password = true  # for all\n", 1)
    with open(first.settings, "w") as file:
        file.write(text)
    add(first, SETTINGS.format(folder=first.folder))
    took = until(WITHIN, "the other server has the share", lambda: may_log_in(other, "eve", "one", "late"))
    with open(other.settings) as file:
        text = file.read()
    is_equal(("# for all" in text, f'"{other.name}"' in text, f'"{first.name}"' in text), (True, True, False))
    change_password(other, "eve", "one", "two")
    until(WITHIN, "the new password at the first server", lambda: may_log_in(first, "eve", "two"))
    is_equal(may_log_in(first, "eve", "one"), False)
    # Text that is refused is told to no other server.
    with open(first.settings) as file:
        before = file.read()
    add(first, '\n[[share]]\nname = "wrong"\nno-such-setting = 1\n')
    until(WITHIN, "the first server refuses", lambda: "no-such-setting" in log(first))
    with open(first.settings, "w") as file:
        file.write(before)
    code, said = other.say("cluster", "settings", "show")
    is_equal((code, "late" in said, "wrong" in said), (0, True, False))
    return took


def change_password(gateway, name, old, new):
    """FPChangePassword with the method Cleartxt Passwrd (Apple Filing Protocol Reference)."""
    client = afp.Client(gateway.afp_port, "share", name, old)
    body = bytes([36, 0]) + afp.pascal("Cleartxt Passwrd")
    body += bytes(len(body) % 2)
    body += afp.pascal(name)
    body += bytes(len(body) % 2) + old.encode().ljust(8, b"\0") + new.encode().ljust(8, b"\0")
    client.command(body)
    client.disconnect()


def both_changed(first, other):
    """A server whose file was changed while the others have changed theirs does not start, until a person has chosen."""
    other.kill(signal.SIGTERM)
    other.set("[server]\n", '[server]\nsmb-directory-leases = false\n')
    first.set("[server]\n", '[server]\nlink-check-interval = "3 s"\n')
    is_equal(first.run("cluster", "settings", "give"), 0)
    try:
        other.start()
        raise AssertionError("it has started")
    except RuntimeError:
        pass
    is_equal(other.process.wait(10), 2)
    told = [word for word in ("server.link-check-interval", "server.smb-directory-leases", "settings take") if word not in log(other)]
    is_equal(told, [])
    code, said = other.say("cluster", "settings", "take")
    is_equal((code, "previous" in said), (0, True))
    other.start()


class Pool:
    """A file system with snapshots, in a file."""

    def __init__(self, folder, uid):
        self.place, image = os.path.join(folder, "pool"), os.path.join(folder, "pool.img")
        os.mkdir(self.place)
        with open(image, "wb") as file:
            file.truncate(256 << 20)
        subprocess.run(["mkfs.btrfs", "-q", image], check=True, capture_output=True)
        subprocess.run(["mount", "-o", "loop", image, self.place], check=True, capture_output=True)
        os.chown(self.place, uid, uid)

    def remove(self):
        subprocess.run(["umount", "-l", self.place], check=True, capture_output=True)

    def snapshots(self, kind="hourly"):
        own = os.path.join(self.place, ".fourfold-snapshots")
        return sorted(name for name in os.listdir(own) if name.startswith(kind)) if os.path.isdir(own) else []

    def age(self):
        """The snapshots were taken two hours earlier."""
        table = os.path.join(self.place, ".fourfold-snapshots", ".table")
        with open(table) as file:
            text = file.read()
        earlier = re.sub(r"created = (\d+)", lambda found: f"created = {int(found[1]) - 7200 * 10**9}", text)
        with open(table, "w") as file:
            file.write(earlier)


def tells_of_backups(etcd):
    """Whether a server has told the others that a client writes to a backup."""
    found = etcd.ask("/v3/kv/range", key=base64(b"fourfold/"), range_end=base64(b"fourfold0"))
    return any(b"/backups/" in b64decode(pair["key"]) for pair in found.get("kvs", []))


class Backup:
    """A client that writes to a backup of Time Machine at the server that does not keep the schedules."""

    def __init__(self, first, other, pool, uid, etcd):
        self.gateways, self.pool = (first, other), pool
        is_keeper = lambda gateway: "this server keeps the schedules" in log(gateway)
        until(WITHIN, "a server keeps the schedules", lambda: is_keeper(first) or is_keeper(other))
        bands = os.path.join(pool.place, "Mac.sparsebundle", "bands")
        os.makedirs(bands)
        os.chown(bands, uid, uid)
        self.client = (other if is_keeper(first) else first).smb(share="backups")
        self.file = self.client.open("Mac.sparsebundle\\bands\\0", smb.BOTH, disposition=smb.OPEN_IF)
        self.client.write(self.file, 0, b"x")
        until(WITHIN, "the server tells of the backup", lambda: tells_of_backups(etcd))
        time.sleep(1.3)  # the other server looks four times a second

    def end(self):
        """No snapshot was taken during the session."""
        is_equal(self.pool.snapshots("time-machine"), [])
        self.client.close(self.file)
        self.client.disconnect()

    def look(self):
        """There is one after it."""
        for gateway in self.gateways:
            gateway.process.send_signal(signal.SIGHUP)  # all look at once
        until(WITHIN, "the snapshot after the session", lambda: len(self.pool.snapshots("time-machine")) == 1)


def schedules(first, other, pool):
    """A schedule gives one set of snapshots, also when the server that keeps it is killed."""
    try:
        add(first, SCHEDULED.format(pool=pool.place))
        until(WITHIN, "the first snapshot", lambda: pool.snapshots() == ["hourly.0"])
        taken = lambda: [gateway for gateway in (first, other) for _ in re.findall("snapshot taken .*hourly", log(gateway))]
        until(WITHIN, "the server says so", taken)
        [keeper] = taken()
        other = other if keeper is first else first
        pool.age()
        keeper.kill()
        took = until(TAKEOVER, "the next snapshot", lambda: pool.snapshots() == ["hourly.0", "hourly.1"])
        until(WITHIN, "the other server says so", lambda: taken().count(other) == 1)
        keeper.start()
        for gateway in (first, other):
            gateway.process.send_signal(signal.SIGHUP)  # all look at once
        time.sleep(1.0)
        is_equal((pool.snapshots(), len(taken())), (["hourly.0", "hourly.1"], 2))
        return took
    finally:
        for gateway in (first, other):
            if gateway.process.poll() is None:
                gateway.kill(signal.SIGTERM)


def add_and_remove(first, other):
    """A server that `cluster add` has made is a member; one that is removed is not known any more."""
    folder, issuer = os.path.join(first.folder, "gate-new"), os.path.join(first.folder, "ca.key")
    words = ["cluster", "add", "gate-new", "--listen", "127.0.1.98:7420", "--ca-key", issuer, "--out", folder, "--json"]
    code, said = first.say(*words)
    is_equal((code, sorted(os.listdir(folder))), (0, ["cluster-ca.pem", "fourfold.toml", "gate-new.key", "gate-new.pem"]))
    new = type(first).__new__(type(first))
    new.__dict__.update(other.__dict__, name="gate-new", settings=os.path.join(folder, "fourfold.toml"),
                        state=os.path.join(folder, "state"), process=None)
    new.smb_port, new.afp_port, new.nfs_port = 0, 0, 0
    new.start()
    is_equal(first.status()["gate-new"], "member")
    code, said = first.say("cluster", "remove", "gate-new")
    is_equal((code, "drained, and removed" in said), (0, True))
    is_equal(new.process.wait(10), 0)
    is_equal(first.run("cluster", "remove", "gate-new"), 1)


def check(options, certificates, log_file):
    etcd, pool = Etcd(certificates, log_file, "127.0.0.2"), Pool(options.folder, options.uid)
    gateways = [Gateway(options, f"-once{number}", etcd) for number in (1, 2)]
    try:
        for gateway in gateways:
            with open(gateway.settings, "a") as file:
                file.write(BACKUPS.format(pool=pool.place))
            certificates.make(gateway.name)
            gateway.start()
        backup = Backup(*gateways, pool, options.uid, etcd)
        for part in (accounts, settings):
            measured(part, *gateways)
        backup.end()
        measured(add_and_remove, *gateways)
        backup.look()
        measured(both_changed, *gateways)
        measured(schedules, *gateways, pool)
    finally:
        etcd.kill()
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.kill()
                gateway.process.wait()
        pool.remove()


def measured(part, *arguments):
    begun = time.monotonic()
    took = part(*arguments)
    more = f", {took:.1f} s until it was elsewhere" if took else ""
    print(f"once, {part.__name__}: {time.monotonic() - begun:.1f} s{more}", file=sys.stderr, flush=True)
