"""Shares of NLM version 4 (X/Open XNFS; RFC 1813 appendix II), which libnfs has no calls for."""

from rpc import Connection, Writer

NAMES = {0: "done", 1: "DENIED", 2: "DENIED_NOLOCKS", 4: "DENIED_GRACE_PERIOD"}


class Shares:
    """The shares of one machine, which the server knows by its address."""

    def __init__(self, port, uid, source):
        self.connection, self.caller = Connection(port, 100021, 4, uid, source=source), f"machine {source}"

    def _call(self, procedure, handle, deny, access):
        args = Writer().opaque(b"cook").opaque(self.caller).opaque(handle).opaque(b"owner").u32(deny, access, 0)
        found = self.connection.call(procedure, args.bytes())
        found.opaque()
        return NAMES.get(status := found.u32(), str(status))

    def share(self, handle, access, deny):
        """fsh_access and fsh_mode: 0 none, 1 reading, 2 writing, 3 both."""
        return self._call(20, handle, deny, access)

    def unshare(self, handle):
        return self._call(21, handle, 0, 0)

    def free_all(self):
        """As the machine does after a restart."""
        self.connection.call(23, Writer().opaque(self.caller).u32(1).bytes())
