"""Every pair of clients on one file: what one holds, and what the other may then do. Each cell of expected.toml is an outcome:
a line "pass NAME" or "fail NAME: is X, not Y". With --list, what happens is printed in the form of expected.toml."""

import argparse
import os
import queue
import signal
import sys
import threading
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor

import local_client
import scene as scenes
import smb_client as smb
from scene import CLIENTS, HOLDERS, OPERATIONS, said

PENDING = 0.04  # how long an operation must not end to count as one that waits
HANGS = 20.0
# Beside what these hold, a client of AFP over AppleTalk does what one over TCP does, with the same outcomes.
BESIDE_ASP = ("smb denies writing", "smb denies reading", "smb denies all", "nfs3 denies writing", "nfs4 denies all", "smb locks", "smb locks shared",
              "nfs3 locks", "nfs4 locks", "smb lease RWH", "nfs4 delegation to read")
NAMES, SIZES = 0x3, 0x18  # filters of MS-SMB2 2.2.35: names of files and folders; size and last write


def beside(scene, holder, client, operation, file):
    """What the operation says beside what the holder has, and what the holder is told meanwhile."""
    with HOLDERS[holder](scene.a, file) as cache:
        if cache is None:
            return said(OPERATIONS[client][operation], scene.b, file)
        is_late = client == "local" and operation in ("rename", "remove", "chmod")  # the host tells of these afterwards
        return with_cache(scene, cache, OPERATIONS[client][operation], file, is_late)


def with_cache(scene, cache, operation, file, is_late):
    """ "waits X": the operation goes on when the holder has come down to X; "tells X": it does not wait for that."""
    running, told = scene.pool.submit(said, operation, scene.b, file), []
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        # After the end: what the holder is told comes before the answer, but by another connection.
        has_ended = running.done()
        notice = cache.next_break(0.02 if not has_ended else 0.3 if is_late else 0.03 if told else 0.12)
        if notice is None:
            if has_ended:
                break
            continue
        left, wants_answer = notice
        is_waiting = False
        if wants_answer:
            try:
                running.result(PENDING)
            except TimeoutError:
                is_waiting = True
            cache.acknowledge()
        told.append(f"{'waits' if is_waiting else 'tells'} {left}")
    else:
        return ", ".join(told + ["hangs"])
    outcome = running.result()
    return ", ".join(told + [outcome] if outcome != "done" or not told else told)


class Notices:
    """What watchers of the folder are told of an operation on a file of it, with the file's names as x and y."""

    def __init__(self, scene):
        self.scene = scene

    def _names(self, file, events):
        names = {file.name: "x", file.new: "y"}
        found = []
        for what, name in events:
            if name in names and (text := f"{what} {names[name]}") not in found:
                found.append(text)
        return ", ".join(found) or "nothing"

    def smb(self, file, operation, client):
        watched = smb.Watched(self.scene.a.smb, "", SIZES if operation == "write" else NAMES)
        time.sleep(0.02)  # the server has the request
        outcome = said(OPERATIONS[client][operation], self.scene.b, file)
        events = self._until_quiet(lambda timeout: [watched.told.get(timeout=timeout)])
        watched.end()
        return self._names(file, events) if outcome == "done" else outcome

    def local(self, file, operation, client):
        watched = local_client.Watched(self.scene.folder)
        outcome = said(OPERATIONS[client][operation], self.scene.b, file)
        events = self._until_quiet(watched.next)
        watched.end()
        return self._names(file, events) if outcome == "done" else outcome

    def _until_quiet(self, more):
        events, timeout = [], 2.0
        while True:
            try:
                found = more(timeout)
            except queue.Empty:
                found = []
            if not found:
                return events
            events += found
            timeout = 0.15

    def afp(self, file, operation, client):
        """The server says once a second at most that the volume has changed: attention 0x3001."""
        attentions = self.scene.a.afp.attentions
        self._until_quiet(lambda _: [attentions.get(timeout=1.5)])
        outcome = said(OPERATIONS[client][operation], self.scene.b, file)
        try:
            attention = hex(attentions.get(timeout=4))
        except queue.Empty:
            attention = "nothing"
        return attention if outcome == "done" else outcome


def outcome(scene, holder, client, operation):
    what, _, watches = holder.partition(" watches")
    resource = holder.endswith(", resource fork")
    if not watches and what == holder:
        held = holder.removesuffix(", resource fork")
        held = held.partition(", deny-modes")[0]
        file = scene.file(resource)
        if operation in ("remove", "silly"):
            scene.keep(file)
        try:
            return beside(scene, held, client, operation, file)
        except Exception as error:  # it could not be held, or was not there any more
            return f"{type(error).__name__} {error}"[:200]
    file = scene.new()
    if operation != "create":
        scene.fill(file)
        time.sleep(0.1)  # its making is told before
    return getattr(Notices(scene), what)(file, operation, client)


