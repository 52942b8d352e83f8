"""Programs on a client of Linux: the folder is mounted by the kernel in a virtual machine, where kernel_worker.py does what is asked."""

import json
import socket

from way import Denied
from way_local import Local


class Kernel(Local):
    """The same system calls and programs as of the server's machine, through a mount."""

    programs = {"cp", "mv", "rsync", "tar"}

    def __init__(self, place, person):
        host, port = place.guest.split(":")
        connection = socket.create_connection((host, int(port)), 60)
        connection.settimeout(120)
        self.requests, self.replies = connection.makefile("w"), connection.makefile("r")
        self.requests.write(json.dumps([person.uid, person.groups, self.folder(person)]) + "\n")
        self.requests.flush()
        if self.replies.readline() != "ready\n":
            raise Denied("it could not be mounted")


class KernelNfs3(Kernel):
    def folder(self, person):
        return "/mnt/nfs3"


class KernelNfs4(Kernel):
    def folder(self, person):
        return "/mnt/nfs4"


class KernelCifs(Kernel):
    """One mount for each person. The client shows modes of its own, and makes a file without the right to write one of Windows' read-only
    files, which is another thing."""

    has_modes = makes_with_mode = False

    def folder(self, person):
        return f"/mnt/cifs-{person.name}"

    def chmod(self, path, mode):
        raise NotImplementedError
