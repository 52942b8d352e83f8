"""One line per check on standard output: "pass NAME" or "fail NAME: WHY"; xtask compares them with what is expected."""

import argparse
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
