"""Homes (`path = ".../%U"`): each user sees its own folder over SMB and AFP, and NFS clients the folder of all, by its rights.
Prints "pass NAME" or "fail NAME: WHY"."""

import argparse
import os
import pwd
import subprocess
import sys
import tempfile
import threading

import afp
import nfs3
import smb_client as smb

DATA = b"of ada"


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"is {str(found)[:80]}, not {str(expected)[:80]}")


def refused(what):
    try:
        what()
    except Exception as error:  # noqa: BLE001: the libraries have errors of their own
        return str(error)
    raise AssertionError("was not refused")


class People:
    def __init__(self, args):
        self.args = args
        self.ada, self.bob = (args.user, args.password), tuple(args.other.split(":"))

    def smb(self, person, share):
        return smb.Client(self.args.smb_port, share, *person)

    def afp(self, person, volume):
        return afp.Client(self.args.afp_port, volume, *person)

    def nfs3(self, uid, share):
        return nfs3.Client(self.args.nfs3, self.args.nfs_port, share, uid)


def over_smb(people):
    own = people.smb(people.ada, "ada")
    file = own.open("file", smb.BOTH, disposition=smb.CREATE)
    own.write(file, 0, DATA)
    own.close(file)
    same = people.smb(people.ada, "HOMES")
    file = same.open("file", smb.READ)
    equal(same.read(file, 0, 100), DATA)
    same.close(file)
    others = people.smb(people.bob, "homes")
    names = [entry["file_name"].get_value().decode("utf-16-le") for entry in others.list("")]
    equal(sorted(names), [".", ".."])


def not_of_others_over_smb(people):
    for person, share in [(people.bob, "ada"), (people.ada, "bob"), (people.ada, "homes/bob"), (people.ada, "..")]:
        refused(lambda: people.smb(person, share))


def over_afp(people):
    volume = people.afp(people.ada, "ada")
    fork = volume.open("file", afp.READ)
    equal(volume.read(fork, 0, len(DATA)), DATA)
    volume.close(fork)
    same = people.afp(people.ada, "homes")
    fork = same.open("file", afp.READ)
    equal(same.read(fork, 0, len(DATA)), DATA)
    same.close(fork)
    own = people.afp(people.bob, "bob")
    equal(refused(lambda: own.open("file", afp.READ)), "ObjectNotFound")


def not_of_others_over_afp(people):
    for person, volume in [(people.bob, "ada"), (people.ada, "bob"), (people.ada, "..")]:
        equal(refused(lambda: people.afp(person, volume)), "ObjectNotFound")


def over_nfs(people):
    client = people.nfs3(people.args.uid, "homes/ada")
    equal(client.read("file", 0, 100), DATA)
    client.disconnect()
    if os.geteuid() == 0:  # else the server acts as its own user only
        client = people.nfs3(people.args.uid + 1, "homes/ada")
        equal(refused(lambda: client.read("file", 0, 100)), "ACCES")
        client.disconnect()


def one_file_for_all(people):
    """What a client of SMB caches in its home is recalled for a client of NFS, which comes by the folder of all."""
    holder = people.smb(people.ada, "ada")
    file = holder.open("file", smb.BOTH, oplock="batch")
    reader = people.nfs3(people.args.uid, "homes/ada")
    done = []
    reading = threading.Thread(target=lambda: done.append(reader.read("file", 0, 100)))
    reading.start()
    notice = holder.next_break(10)
    if notice is None:
        raise AssertionError("nothing was recalled")
    holder.write(file, 0, b"OF ADA")
    holder.acknowledge(notice)
    reading.join(20)
    equal(done, [b"OF ADA"])
    reader.disconnect()


def the_folder_is_the_users(people):
    found = os.stat(os.path.join(people.args.folder, "homes", "ada"))
    equal((found.st_uid, found.st_mode & 0o7777), (people.args.uid, 0o700))


def of_host(people):
    return tuple(people.args.of_host.split(":"))


def by_dhx2(people, name, password):
    """The names in the home, by the server's own client, which sends the password by DHX2; and whether it was let in."""
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(password + "\n")
        file.flush()
        url = f"afp://{name}@127.0.0.1:{people.args.afp_port}/homes"
        found = subprocess.run([people.args.program, "ls", url, "--password-file", file.name], capture_output=True, text=True, timeout=60)
    return found.stdout.split(), found.returncode == 0


def a_user_of_the_host(people):
    """PAM verifies the password that AFP sends, and the user acts with the ids of the host. SMB does not send one."""
    person = of_host(people)
    host = pwd.getpwnam(person[0])
    volume = people.afp(person, "homes")
    volume.create("made")
    found = os.stat(os.path.join(people.args.folder, "homes", person[0], "made"))
    equal((found.st_uid, found.st_gid), (host.pw_uid, host.pw_gid))
    equal(by_dhx2(people, *person), (["made"], True))
    refused(lambda: people.smb(person, "homes"))


def a_user_of_the_host_that_is_refused(people):
    """For a wrong password, an empty one, root, a user of the system, one that the host does not have, and a locked one."""
    name, right = of_host(people)
    for who, password in [(name, "wrong"), (name, ""), ("root", right), ("daemon", right), ("no-such-user", right), (people.args.locked, right)]:
        equal(refused(lambda: people.afp((who, password), "homes")), "UserNotAuth")
    equal(by_dhx2(people, name, "wrong"), ([], False))
    equal(by_dhx2(people, people.args.locked, right), ([], False))


TESTS = [over_smb, not_of_others_over_smb, over_afp, not_of_others_over_afp, over_nfs, one_file_for_all, the_folder_is_the_users]
OF_HOST = [a_user_of_the_host, a_user_of_the_host_that_is_refused]


def main():
    parser = argparse.ArgumentParser()
    for name in ("--uid", "--nfs-port", "--smb-port", "--afp-port"):
        parser.add_argument(name, type=int, required=True)
    for name in ("--folder", "--nfs3", "--user", "--password", "--expected", "--other"):
        parser.add_argument(name, required=True)
    for name in ("--of-host", "--locked", "--program"):
        parser.add_argument(name)
    args = parser.parse_args()
    for test in TESTS + (OF_HOST if args.of_host else []):
        name = test.__name__.replace("_", " ")
        try:
            test(People(args))
            print("pass", name)
        except Exception as error:  # noqa: BLE001: each is an outcome
            print(f"fail {name}: {type(error).__name__}: {error}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
