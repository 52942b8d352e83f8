"""Ids of files over AFP (Apple Filing Protocol Reference, FPGetFileDirParms, FPEnumerateExt2, FPResolveID): the same at all servers, also
at one that has not seen the file, and after the loss of the server that gave them."""

import os
import socket
import struct
import sys
import threading
import time

import afp
import smb_client as smb
from scene import is_equal

NUMBER, PARENT, NAME = 0x100, 2, 0x2000  # of both bitmaps
ID_NOT_FOUND, ITEM_NOT_FOUND = -5034, -5018
MANY = 1000


class Mac(afp.Client):
    """Names files as a Mac does: by the id of the folder, and the name in it."""

    def __init__(self, gateway, room=65536):
        self.room = room  # of a reply, in bytes
        super().__init__(gateway.afp_port, "share", gateway.options.user, gateway.options.password)

    def _in(self, command, flag, folder, more=b""):
        return struct.pack(">BBHI", command, flag, self.volume, folder) + more

    def make_folder(self, folder, name):
        return struct.unpack(">I", self.command(self._in(6, 0, folder) + afp.path(name)))[0]

    def make_file(self, folder, name):
        self.command(self._in(7, 0, folder) + afp.path(name))

    def remove_in(self, folder, name):
        self.command(self._in(8, 0, folder) + afp.path(name))

    def exchange(self, folder, one, other):
        self.command(self._in(42, 0, folder) + struct.pack(">I", folder) + afp.path(one) + afp.path(other))

    def of(self, folder, name=""):
        """The id of a file or folder, and that of its folder."""
        answer = self.command(self._in(34, 0, folder, struct.pack(">HH", NUMBER | PARENT, NUMBER | PARENT)) + afp.path(name))
        parent, number = struct.unpack(">II", answer[6:14])
        return number, parent

    def resolve(self, number):
        """The folder of a file by its id."""
        return struct.unpack(">I", self.command(struct.pack(">BBHIH", 41, 0, self.volume, number, PARENT))[2:6])[0]

    def listed(self, folder):
        """The ids of all entries by their names."""
        found = {}
        while True:
            more = struct.pack(">HHHII", NUMBER | NAME, NUMBER | NAME, 400, len(found) + 1, self.room)
            try:
                answer = self.command(self._in(68, 0, folder, more) + afp.path(""))
            except afp.Refused as error:
                if error.code != -5018 or not found:
                    raise
                return found
            at = 6
            for _ in range(struct.unpack(">H", answer[4:6])[0]):
                length, part = struct.unpack(">H", answer[at:at + 2])[0], answer[at + 4:]
                number, offset = struct.unpack(">IH", part[:6])
                size = struct.unpack(">H", part[offset + 4:offset + 6])[0]
                found[part[offset + 6:offset + 6 + size].decode()] = number
                at += length


def signature(gateway):
    """FPGetSrvrInfo, by DSIGetStatus: by which a Mac knows that two addresses are one server."""
    with socket.create_connection(("127.0.0.1", gateway.afp_port), 10) as connection:
        connection.sendall(struct.pack(">BBHIII", 0, 3, 1, 0, 0, 0))
        answer = connection.makefile("rb")
        length = struct.unpack(">BBHiII", answer.read(16))[4]
        status = answer.read(length)
    at = 11 + status[10]  # behind the name
    start = struct.unpack(">H", status[at + at % 2:at + at % 2 + 2])[0]
    return status[start:start + 16]


def is_gone(client, number):
    try:
        client.resolve(number)
    except afp.Refused as error:
        return is_equal(error.code in (ID_NOT_FOUND, ITEM_NOT_FOUND), True)
    raise AssertionError("an id of a removed file leads to a file")


def within(limit, wanted, look):
    """Another server reads on once a second."""
    end = time.monotonic() + limit
    while (found := look()) != wanted and time.monotonic() < end:
        time.sleep(0.1)
    is_equal(found, wanted)


def exchanged(here, there, folder):
    """FPExchangeFiles: two files exchange their contents, and keep their ids and names."""
    names = here.listed(folder)
    here.exchange(folder, "1", "2")
    is_equal(here.listed(folder)["1"], names["1"])
    within(20, (names["1"], names["2"]), lambda: (there.of(folder, "1")[0], there.of(folder, "2")[0]))


def check(options, first, other):
    is_equal(signature(first), signature(other))
    here, there = Mac(first), Mac(other, 3000)
    top = here.make_folder(afp.ROOT, "ids")
    deep = here.make_folder(here.make_folder(top, "one"), "two")
    here.make_file(deep, "by afp")
    folder = os.path.join(options.local, "share", "ids")
    many = os.path.join(folder, "many")
    os.mkdir(many)
    os.chown(many, options.uid, options.uid)
    beside, nfs = other.smb(), other.nfs()
    beside.close(beside.open("ids\\one\\two\\by smb", smb.WRITE, disposition=smb.OPEN_IF))
    nfs.create("ids-by-nfs")

    # The ids of the other server lead to folders and files that this one has not seen.
    file = here.of(deep, "by afp")
    is_equal(there.of(deep, "by afp"), file)
    is_equal((there.of(deep), there.resolve(file[0])), (here.of(deep), deep))
    is_equal(there.of(deep, "by smb"), here.of(deep, "by smb"))
    is_equal(here.of(afp.ROOT, "ids-by-nfs"), there.of(afp.ROOT, "ids-by-nfs"))
    is_equal((here.listed(deep), here.listed(top)), (there.listed(deep), there.listed(top)))

    moved = here.of(deep, "by smb")[0]
    renamed = beside.open("ids\\one\\two\\by smb", smb.DELETE)
    beside.rename(renamed, "ids\\moved")
    beside.close(renamed)
    is_equal((here.of(top, "moved"), there.of(top, "moved")), ((moved, top), (moved, top)))
    is_equal((here.resolve(moved), there.resolve(moved)), (top, top))
    here.remove_in(deep, "by afp")
    is_gone(there, file[0])
    is_gone(here, file[0])

    # Macs of two servers see many files first at the same time.
    for number in range(MANY):
        open(os.path.join(many, f"{number}"), "w").close()
        os.chown(os.path.join(many, f"{number}"), options.uid, options.uid)
    found, folder_id = {}, here.of(top, "many")[0]
    both = [threading.Thread(target=lambda mac=mac: found.__setitem__(mac, mac.listed(folder_id))) for mac in (here, there)]
    begun = time.monotonic()
    [thread.start() for thread in both]
    [thread.join() for thread in both]
    print(f"{MANY} files were listed first at two servers in {time.monotonic() - begun:.2f} s", file=sys.stderr, flush=True)
    is_equal((len(found[here]), found[here]), (MANY, found[there]))
    is_equal(len(set(found[here].values())), MANY)

    if not options.ceph:  # whose library cannot exchange names
        exchanged(here, there, folder_id)

    quick = here.make_folder(top, "last")
    here.make_file(quick, "made last")
    last = here.of(quick, "made last")
    first.kill()
    is_equal((there.of(quick, "made last"), there.resolve(last[0])), (last, quick))
    is_equal(there.of(quick)[1], top)
    begun = time.monotonic()
    there.make_file(quick, "made after")  # the lost server may have the lock
    there.of(quick, "made after")
    print(f"an id was given {time.monotonic() - begun:.1f} s after the loss of a server", file=sys.stderr, flush=True)
    first.start()
    here = Mac(first)
    is_equal((here.listed(quick), here.listed(folder_id)), (there.listed(quick), there.listed(folder_id)))
    [client.disconnect() for client in (here, there, nfs)]
