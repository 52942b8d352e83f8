"""SMB by Python's smbprotocol, with the breaks of leases and oplocks, which that library does not have (MS-SMB2 2.2.23, 2.2.24)."""

import contextlib
import logging
import queue
import struct
import threading
import uuid
from collections import OrderedDict

import smbprotocol.connection
from smbprotocol.change_notify import FileSystemWatcher
from smbprotocol.connection import Capabilities, Connection, Request, SMB2Echo
from smbprotocol.create_contexts import (CreateContextName, DurableHandleFlags, SMB2CreateContextRequest,
                                         SMB2CreateDurableHandleReconnectV2, SMB2CreateDurableHandleRequestV2,
                                         SMB2CreateDurableHandleResponseV2, SMB2CreateRequestLease)
from smbprotocol.exceptions import SMBResponseException
from smbprotocol.file_info import (FileDispositionInformation, FileEndOfFileInformation, FileInformationClass,
                                   FileRenameInformation)
from smbprotocol.header import Commands, NtStatus, Smb2Flags, SMB2HeaderRequest
from smbprotocol.open import Open, SMB2LockElement, SMB2LockRequest, SMB2SetInfoRequest
from smbprotocol.session import Session
from smbprotocol.structure import BytesField, Structure
from smbprotocol.tree import TreeConnect

logging.getLogger("smbprotocol").setLevel(logging.CRITICAL)
READ, WRITE, DELETE, BOTH = 0x80000000, 0x40000000, 0x00010000, 0xC0000000
SHARE_READ, SHARE_WRITE, SHARE_DELETE, SHARE_ALL = 1, 2, 4, 7
OPEN, CREATE, OPEN_IF = 1, 2, 3
OPLOCKS = {"none": 0, "II": 1, "exclusive": 8, "batch": 9}
LEASE = 0xFF
READ_HANDLE = 3  # what a lease may cache: 2.2.13.2.8
UNSOLICITED = 0xFFFFFFFFFFFFFFFF
NAMES = {value: name.removeprefix("STATUS_") for name, value in vars(NtStatus).items() if name.startswith("STATUS_")}
NAMES |= {0xC0000054: "FILE_LOCK_CONFLICT", 0xC0000055: "LOCK_NOT_GRANTED", 0xC0000043: "SHARING_VIOLATION",
          0xC0000056: "DELETE_PENDING", 0xC0000022: "ACCESS_DENIED", 0xC0000467: "FILE_NOT_AVAILABLE"}


class Refused(Exception):
    def __init__(self, status):
        super().__init__(NAMES.get(status, hex(status)))
        self.status = status


class Break:
    """What is left, and how to acknowledge it. `answer` is None if no acknowledgment is wanted."""

    def __init__(self, to, answer):
        self.to, self.answer = to, answer


class OplockBreak(Structure):
    COMMAND = Commands.SMB2_OPLOCK_BREAK

    def __init__(self):
        self.fields = OrderedDict([("body", BytesField())])
        super().__init__()


class Breaks(Request):
    """Takes the place of a request that notifications answer: they all have the same message number."""

    def __init__(self, connection):
        self.arrived = queue.SimpleQueue()
        super().__init__(SMB2HeaderRequest(), None, connection)

    def __setattr__(self, name, value):
        if name == "response" and value is not None:
            self.arrived.put(value["data"].get_value())
        super().__setattr__(name, value)


class Repeated(SMB2HeaderRequest):
    """The head of a request that is sent again because its answer was lost (2.2.1.2)."""

    def __init__(self):
        super().__init__()
        self["flags"].set_flag(Smb2Flags.SMB2_FLAGS_REPLAY_OPERATIONS)


@contextlib.contextmanager
def repeating():
    """All that is sent meanwhile is sent again."""
    smbprotocol.connection.SMB2HeaderRequest = Repeated
    try:
        yield
    finally:
        smbprotocol.connection.SMB2HeaderRequest = SMB2HeaderRequest


def lease_text(bits):
    return "".join(letter for letter, bit in zip("RHW", (1, 2, 4)) if bits & bit) or "nothing"


