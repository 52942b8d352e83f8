"""Two servers with a LUN, for the virtual machine of multipath.sh. Commands come on the standard input, one a line: `kill` (the server
that serves the LUN) and `start` (that one again). Each is answered by a line."""

import signal
import sys

import luns

SIZE = "256M"


def serve(options, certificates, log):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with luns.servers(options, certificates, log) as gateways:
        luns.says(gateways[1], "lun", "create", "disks/one", SIZE, "disks/one: made")
        luns.within(5, lambda: all(luns.listed(gateway.own, "one")[0] for gateway in gateways))
        print(f"ready {gateways[0].own}", flush=True)
        dead = None
        for line in sys.stdin:
            if line.strip() == "kill":
                [dead] = [gateway for gateway in gateways if gateway.addresses([luns.VIRTUAL])]
                dead.kill()
            elif line.strip() == "start":
                dead.start()
            else:
                raise ValueError(line)
            print("done", flush=True)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the end of the input was the order
