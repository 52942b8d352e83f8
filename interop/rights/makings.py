"""What people do that takes a colleague's rights away on other servers: modes of their own, programs that bring modes along, safe-saves,
moves. Each returns nothing; afterwards its file or folder is at `path`. The maker owns it."""

import os
import subprocess
import tempfile

from stage import attempt, office, photoshop, replace, vim
from way import DATA, OLD


def plain(s, path, n):
    s.make(path)


def makes(mode):
    def making(s, path, n):
        if not s.makes_with_mode:
            raise NotImplementedError
        s.make(path, DATA, mode)
    return making


def chmods(mode):
    def making(s, path, n):
        s.make(path)
        s.chmod(path, mode)
    return making


def copy_p(s, path, n):
    """cp -p of a private file from elsewhere: create with its mode, write, dates, mode."""
    if s.programs:
        return from_private(s, n, lambda name: s.run("cp", "-p", name, path))
    s.make(path, DATA, 0o600)
    s.utimes(path, OLD)
    if s.has_modes:
        s.chmod(path, 0o600)


def from_private(s, n, act):
    """`act` gets the name of a file of this person outside the folder: what a home has."""
    name = f"/tmp/rights-{os.getpid()}-{n}"
    s.make(name, DATA, 0o600)
    try:
        act(name)
    finally:
        for left in (name, name + ".tar"):
            attempt(s.remove, left)


def move_in(s, path, n):
    """From a folder of another file system with mv, which copies; else from another folder of the share."""
    if s.programs:
        return from_private(s, n, lambda name: s.run("mv", name, path))
    s.make(f"elsewhere/from-{n}", DATA, 0o600)
    if s.has_modes:
        s.chmod(f"elsewhere/from-{n}", 0o600)
    s.rename(f"elsewhere/from-{n}", path)


def rsync(s, path, n):
    """rsync -a: a hidden file with mode 0600, then mode and dates, then its name."""
    if s.programs:
        return from_private(s, n, lambda name: s.run("rsync", "-a", name, path))
    folder, _, name = path.rpartition("/")
    hidden = f"{folder}/.{name}.Ab12".lstrip("/")
    s.make(hidden, DATA, 0o600)
    s.utimes(hidden, OLD)
    if s.has_modes:
        s.chmod(hidden, 0o640)
    s.rename(hidden, path)


def tar(s, path, n):
    """tar -xp of a private file."""
    if s.programs:
        folder = path.rpartition("/")[0]

        def extract(name):
            s.run("tar", "-cf", name + ".tar", "-C", "/tmp", os.path.basename(name))
            s.run("tar", "-xpf", name + ".tar", "-C", folder or ".")
            s.rename(f"{folder}/{os.path.basename(name)}".lstrip("/"), path)
        return from_private(s, n, extract)
    s.make(path, DATA, 0o600)
    s.utimes(path, OLD)
    if s.has_modes:
        s.chmod(path, 0o400)
        s.chmod(path, 0o600)


def save(how):
    def making(s, path, n):
        s.make(path)
        how(s, path)
    return making


def finder(s, path, n):
    if not hasattr(s, "finder_copy"):
        raise NotImplementedError
    s.finder_copy(path, DATA, 0o600)


def by_smbclient(command):
    def making(s, path, n):
        if not hasattr(s, "smbclient"):
            raise NotImplementedError
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, f"smbclient-{n}")
            with open(name, "wb") as file:
                file.write(DATA)
            os.chmod(name, 0o600)
            subprocess.run(["tar", "-cf", name + ".tar", "-C", folder, os.path.basename(name)], check=True)
            command(s, name, path)
    return making


def put(s, name, path):
    s.smbclient(f'put {name} "{path.replace("/", chr(92))}"')


def restore(s, name, path):
    """smbclient's tar: at the top, from where it is moved."""
    s.smbclient(f"tar x {name}.tar")
    s.rename(os.path.basename(name), path)


def private_acl(s, path, n):
    """With a security descriptor, or an NFSv4 ACL, for the maker alone in the request that makes it."""
    s.make_private(path, 61302)


def folder(s, path, n):
    s.make_folder(path)


def folder_700(s, path, n):
    if not s.makes_with_mode:
        raise NotImplementedError
    s.make_folder(path, 0o700)


def folder_chmod_700(s, path, n):
    s.make_folder(path)
    s.chmod(path, 0o700)


def folder_moved(s, path, n):
    s.make_folder(f"elsewhere/folder-{n}", 0o700)
    s.rename(f"elsewhere/folder-{n}", path)


FILES = {
    "make": plain, "make 0600": makes(0o600), "make 0444": makes(0o444), "chmod 600": chmods(0o600), "chmod 644": chmods(0o644), "chmod 000": chmods(0),
    "cp -p": copy_p, "mv in": move_in, "rsync -a": rsync, "tar -xp": tar, "office save": save(office), "vim save": save(vim),
    "photoshop save": save(photoshop), "replace": save(replace), "finder copy": finder, "private acl": private_acl,
    "smbclient put": by_smbclient(put), "smbclient tar x": by_smbclient(restore),
}
FOLDERS = {"make folder": folder, "make folder 0700": folder_700, "chmod folder 700": folder_chmod_700, "move folder": folder_moved}
# What a local program does to a mode counts for local programs: the server does not undo it by itself, and people at the server's machine
# who are refused then are not surprised. (`rights check` names it.) Nobody may get more by it.
SETS_MODES = {"make 0600", "make 0444", "chmod 600", "chmod 644", "chmod 000", "cp -p", "mv in", "rsync -a", "tar -xp", "replace", "vim save",
              "make folder 0700", "chmod folder 700", "move folder"}
