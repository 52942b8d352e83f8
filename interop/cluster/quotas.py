"""A quota that the servers count: what is written at one server is in force at the other, and what is removed is free there, for
smbclient of Samba and libnfs; a server that is killed or joins leaves the sum right."""

import os
import re
import subprocess
import sys
import time

import nfs3
from scene import is_equal

SHARE, LIMIT, MIB = "limited", 8 << 20, 1 << 20
TOLD = 10.0  # seconds: 0.1 s, and what a busy machine needs
COUNTED = 45.0  # until a lost server is taken over, and all files are counted: a count that a join interrupts is repeated after 5 s
DQUOT = "69"  # NFS3ERR_DQUOT, RFC 1813 2.6
PIECE = 64 << 10  # the most that nfs3.c writes at a time


def smbclient(gateway, command):
    options = gateway.options
    words = ["smbclient", f"//127.0.0.1/{SHARE}", "-p", str(gateway.smb_port), "-U", f"{options.user}%{options.password}", "-s", "/dev/null", "-c", command]
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60).stdout


def free(gateway):
    """How much more fits, as a client sees it."""
    found = re.search(r"blocks of size (\d+)\. (\d+) blocks available", smbclient(gateway, "ls"))
    return int(found[1]) * int(found[2]) if found else None


def within(limit, wanted, gateway):
    begun = time.monotonic()
    while (found := free(gateway)) != wanted and time.monotonic() - begun < limit:
        time.sleep(0.05)
    is_equal(found, wanted)
    print(f"{gateway.name}: {wanted} bytes are free after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)


def write(client, name, size):
    """By NFS. How many bytes fit, and why no more do."""
    client.create(name)
    for offset in range(0, size, PIECE):
        try:
            client.write(name, offset, b"\x5a" * PIECE)
        except nfs3.Refused as error:
            return offset, str(error)
    return size, None


def check(options, first, other):
    local = os.path.join(options.folder, "five")
    with open(local, "wb") as file:
        file.write(b"\xa5" * 5 * MIB)
    there = nfs3.Client(options.nfs3, other.nfs_port, SHARE, options.uid)
    within(TOLD, LIMIT, other)

    # Reached by writes through the first server, in force at the other one.
    smbclient(first, f"put {local} one")
    within(TOLD, LIMIT - 5 * MIB, other)
    is_equal(write(there, "two", 4 * MIB), (3 * MIB, DQUOT))
    within(TOLD, 0, first)
    if "DISK_FULL" not in (said := smbclient(first, f"put {local} three")):
        raise AssertionError(f"a full quota does not refuse: {said!r}")
    smbclient(first, "del three")

    # A removal at one makes room at the other.
    smbclient(first, "del one")
    within(TOLD, 5 * MIB, other)
    is_equal(write(there, "four", 5 * MIB), (5 * MIB, None))
    there.remove("two")
    within(TOLD, 3 * MIB, first)

    there.remove("four")
    within(TOLD, LIMIT, first)
    if not options.only:
        return there.disconnect()

    # By hand, as it takes 20 s. A server that is killed takes nothing with it, and has the sum when it is back.
    write(there, "five", 2 * MIB)
    there.disconnect()
    other.kill()
    within(COUNTED, 6 * MIB, first)
    smbclient(first, f"put {local} six")
    other.start()
    within(COUNTED, MIB, other)
    smbclient(other, "del five; del six")
    within(TOLD, LIMIT, first)