class Client:
    """A client with a GUID, a session and a tree of its own."""

    def __init__(self, port, share, user, password, host="127.0.0.1", guid=None):
        self.guid = guid or uuid.uuid4()
        self.connection = Connection(self.guid, host, port)
        self.connection.client_capabilities |= Capabilities.SMB2_GLOBAL_CAP_PERSISTENT_HANDLES
        self.connection.connect()
        self.session = Session(self.connection, user, password, require_encryption=False)
        self.session.connect()
        self.tree = TreeConnect(self.session, rf"\\{host}\{share}")
        self.tree.connect()
        self.breaks = self.connection.outstanding_requests[UNSOLICITED] = Breaks(self.connection)
        self.connection.receive(self.connection.send(SMB2Echo(), self.session.session_id, credit_request=64))

    def disconnect(self):
        self.connection.disconnect(False)

    def _do(self, call):
        try:
            return call()
        except SMBResponseException as error:
            raise Refused(error.status) from None

    def _send(self, message):
        return self.connection.send(message, self.session.session_id, self.tree.tree_connect_id)

    def _call(self, message):
        return self._do(lambda: self.connection.receive(self._send(message)))

    def open(self, name, access, share=SHARE_ALL, disposition=OPEN, oplock="none", lease=None, key=None, options=0x40):
        """`lease`: the bits that are wanted, `key` the lease's if it is not a new one. The open then has the bits that were granted."""
        file, contexts, level = Open(self.tree, name), None, OPLOCKS[oplock]
        if lease is not None:
            context, wanted, level = SMB2CreateContextRequest(), SMB2CreateRequestLease(), LEASE
            wanted["lease_key"], wanted["lease_state"] = key or uuid.uuid4().bytes, lease
            context["buffer_name"], context["buffer_data"] = CreateContextName.SMB2_CREATE_REQUEST_LEASE, wanted
            contexts = [context]
        answers = self._do(lambda: file.create(2, access, 0x80, share, disposition, options, contexts, level))
        file.lease = answers[0]["lease_state"].get_value() if lease is not None else None
        return file

    def durable(self, name, lease, number, again=None, share=SHARE_ALL, persistent=False, disposition=OPEN_IF):
        """A durable open of version 2 with a lease, or None; `again`: the open to which the client reconnects. `number` is that of the
        CREATE, and the lease's key. With `persistent`, the open says whether it is."""
        file, contexts, level = Open(self.tree, name), [], OPLOCKS["none"]
        if lease is not None:
            key, wanted, level = SMB2CreateContextRequest(), SMB2CreateRequestLease(), LEASE
            wanted["lease_key"], wanted["lease_state"] = number, lease
            key["buffer_name"], key["buffer_data"] = CreateContextName.SMB2_CREATE_REQUEST_LEASE, wanted
            contexts.append(key)
        context = SMB2CreateContextRequest()
        if again is None:
            context["buffer_name"] = CreateContextName.SMB2_CREATE_DURABLE_HANDLE_REQUEST_V2
            asked = SMB2CreateDurableHandleRequestV2()
        else:
            context["buffer_name"] = CreateContextName.SMB2_CREATE_DURABLE_HANDLE_RECONNECT_V2
            asked = SMB2CreateDurableHandleReconnectV2()
            asked["file_id"] = again.file_id
        if persistent:
            asked["flags"].set_flag(DurableHandleFlags.SMB2_DHANDLE_FLAG_PERSISTENT)
        asked["create_guid"] = number
        context["buffer_data"] = asked  # as it is now
        answers = self._do(lambda: file.create(2, BOTH, 0x80, share, disposition, 0x40, [*contexts, context], level))
        flags = [answer["flags"] for answer in answers or [] if isinstance(answer, SMB2CreateDurableHandleResponseV2)]
        file.is_persistent = any(flag.has_flag(DurableHandleFlags.SMB2_DHANDLE_FLAG_PERSISTENT) for flag in flags)
        return file

    def close(self, file):
        self._do(file.close)

    def read(self, file, offset, length):
        return self._do(lambda: file.read(offset, length))

    def write(self, file, offset, data, through=False):
        self._do(lambda: file.write(data, offset, write_through=through))

    def flush(self, file):
        self._do(file.flush)

    def lock(self, file, offset, length, exclusive):
        self._lock(file, offset, length, (0x2 if exclusive else 0x1) | 0x10)  # fail immediately: 2.2.26.1

    def unlock(self, file, offset, length):
        self._lock(file, offset, length, 0x4)

    def _lock(self, file, offset, length, flags):
        request, element = SMB2LockRequest(), SMB2LockElement()
        request["file_id"] = file.file_id
        element["offset"], element["length"], element["flags"] = offset, length, flags
        request["locks"] = [element]
        self._call(request)

    def _set(self, file, information):
        request = SMB2SetInfoRequest()
        request["info_type"], request["file_info_class"] = information.INFO_TYPE, information.INFO_CLASS
        request["file_id"], request["buffer"] = file.file_id, information
        self._call(request)

    def truncate(self, file, size):
        information = FileEndOfFileInformation()
        information["end_of_file"] = size
        self._set(file, information)

    def rename(self, file, new, replaces=True):
        information = FileRenameInformation()
        information["replace_if_exists"], information["file_name"] = replaces, new
        self._set(file, information)

    def remove(self, file):
        information = FileDispositionInformation()
        information["delete_pending"] = True
        self._set(file, information)

    def list(self, name):
        """The entries of a folder."""
        folder = self.open(name, READ, options=0x1)
        try:
            return self._do(lambda: folder.query_directory("*", FileInformationClass.FILE_NAMES_INFORMATION))
        finally:
            self.close(folder)

    def watch(self, folder, filters):
        watcher = FileSystemWatcher(folder)
        watcher.start(filters)
        return watcher

    def next_break(self, timeout):
        """The next notification, or None."""
        try:
            body = self.breaks.arrived.get(timeout=timeout)
        except queue.Empty:
            return None
        if len(body) == 24:  # an oplock
            level, file = body[2], body[8:24]
            text = {0: "nothing", 1: "II"}.get(level, str(level))
            return Break(text, struct.pack("<HBBI", 24, level, 0, 0) + file)
        flags, key, new = struct.unpack("<I16s4xI", body[4:32])
        answer = struct.pack("<HHI16sIQ", 36, 0, 0, key, new, 0)
        return Break(lease_text(new), answer if flags & 1 else None)

    def acknowledge(self, notice):
        message = OplockBreak()
        message["body"] = notice.answer
        self._call(message)


class Watched:
    """Names and actions of MS-FSCC 2.7.1 as a folder's changes are told."""

    ACTIONS = {1: "ADDED", 2: "REMOVED", 3: "MODIFIED", 4: "RENAMED_OLD", 5: "RENAMED_NEW"}

    def __init__(self, client, folder, filters):
        self.client, self.filters = client, filters
        self.folder = client.open(folder, READ, options=1)
        self.told, self.ended = queue.SimpleQueue(), False
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        while not self.ended:
            try:
                for action in self.client.watch(self.folder, self.filters).wait() or []:
                    number = action["action"].get_value()
                    self.told.put((self.ACTIONS.get(number, str(number)), action["file_name"].get_value()))
            except Exception:  # the folder is closed (STATUS_NOTIFY_CLEANUP), or the connection
                return

    def end(self):
        self.ended = True
        self.client.close(self.folder)
