//! The numbers of the privileges that clients ask for.

use crate::wire::rpc::lsarpc::Luid;

/// The number of a privilege by its name, MS-LSAD 3.1.1.2.1. No user has any here, but clients ask
/// for the names to print.
pub(super) fn luid(name: &str) -> Option<Luid> {
    const NAMES: &[(u32, &str)] = &[
        (2, "SeCreateTokenPrivilege"),
        (3, "SeAssignPrimaryTokenPrivilege"),
        (4, "SeLockMemoryPrivilege"),
        (5, "SeIncreaseQuotaPrivilege"),
        (6, "SeMachineAccountPrivilege"),
        (7, "SeTcbPrivilege"),
        (8, "SeSecurityPrivilege"),
        (9, "SeTakeOwnershipPrivilege"),
        (10, "SeLoadDriverPrivilege"),
        (11, "SeSystemProfilePrivilege"),
        (12, "SeSystemtimePrivilege"),
        (13, "SeProfileSingleProcessPrivilege"),
        (14, "SeIncreaseBasePriorityPrivilege"),
        (15, "SeCreatePagefilePrivilege"),
        (16, "SeCreatePermanentPrivilege"),
        (17, "SeBackupPrivilege"),
        (18, "SeRestorePrivilege"),
        (19, "SeShutdownPrivilege"),
        (20, "SeDebugPrivilege"),
        (21, "SeAuditPrivilege"),
        (22, "SeSystemEnvironmentPrivilege"),
        (23, "SeChangeNotifyPrivilege"),
        (24, "SeRemoteShutdownPrivilege"),
        (25, "SeUndockPrivilege"),
        (26, "SeSyncAgentPrivilege"),
        (27, "SeEnableDelegationPrivilege"),
        (28, "SeManageVolumePrivilege"),
        (29, "SeImpersonatePrivilege"),
        (30, "SeCreateGlobalPrivilege"),
    ];
    NAMES.iter().find(|(_, known)| known.eq_ignore_ascii_case(name)).map(|(number, _)| Luid(*number))
}
