"""Samba's libsmbclient, through Debian's python3-smbc: the library behind file managers."""

import os

import smbc

from outcome import arguments, check, is_

A = arguments()
ROOT = f"smb://127.0.0.1:{A.port}"
SHARE = f"{ROOT}/{A.share}"


def context(user=A.user, password=A.password):
    found = smbc.Context()
    found.optionNoAutoAnonymousLogin = True
    found.functionAuthData = lambda *_: ("WORKGROUP", user, password)
    return found


def content(length):
    return bytes((i ^ (i >> 8) ^ (i >> 16)) & 255 for i in range(length))


def stored(name):
    return os.path.join(A.folder, name)


def write(name, wanted, share=SHARE):
    file = context().open(f"{share}/{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o644)
    for at in range(0, len(wanted), 1 << 20):
        is_(file.write(wanted[at:at + (1 << 20)]), min(1 << 20, len(wanted) - at))
    file.close()


def entries(url, user=A.user, password=A.password):
    return sorted(entry.name for entry in context(user, password).opendir(url).getdents())


def wrong_password():
    try:
        entries(SHARE, password="wrong")
    except smbc.PermissionError:
        return
    raise AssertionError("it may enter")


def shares():
    is_({A.share, "guests", "IPC$"} <= set(entries(f"{ROOT}/")), True)


def guest():
    entries(f"{ROOT}/guests", "", "")


def there_and_back(share):
    def test():
        wanted = content(3 << 20)
        write("smbc file", wanted, share)
        file = context().open(f"{share}/smbc file", os.O_RDONLY)
        is_(file.read() == wanted, True)
        file.close()
        context().unlink(f"{share}/smbc file")
    return test


def folders():
    context().mkdir(f"{SHARE}/smbc", 0o755)
    for name in ("one", "two"):
        write(f"smbc/{name}", b"12345")
    is_(entries(f"{SHARE}/smbc"), [".", "..", "one", "two"])
    is_(context().stat(f"{SHARE}/smbc/one")[6], 5)
    for name in ("one", "two"):
        context().unlink(f"{SHARE}/smbc/{name}")
    context().rmdir(f"{SHARE}/smbc")
    is_(os.path.exists(stored("smbc")), False)


def renames():
    write("smbc before", b"before")
    write("smbc after", b"longer than before")
    context().rename(f"{SHARE}/smbc before", f"{SHARE}/smbc after")
    write("smbc after", b"over")
    with open(stored("smbc after"), "rb") as file:
        is_(file.read(), b"over")
    context().unlink(f"{SHARE}/smbc after")


def names():
    for name in ("s" * 255, "größe 日本語 🗄"):
        write(name, b"x")
        is_(os.path.exists(stored(name)), True)
        context().unlink(f"{SHARE}/{name}")
        is_(os.path.exists(stored(name)), False)


def symbolic_link():
    with open(stored("smbc target"), "wb") as file:
        file.write(b"kept")
    os.symlink("smbc target", stored("smbc link"))
    context().unlink(f"{SHARE}/smbc link")
    is_(os.path.lexists(stored("smbc link")), False)
    is_(os.path.exists(stored("smbc target")), True)


check("a wrong password", wrong_password)
check("the shares", shares)
check("a guest", guest)
check("3 MB there and back", there_and_back(SHARE))
check("encrypted, 3 MB there and back", there_and_back(f"{ROOT}/sealed"))
check("folders", folders)
check("renames and overwrites", renames)
check("long and non-ASCII names", names)
check("deletes a symbolic link, not its target", symbolic_link)
