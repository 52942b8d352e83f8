"""Several servers of one tree: etcd and the servers are started by this script, which then runs the matrix of
interop/coherence with the two clients at different servers, and kills and stops servers and etcd. Prints "pass NAME" and
"fail NAME: WHY"."""

import argparse
import glob
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
import uuid

import addresses
import described
import folders
import ids
import luns
import model
import multipath
import once
import over_ceph
import partitions
import persistent as handles
import quotas
import scale
import torture
import trust
import witness
from scene import COHERENCE, SHARES, Certificates, Etcd, Gateway, Trio, is_equal, nfs3, opened_within, smb, stop

import nfs4
import rpc

TAKEOVER = 25.0  # seconds: a lease of 5 s, the time in which etcd sees its end, and the work of the others; on a busy machine
FENCED = 75  # the exit code of a server that lost its membership


def is_refused(wanted, call, *arguments):
    try:
        call(*arguments)
    except (nfs3.Refused, nfs4.Refused, smb.Refused) as error:
        return is_equal(str(error), wanted)
    raise AssertionError(f"is done, not {wanted}")


def read_by_handle(gateway, uid, handle, length):
    """READ of NFSv3 (RFC 1813 3.3.6) at this server."""
    connection = rpc.Connection(gateway.nfs_port, 100003, 3, uid)
    found = connection.call(6, rpc.Writer().opaque(handle).u64(0).u32(length).bytes())
    is_equal(found.u32(), 0)
    found.fixed(84 * found.u32())  # post_op_attr
    found.u32(), found.u32()
    connection.close()
    return found.opaque()


def refused_within(limit, status, call, *arguments):
    """A call is refused with this in the end, and with SHARING_VIOLATION before."""
    end = time.monotonic() + limit
    while True:
        try:
            call(*arguments)
            raise AssertionError(f"it is not refused with {status}")
        except smb.Refused as error:
            if str(error) == status:
                return
            if str(error) != "SHARING_VIOLATION" or time.monotonic() > end:
                raise
        time.sleep(0.05)


def granted_within(limit, call, *arguments):
    """How long it takes until a client of NFSv4 gets something for which it has to wait for the end of the grace period."""
    begun = time.monotonic()
    while True:
        try:
            call(*arguments)
            return time.monotonic() - begun
        except nfs4.Refused as error:
            if str(error) not in ("GRACE", "DELAY") or time.monotonic() - begun > limit:
                raise
        time.sleep(0.1)


def reclaimed_within(limit, client, handle):
    """How long it takes until a client of a lost server may open a file as before."""
    begun = time.monotonic()
    while True:
        try:
            client.reclaim(handle, nfs4.READ)
            return time.monotonic() - begun
        except nfs4.Refused as error:
            if str(error) not in ("NO_GRACE", "DELAY") or time.monotonic() - begun > limit:
                raise
        time.sleep(0.1)


class Intruder(threading.Thread):
    """A client that tries to open a file all the time, and notes what it is answered."""

    def __init__(self, client, name):
        super().__init__(daemon=True)
        self.client, self.name, self.answers, self.is_over = client, name, [], threading.Event()
        self.start()

    def run(self):
        while not self.is_over.wait(0.02):
            try:
                self.client.open(self.name, smb.WRITE)
                self.answers.append("done")
            except smb.Refused as error:
                self.answers.append(str(error))

    def end(self):
        self.is_over.set()
        self.join(15)
        return self.answers


