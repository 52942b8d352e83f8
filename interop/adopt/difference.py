"""What smbd admits, and what Fourfold admits with the settings that `fourfold adopt` made of the same smb.conf.

Shares with random settings are served by both. Six people come from three addresses, and list, read, write, make and remove files.
Ours must never admit what smbd refuses; where ours refuses more, the report of `adopt` must have named a limit. The seed of each file
is printed with a difference: `--seed N --files 1` repeats it.

It needs root, and a network and mount namespace of its own: `cargo xtask interop adopt` runs it in one.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import impacket.nmb
from impacket.smb3structs import FILE_OPEN, FILE_READ_DATA, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_DATA
from impacket.smbconnection import SMBConnection

SERVER = "10.9.0.1"
HOSTS = ["10.9.1.5", "10.9.1.7", "10.8.0.9"]
# The first name is that of the address. 10.8.0.9 has none.
NAMES = "10.9.1.5 pc5.lab.example alias.other.example\n10.9.1.7 pc7.other.example\n"
PORTS = {"theirs": 1445, "ours": 2445}
ACCOUNTS = {"ada": 2001, "bob": 2002, "eve": 2003}
GROUPS = {"staff": (3001, "ada,bob"), "film": (3002, "bob")}
# Name, password: the name in another case, a name that is no account, and a wrong password.
PEOPLE = [("ada", "Passada"), ("bob", "Passbob"), ("EVE", "Passeve"), ("stranger", "any"), ("guest", ""), ("ada", "wrong")]
SHARES_IN_FILE = 25


def run(words, **more):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60, **more)


def prepare(place):
    for name, extra in [("passwd", [f"{name}:x:{uid}:{uid}::/nonexistent:/bin/false" for name, uid in ACCOUNTS.items()]),
                        ("group", [f"{name}:x:{uid}:" for name, uid in ACCOUNTS.items()]
                         + [f"{name}:x:{gid}:{members}" for name, (gid, members) in GROUPS.items()])]:
        kept = [line for line in Path("/etc", name).read_text().splitlines() if line.split(":")[0] not in {*ACCOUNTS, *GROUPS}]
        (place / name).write_text("\n".join(kept + extra) + "\n")
        run(["mount", "--bind", place / name, f"/etc/{name}"], check=True)
    services = [line for line in Path("/etc/nsswitch.conf").read_text().splitlines() if not line.startswith("hosts:")]
    for name, said in [("hosts", "127.0.0.1 localhost\n" + NAMES), ("nsswitch.conf", "\n".join([*services, "hosts: files"]) + "\n")]:
        (place / name).write_text(said)
        run(["mount", "--bind", place / name, f"/etc/{name}"], check=True)
    for address in [SERVER, *HOSTS]:
        run(["ip", "address", "add", f"{address}/32", "dev", "lo"])


# What a file says: each entry is a line, or none. Those in front are more frequent.
GLOBAL = {
    "map to guest": ["Bad User", "bad user", "never", "Bad Password", None],
    "hosts allow": [None, None, None, "10.9.", "10. EXCEPT 10.9.1.7"],
    "hosts deny": [None, None, None, "10.8.0.0/16"],
    "hostname lookups": [None, "yes", "yes", "no"],
    "valid users": [None, None, None, "ada, bob"],
    "invalid users": [None, None, "root", "eve"],
    "read only": [None, "no", "yes"],
    "create mask": [None, None, "0777", "0600"],
    "guest ok": [None, None, "yes"],
    "restrict anonymous": [None, None, None, "0", "2"],
    "server signing": [None, None, None, "auto", "mandatory"],
    "smb encrypt": [None, None, None, "desired", "enforced"],
    "server min protocol": [None, None, None, "SMB2", "SMB3"],
}
SHARE = {
    "valid users": [None, None, "ada", "@staff", "ADA eve", "+film, \"eve\"", "%S", "ada %U", "&net bob"],
    "invalid users": [None, None, None, "eve", "bob", "@film"],
    "read list": [None, None, None, "ada", "@staff"],
    "write list": [None, None, "ada", "@staff", "eve bob"],
    "admin users": [None, None, None, None, "ada"],
    "writable": [None, "yes", "Yes", "1", "no"],
    "read only": [None, None, "no", "NO", "yes"],
    "guest ok": [None, "yes", "true", "no"],
    "guest only": [None, None, None, None, "yes"],
    "hosts allow": [None, None, None, "10.9.1.5", "10.9.1.", "10.9.1.*", "ALL EXCEPT 10.8.", "127.0.0.1", "10.9.0.0/255.255.0.0", "nas.example",
                    "pc5.lab.example", ".lab.example 10.8.", "*.other.example", "alias.other.example", "ALL EXCEPT .lab.example", "LOCAL", "FAIL"],
    "hosts deny": [None, None, None, "10.9.1.7", "ALL", "10. EXCEPT 10.9.1.5", ".lab.example", "PC7.other.example", "ALL EXCEPT *.other.example",
                   "alias.other.example", "LOCAL"],
    "create mask": [None, None, "0664", "0640", "0777"],
    "directory mask": [None, None, "0775", "0700"],
    "force create mode": [None, None, None, "0660"],
    "force user": [None, None, None, None, None, None, "ada"],
    "force group": [None, None, None, None, None, None, "+film", "staff"],
    "veto files": [None, None, None, None, None, "/*.veto/"],
    "hide files": [None, None, None, "/*.veto/"],
    "hide unreadable": [None, None, None, None, None, None, "yes"],
    "browseable": [None, "no"],
    "available": [None, None, None, None, None, None, "no"],
    "smb encrypt": [None, None, None, None, "required", "if_required"],
    "inherit permissions": [None, None, None, None, None, None, "yes"],
    "nt acl support": [None, None, None, None, None, None, "no"],
    "vfs objects": [None, None, None, "catia fruit streams_xattr"],
    "comment": [None, "a # b ; c"],
}


def spelled(rng, name):
    return rng.choice([name, name, name.upper(), name.title(), name.replace(" ", "  "), name.replace(" ", "")])


def lines(rng, table, count):
    names = rng.sample(sorted(table), rng.randint(1, count))
    said = [(name, rng.choice(table[name])) for name in names]
    return [f"  {spelled(rng, name)} = {value}" for name, value in said if value is not None]


def generated(seed):
    rng = random.Random(seed)
    shares = {f"s{number}": lines(rng, SHARE, 7) for number in range(SHARES_IN_FILE)}
    return lines(rng, GLOBAL, 5), shares


def text(whole, shares, tree, more=""):
    parts = ["[global]\n" + "\n".join(whole) + more]
    parts += [f"[{name}]\n  path = {tree}/{name}\n" + "\n".join(said) for name, said in shares.items()]
    return "\n".join(parts) + "\n"


def fill(tree, shares):
    files = {"open.txt": (0, 0, 0o644), "ada.txt": (2001, 2001, 0o600), "staff.txt": (0, 3001, 0o640), "wide.txt": (0, 0, 0o666),
             "x.veto": (0, 0, 0o644)}
    files |= {f"del-{person}.txt": (0, 0, 0o666) for person in range(len(PEOPLE))}
    for share in shares:
        folder = tree / share
        folder.mkdir(parents=True)
        folder.chmod(0o777)
        for name, (uid, gid, mode) in files.items():
            (folder / name).write_text("data")
            os.chown(folder / name, uid, gid)
            (folder / name).chmod(mode)


class Bound(socket.socket):
    """A socket that comes from an address."""
    source = HOSTS[0]

    def connect(self, address):
        self.bind((Bound.source, 0))
        super().connect(address)


def connected(port, person, host):
    Bound.source = host
    connection = SMBConnection(SERVER, SERVER, sess_port=port, timeout=20)
    connection.login(*person)
    if connection.isGuestSession():
        # MS-SMB2 3.2.5.3.1: a guest has no key to sign with. Impacket signs with dialect 3.1.1 anyway, and smbd refuses all of it.
        connection.getSMBServer()._Session["SigningActivated"] = False
    return connection


def tried(action):
    try:
        return action()
    except Exception:
        return None


def opened(connection, tree, name, access):
    handle = connection.openFile(tree, name, desiredAccess=access, shareMode=FILE_SHARE_READ | FILE_SHARE_WRITE, creationDisposition=FILE_OPEN)
    if access == FILE_READ_DATA:
        connection.readFile(tree, handle, 0, 4)
    else:
        connection.writeFile(tree, handle, b"more")
    connection.closeFile(tree, handle)
    return True


def admitted(tree_folder, port, shares, person, host, is_first):
    """What one person can do from one host: a set of words for each share."""
    number = PEOPLE.index(person)
    found = {share: set() for share in shares}
    session = tried(lambda: connected(port, person, host))
    if session is None:
        return found
    for share in shares:
        done, tree = found[share], tried(lambda: session.connectTree(share))
        if tree is None:
            continue
        listed = {one.get_longname() for one in tried(lambda: session.listPath(share, "*")) or []}
        done |= {f"list {name}" for name in listed if not name.startswith(("del-", "new-"))}
        names = ["open.txt", "ada.txt", "staff.txt", "x.veto"] if is_first else ["open.txt"]
        done |= {f"read {name}" for name in names if tried(lambda: opened(session, tree, name, FILE_READ_DATA))}
        done |= {"write wide.txt"} if tried(lambda: opened(session, tree, "wide.txt", FILE_WRITE_DATA)) else set()
        if is_first:
            made = f"new-{number}.txt"
            tried(lambda: session.closeFile(tree, session.createFile(tree, made)))
            path = tree_folder / share / made
            if path.exists():
                mode = path.stat().st_mode
                done |= {"make"} | {f"make {bit:o}" for bit in [0o040, 0o020, 0o004, 0o002] if mode & bit}
                path.unlink()
            tried(lambda: session.deleteFile(share, f"del-{number}.txt"))
            done |= set() if (tree_folder / share / f"del-{number}.txt").exists() else {"remove"}
        tried(lambda: session.disconnectTree(tree))
    tried(session.close)
    return found


def start(words, port, log):
    process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                               start_new_session=True)
    for _ in range(600):
        if process.poll() is not None:
            return None
        with socket.socket() as probe:
            if probe.connect_ex((SERVER, port)) == 0:
                return process
        time.sleep(0.05)
    return stop(process)


def stop(process):
    if process is not None and process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def smbd_folders(place):
    folders = {name: place / name.replace(" ", "-") for name in
               ["private dir", "lock directory", "state directory", "cache directory", "pid directory", "ncalrpc dir"]}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    said = "".join(f"\n  {name} = {folder}" for name, folder in folders.items())
    return said + (f"\n  smb ports = {PORTS['theirs']}\n  server role = standalone\n  disable netbios = yes\n  load printers = no"
                   f"\n  printcap name = /dev/null\n  log file = {place}/log\n  disable spoolss = yes\n")


def named(report, share):
    """Whether the report of adopt says that something is not as it was."""
    of_share = next((one for one in report["shares"] if one["name"] == share), None)
    if of_share is None:
        return True
    said = report["source"] + of_share["source"]
    words = ("refused, too", "without", "disabled", "beside them", "nobody")
    is_said = any(one["outcome"] in ("kept", "lost") or any(word in one.get("to", "") for word in words) for one in said)
    return is_said or bool(of_share["untranslated"])


def compare(seed, program, place):
    """Serves one file by both; returns what `differences` does."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    whole, shares = generated(seed)
    trees = {side: place / side for side in PORTS}
    for tree in trees.values():
        fill(tree, shares)
    machine = smbd_folders(place / "smbd")
    (place / "smb.conf").write_text(text(whole, shares, trees["theirs"], machine))
    (place / "adopted.conf").write_text(text(whole, shares, trees["ours"]))
    for name in ACCOUNTS:
        secret = f"Pass{name}\n" * 2
        run(["smbpasswd", "-L", "-s", "-a", "-c", place / "smb.conf", name], input=secret, check=True)
    passdb = place / "smbd/private-dir/passdb.tdb"
    adopt = [program, "adopt", "--smb-conf", place / "adopted.conf", "--passdb", passdb, "--import-accounts", "--state", place / "state"]
    asked = run([*adopt, "--json"])
    report = json.loads(asked.stdout)
    (place / "fourfold.toml").write_text(report["settings"])
    check = run([program, "check", "--config", place / "fourfold.toml", "--state", place / "state"])
    if check.returncode != 0:
        return [f"seed {seed}: check refuses the settings: {check.stdout}{check.stderr}"], 0, 0, 0, 0
    with open(place / "out", "w") as log:
        theirs = start(["smbd", "-F", "--no-process-group", "-s", place / "smb.conf"], PORTS["theirs"], log)
        ours = start([program, "serve", "--config", place / "fourfold.toml", "--state", place / "state", "--listen", SERVER, "--smb-port",
                      PORTS["ours"], "--nfs-port", "off", "--afp-port", "off", "--iscsi-port", "off", "--portmap-port", "off", "--bonjour",
                      "off"], PORTS["ours"], log)
        try:
            if theirs is None or ours is None:
                return [f"seed {seed}: a server does not start: {(place / 'out').read_text()[-2000:]}"], 0, 0, 0, 0
            return differences(seed, shares, trees, report)
        finally:
            stop(theirs)
            stop(ours)


