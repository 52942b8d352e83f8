"""Clients of SMB, NFS and AFP on shares of a Ceph cluster, and what happens to them when parts of the cluster fail.
Prints "pass NAME" and "fail NAME: WHY". The server is started by this script: its command line follows `--`."""

import argparse
import datetime
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
import traceback

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "coherence"))
import afp
import nfs3
import smb_client as smb
from cluster import Client, Cluster, free_port

QUOTA = 16 << 20
LARGE = 300_000  # a fork that no extended attribute can hold
OTHER = 61202  # a user without an account
SETTINGS = """
[server]
bonjour = "off"
grace-period = 1
nfs-versions = ["3"]
afp-logins = ["dhx2", "cleartext"]
ceph-conf = "{conf}"
[[share]]
name = "share"
store = "cephfs:fs1"
path = "/share"
[[share]]
name = "small"
store = "cephfs:fs1"
path = "/small"
quota = {quota}
[[share]]
name = "local"
path = "{folder}/local"
"""


def is_equal(found, wanted):
    if found != wanted:
        raise AssertionError(f"is {found!r:.200}, not {wanted!r:.200}")


def refused(call, *arguments):
    """The status with which a call is refused."""
    try:
        call(*arguments)
    except (afp.Refused, nfs3.Refused, smb.Refused) as error:
        return str(error)
    return "done"


class Server:
    def __init__(self, options, words):
        self.options, self.words, self.process = options, words, None

    def start(self):
        self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=self.options.log)
        said, end = b"", time.monotonic() + 30
        while b"ready\n" not in said:
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError(f"the server is not ready: {said!r}")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise RuntimeError(f"the server has ended: {said!r}")
            said += more

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(30)
        self.process.stdout.close()


