"""NFSv3 by libnfs, whose calls open, chmod, rename... ask ACCESS first, as the kernel's client does."""

import ctypes
import errno
import os

from way import DATA, Denied, Missing, Session

LIB = None


class TimeVal(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("micros", ctypes.c_long)]


class Entry(ctypes.Structure):
    pass


Entry._fields_ = [("next", ctypes.POINTER(Entry)), ("name", ctypes.c_char_p)]


def library():
    global LIB
    if LIB is None:
        LIB = ctypes.CDLL("libnfs.so")
        for name, result in [("nfs_init_context", ctypes.c_void_p), ("nfs_parse_url_dir", ctypes.c_void_p), ("nfs_get_error", ctypes.c_char_p),
                             ("nfs_readdir", ctypes.POINTER(Entry)), ("nfs_get_rpc_context", ctypes.c_void_p),
                             ("libnfs_authunix_create", ctypes.c_void_p)]:
            getattr(LIB, name).restype = result
    return LIB


class Nfs3(Session):
    def __init__(self, place, person):
        self.lib = library()
        self.nfs = ctypes.c_void_p(self.lib.nfs_init_context())
        url = f"nfs://127.0.0.1/{place.share}?nfsport={place.nfs_port}&mountport={place.mount_port}&version=3"
        self.lib.nfs_parse_url_dir(self.nfs, url.encode())
        groups = (ctypes.c_uint32 * len(person.groups))(*person.groups)
        auth = self.lib.libnfs_authunix_create(b"rights", person.uid, person.uid, len(person.groups), groups)
        self.lib.rpc_set_auth(ctypes.c_void_p(self.lib.nfs_get_rpc_context(self.nfs)), ctypes.c_void_p(auth))
        self.lib.nfs_set_dircache(self.nfs, 0)
        self._do("mount", b"127.0.0.1", b"/" + place.share.encode())

    def _do(self, name, *words):
        code = getattr(self.lib, f"nfs_{name}")(self.nfs, *words)
        if code >= 0:
            return code
        said = f"{name}: {errno.errorcode.get(-code, -code)}"
        if -code in (errno.EACCES, errno.EPERM):
            raise Denied(said)
        if -code == errno.ENOENT:
            raise Missing(said)
        raise OSError(-code, f"{said} {(self.lib.nfs_get_error(self.nfs) or b'').decode()}")

    def _path(self, path):
        return b"/" + path.encode()

    def _open(self, path, flags, mode=0):
        file = ctypes.c_void_p()
        self._do("open2", self._path(path), flags, mode, ctypes.byref(file))
        return file

    def _with(self, path, flags, what, mode=0):
        file = self._open(path, flags, mode)
        try:
            return what(file)
        finally:
            self.lib.nfs_close(self.nfs, file)

    def _write(self, file, offset, data):
        self._do("pwrite", file, ctypes.c_uint64(offset), ctypes.c_uint64(len(data)), data)

    def make(self, path, data=DATA, mode=0o644):
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        self._with(path, flags, lambda file: self._write(file, 0, data), mode)

    def make_folder(self, path, mode=0o755):
        self._do("mkdir2", self._path(path), mode)

    def list(self, path):
        folder, names = ctypes.c_void_p(), set()
        self._do("opendir", self._path(path), ctypes.byref(folder))
        while entry := self.lib.nfs_readdir(self.nfs, folder):
            names.add(entry.contents.name.decode())
        self.lib.nfs_closedir(self.nfs, folder)
        return names - {".", ".."}

    def read(self, path):
        buffer = ctypes.create_string_buffer(1 << 16)

        def get(file):
            length = self._do("pread", file, ctypes.c_uint64(0), ctypes.c_uint64(1 << 16), buffer)
            return buffer.raw[:length]
        return self._with(path, os.O_RDONLY, get)

    def edit(self, path, offset=0, data=b"W"):
        self._with(path, os.O_WRONLY, lambda file: self._write(file, offset, data))

    def append(self, path, data=b"more"):
        self._with(path, os.O_WRONLY, lambda file: self._write(file, len(DATA), data))

    def truncate(self, path, size):
        self._do("truncate", self._path(path), ctypes.c_uint64(size))

    def rename(self, path, new):
        self._do("rename", self._path(path), self._path(new))

    def remove(self, path):
        self._do("unlink", self._path(path))

    def remove_folder(self, path):
        self._do("rmdir", self._path(path))

    def chmod(self, path, mode):
        self._do("chmod", self._path(path), mode)

    def utimes(self, path, seconds):
        self._do("utimes", self._path(path), (TimeVal * 2)(TimeVal(seconds, 0), TimeVal(seconds, 0)))