def differences(seed, shares, trees, report):
    """Lines about what differs; how much was compared, was alike, and was guests' whom smbd lets in; and how many shares are closed."""
    found, compared, same, guests = [], 0, 0, 0
    for host in HOSTS:
        for person in PEOPLE:
            is_first = host == HOSTS[0]
            theirs, ours = (admitted(trees[side], PORTS[side], shares, person, host, is_first) for side in ("theirs", "ours"))
            for share in shares:
                compared += 1
                same += theirs[share] == ours[share]
                guests += person[0] not in ACCOUNTS and bool(theirs[share])
                who = f"seed {seed} [{share}] {person[0]}/{person[1]} from {host}"
                if more := ours[share] - theirs[share]:
                    found.append(f"{who}: WIDER: {sorted(more)}")
                # A narrower mode of a new file refuses nothing.
                less = {one for one in theirs[share] - ours[share] if not one.startswith("make ")}
                if less and not named(report, share):
                    found.append(f"{who}: refused and not named: {sorted(less)}")
    return found, compared, same, guests, len(report["closed"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--place", required=True, type=Path)
    parser.add_argument("--shares", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    asked.place.mkdir(parents=True, exist_ok=True)
    prepare(asked.place)
    impacket.nmb.socket.socket = Bound
    totals, found = [0, 0, 0, 0], []
    for seed in range(asked.seed, asked.seed + -(-asked.shares // SHARES_IN_FILE)):
        lines_found, *counts = compare(seed, asked.program, asked.place / "files")
        totals = [total + count for total, count in zip(totals, counts)]
        found += lines_found
        for line in lines_found[:20]:
            print(line, flush=True)
        if lines_found:
            print((asked.place / "files/adopted.conf").read_text() if len(found) == len(lines_found) else "", flush=True)
    compared, same, guests, closed = totals
    print(f"{compared} compared ({guests} of guests whom smbd lets in), {same} alike, {closed} shares closed; {len(found)} differences; "
          f"seeds from {asked.seed}")
    if compared >= 900 and guests == 0:
        print("smbd has let no guest in: this client, or its settings, must be wrong")
    sys.exit(1 if found or (compared >= 900 and guests == 0) else 0)


main()
