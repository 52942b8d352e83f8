"""Who may do what in a team folder: the grid that is expected, written by hand from the words of docs/sharing.md and of issue 40.
Nothing here is taken from the server, and nothing is observed."""

# Deeds on files, and on folders.
READ, LIST = "read", "list"
EDITS = {"edit", "append", "truncate"}
METADATA = {"chmod", "utimes"}
# A safe-save makes a file beside the old one and gives it the old one's name, in the order in which a program does it.
SAFE_SAVES = {"office save", "vim save", "photoshop save", "replace"}
MOVES = {"rename", "delete", "move out", "move"}
# Saves whose last step removes the old file. If only that is refused, the new file is in its place, and the old one stays beside it.
REMOVES_LAST = {"office save", "vim save"}
OF_FILES = [READ, *sorted(EDITS), *sorted(METADATA), *sorted(SAFE_SAVES), *sorted(MOVES), "set acl"]
ADDS = {"make", "make folder", "move in"}
OF_FOLDERS = [LIST, *sorted(ADDS), "rename folder", "remove folder", "chmod folder", "utimes folder", "set acl folder"]
ACLS = {"set acl", "set acl folder"}

YES, NO, EITHER = True, False, None


def owner(deed, is_own, place):
    """An owner may do everything, and change rights."""
    return YES


def editor(deed, is_own, place):
    """An editor changes all files, also those of others, but not rights."""
    return deed not in ACLS


def contributor(deed, is_own, place):
    """A contributor reads all files, adds to every folder, also to those of others, and changes and removes what it has made itself."""
    if deed in ACLS:
        return NO
    return deed in {READ, LIST} | ADDS or is_own


def reader(deed, is_own, place):
    """A reader reads and lists."""
    return deed in {READ, LIST}


def drop(deed, is_own, place):
    """A drop box takes files and folders at its top, and in folders that the same person has put there. Who puts in sees nothing:
    neither what others have put in nor its own. A file that is being put in is written, gets its mode and dates, and gets its name: a free
    one, there or in another folder that the same person has put in. Nothing is removed or replaced."""
    if deed in {"make", "make folder"}:
        return place == "top" or is_own
    if deed == "move in":
        return NO  # what is moved is no longer where it was, and the drop box gives nothing back
    if deed in {"chmod folder", "utimes folder"}:
        return EITHER if is_own else NO  # copying programs set them; the design leaves it open
    if deed in REMOVES_LAST:
        return EITHER if is_own else NO  # all but the removal; vim itself wants to read the file before
    if deed in {"rename", "rename folder", "move"}:
        return is_own and place == "top"
    return is_own and deed in EDITS | METADATA


def none(deed, is_own, place):
    """Without a role nobody enters."""
    return NO


ROLES = {"owner": owner, "editor": editor, "contributor": contributor, "reader": reader, "drop": drop, "none": none}

# What the kernel of the server's machine cannot express for local programs: POSIX has three bits, and its owner of a file is special.
# "narrower": a local program may be refused what the role allows. "wider": it may do what the role does not allow. Everything else
# must be as the role says. Nobody without a role, and no reader, is ever excused for being able to do more.


def local_excuse(role, deed, is_own, place):
    if deed in METADATA | {"chmod folder", "utimes folder"} and not is_own and role in {"owner", "editor"}:
        return "narrower"  # chmod(2), utimensat(2): only who owns the file
    if role == "contributor" and (deed in ADDS | SAFE_SAVES | MOVES | {"rename folder", "remove folder"}):
        return "narrower"  # a folder that takes new files also lets everyone in it remove others'
    if role == "drop":
        # Whoever owns a file can give itself the right to read it. A folder of its own it can list.
        return "any" if is_own and place == "inside" or is_own and deed in {READ, LIST, *EDITS, *METADATA} else "narrower"
    return None


def expected(role, deed, is_own, place):
    return ROLES[role](deed, is_own, place)


def surprise(role, deed, is_own, place, way, got):
    """Whether the grid does not expect that."""
    wanted = expected(role, deed, is_own, place)
    if wanted is EITHER or wanted == got:
        return False
    excuse = local_excuse(role, deed, is_own, place) if way == "local" else None
    return not (excuse == "any" or excuse == "narrower" and not got)
