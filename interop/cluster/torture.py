"""smbtorture with its connections at two servers in turns (`--unclist`): each test that opens two connections has them at different
servers. By hand: `cargo xtask interop cluster --torture`. Only a result that differs from that at one server
(interop/smb/expected.toml) is a failure."""

import os
import subprocess
import sys
import time
import tomllib

from scene import Gateway

SUITES = ["smb2.lock", "smb2.oplock", "smb2.lease", "smb2.sharemode", "smb2.notify", "smb2.dir", "smb2.rename", "smb2.create",
          "smb2.delete-on-close-perms", "smb2.read", "smb2.rw", "smb2.getinfo", "smb2.setinfo", "smb2.streams"]
LIMIT = 300
PORT = 445


def pair(options, etcd, certificates):
    """Two servers at the same port of two addresses, as smbtorture has one port for all."""
    gateways = []
    for number in (1, 2):
        gateway = Gateway(options, f"-torture{number}", etcd)
        gateway.own, gateway.smb_port = f"127.0.2.{number}", PORT
        gateway.listen = ["--listen", gateway.own]
        certificates.make(gateway.name)
        gateway.start()
        gateways.append(gateway)
    return gateways


def results(text):
    """The outcome of each test: pass, skip, or fail with the reason."""
    found, begun, lines = {}, None, iter(text.splitlines())
    for line in lines:
        what, _, name = line.partition(": ")
        name = name.removesuffix(" [")
        if what == "test":
            begun = name
        elif what in ("success", "skip", "failure", "error"):
            why = []
            if line.endswith(" ["):
                why = [more.strip() for more in iter(lambda: next(lines, "]"), "]")]
            found[name] = {"success": "pass", "skip": "skip"}.get(what, f"fail: {' '.join(why)}")
            begun = None
    if begun:
        found[begun] = "fail: smbtorture ended in it"
    return found


def check(options, etcd, certificates, folder):
    with open(os.path.join(os.path.dirname(__file__), "..", "smb", "expected.toml"), "rb") as file:
        alone = tomllib.load(file)
    gateways = pair(options, etcd, certificates)
    unclist = os.path.join(options.folder, "unclist")
    with open(unclist, "w") as file:
        file.writelines(f"//{gateway.own}/share\n" for gateway in gateways)
    try:
        for suite in SUITES:
            begun = time.monotonic()
            words = ["timeout", "-k", "5", str(LIMIT), "smbtorture", "-s", options.smb_conf, f"//{gateways[0].own}/share", "-p", str(PORT),
                     "-U", f"{options.user}%{options.password}", "--fullname", f"--unclist={unclist}",
                     "--option=torture:share2=quiet", suite]
            done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            with open(os.path.join(options.folder, f"{suite}.log"), "w") as log:
                log.write(done.stdout + done.stderr)
            found = results(done.stdout)
            for name, outcome in found.items():
                if outcome == "pass" or str(alone.get(name, "pass")).startswith(("fail", "skip")) or outcome == "skip":
                    print(f"pass torture, {name}", flush=True)
                else:
                    print(f"fail torture, {name}: {outcome.removeprefix('fail: ')}"[:400], flush=True)
            print(f"{suite}: {len(found)} tests, {time.monotonic() - begun:.1f} s", file=sys.stderr, flush=True)
            subprocess.run(["find", folder, "-mindepth", "1", "-delete"], check=False)
    finally:
        for gateway in gateways:
            gateway.kill()
