//! The status of a SCSI command, SAM-5 5.3.1.

/// The status of a command, SAM-5 5.3.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u8);

#[allow(missing_docs, reason = "named as in SAM-5 5.3.1")]
impl Status {
    pub const GOOD: Self = Self(0x00);
    pub const CHECK_CONDITION: Self = Self(0x02);
    pub const CONDITION_MET: Self = Self(0x04);
    pub const BUSY: Self = Self(0x08);
    pub const RESERVATION_CONFLICT: Self = Self(0x18);
    pub const TASK_SET_FULL: Self = Self(0x28);
    pub const ACA_ACTIVE: Self = Self(0x30);
    pub const TASK_ABORTED: Self = Self(0x40);

    /// The specification's name, if it has one.
    pub fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::GOOD => "GOOD",
            Self::CHECK_CONDITION => "CHECK_CONDITION",
            Self::CONDITION_MET => "CONDITION_MET",
            Self::BUSY => "BUSY",
            Self::RESERVATION_CONFLICT => "RESERVATION_CONFLICT",
            Self::TASK_SET_FULL => "TASK_SET_FULL",
            Self::ACA_ACTIVE => "ACA_ACTIVE",
            Self::TASK_ABORTED => "TASK_ABORTED",
            _ => return None,
        })
    }
}
