//! The settings of `[server]` about several servers of one tree.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::Host;
use Table::Server;

/// In the order of the documentation.
pub(super) const CLUSTER: &[Setting] = &[
    new(Server, "cluster", Host, Kind::Text, "\"etcds://10.0.0.1:2379,10.0.0.2:2379,10.0.0.3:2379\"")
        .without_default("the server is alone")
        .restart()
        .says(
            "The members of etcd, by which several servers of one tree find each other: `etcds://` with TLS, `etcd://` in clear.",
            "The URLs of `etcdctl --endpoints` are accepted, too: `https://a:2379,https://b:2379`. Each server needs the other \
             settings of `cluster-`, too, and the same shares. docs/cluster.md describes all of it.",
        ),
    new(Server, "cluster-name", Host, Kind::Text, "\"fourfold\"").restart().says(
        "The name of the cluster: several clusters can use one etcd.",
        "Up to 63 of a-z, 0-9, `-` and `.`.",
    ),
    new(Server, "cluster-server", Host, Kind::Text, "\"gate1\"").without_default("none").restart().says(
        "The name of this server in its cluster. It must be a DNS name in `cluster-certificate`.",
        "",
    ),
    new(Server, "cluster-listen", Host, Kind::Text, "\"10.0.0.1:7420\"").without_default("none").restart().says(
        "The address and port to which the other servers of the cluster connect.",
        "The connections are encrypted, and both sides show certificates.",
    ),
    new(Server, "cluster-certificate", Host, Kind::File, "\"/etc/fourfold/gate1.pem\"").without_default("none").restart().says(
        "A file with the certificate of this server for the others, and those of its issuers, in PEM.",
        "",
    ),
    new(Server, "cluster-key", Host, Kind::File, "\"/etc/fourfold/gate1.key\"").without_default("none").restart().says(
        "A file with the private key of `cluster-certificate`, in PEM.",
        "",
    ),
    new(Server, "cluster-ca", Host, Kind::File, "\"/etc/fourfold/cluster-ca.pem\"").without_default("none").restart().says(
        "A file with the certificates, in PEM, whose issuers vouch for the servers of the cluster.",
        "Use an issuer for this purpose only: a server with such a certificate and a member's name is let in.",
    ),
    new(Server, "cluster-etcd-ca", Host, Kind::File, "\"/etc/fourfold/etcd-ca.pem\"").without_default("`cluster-ca`").restart().says(
        "A file with the certificates, in PEM, whose issuers vouch for the members of etcd.",
        "It is for `etcds://`. The certificate of each member must have its name or address, as `cluster` has it.",
    ),
    new(Server, "cluster-etcd-certificate", Host, Kind::File, "\"/etc/fourfold/etcd-client.pem\"").without_default("`cluster-certificate`").restart().says(
        "A file with the certificate that the server shows to etcd, and those of its issuers, in PEM.",
        "It is for `etcds://`, and belongs to `cluster-etcd-key`. etcd asks for it with `--client-cert-auth`.",
    ),
    new(Server, "cluster-etcd-key", Host, Kind::File, "\"/etc/fourfold/etcd-client.key\"").without_default("`cluster-key`").restart().says(
        "A file with the private key of `cluster-etcd-certificate`, in PEM.",
        "",
    ),
    new(Server, "cluster-etcd-credentials", Host, Kind::File, "\"/etc/fourfold/etcd.credentials\"").without_default("no user").restart().says(
        "A file with the user for an etcd with authentication (`etcdctl auth enable`): `username=`, `password=`.",
        "The user needs a role with read and write permission for the keys that begin with `fourfold`. Only the server's user \
         should be able to read the file.",
    ),
    new(Server, "cluster-addresses", Host, Kind::Texts, "[]").example("[\"10.0.0.50/24@eth0\", \"10.0.0.51/24@eth0\"]").restart().says(
        "Virtual addresses (IPv4 and IPv6) that the servers of the cluster share: each is at one live server, and clients connect to them.",
        "Another server takes the addresses of a server that is lost, in less than 10 s. List the same addresses on all servers; \
         the device can differ. `listen` must not be set, or has to have them, too. The server needs CAP_NET_ADMIN for this, and \
         CAP_NET_RAW for addresses of IPv6. \
         docs/cluster.md describes it.",
    ),
    new(Server, "cluster-address-command", Host, Kind::File, "\"/etc/fourfold/address\"").without_default("the server does it").restart().says(
        "A program that gives a virtual address to this host, or takes it away, instead of the server.",
        "It is run as `COMMAND add|remove ADDRESS/PREFIX DEVICE` and must end within 10 s with exit code 0. If the server is killed, it \
         is not run: then the program's own manager has to take the address away before 5 s are over.",
    ),
    new(Server, "cluster-rpc-port", Host, Kind::Port, "135").without_default("135 for root, else off").restart().says(
        "Port of the endpoint mapper, through which Windows finds the witness service of this server; off turns both off.",
        "Clients of the other servers are told through it when their server is lost, stopped or drained. Windows asks port 135 and no \
         other. Where another program has that port (smbd of a domain controller), the server starts without a witness if this is not \
         set. See docs/cluster.md.",
    ),
    new(Server, "cluster-witness-port", Host, Kind::Port, "0").restart().says(
        "Port of the witness service; 0 picks a free one.",
        "Clients learn it from the endpoint mapper. Set it where a firewall is between clients and servers.",
    ),
];
