"""Servers in network namespaces of their own, on one bridge; clients and etcd are beside it."""

import subprocess

from scene import Etcd, Gateway


CEPH = "10.77.9"  # the network of Ceph, which servers in namespaces reach by a route


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


class Bridge:
    """A network: clients have address 254 of it, etcd 253, and each server its number."""

    def __init__(self, number):
        self.device, self.net, self.net6 = f"br{number}", f"10.77.{number}", f"fd77:{number}:"
        ip("link", "add", self.device, "type", "bridge")
        ip("link", "set", self.device, "up")
        for last in (254, 253):
            ip("address", "add", f"{self.net}.{last}/24", "dev", self.device)
        ip("address", "add", f"{self.net6}:254/64", "dev", self.device, "nodad")
        self.etcd = f"{self.net}.253"

    def remove(self):
        ip("link", "delete", self.device)


class Apart(Gateway):
    """A server in a network namespace of its own. Its ports are those of the protocols. `lines` are added to its settings."""

    def __init__(self, options, number, etcd, bridge, lines=""):
        super().__init__(options, f"{bridge.device}-{number}", etcd)
        self.number, self.bridge = number, bridge
        self.space, self.own, self.link = self.name, f"{bridge.net}.{number}", f"v{bridge.device}-{number}"
        ip("netns", "add", self.space)
        ip("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.space)
        ip("link", "set", self.link, "master", bridge.device, "up")
        ip("-n", self.space, "link", "set", "lo", "up")
        ip("-n", self.space, "address", "add", f"{self.own}/24", "dev", "eth0")
        ip("-n", self.space, "address", "add", f"{bridge.net6}:{number}/64", "dev", "eth0", "nodad")
        ip("-n", self.space, "link", "set", "eth0", "up")
        if getattr(options, "conf", None):
            ip("-n", self.space, "route", "add", f"{CEPH}.0/24", "via", f"{bridge.net}.254")
        self.within, self.listen = ["ip", "netns", "exec", self.space], []
        self.smb_port, self.afp_port, self.nfs_port = 445, 548, 2049
        with open(self.settings) as file:
            text = file.read()
        text = text.replace(self.peers, self.own)
        text = text.replace("[server]\n", f'[server]\ncluster-name = "{bridge.device}"\n{lines}', 1)
        with open(self.settings, "w") as file:
            file.write(text)

    def addresses(self, wanted):
        """Those of these addresses that its host has."""
        words = ["ip", "-n", self.space, "-brief", "address", "show", "dev", "eth0"]
        shown = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return [address for address in wanted if f" {address}/" in shown]

    def cut(self, *others):
        """From now on nothing from or to these addresses passes."""
        self._nft("add table inet cut")
        for chain, side in (("input", "saddr"), ("output", "daddr")):
            self._nft(f"add chain inet cut {chain} {{ type filter hook {chain} priority 0; }}")
            for other in others:
                self._nft(f"add rule inet cut {chain} ip {side} {other} drop")

    def heal(self):
        self._nft("delete table inet cut")

    def _nft(self, command):
        subprocess.run([*self.within, "nft", command], check=True, capture_output=True)

    def remove(self):
        if self.process:
            self.kill()
        ip("netns", "delete", self.space)


def end(bridge, etcd, gateways):
    """Servers over CephFS stop in order: after the loss of all, none evicts them, and what they have binds others for a minute."""
    if getattr(gateways[0].options, "conf", None):
        running = [gateway for gateway in gateways if gateway.process and gateway.process.poll() is None]
        [gateway.process.terminate() for gateway in running]
        [gateway.process.wait(30) for gateway in running]
    etcd.kill()
    for gateway in gateways:
        gateway.remove()
    bridge.remove()


def etcd_at(bridge, certificates, log, flags=()):
    return Etcd(certificates, log, bridge.etcd, flags)
