"""One line per check on standard output: "pass NAME" or "fail NAME: WHY"; xtask compares them with what is expected."""

import argparse
import os
import traceback


def arguments():
    """Where the server is and who logs in."""
    parser = argparse.ArgumentParser()
    for name in ("--port", "--share", "--user", "--password", "--folder"):
        parser.add_argument(name, required=True)
    found = parser.parse_args()
    found.port = int(found.port)
    return found


def check(name, test):
    """Runs a test: it fails with whatever it raises."""
    try:
        test()
        print(f"pass {name}", flush=True)
    except Exception as error:  # a check of any kind may fail in any way
        where = traceback.extract_tb(error.__traceback__)[-1]
        why = " ".join(f"{type(error).__name__} {error} (line {where.lineno})".split())
        print(f"fail {name}: {why[:400]}", flush=True)  # some libraries print whole messages


def is_(got, wanted):
    """`got` must be `wanted`."""
    if got != wanted:
        raise AssertionError(f"is {got!r:.200}, not {wanted!r:.200}")


LINKS = {"to file": "linked/file", "to folder": "linked", "nowhere": "nothing", "loop": "loop", "absolute": "/etc/passwd",
         "out": "../../etc"}


def make_links(folder):
    """Links of every kind in `folder`, and what two of them lead to."""
    os.makedirs(os.path.join(folder, "linked"), exist_ok=True)
    with open(os.path.join(folder, "linked/file"), "w") as file:
        file.write("linked")
    for name, target in LINKS.items():
        remove_link(folder, name)
        os.symlink(target, os.path.join(folder, name))


def remove_link(folder, name):
    if os.path.islink(os.path.join(folder, name)):
        os.remove(os.path.join(folder, name))


def targets_are_there(folder):
    """No client has removed, moved or changed what the links lead to."""
    with open(os.path.join(folder, "linked/file")) as file:
        is_(file.read(), "linked")
