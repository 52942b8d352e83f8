"""An initiator: libiscsi, called by ctypes. It connects again by itself when a connection is lost, and repeats its commands."""

import ctypes

WRITE, READ, NONE = 2, 1, 0  # scsi_xfer_dir
TIMEOUT = 30  # seconds for a command or a login


class Sense(ctypes.Structure):
    _fields_ = [("error_type", ctypes.c_ubyte), ("key", ctypes.c_int), ("ascq", ctypes.c_int), ("specific", ctypes.c_uint)]


class Data(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_ubyte))]


class Sent(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("data", ctypes.c_char_p)]


class Task(ctypes.Structure):
    """The beginning of struct scsi_task, of libiscsi 1.19."""

    _fields_ = [("status", ctypes.c_int), ("cdb_size", ctypes.c_int), ("xfer_dir", ctypes.c_int), ("expxferlen", ctypes.c_int),
                ("cdb", ctypes.c_ubyte * 16), ("residual_status", ctypes.c_int), ("residual", ctypes.c_size_t),
                ("sense", Sense), ("datain", Data)]


def library():
    found = ctypes.CDLL("libiscsi.so.7")
    for name, result in (("iscsi_create_context", ctypes.c_void_p), ("iscsi_get_error", ctypes.c_char_p),
                         ("scsi_create_task", ctypes.POINTER(Task)), ("iscsi_scsi_command_sync", ctypes.POINTER(Task))):
        getattr(found, name).restype = result
    found.iscsi_create_context.argtypes = [ctypes.c_char_p]
    found.scsi_create_task.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_int]
    found.scsi_free_scsi_task.argtypes = [ctypes.POINTER(Task)]
    found.iscsi_scsi_command_sync.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(Task), ctypes.POINTER(Sent)]
    return found


class Refused(Exception):
    """CHECK CONDITION, with sense key, ASC and ASCQ; or another status, as a number."""


class Initiator:
    def __init__(self, name, portal, target, timeout=TIMEOUT):
        self.iscsi = library()
        self.context = ctypes.c_void_p(self.iscsi.iscsi_create_context(f"iqn.2026-11.test:{name}".encode()))
        self._call("iscsi_set_isid_random", ctypes.c_uint32(1), ctypes.c_uint32(0))
        self._call("iscsi_set_targetname", target.encode())
        self._call("iscsi_set_session_type", 2)
        self._call("iscsi_set_timeout", timeout)
        try:
            self._call("iscsi_full_connect_sync", portal.encode(), -1)
        except Refused:
            self.close()
            raise

    def _call(self, function, *arguments):
        if getattr(self.iscsi, function)(self.context, *arguments):
            raise Refused(f"{function}: {self.iscsi.iscsi_get_error(self.context).decode()}")

    def command(self, cdb, reads=0, data=b""):
        """The data that a command returns."""
        way, length = (WRITE, len(data)) if data else (READ, reads) if reads else (NONE, 0)
        task = self.iscsi.scsi_create_task(len(cdb), bytes(cdb), way, length)
        sent = ctypes.byref(Sent(len(data), data)) if data else None
        if not self.iscsi.iscsi_scsi_command_sync(self.context, 0, task, sent):
            raise Refused(f"no answer: {self.iscsi.iscsi_get_error(self.context).decode()}")
        done = task.contents
        try:
            if done.status == 2:
                raise Refused(f"{done.sense.key:x} {done.sense.ascq >> 8:02x}/{done.sense.ascq & 255:02x}")
            if done.status:
                raise Refused(f"status {done.status:x}")
            return bytes(done.datain.data[: done.datain.size]) if done.datain.size else b""
        finally:
            self.iscsi.scsi_free_scsi_task(task)

    def ready(self):
        self.command([0] * 6)

    def settle(self):
        """Reads all unit attentions. Returns them, and what comes after them: an error, or nothing."""
        told = []
        while True:
            try:
                return told, self.ready()
            except Refused as error:
                if not str(error).startswith("6 "):
                    return told, str(error)
                told.append(str(error)[2:])

    def write(self, block, data):
        """WRITE (10), again if there is a unit attention."""
        cdb = [0x2A, 0, *block.to_bytes(4, "big"), 0, *(len(data) // 512).to_bytes(2, "big"), 0]
        return self._again(cdb, data=data)

    def read(self, block, count=1):
        return self._again([0x28, 0, *block.to_bytes(4, "big"), 0, *count.to_bytes(2, "big"), 0], reads=512 * count)

    def _again(self, cdb, **data):
        for _ in range(8):
            try:
                return self.command(cdb, **data)
            except Refused as error:
                if not str(error).startswith("6 "):
                    raise
        return self.command(cdb, **data)

    def reserve_out(self, action, kind, key, action_key):
        """PERSISTENT RESERVE OUT, without APTPL."""
        data = key.to_bytes(8, "big") + action_key.to_bytes(8, "big") + bytes(8)
        return self._again([0x5F, action, kind, 0, 0, 0, 0, 0, 24, 0], data=data)

    def reserve_in(self, action):
        """PERSISTENT RESERVE IN: what comes after the generation and the length."""
        return self._again([0x5E, action, 0, 0, 0, 0, 0, 0, 255, 0], reads=255)[8:]

    def registrants(self):
        """READ FULL STATUS of PERSISTENT RESERVE IN, SPC-4 table 211: of each registered I_T nexus the initiator, the number of the
        target port, the key, and whether it holds the reservation."""
        found, all_of_them = self._again([0x5E, 3, 0, 0, 0, 0, 0, 0x10, 0, 0], reads=4096)[8:], []
        while found:
            end = 24 + int.from_bytes(found[20:24], "big")
            name = found[28:end].split(b",")[0].decode().split(":")[-1]
            all_of_them.append((name, int.from_bytes(found[18:20], "big"), int.from_bytes(found[:8], "big"), bool(found[12] & 1)))
            found = found[end:]
        return sorted(all_of_them)

    def groups(self):
        """REPORT TARGET PORT GROUPS: the state of each group."""
        found = self._again([0xA3, 0x0A, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], reads=255)[4:]
        return {int.from_bytes(found[at + 2 : at + 4], "big"): found[at] & 15 for at in range(0, len(found), 12)}

    def page(self, code):
        """A page of vital product data."""
        return self._again([0x12, 1, code, 0, 255, 0], reads=255)[4:]

    def close(self):
        self.iscsi.iscsi_destroy_context(self.context)