class Checks:
    def __init__(self, options, cluster, server):
        self.options, self.cluster, self.server = options, cluster, server
        self.beside = Client(cluster.conf)

    def smb(self, share="share"):
        return smb.Client(self.options.smb_port, share, self.options.user, self.options.password)

    def nfs(self, share="share", uid=None):
        return nfs3.Client(self.options.nfs3, self.options.nfs_port, share, uid or self.options.uid)

    def afp(self, share="share"):
        return afp.Client(self.options.afp_port, share, self.options.user, self.options.password)

    def fourfold(self, *words):
        program, config = self.server.words[0], self.server.words[self.server.words.index("--config") + 1]
        state = self.server.words[self.server.words.index("--state") + 1]
        done = subprocess.run([program, *words, "--config", config, "--state", state], capture_output=True, text=True, timeout=30)
        if done.returncode:
            raise AssertionError(f"{words}: {done.stderr.strip()}")
        return done.stdout

    def put(self, name, data, share="share"):
        client = self.smb(share)
        file = client.open(name, smb.BOTH, disposition=smb.OPEN_IF)
        client.write(file, 0, data)
        client.flush(file)
        client.close(file)
        client.disconnect()

    def get(self, name, share="share", length=1 << 16):
        client = self.smb(share)
        file = client.open(name, smb.READ)
        data = client.read(file, 0, length)
        client.close(file)
        client.disconnect()
        return data

    def data_is_the_same_for_all_protocols_and_for_other_clients(self):
        self.put("data", b"by smb")
        nfs = self.nfs()
        is_equal(nfs.read("data", 0, 100), b"by smb")
        nfs.write("data", 3, b"nfs")
        mac = self.afp()
        fork = mac.open("data", 1)
        is_equal(mac.read(fork, 0, 6), b"by nfs")
        is_equal(self.beside.read("/share/data"), b"by nfs")
        self.beside.write("/share/beside", b"by another client")
        is_equal(self.get("beside"), b"by another client")
        is_equal(nfs.read("beside", 0, 100), b"by another client")

    def forks_of_any_length_belong_to_their_file(self):
        self.put("fork", b"data")
        mac, fork = self.afp(), os.urandom(LARGE)
        number = mac.open("fork", 3, resource=True)
        for at in range(0, LARGE, 60_000):
            mac.write(number, at, fork[at:at + 60_000])
        mac.close(number)
        client = self.smb()
        file = client.open("fork:AFP_Resource", smb.READ)
        is_equal(b"".join(client.read(file, at, 60_000) for at in range(0, LARGE, 60_000)), fork)
        client.close(file)
        file = client.open("fork", smb.BOTH | smb.DELETE)
        client.rename(file, "moved")
        client.close(file)
        file = client.open("moved:AFP_Resource", smb.READ)
        is_equal(client.read(file, LARGE - 100, 100), fork[-100:])

    def names_of_all_kinds_are_found(self):
        for name in ("Grüße", "日本語", "long " + "n" * 240, "n\u0303"):
            self.put(name, name.encode())
            is_equal(self.get(name), name.encode())
        is_equal(self.get("GRÜSSE".replace("SS", "ß")), "Grüße".encode())
        is_equal(refused(self.get, ".snap"), "OBJECT_NAME_NOT_FOUND")

    def a_lock_binds_the_other_protocols(self):
        self.put("locked", b"0123456789")
        client = self.smb()
        file = client.open("locked", smb.BOTH)
        client.lock(file, 0, 10, True)
        nfs = self.nfs()
        is_equal(refused(nfs.lock, 1, "locked", 0, 10, True), "DENIED")
        client.unlock(file, 0, 10)
        is_equal(refused(nfs.lock, 1, "locked", 0, 10, True), "done")

    def the_cluster_checks_the_permissions_of_users(self):
        self.put("secret", b"secret")
        self.beside.give("/share/secret", OTHER, 0o600)
        is_equal(refused(self.get, "secret"), "ACCESS_DENIED")
        is_equal(refused(self.nfs().read, "secret", 0, 10), "ACCES")
        is_equal(self.nfs(uid=OTHER).read("secret", 0, 10), b"secret")
        self.beside.mkdir("/share/theirs", OTHER, 0o755)
        is_equal(refused(self.put, "theirs\\new", b"x"), "ACCESS_DENIED")
        self.beside.give("/share/theirs", self.options.uid, 0o755)
        is_equal(refused(self.put, "theirs\\new", b"x"), "done")
        is_equal(refused(self.nfs(uid=OTHER).create, "in-the-root"), "ACCES")

    def snapshots_are_made_listed_seen_and_removed(self):
        self.put("kept", b"before")
        self.fourfold("snapshot", "create", "share@one")
        self.put("kept", b"after!")
        listed = json.loads(self.fourfold("snapshot", "list", "share", "--json"))
        is_equal([one["name"] for one in listed], ["one"])
        is_equal(self.get(".snapshot\\one\\kept"), b"before")
        port = self.options.nfs_port
        url = f"nfs://127.0.0.1/share/.snapshot/one/kept?nfsport={port}&mountport={port}&uid={self.options.uid}"
        is_equal(subprocess.run(["nfs-cat", url], capture_output=True, timeout=20).stdout, b"before")
        taken = datetime.datetime.fromisoformat(listed[0]["created"]).astimezone(datetime.timezone.utc)
        token = taken.strftime("@GMT-%Y.%m.%d-%H.%M.%S")
        is_equal(self.get(f"{token}\\kept"), b"before")
        is_equal(self.beside.read("/share/.snap/one/kept"), b"before")
        is_equal(refused(self.put, ".snapshot\\one\\kept", b"x"), "ACCESS_DENIED")
        self.fourfold("snapshot", "hold", "tag", "share@one")
        try:
            self.fourfold("snapshot", "remove", "share@one")
            raise RuntimeError("a held snapshot was removed")
        except AssertionError:
            self.fourfold("snapshot", "release", "tag", "share@one")
        self.fourfold("snapshot", "remove", "share@one")
        is_equal(refused(self.get, ".snapshot\\one\\kept"), "OBJECT_PATH_NOT_FOUND")
        is_equal(self.get("kept"), b"after!")

    def the_cluster_keeps_the_quota(self):
        is_equal(int(self.beside.xattr("/small", "ceph.quota.max_bytes")), QUOTA)
        client, piece, written = self.smb("small"), bytes(1 << 20), 0
        file = client.open("big", smb.BOTH, disposition=smb.OPEN_IF)
        status = "done"
        while status == "done" and written < 3 * QUOTA:
            status = refused(client.write, file, written, piece, True)
            written += len(piece)
        if status not in ("DISK_FULL", "QUOTA_EXCEEDED") or written > 2 * QUOTA:
            raise AssertionError(f"{status} after {written} bytes")

    def handles_stay_good_and_nothing_is_lost_over_a_kill(self):
        nfs = self.nfs()
        nfs.create("stays")
        nfs.write("stays", 0, b"stable")
        before = nfs.handle("stays")
        self.server.end(signal.SIGKILL)
        begun = time.monotonic()
        self.server.start()
        nfs = self.nfs()
        is_equal(nfs.handle("stays"), before)
        is_equal(nfs.read("stays", 0, 10), b"stable")
        nfs.write("stays", 0, b"STABLE")
        if time.monotonic() - begun > 10:
            raise AssertionError(f"took {time.monotonic() - begun:.1f} s")

    def what_is_written_reaches_the_cluster_before_the_server_ends(self):
        client = self.smb()
        file = client.open("unflushed", smb.BOTH, disposition=smb.OPEN_IF)
        client.write(file, 0, b"not flushed")
        self.server.end()
        is_equal(self.beside.read("/share/unflushed"), b"not flushed")
        self.server.start()

    def nothing_acknowledged_is_lost_when_the_mds_is_killed(self):
        acknowledged, errors, ending = [], [], threading.Event()

        def write(number):
            try:
                nfs, count = self.nfs(), 0
                while not ending.is_set():
                    name = f"load-{number}-{count}"
                    nfs.create(name)
                    nfs.write(name, 0, name.encode())
                    acknowledged.append(name)
                    count += 1
            except Exception as error:  # pylint: disable=broad-except
                errors.append(error)

        threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
        [thread.start() for thread in threads]
        time.sleep(1)
        before = len(acknowledged)
        self.cluster.signal("mds.a", signal.SIGKILL)
        time.sleep(0.2)
        self.cluster.start_mds()
        end = time.monotonic() + 40
        while len(acknowledged) < before + 50 and time.monotonic() < end and not errors:
            time.sleep(0.1)
        after = len(acknowledged)
        ending.set()
        [thread.join(30) for thread in threads]
        if errors or before == 0 or after < before + 50:
            raise AssertionError(f"{before} files before, {after} after; {errors}")
        for name in acknowledged:
            is_equal(self.beside.read(f"/share/{name}"), name.encode())

    def a_stalled_osd_does_not_stop_other_shares(self):
        self.put("before", b"x" * 100, "local")
        nfs, local, other = self.nfs(), self.nfs("local"), self.smb("local")
        file = other.open("before", smb.READ)
        nfs.create("stalls")
        self.cluster.signal("osd.0", signal.SIGSTOP)
        try:
            waiting = []
            for number in range(6):
                def write(client=self.nfs(), at=number):
                    client.write("stalls", at, b"x")
                waiting.append(threading.Thread(target=write))
            [thread.start() for thread in waiting]
            time.sleep(1)
            slowest = 0.0
            for number in range(40):
                begun = time.monotonic()
                local.create(f"new-{number}")
                local.write(f"new-{number}", 0, b"data")
                is_equal(other.read(file, 0, 100), b"x" * 100)
                slowest = max(slowest, time.monotonic() - begun)
            is_equal([thread.is_alive() for thread in waiting], [True] * 6)
        finally:
            self.cluster.signal("osd.0", signal.SIGCONT)
        [thread.join(20) for thread in waiting]
        is_equal([thread.is_alive() for thread in waiting], [False] * 6)
        is_equal(nfs.read("stalls", 0, 10), b"xxxxxx")
        if slowest > 1:
            raise AssertionError(f"an operation on another share took {slowest:.2f} s")

    def a_server_on_ceph_fuse_sees_at_once_what_another_changes(self):
        top = os.path.join(self.options.folder, "fuse")
        os.mkdir(top)
        subprocess.run(["ceph-fuse", "-c", self.cluster.conf, "-n", "client.admin", "--client-fs", "fs1", top],
                       check=True, capture_output=True, timeout=30)
        try:
            self.between_two_servers(top)
        finally:
            subprocess.run(["umount", "-l", top], check=False)

    def between_two_servers(self, top):
        config, state = (os.path.join(self.options.folder, f"second{end}") for end in (".toml", ""))
        own = self.server.words[self.server.words.index("--state") + 1]
        shutil.copytree(own, state, ignore=shutil.ignore_patterns("*.sock"))  # for the account
        with open(config, "w") as file:
            file.write('[server]\nbonjour = "off"\ngrace-period = 1\nnfs-versions = ["3"]\n'
                       f'[[share]]\nname = "share"\npath = "{top}/share"\nshared = true\n')
        ports = {name: free_port() for name in ("smb", "nfs")}
        second = Server(self.options, [self.server.words[0], "serve", "--config", config, "--state", state, "--listen", "127.0.0.1", "--nfs-clients", "all",
                                       "--iscsi-port", "off", "--portmap-port", "off", "--afp-port", "off",
                                       "--smb-port", str(ports["smb"]), "--nfs-port", str(ports["nfs"])])
        second.start()
        try:
            there = smb.Client(ports["smb"], "share", self.options.user, self.options.password)
            nfs = nfs3.Client(self.options.nfs3, ports["nfs"], "share", self.options.uid)
            self.beside.mkdir("/share/many", self.options.uid)
            for number in range(40):  # a listing of so many entries is kept where no other server changes it
                self.put(f"many\\{number}", b"one")
            names = lambda: {entry["file_name"].get_value().decode("utf-16-le") for entry in there.list("many")} - {".", ".."}
            is_equal(len(names()), 40)
            self.put("many\\new", b"one")
            is_equal("new" in names(), True)
            here = self.smb()
            file = here.open("many\\new", smb.BOTH | smb.DELETE)
            here.rename(file, "many\\renamed")
            here.close(file)
            is_equal({"new", "renamed"} & names(), {"renamed"})
            self.put("changes", b"short")
            is_equal(nfs.read("changes", 0, 100), b"short")
            self.put("changes", b"and longer")
            is_equal(nfs.read("changes", 0, 100), b"and longer")
            nfs.write("changes", 0, b"AND")
            is_equal(self.get("changes"), b"AND longer")
            file = there.open("changes", smb.BOTH | smb.DELETE)
            is_equal(refused(there.rename, file, "many", False), "OBJECT_NAME_COLLISION")
            is_equal(refused(there.rename, file, "renamed there", False), "done")
            is_equal(self.get("renamed there"), b"AND longer")
        finally:
            second.end()

    def run(self, only):
        for name, check in vars(Checks).items():
            shown = name.replace("_", " ")
            if not hasattr(check, "__call__") or name.count("_") < 4 or name.startswith("__"):
                continue
            if only and not any(part in shown for part in only):
                continue
            begun = time.monotonic()
            try:
                check(self)
                print(f"pass {shown}", flush=True)
            except Exception as error:  # pylint: disable=broad-except
                print(f"fail {shown}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
                traceback.print_exc()
            print(f"{shown}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--folder", "--nfs3", "--user", "--password"):
        parser.add_argument(name, required=True)
    for name in ("--uid", "--smb-port", "--afp-port", "--nfs-port"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--conformance", nargs="*", default=[], help="tests to run over the file system: name=program[=filter]")
    parser.add_argument("server", nargs="+")
    options = parser.parse_args()
    options.log = open(os.path.join(options.folder, "server.log"), "w")
    begun = time.monotonic()
    cluster = Cluster(os.path.join(options.folder, "cluster"))
    server = Server(options, options.server)
    try:
        print(f"the cluster: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        with open(options.server[options.server.index("--config") + 1], "w") as file:
            file.write(SETTINGS.format(conf=cluster.conf, quota=f'"{QUOTA >> 20} MiB"', folder=options.folder))
        checks = Checks(options, cluster, server)
        for name in ("/share", "/small"):
            checks.beside.mkdir(name, options.uid, 0o755)
        server.start()
        checks.run(options.only)
        server.end()
        checks.beside.unmount()
        conformance(options, cluster)
    finally:
        cluster.stop()
        if server.process and server.process.poll() is None:
            server.process.kill()


def conformance(options, cluster):
    """The tests of opens of the crate vfs, which run in memory and on the host as well."""
    for one in options.conformance:
        name, *command = one.split("=")
        env = {**os.environ, "FOURFOLD_TEST_CEPH_CONF": cluster.conf}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)
        failed = [line.split()[1] for line in done.stdout.splitlines() if line.endswith("... FAILED")]
        if done.returncode:
            print(f"fail conformance: {name}: {' '.join(failed)} {done.stderr[-300:]}".replace("\n", " "), flush=True)
        else:
            print(f"pass conformance of {name}", flush=True)


main()
