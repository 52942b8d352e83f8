"""What each way into the folder can do, and how it says no. Paths are relative to the share's root, with slashes."""

DATA = b"words of a colleague\n"
OLD = 1_600_000_000  # a date that tar, rsync and cp -p bring along


class Denied(Exception):
    """The server, or the kernel, has refused it."""


class Missing(Denied):
    """There is no such file for this person. A drop box says that of everything."""


class Session:
    """One person by one way. What a way does not have raises NotImplementedError."""

    # Whether files have modes, and whether the request that makes a file has one.
    has_modes = makes_with_mode = True
    # What `run` can run.
    programs = frozenset()

    def make(self, path, data=DATA, mode=0o644):
        """A new file, as a copying program makes it: create, write, close. It fails if there is one."""
        raise NotImplementedError

    def make_folder(self, path, mode=0o755):
        raise NotImplementedError

    def list(self, path):
        raise NotImplementedError

    def read(self, path):
        raise NotImplementedError

    def edit(self, path, offset=0, data=b"W"):
        """Opens for writing without truncating, and writes."""
        raise NotImplementedError

    def append(self, path, data=b"more"):
        raise NotImplementedError

    def truncate(self, path, size):
        raise NotImplementedError

    def rename(self, path, new):
        """Replaces what has the new name, where clients do."""
        raise NotImplementedError

    def remove(self, path):
        raise NotImplementedError

    def remove_folder(self, path):
        raise NotImplementedError

    def chmod(self, path, mode):
        raise NotImplementedError

    def utimes(self, path, seconds):
        raise NotImplementedError

    def set_acl(self, path, uid):
        """An ACL that gives all rights to this user and nothing to others."""
        raise NotImplementedError

    def make_private(self, path, uid, data=DATA):
        """A new file with an ACL for its maker alone in the same request."""
        raise NotImplementedError
