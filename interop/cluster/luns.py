"""LUNs on servers of a cluster, in a folder or, with `--ceph`, in CephFS: initiators at a virtual address, and at addresses of both
servers, while the server that serves the LUN is killed, stopped and woken."""

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

from initiator import Initiator, Refused
from scene import is_equal, stop
from spaces import Apart, Bridge, end, etcd_at

VIRTUAL = "10.77.5.50"
FENCED = 75
TAKEOVER = 30.0  # seconds, on a busy machine: the 5 to 6 s of a virtual address, and the pause of libiscsi between two attempts
SHARE = """
[[share]]
name = "disks"
{place}
guests = true
smb = false
afp = false
nfs = false

[[share.lun]]
name = "set"
size = "1 MiB"
address = "{virtual}"
"""
STANDBY = "2 04/0b"
MOVING = "2 04/0a"
CHANGED = "2a/06"
PREEMPTED = "2a/05"
CONFLICT = "status 18"
SUITE = ("SCSI.PrinReadKeys", "SCSI.PrinServiceactionRange", "SCSI.PrinReportCapabilities", "SCSI.ProutRegister", "SCSI.ProutReserve", "SCSI.Inquiry")


def refused(wanted, call, *arguments):
    try:
        call(*arguments)
    except Refused as error:
        return is_equal(str(error), wanted)
    raise AssertionError(f"is done, not {wanted}")


def tool(*words):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    if done.returncode:
        raise AssertionError(f"{words[0]}: {done.stdout[-600:]}")
    return done.stdout


def listed(portal, lun):
    """The name of the target of a LUN, by SendTargets; and its addresses, with their portal groups."""
    try:
        shown = tool("iscsi-ls", f"iscsi://{portal}:3260")
    except AssertionError:
        return None, []
    found = re.findall(rf"Target:(\S+:disks\.{lun}) Portal:(\S+)", shown)
    return found[0][0] if found else None, sorted(address for _, address in found)


def within(limit, looks):
    """How long it takes until this is true."""
    begun = time.monotonic()
    while not looks():
        if time.monotonic() - begun > limit:
            raise AssertionError(f"not within {limit} s")
        time.sleep(0.1)
    return time.monotonic() - begun


def place_of_disks(options):
    """The settings of the share with the LUNs, whose folder is made."""
    os.mkdir(os.path.join(options.local, "disks"), 0o700)
    conf = getattr(options, "conf", None)
    return 'store = "cephfs:fs1"\npath = "/disks"' if conf else f'path = "{options.folder}/disks"'


def check(options, certificates, log):
    with servers(options, certificates, log) as gateways:
        fail_over(*gateways)


@contextmanager
def servers(options, certificates, log):
    """Two servers with the share of the LUNs, which are running."""
    bridge = Bridge(5)
    etcd = etcd_at(bridge, certificates, log)
    place = place_of_disks(options)
    gateways = [Apart(options, number, etcd, bridge, f'cluster-addresses = ["{VIRTUAL}/24@eth0"]\n') for number in (1, 2)]
    try:
        for gateway in gateways:
            gateway.iscsi_port = 3260
            with open(gateway.settings, "a") as file:
                file.write(SHARE.format(place=place, virtual=VIRTUAL))
            certificates.make(gateway.name)
            gateway.start()
        yield gateways
    finally:
        end(bridge, etcd, gateways)