class Checks:
    """In this order: each leaves all servers running."""

    def a_client_of_a_lost_server_reclaims_at_another_one(self):
        uid = self.options.uid
        known = nfs4.Client(self.other.nfs_port, "share", uid, "known")
        known.close(*known.open("settled", nfs4.BOTH, create=True)[:2])
        moved = nfs4.Client(self.first.nfs_port, "share", uid, "moved")
        state, handle, _ = moved.open("reclaimed", nfs4.BOTH, nfs4.WRITE, create=True)
        moved.write(handle, 0, b"before", state=state)
        moved.lock(handle, state, 0, 10, True)
        self.first.kill()
        moved = nfs4.Client(self.other.nfs_port, "share", uid, "moved", reclaims=True)
        took = reclaimed_within(TAKEOVER, moved, handle)
        # Others wait for that file, and only for files that clients of the lost server may have used.
        is_refused("GRACE", known.open, "reclaimed", nfs4.READ)
        known.close(*known.open("settled", nfs4.BOTH)[:2])
        known.close(*known.open("new", nfs4.BOTH, create=True)[:2])
        is_refused("NO_GRACE", known.reclaim, handle, nfs4.READ)
        state = moved.reclaim(handle, nfs4.BOTH, nfs4.WRITE)
        moved.lock(handle, state, 0, 10, True, reclaim=True)
        is_equal(moved.read(handle, 0, 10, state=state), b"before")
        moved.reclaim_complete()
        # It was the only one: the grace period ends before its time.
        waited = granted_within(5, known.open, "reclaimed", nfs4.READ)
        print(f"reclaimed after {took:.1f} s, others got it {waited:.1f} s later", file=sys.stderr, flush=True)
        is_refused("SHARE_DENIED", known.open, "reclaimed", nfs4.WRITE)
        self.first.start()

    def __init__(self, options, etcd, gateways, certificates, log):
        self.options, self.etcd, self.gateways = options, etcd, gateways
        self.certificates, self.log = certificates, log
        self.first, self.other = gateways[0], gateways[1]

    def all_servers_are_members(self):
        is_equal(self.other.status(), {gateway.name: "member" for gateway in self.gateways})

    def a_handle_that_one_server_gave_is_valid_at_the_others(self):
        uid = self.options.uid
        names = [nfs4.Client(gateway.nfs_port, "share", uid, gateway.name) for gateway in self.gateways]
        for version, handle in (("3", self._made_by_nfs3), ("4", self._made_by_nfs4)):
            given = handle(f"moves-{version}")
            for gateway, client in zip(self.gateways, names):
                is_equal(client.handle(f"moves-{version}"), given)
                is_equal(client.read(given, 0, 100), b"at any server")
                is_equal(read_by_handle(gateway, uid, given, 100), b"at any server")
        # Another server, and so another client id; but its clients can reclaim there: RFC 8881 2.10.4.
        owners = [client.server_owner for client in names]
        is_equal(len(set(owners)), len(owners))
        is_equal(len({client.server_scope for client in names}), 1)

    def _made_by_nfs3(self, name):
        client = self.first.nfs()
        client.create(name)
        client.write(name, 0, b"at any server")
        return client.handle(name)

    def _made_by_nfs4(self, name):
        client = nfs4.Client(self.first.nfs_port, "share", self.options.uid, "mover")
        state, handle, _ = client.open(name, nfs4.BOTH, create=True)
        client.write(handle, 0, b"at any server", state=state)
        client.close(state, handle)
        return handle

    def a_killed_server_loses_nothing_acknowledged_and_its_denials_end(self):
        nfs, here, there = self.first.nfs(), self.first.smb(), self.other.smb()
        nfs.create("stable")
        nfs.write("stable", 0, b"stable by nfs")
        file = here.open("denied", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        here.write(file, 0, b"through by smb", through=True)
        is_refused("SHARING_VIOLATION", there.open, "denied", smb.BOTH)
        kept = there.open("kept", smb.BOTH, disposition=smb.OPEN_IF)
        there.lock(kept, 0, 10, True)
        self.first.kill()
        took = opened_within(there, "denied", TAKEOVER)
        print(f"took over after {took:.1f} s", file=sys.stderr, flush=True)
        beside = self.other.nfs()
        is_equal(beside.read("stable", 0, 100), b"stable by nfs")
        is_equal(beside.read("denied", 0, 100), b"through by smb")
        self.first.start()
        again = self.first.smb()
        file = again.open("kept", smb.BOTH)
        is_refused("LOCK_NOT_GRANTED", again.lock, file, 5, 1, True)
        there.close(kept)
        again.lock(file, 5, 1, True)

    def a_stopped_server_answers_nothing_when_it_wakes(self):
        here, there = self.first.smb(), self.other.smb()
        file = here.open("stopped", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        here.write(file, 0, b"before")
        stop(self.first.process)
        took = opened_within(there, "stopped", TAKEOVER)
        print(f"took over after {took:.1f} s", file=sys.stderr, flush=True)
        now = there.open("stopped", smb.BOTH, share=0)
        there.write(now, 0, b"after!", through=True)
        self.first.process.send_signal(signal.SIGCONT)
        is_equal(self.first.process.wait(10), FENCED)
        try:
            here.read(file, 0, 6)
        except Exception:  # the library has several for a lost connection
            pass
        else:
            raise AssertionError("a server that was stopped has answered")
        is_equal(there.read(now, 0, 6), b"after!")
        there.close(now)
        self.first.start()

    def a_server_that_stops_in_order_is_taken_over_at_once(self):
        here, there = self.first.smb(), self.other.smb()
        here.open("ordered", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        is_refused("SHARING_VIOLATION", there.open, "ordered", smb.BOTH)
        is_equal(self.first.kill(signal.SIGTERM), 0)
        took = opened_within(there, "ordered", 2.0)
        print(f"took over after {took:.1f} s", file=sys.stderr, flush=True)
        self.first.start()

    def a_folder_with_something_open_at_another_server_stays(self):
        folders.check(self.first, self.other)

    def virtual_addresses_move_to_a_survivor(self):
        addresses.check(self.options, self.certificates, self.log)

    def a_witness_tells_clients_of_a_lost_server(self):
        witness.check(self.options, self.certificates, self.log)

    def accounts_settings_and_schedules_are_once(self):
        once.check(self.options, self.certificates, self.log)

    def a_lun_goes_on_at_another_server(self):
        luns.check(self.options, self.certificates, self.log)

    def partitions_lose_nothing_and_give_no_right_twice(self):
        partitions.check(self.options, self.certificates, self.log)

    def successor(self, gateway):
        """The server that takes over its durable opens: the next one by number."""
        numbers = {row["name"]: row["number"] for row in gateway.rows()}
        after = lambda other: (numbers[other.name] < numbers[gateway.name], numbers[other.name])
        return min((other for other in self.gateways if other is not gateway), key=after)

    def a_durable_handle_goes_on_at_another_server(self):
        """MS-SMB2 3.3.5.9.12, after the loss of the server, and then after the order to stop."""
        taker, number = self.successor(self.first), uuid.uuid4().bytes
        there, here = taker.smb(), self.first.smb()
        file = here.durable("durable", smb.READ_HANDLE, number)
        here.write(file, 0, b"before")
        here.lock(file, 0, 10, True)
        yields = here.durable("yields", smb.READ_HANDLE, bytes(16), share=0)
        here.write(yields, 0, b"through", through=True)
        beside = there.open("durable", smb.BOTH)
        self.first.kill()
        begun = time.monotonic()
        is_equal(there.read(there.open("yields", smb.READ), 0, 100), b"through")  # a durable handle yields, without an error
        is_refused("FILE_LOCK_CONFLICT", there.read, beside, 0, 6)
        moved = taker.smb(here.guid)
        file = moved.durable("durable", smb.READ_HANDLE, number, again=file)
        print(f"a durable handle went on after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        is_refused("OBJECT_NAME_NOT_FOUND", moved.durable, "yields", smb.READ_HANDLE, bytes(16), yields)
        is_refused("FILE_LOCK_CONFLICT", there.read, beside, 0, 6)
        moved.write(file, 0, b"after!")
        self.first.start()
        last = self.successor(taker)
        beside = last.smb().open("durable", smb.BOTH)
        is_equal(last.run("cluster", "drain", taker.name), 0)
        is_equal(taker.process.wait(10), 0)
        back = last.smb(here.guid)
        file = back.durable("durable", smb.READ_HANDLE, number, again=file)
        is_equal(back.read(file, 0, 10), b"after!")
        third = last.smb()
        mine = third.open("durable", smb.BOTH)
        is_refused("FILE_LOCK_CONFLICT", third.read, mine, 0, 6)
        back.unlock(file, 0, 10)
        is_equal(third.read(mine, 0, 6), b"after!")
        taker.start()

    def a_persistent_handle_goes_on_without_a_lease(self):
        """MS-SMB2 3.3.5.9.10 and 3.3.5.9.12: nothing gives way to others meanwhile."""
        here, number, last = self.first.smb(share="continuous"), uuid.uuid4().bytes, uuid.uuid4().bytes
        taker = self.successor(self.first)
        there, name = taker.smb(share="continuous"), "persistent"
        file = handles.opened(here, name, number, share=smb.SHARE_READ)
        here.write(file, 0, b"before")
        here.lock(file, 0, 10, True)
        beside = there.open(name, smb.READ)
        intruder = Intruder(taker.smb(share="continuous"), name)
        at_once = handles.opened(here, "at once", last, share=0)
        self.first.kill()  # the successor has the handle when the client has it
        begun = time.monotonic()
        moved = taker.smb(here.guid, "continuous")
        is_refused("OBJECT_NAME_NOT_FOUND", moved.durable, name, None, number, file)
        for other in self.gateways[1:]:
            is_refused("FILE_NOT_AVAILABLE", other.smb(share="continuous").open, name, smb.READ)
        file = moved.durable(name, None, number, file, persistent=True)
        print(f"a persistent handle went on after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
        at_once = moved.durable("at once", None, last, at_once, persistent=True)
        moved.write(at_once, 0, b"goes on")
        is_equal(moved.read(file, 0, 10), b"before")
        is_refused("FILE_LOCK_CONFLICT", there.read, beside, 0, 6)
        answers = intruder.end()
        is_equal(set(answers) - {"SHARING_VIOLATION", "FILE_NOT_AVAILABLE"}, set())
        is_equal({"SHARING_VIOLATION", "FILE_NOT_AVAILABLE"} - set(answers), set())
        is_refused("SHARING_VIOLATION", there.open, "at once", smb.READ)
        moved.unlock(file, 0, 10)
        is_equal(there.read(beside, 0, 6), b"before")
        moved.close(file)
        there.close(there.open(name, smb.WRITE))
        moved.close(at_once)
        self.first.start()

    def a_persistent_handle_survives_its_connection(self):
        """MS-SMB2 3.3.7.1 and 3.3.5.9: at the same server. Meanwhile all servers refuse the file for the same reason."""
        here, number = self.first.smb(share="continuous"), uuid.uuid4().bytes
        file = handles.opened(here, "waits", number, share=0)
        here.write(file, 0, b"before")
        there, beside = self.other.smb(share="continuous"), self.first.smb(share="continuous")
        is_refused("SHARING_VIOLATION", there.open, "waits", smb.READ)  # the state of the file is at the other server now
        here.disconnect()
        refused_within(10, "FILE_NOT_AVAILABLE", there.open, "waits", smb.READ)  # when the first one has seen it
        for client in (beside, there):
            is_refused("FILE_NOT_AVAILABLE", client.open, "waits", smb.READ)
        back = self.first.smb(here.guid, "continuous")
        file = back.durable("waits", None, number, file, persistent=True)
        is_equal(back.read(file, 0, 10), b"before")
        back.close(file)
        there.close(there.open("waits", smb.READ))

    def a_create_of_a_persistent_handle_waits_for_the_successor(self):
        handles.a_create_waits_for_the_successor(self.first, self.successor(self.first), len(self.gateways) > 2)

    def a_repeated_create_gets_its_open_at_the_successor(self):
        handles.a_repeated_create_gets_its_open_at_the_successor(self.first, self.successor(self.first))

    def smbtorture_has_persistent_handles(self):
        """The tests of crates/xtask/src/interop/smb/suites.rs that want a share that is continuously available."""
        for test in self.options.torture:
            words = ["smbtorture", "-s", self.options.smb_conf, "//127.0.0.1/continuous", "-p", str(self.first.smb_port),
                     "-U", f"{self.options.user}%{self.options.password}", "--fullname", test]
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
            why = " ".join(line for line in done.stdout.splitlines() if not line.startswith(("time:", "progress:")))
            print(f"pass {test}" if f"success: {test}" in done.stdout else f"fail {test}: {why}", flush=True)

    def a_drained_server_is_taken_over(self):
        there = self.other.smb()
        here = self.first.smb()
        file = here.open("drained", smb.BOTH, share=0, disposition=smb.OPEN_IF)
        here.write(file, 0, b"acknowledged", through=True)
        is_equal(self.other.run("cluster", "drain", self.first.name), 0)
        is_equal(self.first.process.wait(10), 0)
        took = opened_within(there, "drained", 2.0)
        print(f"took over after {took:.1f} s", file=sys.stderr, flush=True)
        is_equal(there.read(there.open("drained", smb.BOTH), 0, 100), b"acknowledged")
        is_equal(self.other.run("cluster", "drain", self.first.name), 1)  # it is not a member any more
        self.first.start()

    def files_have_the_same_ids_at_all_servers(self):
        ids.check(self.options, self.first, self.other)

    def changes_of_what_describes_a_file_are_not_lost(self):
        described.check(self.options, self.first, self.other, os.path.join(self.options.local, "share"))

    def a_quota_is_counted_by_all_servers_together(self):
        quotas.check(self.options, self.first, self.other)

    def etcd_and_a_server_show_each_other_certificates(self):
        trust.check(self.first, self.certificates)

    def without_etcd_all_servers_end(self):
        self.etcd.kill()
        for gateway in self.gateways:
            is_equal(gateway.process.wait(10), FENCED)
        self.etcd.start()
        for gateway in self.gateways:
            gateway.start()
        self.all_servers_are_members()

    def run(self, names):
        for name in names:
            tell(self.options, name, getattr(self, name))


def no_server_panicked(folder):
    """A request that panics loses its connection only, so other checks may not notice."""
    for path in glob.glob(os.path.join(folder, "**", "gate*.log"), recursive=True):
        with open(path, errors="replace") as file:
            panics = [line for line in file if " panicked at " in line]
            assert not panics, f"{path}: {panics[0].strip()}"


def is_wanted(options, name):
    return not options.only or any(part in name.replace("_", " ") for part in options.only)


def tell(options, name, check):
    """Runs a check, if it is wanted, and prints its outcome."""
    if not is_wanted(options, name):
        return
    begun, shown = time.monotonic(), name.replace("_", " ")
    try:
        check()
        print(f"pass {shown}", flush=True)
    except Exception as error:
        print(f"fail {shown}: {type(error).__name__}: {error}".replace("\n", " "), flush=True)
        traceback.print_exc()
    print(f"{shown}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


# Over a folder only: quotas, which CephFS keeps itself; the certificates of etcd, and what servers have once. Over CephFS, in each run: the rest of what a stopped server does.
NOT_OVER_CEPH = ["a_quota_is_counted_by_all_servers_together", "etcd_and_a_server_show_each_other_certificates", "accounts_settings_and_schedules_are_once"]


def matrix(options, here, there):
    """The matrix: what clients of one server hold, and clients of the other one do."""
    begun, tag = time.monotonic(), f"{here.name} beside {there.name}"
    words = [sys.executable, "-B", os.path.join(COHERENCE, "matrix.py"), "--expected", os.path.join(COHERENCE, "expected.toml"),
             "--folder", options.local, "--uid", options.uid, "--nfs3", options.nfs3, "--user", options.user,
             "--password", options.password, "--tag", f"{there.name}-", "--smb-port", here.smb_port, "--afp-port", here.afp_port, "--nfs-port", here.nfs_port,
             "--other", there.smb_port, there.afp_port, there.nfs_port]
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, text=True, timeout=900 if options.ceph else 150)
    for line in done.stdout.splitlines():
        what, _, rest = line.partition(" ")
        print(f"{what} {tag}, {rest}", flush=True)
    print(f"{'fail' if done.returncode else 'pass'} {tag}", flush=True)
    print(f"{tag}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser()
    for name in ("--folder", "--nfs3", "--user", "--password", "--program"):
        parser.add_argument(name, required=True)
    parser.add_argument("--uid", type=int, required=True)
    parser.add_argument("--gateways", type=int, default=2)
    parser.add_argument("--scale", action="store_true")
    parser.add_argument("--multipath", action="store_true", help="only servers for a virtual machine, which obey the standard input")
    parser.add_argument("--partitions", type=int, default=0)
    parser.add_argument("--grace", type=int, default=60)
    parser.add_argument("--ceph", action="store_true")
    parser.add_argument("--in-turns", action="store_true", help="only smbtorture, with its connections at two servers in turns")
    parser.add_argument("--model", metavar="PROGRAM")
    parser.add_argument("--seeds", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--torture", nargs="*", default=[])
    parser.add_argument("--smb-conf")
    options = parser.parse_args()
    certificates = Certificates(options.folder)
    log = open(os.path.join(options.folder, "etcd.log"), "w")
    place, options.local = None, options.folder
    if options.ceph:
        place = over_ceph.Place(options)
        options.conf, options.local = place.conf, place.mount(options.folder)
    else:
        for share in SHARES:
            os.mkdir(os.path.join(options.folder, share))
            os.chmod(os.path.join(options.folder, share), 0o777)
            os.chown(os.path.join(options.folder, share), options.uid, options.uid)
    etcd, gateways = None, []
    try:
        if options.multipath:
            return multipath.serve(options, certificates, log)
        etcd = Trio(certificates, log) if options.ceph else Etcd(certificates, log)
        if options.scale:
            return scale.measure(options, certificates, log)
        if options.in_turns:
            return torture.check(options, etcd, certificates, os.path.join(options.local, "share"))
        gateways = [Gateway(options, number, etcd) for number in range(1, options.gateways + 1)]
        run(options, (place, etcd, gateways), certificates, log)
        options.only = []  # whatever else was wanted
        tell(options, no_server_panicked.__name__, lambda: no_server_panicked(options.folder))
    finally:
        if etcd:
            etcd.kill()
        for gateway in gateways:
            if gateway.process and gateway.process.poll() is None:
                gateway.process.kill()
                gateway.process.wait()
        if place:
            place.end()


def run(options, scene, certificates, log):
    place, etcd, gateways = scene
    for gateway in gateways:
        certificates.make(gateway.name)
        gateway.start()
    checks, names = Checks(options, etcd, gateways, certificates, log), [name for name in vars(Checks) if name[0] != "_" and name not in ("run", "successor")]
    checks.run(names[:1])  # other clients of the first server would have to reclaim, too
    if not options.only or "matrix" in options.only:
        for other in gateways[1:]:
            matrix(options, gateways[0], other)
    if options.seeds:  # before servers are lost: for a grace period, clients of NFS would get nothing new
        tell(options, model.NAME, lambda: model.check(options, gateways))
    if place:
        checks.run([name for name in names[1:] if name not in NOT_OVER_CEPH])
        stored = over_ceph.Checks(place, etcd, gateways)
        for name in over_ceph.names():
            tell(options, name, getattr(stored, name))
    else:
        checks.run(names[1:])
    if not place and any(is_wanted(options, name) for name in over_ceph.names()):
        over_ceph.check(options, certificates, log, lambda name, call: tell(options, name, call))


main()
