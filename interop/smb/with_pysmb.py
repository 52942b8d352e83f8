"""Python's pysmb: what a person does with a share. It begins with SMB1 and goes on with 2.0.2 or 2.1."""

import io
import os

from smb.base import NotReadyError
from smb.SMBConnection import SMBConnection

from outcome import arguments, check, is_

A = arguments()


def connect(user=A.user, password=A.password, sign=SMBConnection.SIGN_WHEN_SUPPORTED):
    connection = SMBConnection(user, password, "client", "server", use_ntlm_v2=True, sign_options=sign, is_direct_tcp=True)
    is_(connection.connect("127.0.0.1", A.port, timeout=10), True)
    return connection


def content(length):
    return bytes((i ^ (i >> 8) ^ (i >> 16)) & 255 for i in range(length))


def stored(name):
    return os.path.join(A.folder, name)


def wrong_password():
    connection = SMBConnection(A.user, "wrong", "client", "server", is_direct_tcp=True)
    is_(connection.connect("127.0.0.1", A.port, timeout=10), False)
    try:
        connection.listShares()
    except NotReadyError:
        return
    raise AssertionError("it may enter")


def shares():
    is_({A.share, "guests", "IPC$"} <= {share.name for share in connect().listShares()}, True)


def guest():
    connection = connect("nobody", "", SMBConnection.SIGN_NEVER)
    is_({".", ".."} <= {entry.filename for entry in connection.listPath("guests", "/")}, True)


def there_and_back(sign):
    def test():
        connection, wanted, got = connect(sign=sign), content(3 << 20), io.BytesIO()
        is_(connection.isUsingSMB2, True)
        connection.storeFile(A.share, "pysmb file", io.BytesIO(wanted))
        connection.retrieveFile(A.share, "pysmb file", got)
        is_(got.getvalue() == wanted, True)
        connection.deleteFiles(A.share, "pysmb file")
    return test


def folders():
    connection = connect()
    connection.createDirectory(A.share, "pysmb")
    for name in ("one", "two"):
        connection.storeFile(A.share, f"pysmb/{name}", io.BytesIO(b"12345"))
    is_(sorted(entry.filename for entry in connection.listPath(A.share, "pysmb")), [".", "..", "one", "two"])
    is_(connection.getAttributes(A.share, "pysmb/one").file_size, 5)
    connection.deleteFiles(A.share, "pysmb/*")
    connection.deleteDirectory(A.share, "pysmb")
    is_(os.path.exists(stored("pysmb")), False)


def renames():
    connection = connect()
    connection.storeFile(A.share, "pysmb before", io.BytesIO(b"before"))
    connection.rename(A.share, "pysmb before", "pysmb after")
    connection.storeFile(A.share, "pysmb after", io.BytesIO(b"over"))
    with open(stored("pysmb after"), "rb") as file:
        is_(file.read(), b"over")
    connection.deleteFiles(A.share, "pysmb after")


def names():
    connection = connect()
    for name in ("p" * 255, "größe 日本語 🗄"):
        connection.storeFile(A.share, name, io.BytesIO(b"x"))
        is_(os.path.exists(stored(name)), True)
        connection.deleteFiles(A.share, name)
        is_(os.path.exists(stored(name)), False)


def symbolic_link():
    with open(stored("pysmb target"), "wb") as file:
        file.write(b"kept")
    os.symlink("pysmb target", stored("pysmb link"))
    connect().deleteFiles(A.share, "pysmb link")
    is_(os.path.lexists(stored("pysmb link")), False)
    is_(os.path.exists(stored("pysmb target")), True)


check("a wrong password", wrong_password)
check("the shares", shares)
check("a guest", guest)
check("3 MB there and back", there_and_back(SMBConnection.SIGN_NEVER))
check("signed, 3 MB there and back", there_and_back(SMBConnection.SIGN_WHEN_SUPPORTED))
check("folders", folders)
check("renames and overwrites", renames)
check("long and non-ASCII names", names)
check("deletes a symbolic link, not its target", symbolic_link)
