"""Folders that a client of SMB moves at one server, while clients of another one have something open inside them."""

import os
import signal
import sys
import threading
import time

from scene import COHERENCE, is_equal, smb, stop

sys.path.insert(0, COHERENCE)
import afp

LOST_WITHIN = 10.0  # seconds
FENCED = 75
FOLDER = 0x1  # FILE_DIRECTORY_FILE, MS-SMB2 2.2.13
MOVES = smb.READ | smb.DELETE


def is_denied(call, *arguments):
    try:
        call(*arguments)
    except smb.Refused as error:
        return is_equal(str(error), "ACCESS_DENIED")
    raise AssertionError("is moved, though something is open inside it")


def names(client):
    return {entry["file_name"].get_value().decode("utf-16-le") for entry in client.list("")}


def made(client, *folders):
    """Makes folders, each inside the one before, and opens the first one to move it."""
    for depth in range(1, len(folders) + 1):
        client.close(client.open("\\".join(folders[:depth]), smb.READ, disposition=smb.OPEN_IF, options=FOLDER))
    return client.open(folders[0], MOVES, options=FOLDER)


def check(first, other):
    """As one server does it: MS-FSA 2.1.5.15.11."""
    here, there = first.smb(), other.smb()
    folder = made(here, "moves", "deep")
    inside = there.open(r"moves\deep\file", smb.BOTH, disposition=smb.OPEN_IF)
    is_denied(here.rename, folder, "moved", False)
    # A file moves without a question, and so does a folder in which nothing is open.
    beside = here.open("beside", MOVES, disposition=smb.OPEN_IF)
    here.rename(beside, "moved beside", False)
    here.close(beside)
    there.close(inside)
    here.rename(folder, "moved", False)
    is_equal({"moves", "moved"} & names(there), {"moved"})
    closed_when_asked_for(here, there, folder)
    here.close(folder)
    others_move_it(first, other)
    a_stopped_server_is_waited_for(first, other)


def closed_when_asked_for(here, there, folder):
    """A client that has the file open only in its cache closes it: 3.3.4.7. While it does not, the move waits."""
    cached = there.open(r"moved\deep\file", smb.READ, lease=smb.READ_HANDLE)
    is_equal(cached.lease, smb.READ_HANDLE)
    told = []
    moving = threading.Thread(target=lambda: told.append(here.rename(folder, "moved-again", False)), daemon=True)
    moving.start()
    notice = there.next_break(5)
    is_equal((notice.to, told), ("R", []))
    there.close(cached)
    moving.join(10)
    is_equal(told, [None])


def others_move_it(first, other):
    """NFS and AFP move a folder with something open inside it. The open follows."""
    there = other.smb()
    inside = there.open(r"moved-again\deep\file", smb.BOTH)
    first.nfs().rename("moved-again", "by-nfs")
    mac = afp.Client(first.afp_port, "share", first.options.user, first.options.password)
    mac.rename("by-nfs", "by-afp")
    mac.disconnect()
    there.write(inside, 0, b"inside")
    there.close(inside)
    file = there.open(r"by-afp\deep\file", smb.READ)
    is_equal(there.read(file, 0, 6), b"inside")
    there.close(file)


def a_stopped_server_is_waited_for(first, other):
    """Until it is lost: what its clients had open does not count any more."""
    here, there = first.smb(), other.smb()
    there.open(r"by-afp\deep\file", smb.BOTH)
    folder, begun = here.open("by-afp", MOVES, options=FOLDER), time.monotonic()
    stop(other.process)
    here.rename(folder, "after-a-loss", False)
    took = time.monotonic() - begun
    print(f"a folder was moved {took:.1f} s after a server was stopped", file=sys.stderr, flush=True)
    other.process.send_signal(signal.SIGCONT)
    is_equal((other.process.wait(10), 2.0 < took < LOST_WITHIN), (FENCED, True))
    here.close(folder)
    other.start()
