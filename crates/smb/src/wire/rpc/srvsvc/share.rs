//! What the server service says of a share, in each level of information.

use crate::wire::rpc::level::Levels;
use crate::wire::rpc::ndr::Encoder;

/// A share, `SHARE_INFO_0` to `SHARE_INFO_1501`, MS-SRVS 2.2.4.22 to 2.2.4.32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    pub name: String,
    /// [`super::share_type`].
    pub kind: u32,
    pub remark: String,
    /// The most sessions that may be connected. u32::MAX: no limit.
    pub max_uses: u32,
    pub uses: u32,
    /// The path on the server that clients are shown.
    pub path: String,
    /// MS-SRVS 2.2.4.29 and [2.2.2.5]: caching of files offline, DFS.
    pub flags: u32,
}

impl Levels for Share {
    const LISTED: &'static [u32] = &[0, 1, 2, 501, 502, 503];
    const SHOWN: &'static [u32] = &[0, 1, 2, 501, 502, 503, 1004, 1005, 1006, 1501];

    fn encode(&self, level: u32, e: &mut Encoder) {
        match level {
            1004 => e.string(&self.remark),
            1005 => e.u32(self.flags),
            1006 => e.u32(self.max_uses),
            1501 => no_security(e),
            _ => self.encode_named(level, e),
        }
    }
}

impl Share {
    fn encode_named(&self, level: u32, e: &mut Encoder) {
        e.string(&self.name);
        if level == 0 {
            return;
        }
        e.u32(self.kind);
        e.string(&self.remark);
        match level {
            501 => e.u32(self.flags),
            2 | 502 | 503 => self.encode_use(level, e),
            _ => {}
        }
    }

    fn encode_use(&self, level: u32, e: &mut Encoder) {
        e.u32(0); // permissions: only servers with passwords on shares use them
        e.u32(self.max_uses);
        e.u32(self.uses);
        e.string(&self.path);
        e.null(); // password
        match level {
            502 => no_security(e),
            503 => {
                e.string("*"); // the server's name: this one, whatever it is called
                no_security(e);
            }
            _ => {}
        }
    }
}

/// The length of a security descriptor, and none.
fn no_security(e: &mut Encoder) {
    e.u32(0);
    e.null();
}
