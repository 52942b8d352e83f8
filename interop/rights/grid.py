"""Plays people with roles in one folder by all ways, and compares what each can do with the grid of roles.py.

Three parts. Deeds: one person does one thing to what another has made. Keeping: one person makes or spoils a file in a way that brings modes
and ACLs along, and then everyone reads, edits, lists and adds. Mounts: what the administrator of an NFS client needs. Each observation is a cell. Prints "pass NAME" or "fail NAME: WHY" for each
person and way, and counts."""

import argparse
import collections
import itertools
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))

import makings  # noqa: E402
import posix_acl  # noqa: E402
import roles  # noqa: E402
import stage  # noqa: E402
from way_afp import Afp  # noqa: E402
from way_kernel import KernelCifs, KernelNfs3, KernelNfs4  # noqa: E402
from way_local import Local  # noqa: E402
from way_nfs3 import Nfs3  # noqa: E402
from way_nfs4 import Nfs4  # noqa: E402
from way_smb import Smb  # noqa: E402

WAYS = {"smb": Smb, "nfs3": Nfs3, "nfs4": Nfs4, "afp": Afp, "local": Local, "kernel-cifs": KernelCifs, "kernel-nfs3": KernelNfs3,
        "kernel-nfs4": KernelNfs4}
MAKERS = ["ada", "carl"]
FOLDERS = ["deeds", "elsewhere", "keeping"]
CANNOT = "the way cannot"


class Grid:
    def __init__(self, place, ways, full, verbose=False, is_peer=False):
        self.place, self.ways, self.full, self.verbose, self.is_peer = place, ways, full, verbose, is_peer
        self.people = stage.people()
        self.sessions = stage.Sessions(place, {way: WAYS[way] for way in ways}, self.people)
        self.numbers = itertools.count(1)
        self.turns = {}
        self.cells, self.surprises = collections.Counter(), collections.defaultdict(list)

    def next_way(self, key):
        """The ways in turns."""
        self.turns[key] = self.turns.get(key, -1) + 1
        return self.ways[self.turns[key] % len(self.ways)]

    def making_way(self, maker):
        """The ways in turns by which this person can make something. POSIX cannot say what contributors and drop boxes may."""
        way = self.next_way(maker)
        is_excused = self.people[maker].role in ("contributor", "drop") and not self.is_peer
        return self.next_way(maker) if way == "local" and is_excused and len(self.ways) > 1 else way

    def note(self, part, who, way, what, wanted, got, said):
        key = f"{part}: {who} by {way}"
        self.cells[key] += 1
        if wanted is not None:
            says = {True: "can", False: "cannot", None: "fails"}
            self.surprises[key].append(f"{what}: expected {says[wanted]}, got {says[got]} ({said})")

    def prepare(self):
        """Folders that an owner makes, or, where another server is compared, an administrator."""
        if self.is_peer:
            for name in FOLDERS:
                posix_acl.prepare(self.place.disk(name), self.people.values(), stage.STUDIO)
            return
        olga = self.sessions("olga", self.ways[0])
        for name in FOLDERS:
            olga.make_folder(name)

    # Deeds.

    def deeds(self):
        for way in self.ways:
            for person in self.people.values():
                for maker in dict.fromkeys([person.name, "ada", "carl"]):
                    if maker == person.name and person.role in ("none", "reader"):
                        continue
                    self.deeds_of(person, way, maker)

    def deeds_of(self, person, way, maker):
        place = "top" if maker == "dora" else "inside"
        for kind, deeds in ((False, stage.ON_FILES), (True, stage.ON_FOLDERS)):
            for deed, act in deeds.items():
                number = next(self.numbers)
                path = self.target(maker, kind, deed, number)
                if path is None:
                    self.note("deeds", person.name, way, f"{deed} on {maker}'s", True, None, "its target could not be made")
                    continue
                self.deed(person, way, maker, deed, act, path, place, number)

    def target(self, maker, is_folder, deed, number):
        """What is acted on, made by its maker by one of the ways."""
        top = "" if maker == "dora" else "deeds/"
        path, maker_session = f"{top}{'folder' if is_folder else 'file'}-{number}", self.sessions(maker, self.making_way(maker))
        try:
            if not is_folder:
                maker_session.make(path)
                return path
            maker_session.make_folder(path)
            if deed == "list":
                maker_session.make(f"{path}/inside")
            return path
        except Exception as error:  # noqa: BLE001: told by the caller
            print(f"{maker} cannot make {path}: {type(error).__name__}: {error}", file=sys.stderr)
            return None

    def deed(self, person, way, maker, deed, act, path, place, number):
        session = self.sessions(person.name, way)
        if deed == "move in":
            # The file that is moved is the person's own, if it can have one.
            own = person.name if person.role in ("owner", "editor", "contributor") else "ada"
            made, why = stage.attempt(self.sessions(own, self.making_way(own)).make, f"elsewhere/source-{number}")
            if not made:
                return self.note("deeds", person.name, way, f"{deed} to {maker}'s", True, None, f"its source could not be made: {why}")
        got, said = stage.attempt(act, session, path, number)
        if said == CANNOT:
            return
        if deed == "list" and got and "inside" not in said:
            got, said = False, "it is empty"
        disk, is_own = self.place.disk(path), maker == person.name
        is_half_done = deed in roles.REMOVES_LAST and roles.expected(person.role, deed, is_own, place) is roles.EITHER
        if got is not None and not is_half_done and deed in stage.EFFECTS and self.shown(deed, disk, number) != got:
            got, said = None, f"{'it was said to be done' if got else 'it was refused: ' + str(said)}, but the disk shows otherwise"
        where = f"{deed} on {'its own' if is_own else maker + chr(39) + 's'} ({path})"
        odd = got is None or roles.surprise(person.role, deed, is_own, place, way, got)
        wanted = roles.expected(person.role, deed, is_own, place)
        self.note("deeds", person.name, way, where, (not got if got is not None else bool(wanted)) if odd else None, got, said)

    def shown(self, deed, disk, number):
        try:
            return stage.EFFECTS[deed](disk, number)
        except OSError:
            return False

    # Keeping.

    def keeping(self):
        for maker, way in itertools.product(MAKERS, self.ways):
            for is_folder, table in ((False, makings.FILES), (True, makings.FOLDERS)):
                for name, making in table.items():
                    self.kept(maker, way, name, making, is_folder)

    def kept(self, maker, way, name, making, is_folder):
        number = next(self.numbers)
        path = f"keeping/{name.replace(' ', '-')}-{number}"
        got, said = stage.attempt(making, self.sessions(maker, way), path, number)
        if said == CANNOT:
            return
        what = f"{name} by {maker} by {way}"
        allowed = roles.expected(self.people[maker].role, "make", True, "inside")
        if got is not True:
            excused = way == "local" and self.people[maker].role == "contributor"
            self.note("keeping", maker, way, f"{what} ({path})", None if excused else allowed, got, said)
            return
        self.note("keeping", maker, way, what, None, got, said)
        for person in self.people.values():
            for by in self.probing_ways(person.name):
                for deed in ("list", "make") if is_folder else ("read", "edit"):
                    self.probe(person, by, deed, path, maker, what, way == "local" and name in makings.SETS_MODES)

    def probing_ways(self, name):
        return self.ways if self.full else [self.next_way(f"probe {name}")]

    def probe(self, person, way, deed, path, maker, what, is_mode_local):
        session, is_own = self.sessions(person.name, way), maker == person.name
        number = next(self.numbers)
        if deed == "make":
            got, said = stage.attempt(session.make, f"{path}/by-{number}")
        else:
            got, said = stage.attempt(getattr(session, deed), path)
        odd = got is None or roles.surprise(person.role, deed, is_own, "inside", way, got)
        if odd and got is False and way == "local" and is_mode_local:
            odd = False
        wanted = roles.expected(person.role, deed, is_own, "inside")
        self.note("keeping", person.name, way, f"{deed} after {what} ({path})", wanted if odd else None, got, said)

    # Mounts.

    def mounts(self):
        """The administrator of an NFS client mounts the folder for its users, and is nobody in it."""
        path = self.target("ada", False, "read", next(self.numbers))
        for way in ("nfs3", "nfs4"):
            if way not in self.ways:
                continue
            entered, session = stage.attempt(WAYS[way], self.place, stage.Person("root", 0, "none"))
            self.note("mounts", "root", way, "mount", None if entered else True, entered, session)
            if not entered:
                continue
            for deed in ("read", "edit"):
                got, said = stage.attempt(getattr(session, deed), path)
                self.note("mounts", "root", way, f"{deed} {path}", None if got is False else False, got, said)

    def report(self, limit):
        total, odd = sum(self.cells.values()), sum(map(len, self.surprises.values()))
        for key in self.cells:
            found = self.surprises.get(key, [])
            print(f"fail {key}: {len(found)} of {self.cells[key]} cells: {found[0]}" if found else f"pass {key}")
            for line in found if self.verbose else found[:limit]:
                print(f"  {key}: {line}", file=sys.stderr)
        print(f"{total} cells, {total - odd} as expected, {odd} surprises")
        return odd


