"""Persistent handles whose CREATE waits for the successor of its server, or is repeated there (MS-SMB2 3.3.5.9.10)."""

import signal
import sys
import threading
import time
import uuid

from scene import is_equal, smb, stop

TAKEOVER = 25.0  # seconds, on a busy machine
FENCED = 75


def opened(client, name, number, **more):
    """A persistent open without a lease. A server that does not know yet that another one is there gives none."""
    for _ in range(100):
        file = client.durable(name, None, number, persistent=True, **more)
        if file.is_persistent:
            return file
        client.close(file)
        time.sleep(0.05)
    raise AssertionError("the open is not persistent")


def a_create_waits_for_the_successor(first, other, has_more):
    """`other` is stopped. The CREATE is answered when it is lost, and the next server has the open; without one it is not persistent."""
    client, made = first.smb(share="continuous"), []
    client.close(opened(client, "waits for it", uuid.uuid4().bytes, share=0))
    stop(other.process)
    try:
        begun = time.monotonic()
        creating = threading.Thread(
            target=lambda: made.append(client.durable("waits for it", None, uuid.uuid4().bytes, share=0, persistent=True)), daemon=True)
        creating.start()
        creating.join(1.5)
        is_equal((creating.is_alive(), [file.is_persistent for file in made]), (True, []))
        creating.join(TAKEOVER)
        print(f"a CREATE waited {time.monotonic() - begun:.1f} s for its successor", file=sys.stderr, flush=True)
        is_equal([file.is_persistent for file in made], [has_more])
        client.close(made[0])
    finally:
        other.process.send_signal(signal.SIGCONT)
    is_equal(other.process.wait(10), FENCED)
    other.start()


def a_repeated_create_gets_its_open_at_the_successor(first, other):
    """The server is killed right after CREATE. The client, which has no answer, repeats it: one that makes a file, and one that may open it."""
    client, numbers = first.smb(share="continuous"), [uuid.uuid4().bytes, uuid.uuid4().bytes]
    wanted = [("made", dict(share=0, disposition=smb.CREATE)), ("opened", dict(share=smb.SHARE_ALL, disposition=smb.OPEN_IF))]
    client.close(opened(client, "known", uuid.uuid4().bytes, share=0))
    files = [client.durable(name, None, number, persistent=True, **more) for (name, more), number in zip(wanted, numbers)]
    is_equal([file.is_persistent for file in files], [True, True])
    first.kill()
    begun, moved = time.monotonic(), other.smb(client.guid, "continuous")
    for (name, more), number, file in zip(wanted, numbers, files):
        with smb.repeating():
            again = moved.durable(name, None, number, persistent=True, **more)
        is_equal((again.is_persistent, again.file_id[:8]), (True, file.file_id[:8]))  # the lasting part of the id: 2.2.14.1
        moved.write(again, 0, b"goes on")
        is_equal(moved.read(again, 0, 10), b"goes on")
        moved.close(again)
    print(f"repeated CREATEs were answered after {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
    beside = other.smb(share="continuous")
    for name, _ in wanted:
        beside.close(beside.open(name, smb.BOTH, share=0))  # nothing else of the client is left
    first.start()
