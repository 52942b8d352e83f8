"""A Mac at one server and a Windows client at the other change what describes the same files, and their names, at the same moment
(Apple Filing Protocol Reference, FPSetFileParms; MS-FSCC 2.4.7): nothing is lost, and each file keeps its resource fork."""

import datetime
import os
import struct
import threading
import time

import afp
import smb_client as smb
from scene import is_equal
from smbprotocol.file_info import FileBasicInformation

BACKUP = 0x10  # of the file bitmap
TURNS, MOVES = 150, 40
DAY = 86_400
EPOCH = datetime.datetime(1601, 1, 1, tzinfo=datetime.timezone.utc)  # of FILETIME: MS-DTYP 2.3.3
LIMIT = 120  # seconds


class Mac(afp.Client):
    def backup(self, name):
        """When the file was backed up, in seconds since 2000."""
        answer = self.command(struct.pack(">BBHIHH", 34, 0, self.volume, afp.ROOT, BACKUP, 0) + afp.path(name))
        return struct.unpack(">i", answer[6:10])[0]

    def set_backup(self, name, seconds):
        body = struct.pack(">BBHIH", 30, 0, self.volume, afp.ROOT, BACKUP) + afp.path(name)
        self.command(body + bytes(len(body) % 2) + struct.pack(">i", seconds))


def mac(gateway):
    return Mac(gateway.afp_port, "share", gateway.options.user, gateway.options.password)


def day(turn):
    return datetime.datetime(2012, 2, 3, tzinfo=datetime.timezone.utc) + datetime.timedelta(days=turn)


def created(client, name, turn=None):
    """The creation time of a file, which then gets another one."""
    file = client.open(name, smb.BOTH)
    try:
        if turn is not None:
            information = FileBasicInformation()
            information["creation_time"] = (day(turn) - EPOCH) // datetime.timedelta(microseconds=1) * 10
            client._set(file, information)
        return file.creation_time.replace(tzinfo=datetime.timezone.utc)  # as it was before
    finally:
        client.close(file)


class Together:
    """Calls that run at the same time, and others that run until these have ended. The first error counts."""

    def __init__(self, calls, others):
        self.errors, self.is_over = [], threading.Event()
        self.threads, self.others = ([threading.Thread(target=self._run, args=(call,), daemon=True) for call in some]
                                     for some in (calls, others))

    def _run(self, call):
        try:
            call(self)
        except Exception as error:
            self.errors.append(error)

    def run(self):
        [thread.start() for thread in self.threads + self.others]
        end = time.monotonic() + LIMIT
        [thread.join(max(0, end - time.monotonic())) for thread in self.threads]
        is_late = any(thread.is_alive() for thread in self.threads)
        self.is_over.set()
        [thread.join(10) for thread in self.others]
        for error in self.errors:
            raise error
        is_equal(is_late, False)


def opens(client, name):
    """Brings the state of a file to another server all the time."""
    def run(together):
        while not together.is_over.is_set():
            try:
                client.close(client.open(name, smb.READ))
            except smb.Refused:
                pass  # it is being moved
            time.sleep(0.002)
    return run


def counted(here, there, others):
    """The Mac counts in the date of the backup, the other one in the time of creation: both are in one extended attribute."""
    here.create("described")
    here.set_backup("described", 0)
    created(there, "described", 0)

    def as_mac(_):
        for turn in range(1, TURNS):
            is_equal(here.backup("described"), (turn - 1) * DAY)
            here.set_backup("described", turn * DAY)

    def as_windows(_):
        for turn in range(1, TURNS):
            is_equal(created(there, "described", turn), day(turn - 1))

    Together((as_mac, as_windows), [opens(client, "described") for client in others]).run()
    is_equal(here.backup("described"), (TURNS - 1) * DAY)
    is_equal(created(there, "described"), day(TURNS - 1))


def moved(here, there, others, folder):
    """One Mac writes the fork while another one moves the file to and fro: the sidecar goes along."""
    here.create("to")
    fork = here.open("to", afp.READ | afp.WRITE, resource=True)

    def writes(_):
        for turn in range(MOVES):
            here.write(fork, turn, b"x")
            is_equal(len(here.read(fork, 0, turn + 1)), turn + 1)

    def moves(_):
        for turn in range(MOVES):
            old, new = ("to", "fro") if turn % 2 == 0 else ("fro", "to")
            there.rename(old, new)

    Together((writes, moves), [opens(client, "to") for client in others]).run()
    is_equal(here.read(fork, 0, MOVES), b"x" * MOVES)
    here.close(fork)
    is_equal(sorted(name for name in os.listdir(folder) if name.endswith(("to", "fro"))), ["._to", "to"])
    here.remove("to")


def check(options, first, other, folder):
    here, there, far, others = mac(first), other.smb(), mac(other), [first.smb(), other.smb()]
    counted(here, there, others)
    moved(here, far, others, folder)
    [client.disconnect() for client in (here, there, far, *others)]