def main():
    parser = argparse.ArgumentParser()
    for name in ("--smb-port", "--afp-port", "--nfs-port", "--mount-port"):
        parser.add_argument(name, type=int, default=0)
    for name in ("--folder", "--share", "--password"):
        parser.add_argument(name, required=True)
    parser.add_argument("--ways", default="smb,nfs3,nfs4,afp,local")
    parser.add_argument("--parts", default="deeds,keeping,mounts")
    parser.add_argument("--guest", default="", help="HOST:PORT of kernel_worker.py, for the ways kernel-cifs, kernel-nfs3 and kernel-nfs4")
    parser.add_argument("--minor", type=int, default=2)
    parser.add_argument("--full", action="store_true", help="everyone by every way after each making, instead of the ways in turns")
    parser.add_argument("--peer", action="store_true", help="another server, over a folder that is prepared with ACLs of POSIX")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    place = stage.Place(args.folder, args.share, args.password, args.smb_port, args.afp_port, args.nfs_port, args.mount_port or args.nfs_port,
                        args.minor, args.guest)
    if args.peer:
        posix_acl.prepare(args.folder, stage.people().values(), stage.STUDIO)
    began = time.monotonic()
    grid = Grid(place, args.ways.split(","), args.full, args.verbose, args.peer)
    grid.prepare()
    for part in args.parts.split(","):
        getattr(grid, part)()
        print(f"{part}: {time.monotonic() - began:.1f} s", file=sys.stderr)
    grid.report(3)
    sys.stdout.flush()
    os._exit(0)  # sessions have threads


if __name__ == "__main__":
    main()