def fail_over(first, other):
    says(other, "lun", "create", "disks/one", "16M", "disks/one: made")
    within(20, lambda: all(listed(portal, lun)[0] for portal in (VIRTUAL, other.own) for lun in ("one", "set")))
    target, portals = listed(VIRTUAL, "one")
    is_equal(portals, [f"{VIRTUAL}:3260,1"])
    for gateway in (first, other):
        is_equal(listed(gateway.own, "one"), (target, [f"{first.own}:3260,2", f"{other.own}:3260,3"]))
    suite(target)

    ada = Initiator("ada", VIRTUAL, target)
    beside = [Initiator(gateway.name, gateway.own, target) for gateway in (first, other)]
    is_equal(ada.settle(), (["29/00"], None))
    is_equal([initiator.settle()[1] for initiator in beside], [None, STANDBY])
    is_equal([initiator.groups() for initiator in beside], [{1: 0, 2: 0, 3: 2}] * 2)
    is_equal({initiator.page(0x83)[:12] for initiator in (ada, *beside)}, {ada.page(0x83)[:12]})  # the NAA identifier
    is_equal([initiator.page(0x83)[44:48][-1] for initiator in (ada, *beside)], [1, 2, 3])
    refused(STANDBY, beside[1].write, 0, b"s" * 512)
    is_equal(ada.command([0x1A, 8, 8, 0, 255, 0], reads=255)[6] & 4, 0)  # WCE of the caching page

    ada.write(0, b"acknowledged".ljust(512, b"."))
    ada.reserve_out(6, 0, 0, 0xADA)  # REGISTER AND IGNORE EXISTING KEY
    is_equal(beside[1].reserve_in(0), (0xADA).to_bytes(8, "big"))
    paths = registered_over_all_paths(ada, first, other, target)
    says(other, "lun", "resize", "disks/one", "17M", f"the server {first.name} of the cluster serves disks/one now; do it there")

    first.kill()
    begun = time.monotonic()
    registers_while_the_server_is_lost(paths[1])
    is_equal(beside[1].settle(), ([CHANGED], None))
    reserved_at_the_next_server(paths[1], beside[1])
    ada.write(8, b"after the loss".ljust(512, b"."))
    killed = time.monotonic() - begun
    is_equal(ada.read(0)[:12], b"acknowledged")
    is_equal(ada.reserve_in(0), (0xADA).to_bytes(8, "big"))
    # The initiator port that has registered. libiscsi connects again with another ISID, which is another port.
    ada = Initiator("ada", VIRTUAL, target)
    ada.reserve_out(1, 1, 0xADA, 0)  # RESERVE, write exclusive
    ada.write(0, b"acknowledged, too".ljust(512, b"."))
    refused(CONFLICT, beside[1].write, 0, b"x" * 512)
    if killed > TAKEOVER:
        raise AssertionError(f"the session went on after {killed:.1f} s")

    first.start()
    within(20, lambda: beside[1].groups() == {1: 0, 2: 2, 3: 0})
    stop(other.process)
    begun = time.monotonic()
    again = within(TAKEOVER, lambda: written(target, b"by the next one".ljust(512, b".")))
    other.process.send_signal(signal.SIGCONT)
    is_equal(other.process.wait(10), FENCED)
    ada = Initiator("ada", VIRTUAL, target)
    is_equal((ada.read(0)[:17], ada.read(16)[:15]), (b"acknowledged, too", b"by the next one"))
    is_equal(ada.reserve_in(0), (0xADA).to_bytes(8, "big"))
    bob = Initiator("bob", VIRTUAL, target)
    refused(CONFLICT, bob.write, 0, b"x" * 512)
    ada.reserve_out(3, 0, 0xADA, 0)  # CLEAR
    bob.write(0, b"x" * 512)
    print(f"a session went on after {killed:.1f} s (kill -9), a new one after {again:.1f} s (SIGSTOP)", file=sys.stderr, flush=True)
    other.start()
    says(first, "lun", "resize", "disks/one", "17M", "disks/one: has 17 MiB")
    is_equal(bob.settle()[0][-1:], ["2a/09"])


def registered_over_all_paths(ada, first, other, target):
    """As dm-multipath and MPIO do it: one initiator port registers at each target port, one of which is in standby."""
    active, standby = paths = [Initiator("carol", gateway.own, target) for gateway in (first, other)]
    active.settle()
    standby.reserve_out(0, 0, 0, 0xCA)  # REGISTER
    is_equal(active.registrants(), [("ada", 1, 0xADA, False), ("carol", 3, 0xCA, False)])
    refused(CONFLICT, standby.reserve_out, 0, 0, 0xBAD, 0xCB)
    refused(CONFLICT, active.reserve_out, 1, 5, 0xCA, 0)  # that path is not registered
    active.reserve_out(0, 0, 0, 0xCA)
    standby.reserve_out(1, 5, 0xCA, 0)  # RESERVE, write exclusive, registrants only
    active.write(24, b"of a registrant".ljust(512, b"."))
    # Those that are preempted are told, wherever their sessions are.
    dave = Initiator("dave", other.own, target)
    dave.settle()
    dave.reserve_out(0, 0, 0, 0xDA)
    ada.reserve_out(4, 5, 0xADA, 0xDA)  # PREEMPT
    within(5, lambda: PREEMPTED in dave.settle()[0])
    for path in paths:
        is_equal(path.registrants(), [("ada", 1, 0xADA, False), ("carol", 2, 0xCA, False), ("carol", 3, 0xCA, True)])
    dave.close()
    return paths


def registers_while_the_server_is_lost(path):
    """The command waits for the next server, which is this one."""
    begun = time.monotonic()
    while True:
        try:
            path.reserve_out(6, 0, 0, 0xCA)
            break
        except Refused as error:
            if str(error) not in (MOVING, STANDBY) or time.monotonic() - begun > TAKEOVER:
                raise
    print(f"PERSISTENT RESERVE OUT was answered {time.monotonic() - begun:.1f} s after kill -9", file=sys.stderr, flush=True)


def reserved_at_the_next_server(path, stranger):
    is_equal(path.registrants(), [("ada", 1, 0xADA, False), ("carol", 2, 0xCA, False), ("carol", 3, 0xCA, True)])
    path.write(24, b"after the loss".ljust(512, b"."))
    refused(CONFLICT, stranger.write, 24, b"x" * 512)
    path.reserve_out(4, 5, 0xCA, 0xCA)  # PREEMPT: its registration at the lost server goes
    path.reserve_out(0, 0, 0xCA, 0)  # and this one, with the reservation
    is_equal(path.registrants(), [("ada", 1, 0xADA, False)])


def written(target, data):
    """Whether a new session writes it: the virtual address may be at no server yet."""
    try:
        ada = Initiator("ada", VIRTUAL, target, timeout=3)
        ada.write(16, data)
        ada.close()
        return True
    except Refused:
        return False


def says(gateway, *words):
    *command, wanted = words
    said = gateway.say(*command)[1]
    if wanted not in said:
        raise AssertionError(f"{command} says {said!r}, not {wanted!r}")


def suite(target):
    """Tests of libiscsi's suite, at the virtual address."""
    for name in SUITE:
        tool("iscsi-test-cu", "--dataloss", "-t", name, f"iscsi://{VIRTUAL}:3260/{target}/0")
