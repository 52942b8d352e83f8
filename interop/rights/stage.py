"""Who there is, and what is played: deeds of one person on what another has made, and what people make and spoil."""

import os
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from way import DATA, OLD, Denied, Missing

HERE = Path(__file__).parent
STUDIO = 61399
WORDS = DATA.decode()


@dataclass
class Person:
    name: str
    uid: int
    role: str
    groups: list = field(default_factory=list)


def people(studio=STUDIO):
    table = tomllib.loads((HERE / "expected.toml").read_text())["people"]
    return {name: Person(name, one["uid"], one["role"], [studio] if one.get("group") else []) for name, one in table.items()}


@dataclass
class Place:
    """A server and its folder."""
    folder: str
    share: str
    password: str
    smb_port: int = 0
    afp_port: int = 0
    nfs_port: int = 0
    mount_port: int = 0
    nfs4_minor: int = 2
    guest: str = ""  # HOST:PORT of kernel_worker.py

    def disk(self, path):
        return os.path.join(self.folder, path)


class Sessions:
    """One session of each person by each way. Someone who is not let in has a session that denies all."""

    def __init__(self, place, ways, persons):
        self.place, self.ways, self.refusals = place, ways, {}
        # Local processes are forked, so they come first.
        order = sorted(ways, key=lambda way: way != "local")
        self.open = {(name, way): self._enter(way, person) for way in order for name, person in persons.items()}

    def _enter(self, way, person):
        try:
            return self.ways[way](self.place, person)
        except Denied as error:
            return Refused(str(error))

    def __call__(self, name, way):
        return self.open[name, way]


class Refused:
    has_modes = makes_with_mode = True
    programs = frozenset()

    def __init__(self, why):
        self.why = why

    def __getattr__(self, name):
        def denied(*words, **more):
            raise Denied(f"not let in: {self.why}")
        return denied


def office(session, path):
    """Word and Excel: a new file, the old one out of the way, the new one in its place, the old one removed."""
    folder, _, name = path.rpartition("/")
    new, old = f"{folder}/~{name}.tmp".lstrip("/"), f"{folder}/{name}.bak".lstrip("/")
    session.make(new, b"W" + DATA[1:])
    session.rename(path, old)
    session.rename(new, path)
    session.remove(old)


def vim(session, path):
    """vim with backupcopy=no: the old one becomes the backup, a new one is written with the old one's name and gets its mode."""
    if "vim" in session.programs:
        return session.run("vim", "-es", "-u", "NONE", "-c", "set backupcopy=no noswapfile", "-c", "normal rW", "-c", "wq", path)
    session.rename(path, path + "~")
    session.make(path, b"W" + DATA[1:])
    if session.has_modes:
        session.chmod(path, 0o644)
    session.remove(path + "~")


def photoshop(session, path):
    """A new file, the old one removed, the new one in its place."""
    session.make(path + ".tmp", b"W" + DATA[1:])
    session.remove(path)
    session.rename(path + ".tmp", path)


def replace(session, path):
    """A new file over the old one, as editors of Unix and rsync do."""
    session.make(path + ".new", b"W" + DATA[1:], 0o600)
    session.rename(path + ".new", path)


# What one person does to what another has made. Afterwards the disk must show it: `effects`.
ON_FILES = {
    "read": lambda s, path, n: s.read(path),
    "edit": lambda s, path, n: s.edit(path),
    "append": lambda s, path, n: s.append(path),
    "truncate": lambda s, path, n: s.truncate(path, 3),
    "chmod": lambda s, path, n: s.chmod(path, 0o755),
    "utimes": lambda s, path, n: s.utimes(path, OLD),
    "office save": lambda s, path, n: office(s, path),
    "vim save": lambda s, path, n: vim(s, path),
    "photoshop save": lambda s, path, n: photoshop(s, path),
    "replace": lambda s, path, n: replace(s, path),
    "rename": lambda s, path, n: s.rename(path, path + "-renamed"),
    "delete": lambda s, path, n: s.remove(path),
    "move out": lambda s, path, n: s.rename(path, f"elsewhere/moved-{n}"),
    "set acl": lambda s, path, n: s.set_acl(path, 61302),
}
ON_FOLDERS = {
    "list": lambda s, path, n: s.list(path),
    "make": lambda s, path, n: s.make(f"{path}/new"),
    "make folder": lambda s, path, n: s.make_folder(f"{path}/folder"),
    "move in": lambda s, path, n: s.rename(f"elsewhere/source-{n}", f"{path}/moved"),
    "rename folder": lambda s, path, n: s.rename(path, path + "-renamed"),
    "remove folder": lambda s, path, n: s.remove_folder(path),
    "chmod folder": lambda s, path, n: s.chmod(path, 0o755),
    "utimes folder": lambda s, path, n: s.utimes(path, OLD),
    "set acl folder": lambda s, path, n: s.set_acl(path, 61302),
}


def content(disk):
    try:
        with open(disk) as file:
            return file.read()
    except FileNotFoundError:
        return None


def is_saved(disk, n):
    return content(disk) == "W" + WORDS[1:]


# Whether the disk shows that it was done. Reading and ACLs leave nothing, and of a file's mode only the owner's right to execute counts.
EFFECTS = {
    "edit": is_saved, "office save": is_saved, "vim save": is_saved, "photoshop save": is_saved, "replace": is_saved,
    "append": lambda disk, n: content(disk) == WORDS + "more",
    "truncate": lambda disk, n: content(disk) == WORDS[:3],
    "chmod": lambda disk, n: os.stat(disk).st_mode & 0o100 != 0,
    "utimes": lambda disk, n: int(os.stat(disk).st_mtime) == OLD,
    "utimes folder": lambda disk, n: int(os.stat(disk).st_mtime) == OLD,
    "rename": lambda disk, n: content(disk) is None and content(disk + "-renamed") == WORDS,
    "delete": lambda disk, n: content(disk) is None,
    "move out": lambda disk, n: content(disk) is None,
    "make": lambda disk, n: content(disk + "/new") == WORDS,
    "make folder": lambda disk, n: os.path.isdir(disk + "/folder"),
    "move in": lambda disk, n: content(disk + "/moved") == WORDS,
    "rename folder": lambda disk, n: os.path.isdir(disk + "-renamed"),
    "remove folder": lambda disk, n: not os.path.exists(disk),
}


def attempt(call, *words):
    """(whether it was done, what was said)."""
    try:
        return True, call(*words)
    except Missing as error:
        return False, str(error)
    except Denied as error:
        return False, str(error)
    except NotImplementedError:
        return None, "the way cannot"
    except Exception as error:  # noqa: BLE001: it is told as a surprise
        return None, f"{type(error).__name__}: {error}"