def share_of(holder):
    """Cells that others would disturb, and those of shares with another setting, have a share of their own."""
    if holder == "afp watches":
        return "quiet"
    return {"silly-rename": "silly", "data-only": "data"}.get(holder.partition("deny-modes ")[2], "share")


def over_asp(table):
    """The rows of a Mac over AppleTalk: what it holds and what it may do is the same as over TCP."""
    plain = {holder: rows for holder, rows in table.items() if holder.startswith("afp ") and not any(part in holder for part in ("deny-modes", "watches"))}
    found = {f"asp {holder.removeprefix('afp ')}": rows | {"asp": rows["afp"]} for holder, rows in plain.items()}
    for holder in BESIDE_ASP:
        if "afp" in table.get(holder, {}):
            found[holder] = {"asp": table[holder]["afp"]}
    return found


def groups(table):
    """The rows that one thread plays, one after another."""
    found = {}
    for holder, rows in table.items():
        share = share_of(holder)
        kind = "watches" if "watches" in holder else next((k for k in ("locks", "local lease", "lease", "oplock", "delegation") if k in holder), "opens")
        for client, row in rows.items():
            found.setdefault((share, kind), []).append((holder, client, row))
    return found


def main():
    parser = argparse.ArgumentParser()
    for name in ("--smb-port", "--afp-port", "--nfs-port", "--uid"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--folder", "--user", "--password", "--nfs3", "--expected"):
        parser.add_argument(name, required=True)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--tag", default="", help="names of files begin with it: those of an earlier run stay")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--asp", nargs=3, metavar=("PROGRAM", "LINK", "NAME"), help="the bridge to a server over AppleTalk, and where it finds that server")
    parser.add_argument("--other", nargs=3, type=int, metavar=("SMB", "AFP", "NFS"), help="the ports of a second server, which the other clients use")
    options = parser.parse_args()
    signal.pthread_sigmask(signal.SIG_BLOCK, [local_client.LEASE_SIGNAL])
    with open(options.expected, "rb") as file:
        table = {name: rows for name, rows in tomllib.load(file).items() if isinstance(rows, dict)}
    asp = over_asp(table) if options.asp else {}
    is_meant = lambda holder: not options.only or any(part in holder for part in options.only)
    table, asp = ({name: rows for name, rows in rows.items() if is_meant(name)} for rows in (table, asp))
    if options.other:  # what local programs hold binds the clients of a server only if it is the only one
        table = {holder: {client: row for client, row in rows.items() if client != "local"}
                 for holder, rows in table.items() if not holder.startswith("local ")}
    place, results, one = scenes.Place(options), {}, threading.Lock()

    def play(share, kind, rows):
        scene = scenes.Scene(place, share, f"{options.tag}{kind.replace(' ', '-')}-")
        scene.pool = ThreadPoolExecutor(2)
        for holder, client, row in rows:
            for operation, wanted in row.items():
                name = f"{holder}, {client} {operation}"
                got = outcome(scene, holder, client, operation)
                if got != wanted and not options.list:
                    # Once more: on a busy machine a notice may come late.
                    print(f"{name}: is {got!r} at first", file=sys.stderr, flush=True)
                    time.sleep(0.5)
                    got = outcome(scene, holder, client, operation)
                with one:
                    results.setdefault(holder, {}).setdefault(client, {})[operation] = got
                    if not options.list:
                        print(f"pass {name}" if got == wanted else f"fail {name}: is {got!r}, not {wanted!r}", flush=True)

    def guarded(*arguments):
        begun = time.monotonic()
        try:
            play(*arguments)
        except Exception as error:
            print(f"{arguments[0]} {arguments[1]}: {type(error).__name__} {error}", file=sys.stderr, flush=True)
            failed.append(arguments)
        print(f"{arguments[0]} {arguments[1]}: {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)

    failed = []
    parts = groups(table)
    if asp:
        parts["share", "asp"] = [(holder, client, row) for holder, rows in asp.items() for client, row in rows.items()]
    threads = [threading.Thread(target=guarded, args=(*key, rows)) for key, rows in parts.items()]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    if options.list:
        for holder in table | asp:
            print(f'["{holder}"]')
            for client, row in results.get(holder, {}).items():
                print(f"{client} = {{ {', '.join(f'{op} = {chr(34)}{got}{chr(34)}' for op, got in row.items())} }}")
    sys.stdout.flush()
    os._exit(1 if failed else 0)  # receivers of connections may still wait


main()
