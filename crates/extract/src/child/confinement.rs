//! Giving up everything: the user root, files and networks by Landlock, all system calls but those for memory, time and the two pipes
//! by seccomp, and memory and time by limits.

use std::collections::BTreeMap;
use std::io::{Error, Result};

use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
use nix::unistd::{Gid, Uid, setgroups, setresgid, setresuid};
use rustix::process::{Resource, Rlimit, nice, setrlimit};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

/// The most memory of the process in bytes, with the program itself.
pub const MOST_MEMORY: u64 = 256 << 20;
/// The user and the group that own nothing, by the convention of Linux.
const NOBODY: u32 = 65_534;
/// The most seconds of the processor.
pub const LONGEST_CPU_SECONDS: u64 = 20;

/// Confines this process. It cannot be taken back.
pub(super) fn confine() -> Result<()> {
    let _ = nice(19); // also a server that is nice already
    give_up_root();
    limit(Resource::As, MOST_MEMORY)?;
    limit(Resource::Cpu, LONGEST_CPU_SECONDS)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nproc, 0)?;
    land_lock();
    limit(Resource::Nofile, 0)?;
    filter_calls()
}

/// A process of root becomes one of the user that owns nothing, with all its threads. In a container that does not know the user it
/// stays what it is there; what is below takes the rights away all the same.
fn give_up_root() {
    if !Uid::effective().is_root() {
        return;
    }
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    let _ = setgroups(&[])
        .and_then(|()| setresgid(group, group, group))
        .and_then(|()| setresuid(user, user, user));
}

fn limit(resource: Resource, most: u64) -> Result<()> {
    setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).map_err(Error::from)
}

/// Takes all files and networks away, as far as the kernel can. seccomp, which each kernel has, takes the calls away that would
/// name them.
fn land_lock() {
    let restrict = || {
        Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(ABI::V6))?
            .handle_access(AccessNet::from_all(ABI::V6))?
            .scope(Scope::from_all(ABI::V6))?
            .create()?
            .restrict_self()
    };
    let _ = restrict();
}

/// The calls that are left. All others fail as not permitted.
fn filter_calls() -> Result<()> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = CALLS.iter().map(|call| (*call, Vec::new())).collect();
    for call in OF_MEMORY {
        // Memory is never made executable.
        let is_data =
            SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(EXECUTABLE), 0);
        let rule = SeccompRule::new(vec![is_data.map_err(Error::other)?]).map_err(Error::other)?;
        rules.insert(*call, vec![rule]);
    }
    let machine = std::env::consts::ARCH.try_into().map_err(Error::other)?;
    let refused = SeccompAction::Errno(rustix::io::Errno::PERM.raw_os_error() as u32);
    let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, machine).map_err(Error::other)?;
    let program: BpfProgram = filter.try_into().map_err(Error::other)?;
    // All threads: the allocator has one of its own.
    seccompiler::apply_filter_all_threads(&program).map_err(Error::other)
}

/// `PROT_EXEC`.
const EXECUTABLE: u64 = 4;
/// Calls that get memory, or change what may be done with it.
const OF_MEMORY: &[i64] = &[libc::SYS_mmap, libc::SYS_mprotect];
/// The calls that are left without conditions.
const CALLS: &[i64] = &[
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_close,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_getrandom,
    libc::SYS_sched_yield,
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_tgkill,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_restart_syscall,
    libc::SYS_exit,
    libc::SYS_exit_group,
];
