"""SMB by Python's smbprotocol."""

import struct
import subprocess
from collections import OrderedDict

import smb_client as smb
from smbprotocol.create_contexts import CreateContextName, SMB2CreateContextRequest
from smbprotocol.file_info import FileBasicInformation, InfoType
from smbprotocol.open import Open, SMB2SetInfoRequest
from smbprotocol.structure import BytesField, Structure
from way import DATA, Denied, Missing, Session

ACCESS_DENIED = {0xC0000022, 0xC00000CA, 0xC0000061, 0xC000015B, 0xC000006E, 0xC00000CC}
NOT_FOUND = {0xC0000034, 0xC000003A, 0xC000000F}
APPEND_DATA, WRITE_ATTRIBUTES, READ_ATTRIBUTES, SYNCHRONIZE, WRITE_DAC = 0x4, 0x100, 0x80, 0x100000, 0x40000
FOLDER, FILE = 0x1, 0x40
EPOCH = 11_644_473_600  # seconds from 1601 to 1970


def sid(uid):
    """S-1-22-1-UID: a Unix user."""
    return struct.pack("<BB6sII", 1, 2, b"\0\0\0\0\0\x16", 1, uid)


def private_descriptor(uid):
    """A self-relative descriptor whose protected list gives everything to one user (MS-DTYP 2.4.6)."""
    ace = struct.pack("<BBHI", 0, 3, 8 + len(sid(uid)), 0x1F01FF) + sid(uid)
    acl = struct.pack("<BBHHH", 2, 0, 8 + len(ace), 1, 0) + ace
    return struct.pack("<BBHIIII", 1, 0, 0x9004, 0, 0, 0, 20) + acl


class Descriptor(Structure):
    """The data of a create context SMB2_CREATE_SD_BUFFER (MS-SMB2 2.2.13.2.2)."""

    def __init__(self):
        self.fields = OrderedDict([("descriptor", BytesField())])
        super().__init__()


class Smb(Session):
    has_modes = makes_with_mode = False

    def __init__(self, place, person):
        self.place, self.person = place, person
        try:
            self.client = smb.Client(place.smb_port, place.share, person.name, place.password)
        except Exception as error:  # noqa: BLE001: the library has errors of its own
            if getattr(error, "status", None) in ACCESS_DENIED | NOT_FOUND:
                raise Denied(str(error)) from None
            raise

    def _do(self, call, *words, **more):
        try:
            return call(*words, **more)
        except smb.Refused as error:
            if error.status in NOT_FOUND:
                raise Missing(str(error)) from None
            if error.status in ACCESS_DENIED:
                raise Denied(str(error)) from None
            raise

    def _with(self, path, access, what=lambda file: None, **more):
        file = self._do(self.client.open, path.replace("/", "\\"), access, **more)
        try:
            return self._do(what, file)
        finally:
            self.client.close(file)

    def make(self, path, data=DATA, mode=0o644):
        self._with(path, smb.WRITE, lambda file: self.client.write(file, 0, data), disposition=smb.CREATE)

    def make_folder(self, path, mode=0o755):
        self._with(path, READ_ATTRIBUTES | SYNCHRONIZE, disposition=smb.CREATE, options=FOLDER)

    def list(self, path):
        entries = self._do(self.client.list, path.replace("/", "\\"))
        return {entry["file_name"].get_value().decode("utf-16-le") for entry in entries} - {".", ".."}

    def read(self, path):
        return self._with(path, smb.READ, lambda file: self.client.read(file, 0, 1 << 16))

    def edit(self, path, offset=0, data=b"W"):
        self._with(path, smb.WRITE, lambda file: self.client.write(file, offset, data))

    def append(self, path, data=b"more"):
        self._with(path, APPEND_DATA | SYNCHRONIZE | READ_ATTRIBUTES,
                   lambda file: self.client.write(file, file.end_of_file, data))

    def truncate(self, path, size):
        self._with(path, smb.WRITE, lambda file: self.client.truncate(file, size))

    def rename(self, path, new):
        self._with(path, smb.DELETE | READ_ATTRIBUTES | SYNCHRONIZE,
                   lambda file: self.client.rename(file, new.replace("/", "\\")), options=0)

    def remove(self, path):
        self._with(path, smb.DELETE, self.client.remove, options=FILE)

    def remove_folder(self, path):
        self._with(path, smb.DELETE, self.client.remove, options=FOLDER)

    def utimes(self, path, seconds):
        information = FileBasicInformation()
        information["last_write_time"] = (seconds + EPOCH) * 10_000_000
        self._with(path, WRITE_ATTRIBUTES, lambda file: self.client._set(file, information), options=0)

    def set_acl(self, path, uid):
        request = SMB2SetInfoRequest()
        request["info_type"], request["additional_information"] = InfoType.SMB2_0_INFO_SECURITY, 4
        request["buffer"] = private_descriptor(uid)

        def send(file):
            request["file_id"] = file.file_id
            self.client._call(request)
        self._with(path, WRITE_DAC, send, options=0)

    def make_private(self, path, uid, data=DATA):
        context, file = SMB2CreateContextRequest(), Open(self.client.tree, path.replace("/", "\\"))
        context["buffer_name"] = CreateContextName.SMB2_CREATE_SD_BUFFER
        descriptor = Descriptor()
        descriptor["descriptor"] = private_descriptor(uid)
        context["buffer_data"] = descriptor
        make = lambda: file.create(2, smb.WRITE, 0x80, smb.SHARE_ALL, smb.CREATE, FILE, [context], 0)  # noqa: E731
        self._do(self.client._do, make)
        self._do(self.client.write, file, 0, data)
        self.client.close(file)

    def smbclient(self, command):
        """One command of Samba's smbclient, which exits with 0 whatever becomes of most of them."""
        words = ["smbclient", f"//127.0.0.1/{self.place.share}", "-s", "/dev/null", "-p", str(self.place.smb_port),
                 "-U", f"{self.person.name}%{self.place.password}", "-c", command]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30)
        if done.returncode != 0 or "NT_STATUS" in done.stdout + done.stderr:
            raise Denied(f"smbclient: {(done.stdout + done.stderr).strip()[-200:]}")
