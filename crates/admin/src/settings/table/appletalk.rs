//! The settings of `[appletalk]`.

use super::super::authority::Authority;
use super::super::kind::Kind;
use super::super::setting::{Setting, Table, new};

use Authority::Host;
use Kind::{Bool, Text, Texts};
use Table::AppleTalk;

/// In the order of the documentation.
pub(super) const APPLETALK: &[Setting] = &[
    new(AppleTalk, "links", Host, Texts, "[]")
        .example("[\"ltoudp\", \"ethertalk:eth1\"]")
        .flag("appletalk", "LINK")
        .says(
            "Where the server speaks AppleTalk: `ltoudp`, `ethertalk:INTERFACE`, `tashtalk:DEVICE`; can be given several times.",
            "`ltoudp` is LocalTalk in multicast UDP, as emulators and bridges speak it; `ltoudp:eth0` is on this interface. \
             `ethertalk:eth1` is EtherTalk phase 2 on a network interface, and needs root or CAP_NET_RAW; a server that starts without \
             such a link gives that right up, so the first one needs a restart. \
             `tashtalk:/dev/ttyUSB0` is LocalTalk by a TashTalk at a serial port. Without links there is no AppleTalk. \
             [The page](appletalk.md) has examples.",
        ),
    new(AppleTalk, "zone", Host, Text, "\"Museum\"")
        .without_default("the zone that a router names, else none")
        .says(
            "The zone in which the Chooser shows the server.",
            "It must be a zone of the network: one that a router there has, or one of `seed`.",
        ),
    new(AppleTalk, "name", Host, Text, "\"Studio\"").without_default("the server's name").says(
        "The name that the Chooser shows, of at most 31 characters of MacRoman.",
        "If another server has it, a number is added, and the log says so.",
    ),
    new(AppleTalk, "router", Host, Bool, "false").says(
        "The server routes between its links.",
        "It learns networks and zones from other routers. Networks without a router get their numbers and zones from `seed`.",
    ),
    new(AppleTalk, "seed", Host, Texts, "[]")
        .example("[\"ltoudp 2 Museum\", \"ethertalk:eth1 3-5 Museum, Workshop\"]")
        .says(
            "The numbers and zones of the networks of links that no other router gives any: LINK, NUMBER or FIRST-LAST, zones with \
             commas between them.",
            "LocalTalk has one number and one zone. The first zone is the default one. If another router of the network says otherwise, its word \
             counts, and the log says so. It needs `router`.",
        ),
];
