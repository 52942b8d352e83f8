"""Random operations of random people by random ways in one team folder. After each, what was done must be what the roles say and what
the disk shows, some people are asked what they can do with a random file, and `fourfold rights check` must find nothing.

The model knows who has made what, and nothing else. Prints "pass NAME" or "fail NAME: WHY"; the seed repeats a run."""

import argparse
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../coherence"))

import roles  # noqa: E402
import stage  # noqa: E402
from grid import WAYS  # noqa: E402
from way import DATA, OLD  # noqa: E402

MODES = [0o600, 0o644, 0o664, 0o400, 0, 0o777, 0o700]
PROBES = 4
CHECK_LIMIT_S = 60
# A COMPOUND of NFSv4 has a LOOKUP for each part of a path, and a server may limit its operations (RFC 8881, section 18.36: ca_maxoperations).
DEEPEST = 10


class Walk:
    def __init__(self, args, place):
        self.args, self.place, self.rng = args, place, random.Random(args.seed)
        self.people = stage.people()
        self.ways = args.ways.split(",")
        self.sessions = stage.Sessions(place, {way: WAYS[way] for way in self.ways}, self.people)
        self.made = {}  # path -> (owner, whether it is a folder)
        self.steps, self.observed, self.odd = [], 0, []

    # Choices.

    def some(self, is_folder):
        return self.rng.choice([path for path, (_, folder) in self.made.items() if folder == is_folder] or [None])

    def parent(self):
        return self.rng.choice([""] + [path for path, (_, folder) in self.made.items() if folder and self.depth(path) < DEEPEST])

    def depth(self, path):
        return len(path.split("/"))

    def new(self, parent):
        return f"{parent}/n{len(self.steps)}".lstrip("/")

    def is_own(self, person, path):
        return path != "" and self.made[path][0] == person.name

    def inside(self, path):
        return "top" if "/" not in path else "inside"

    # Operations: each returns (what it is called, deed, path, whether it is the person's own, where, call, whether the disk shows it, what it changes in the model).

    def make(self, person, session, is_folder):
        parent = self.parent()
        path, mode = self.new(parent), self.rng.choice(MODES)
        where = "top" if parent == "" else "inside"
        if is_folder:
            call, deed, shows = lambda: session.make_folder(path, mode), "make folder", lambda: os.path.isdir(self.disk(path))
        else:
            # Only a local program's own mode would count.
            mode = 0o666 if session.programs else mode
            call, deed, shows = lambda: session.make(path, DATA, mode), "make", lambda: os.path.exists(self.disk(path))
        if is_folder and session.programs:
            call = lambda: session.make_folder(path, 0o777)  # noqa: E731
        return f"{deed} {path}", deed, path, self.is_own(person, parent), where, call, shows, {path: (person.name, is_folder)}

    def change(self, person, session, deed):
        path = self.some(False)
        if path is None:
            return None
        mode = self.rng.choice(MODES)
        calls = {"read": lambda: session.read(path), "edit": lambda: session.edit(path), "truncate": lambda: session.truncate(path, 5),
                 "chmod": lambda: session.chmod(path, mode), "utimes": lambda: session.utimes(path, OLD)}
        return f"{deed} {path}", deed, path, self.is_own(person, path), self.inside(path), calls[deed], None, {}

    def replace(self, person, session, how):
        path = self.some(False)
        if path is None:
            return None
        call = {"office save": stage.office, "photoshop save": stage.photoshop, "replace": stage.replace}[how]
        # A safe-save needs to add to the folder, and to remove what was there.
        return (f"{how} {path}", how, path, self.is_own(person, path), self.inside(path), lambda: call(session, path), None,
                {path: (person.name, False)})

    def delete(self, person, session):
        path = self.some(False)
        if path is None:
            return None
        return (f"delete {path}", "delete", path, self.is_own(person, path), self.inside(path), lambda: session.remove(path),
                lambda: not os.path.exists(self.disk(path)), {path: None})

    def move(self, person, session, is_folder):
        path, parent = self.some(is_folder), self.parent()
        if path is None or (parent + "/").startswith(path + "/"):
            return None
        below = max(self.depth(inner) for inner in self.made if (inner + "/").startswith(path + "/")) - self.depth(path)
        if (self.depth(parent) if parent else 0) + 1 + below > DEEPEST:
            return None
        new, old_parent = self.new(parent), path.rpartition("/")[0]
        # For those who put in, a folder of their own is as good as the top.
        where = "top" if all(at == "" or self.is_own(person, at) for at in (parent, old_parent)) else "inside"
        return (f"move {path} to {new}", "rename folder" if is_folder else "move", path, self.is_own(person, path), where,
                lambda: session.rename(path, new), lambda: os.path.exists(self.disk(new)), {path: new})

    def acl(self, person, session):
        path = self.some(False)
        # An owner may narrow rights, and then the roles are no longer what counts: only that others may not is tried.
        if path is None or person.role == "owner" or session.programs:
            return None
        return f"set acl {path}", "set acl", path, self.is_own(person, path), self.inside(path), lambda: session.set_acl(path, 61302), None, {}

    def disk(self, path):
        return self.place.disk(path)

    def choose(self, person, session):
        deed = self.rng.choice(["make"] * 5 + ["make folder"] * 2 + ["read", "edit", "truncate", "chmod", "utimes", "office save", "replace",
                                                                     "photoshop save", "delete", "move", "move folder", "set acl"])
        is_local = session.programs
        if deed in ("make", "make folder"):
            return self.make(person, session, deed == "make folder")
        if deed in ("read", "edit", "truncate", "utimes") or deed == "chmod" and not is_local:
            return self.change(person, session, deed)
        if deed in ("office save", "photoshop save") or deed == "replace" and not is_local:
            return self.replace(person, session, deed)
        if deed == "delete":
            return self.delete(person, session)
        if deed in ("move", "move folder"):
            return self.move(person, session, deed == "move folder")
        return self.acl(person, session) if deed == "set acl" else None

    # Steps.

    def step(self):
        person, way = self.rng.choice(list(self.people.values())), self.rng.choice(self.ways)
        chosen = self.choose(person, self.sessions(person.name, way))
        if chosen is None:
            return
        text, deed, path, is_own, where, call, shows, changes = chosen
        got, said = stage.attempt(call)
        if said == "the way cannot":
            return
        self.steps.append(f"{person.name} by {way}: {text}: {'done' if got else said}")
        self.observed += 1
        if got is None:
            return self.note(f"{self.steps[-1]}")
        if shows is not None and shows() != got:
            self.note(f"{self.steps[-1]}, but the disk shows otherwise")
        elif roles.surprise(person.role, deed, is_own, where, way, got) and not self.is_excused(person, way, deed, path):
            self.note(f"{self.steps[-1]}, which the role {person.role} does not say")
        if got:
            self.change_model(changes)
        elif deed in roles.SAFE_SAVES:
            self.remove_leftovers(changes)

    def change_model(self, changes):
        for path, new in changes.items():
            if new is None:
                del self.made[path]
            elif isinstance(new, tuple):
                self.made[path] = new
            else:
                moved = {one: two for one, two in self.made.items() if one == path or one.startswith(path + "/")}
                for one, two in moved.items():
                    del self.made[one]
                    self.made[new + one[len(path):]] = two

    def remove_leftovers(self, changes):
        """A safe-save that was refused half way leaves its new file, and may have moved the old one away."""
        for path in changes:
            folder, _, name = path.rpartition("/")
            for left in (f"{folder}/~{name}.tmp", f"{path}.tmp", f"{path}.new", f"{path}.bak"):
                if os.path.exists(self.disk(left.lstrip("/"))):
                    os.unlink(self.disk(left.lstrip("/")))
            if not os.path.exists(self.disk(path)):
                self.made.pop(path, None)

    def is_excused(self, person, way, deed, path):
        """The kernel of the server's machine lets the owner of a folder remove what is in it."""
        parent = path.rpartition("/")[0]
        return way == "local" and deed in roles.SAFE_SAVES | roles.MOVES | {"rename folder"} and self.is_own(person, parent)

    def probe(self):
        for _ in range(PROBES):
            is_folder = self.rng.random() < 0.2
            path, person, way = self.some(is_folder), self.rng.choice(list(self.people.values())), self.rng.choice(self.ways)
            if path is None:
                continue
            session, deed = self.sessions(person.name, way), "list" if is_folder else self.rng.choice(["read", "edit"])
            got, said = stage.attempt(getattr(session, deed), path)
            self.observed += 1
            if is_folder and not any(one.startswith(path + "/") for one in self.made):
                continue  # an empty one looks the same to those who may not see it
            if is_folder and got and not said:
                got = False
            if got is None or roles.surprise(person.role, deed, self.is_own(person, path), self.inside(path), way, got):
                self.note(f"{person.name} by {way}: {deed} {path}: {'done' if got else said}, after: {self.steps[-1]}")

    def asked(self):
        """What `rights check` says, with its exit code."""
        words = [self.args.program, "rights", "check", self.place.folder, "--config", self.args.settings, "--state", self.args.state]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=CHECK_LIMIT_S)
        return done.returncode, (done.stdout + done.stderr).strip()

    def check(self):
        """`rights check` finds nothing."""
        code, said = self.asked()
        if code != 0:
            self.note(f"rights check: {said[:300]}, after: {self.steps[-1]}")

    def check_finds(self):
        """`rights check` finds a file whose mode a local program has changed."""
        path = self.some(False)
        os.chmod(self.disk(path), 0o600)
        code, said = self.asked()
        return None if code == 1 and path in said else f"{path}: exit code {code}: {said[:300]}"

    def note(self, line):
        self.odd.append(line)
        print(f"  walk: step {len(self.steps)}: {line}", file=sys.stderr)

    def run(self):
        while len(self.steps) < self.args.steps and len(self.odd) < 20:
            before = len(self.steps)
            self.step()
            if len(self.steps) == before:
                continue
            self.probe()
            if self.args.program:
                self.check()


def main():
    parser = argparse.ArgumentParser()
    for name in ("--smb-port", "--afp-port", "--nfs-port"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--folder", "--share", "--password"):
        parser.add_argument(name, required=True)
    parser.add_argument("--program", help="Fourfold's, for rights check")
    parser.add_argument("--settings")
    parser.add_argument("--state")
    parser.add_argument("--ways", default="smb,nfs3,nfs4,afp,local")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    args = parser.parse_args()
    place = stage.Place(args.folder, args.share, args.password, args.smb_port, args.afp_port, args.nfs_port, args.nfs_port)
    walk = Walk(args, place)
    walk.run()
    name = "random operations"
    print(f"fail {name}: --seed {args.seed}: {len(walk.odd)}, the first: {walk.odd[0]}" if walk.odd else f"pass {name}")
    if args.program:
        why = walk.check_finds()
        print(f"fail a local chmod is found: {why}" if why else "pass a local chmod is found")
    print(f"{len(walk.steps)} operations, {walk.observed} observations, {len(walk.odd)} surprises, "
          f"{'rights check after each, ' if args.program else ''}seed {args.seed}")
    sys.stdout.flush()
    os._exit(0)  # sessions have threads


if __name__ == "__main__":
    main()
