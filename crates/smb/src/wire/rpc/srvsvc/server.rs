//! What the server service says of the server, in each level of information.

use crate::wire::rpc::level::Levels;
use crate::wire::rpc::ndr::Encoder;

/// The server, `SERVER_INFO_100` to `SERVER_INFO_102`, MS-SRVS 2.2.4.40 to 2.2.4.42.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    pub name: String,
    pub major: u32,
    pub minor: u32,
    /// MS-SRVS 2.2.2.7.
    pub kind: u32,
    pub comment: String,
}

impl Server {
    /// `PLATFORM_ID_NT`, MS-SRVS 2.2.2.6.
    pub const PLATFORM_NT: u32 = 500;
    /// `SV_TYPE_WORKSTATION`, `SV_TYPE_SERVER` and `SV_TYPE_NT`.
    pub const USUAL: u32 = 0x0001 | 0x0002 | 0x1000;
}

impl Levels for Server {
    const LISTED: &'static [u32] = &[];
    const SHOWN: &'static [u32] = &[100, 101, 102];
    const UNKNOWN: &'static [u32] = &[
        103, 502, 503, 599, 1005, 1010, 1016, 1017, 1018, 1107, 1501, 1502, 1503, 1506, 1510, 1511, 1512,
        1513, 1514, 1515, 1516, 1518, 1523, 1528, 1529, 1530, 1533, 1534, 1535, 1536, 1538, 1539, 1540, 1541,
        1542, 1543, 1544, 1545, 1546, 1547, 1548, 1549, 1550, 1552, 1553, 1554, 1555, 1556,
    ];

    fn encode(&self, level: u32, e: &mut Encoder) {
        e.u32(Self::PLATFORM_NT);
        e.string(&self.name);
        if level == 100 {
            return;
        }
        e.u32(self.major);
        e.u32(self.minor);
        e.u32(self.kind);
        e.string(&self.comment);
        if level == 101 {
            return;
        }
        e.u32(u32::MAX); // users: any number
        e.i32(15); // minutes until an idle session is disconnected, as Windows says
        e.u32(0); // not hidden
        e.u32(240); // seconds between announcements and how much they vary: Windows' values, there are no announcements
        e.u32(3000);
        e.u32(0); // licences
        e.string("C:\\"); // where the users' folders are
    }
}
