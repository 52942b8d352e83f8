//! The versions of AFP that the test programs support.

/// A version and the option that chooses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AfpVersion {
    pub name: &'static str,
    pub option: &'static str,
    /// Tells those apart that test one version at a time, with users and volumes of their own.
    pub lane: &'static str,
}

pub const VERSIONS: &[AfpVersion] = &[
    AfpVersion { name: "2.1", option: "-1", lane: "" },
    AfpVersion { name: "2.2", option: "-2", lane: "" },
    AfpVersion { name: "3.0", option: "-3", lane: "" },
    AfpVersion { name: "3.1", option: "-4", lane: "" },
    AfpVersion { name: "3.2", option: "-5", lane: "" },
    AfpVersion { name: "3.3", option: "-6", lane: "" },
    AfpVersion { name: "3.4", option: "-7", lane: "" },
];

impl AfpVersion {
    /// The two users of this version's tests, which run in parallel with those of other versions.
    pub fn users(self) -> [String; 2] {
        let (digits, lane) = (self.name.replace('.', ""), self.lane);
        [format!("ada{digits}{lane}"), format!("bob{digits}{lane}")]
    }

    /// The two volumes.
    pub fn volumes(self) -> [String; 2] {
        let (digits, lane) = (self.name.replace('.', ""), self.lane);
        [format!("main{digits}{lane}"), format!("second{digits}{lane}")]
    }
}
