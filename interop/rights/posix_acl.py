"""A folder as a careful administrator prepares it for other servers: setgid, and an ACL of POSIX with a default one."""

import os
import struct

USER_OBJ, USER, GROUP_OBJ, GROUP, MASK, OTHER = 1, 2, 4, 8, 0x10, 0x20
BITS = {"owner": 7, "editor": 7, "contributor": 7, "reader": 5, "drop": 3}


def prepare(folder, persons, studio):
    """`persons` who are not in the group have an entry of their own."""
    entries = [(USER_OBJ, 7, 0xFFFFFFFF)]
    named = {person.uid: BITS[person.role] for person in persons if not person.groups and person.role in BITS}
    entries += [(USER, bits, uid) for uid, bits in sorted(named.items())]
    entries += [(GROUP_OBJ, 7, 0xFFFFFFFF), (GROUP, 7, studio), (MASK, 7, 0xFFFFFFFF), (OTHER, 0, 0xFFFFFFFF)]
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    os.makedirs(folder, exist_ok=True)
    os.chown(folder, 0, studio)
    os.chmod(folder, 0o2770)
    os.setxattr(folder, "system.posix_acl_access", acl)
    os.setxattr(folder, "system.posix_acl_default", acl)
