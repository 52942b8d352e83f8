//! The process's privileges. As root, it keeps the few capabilities that a file server needs, and
//! drops the rest before it reads the first byte from a client.

use admin::{ServerSettings, Settings};
use appletalk::links::LinkName;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, CapabilitySets};

/// Acting as the caller, opening files by handle, changing owners, making devices where a share
/// allows them, letting local programs wait for clients, and using the standard ports.
const NEEDED: [(CapabilitySet, &str); 10] = [
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::DAC_READ_SEARCH, "CAP_DAC_READ_SEARCH"),
    (CapabilitySet::FOWNER, "CAP_FOWNER"),
    (CapabilitySet::FSETID, "CAP_FSETID"),
    (CapabilitySet::LEASE, "CAP_LEASE"),
    (CapabilitySet::MKNOD, "CAP_MKNOD"),
    (CapabilitySet::NET_BIND_SERVICE, "CAP_NET_BIND_SERVICE"),
    (CapabilitySet::SETGID, "CAP_SETGID"),
    (CapabilitySet::SETUID, "CAP_SETUID"),
];

/// The names of the needed capabilities that this process does not have.
pub(crate) fn missing() -> Vec<&'static str> {
    let have = rustix::thread::capabilities(None).map_or(CapabilitySet::empty(), |sets| sets.permitted);
    NEEDED.into_iter().filter(|(needed, _)| !have.contains(*needed)).map(|(_, name)| name).collect()
}

/// Drops this thread's other capabilities, also for threads and programs that it starts later. A server that gives its host
/// virtual addresses, or lets users of the host log in, needs more. EtherTalk's right stays until [`leave_to_appletalk`].
pub(crate) fn keep_only_needed(settings: &Settings) -> std::io::Result<()> {
    rustix::thread::set_no_new_privs(true)?;
    let have = rustix::thread::capabilities(None)?;
    let more = of_addresses(&settings.server) | of_pam(&settings.server) | of_ethertalk(settings);
    let needed = NEEDED.into_iter().fold(CapabilitySet::empty(), |all, (one, _)| all | one);
    let kept = have.permitted & (needed | more);
    limit_programs(have.effective, kept)?;
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Takes the others out of the bounding set, so that no program that is started later has them. Such programs (`ssh` and
/// `fourfold replicate` of replications, helpers of PAM, the address command of a cluster) need the same capabilities as the server.
fn limit_programs(effective: CapabilitySet, kept: CapabilitySet) -> std::io::Result<()> {
    if !effective.contains(CapabilitySet::SETPCAP) {
        return Ok(()); // no root: it has none to give, and `no_new_privs` is set
    }
    for bit in 0..u64::BITS {
        let one = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::capability_is_in_bounding_set(one) {
            Ok(true) if !kept.contains(one) => rustix::thread::remove_capability_from_bounding_set(one)?,
            Ok(_) => {}
            Err(_) => break, // the kernel knows no further ones
        }
    }
    Ok(())
}

/// Giving virtual addresses to this host, and, for those of IPv6, sending Neighbor Advertisements.
fn of_addresses(settings: &ServerSettings) -> CapabilitySet {
    let addresses = settings.cluster.as_ref().map_or(&[][..], |cluster| &cluster.addresses);
    match (addresses.is_empty(), addresses.iter().any(|address| address.ip.is_ipv6())) {
        (true, _) => CapabilitySet::empty(),
        (false, false) => CapabilitySet::NET_ADMIN,
        (false, true) => CapabilitySet::NET_ADMIN | CapabilitySet::NET_RAW,
    }
}

/// Receiving and sending frames of Ethernet.
fn of_ethertalk(settings: &Settings) -> CapabilitySet {
    let links = settings.appletalk.as_ref().map_or(&[][..], |appletalk| &appletalk.links);
    match links.iter().any(|link| matches!(link, LinkName::EtherTalk { .. })) {
        true => CapabilitySet::NET_RAW,
        false => CapabilitySet::empty(),
    }
}

/// Drops this thread's right to use frames of Ethernet, also for threads that it starts later: the thread that speaks AppleTalk
/// has begun, and keeps it.
pub(crate) fn leave_to_appletalk(settings: &Settings) -> std::io::Result<()> {
    let dropped = of_ethertalk(settings).difference(of_addresses(&settings.server));
    limit_thread(|capability| !dropped.contains(capability))
}

/// Whether this thread has the right to use frames of Ethernet.
pub(crate) fn has_raw_network() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| sets.permitted.contains(CapabilitySet::NET_RAW))
}

/// Keeps the right to use frames of Ethernet, if this thread has it, and no other: for the thread that speaks AppleTalk.
pub(crate) fn keep_only_raw_network() -> std::io::Result<()> {
    limit_thread(|capability| capability == CapabilitySet::NET_RAW)
}

fn limit_thread(keeps: impl Fn(CapabilitySet) -> bool) -> std::io::Result<()> {
    let have = rustix::thread::capabilities(None)?;
    let kept: CapabilitySet = have.permitted.iter().filter(|capability| keeps(*capability)).collect();
    let sets = CapabilitySets { effective: kept, permitted: kept, inheritable: CapabilitySet::empty() };
    Ok(rustix::thread::set_capabilities(None, sets)?)
}

/// Linux-PAM refuses each login of a process of root that may not write to the kernel's audit log.
fn of_pam(settings: &ServerSettings) -> CapabilitySet {
    match settings.pam_service {
        Some(_) => CapabilitySet::AUDIT_WRITE,
        None => CapabilitySet::empty(),
    }
}

/// Every connection and every file in use needs a descriptor: the limit becomes the highest that
/// the system allows.
pub(crate) fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }) {
        tracing::warn!(%error, "the number of open files stays limited");
    }
}

/// How many descriptors files may use; connections use the rest.
pub(crate) fn files_to_keep_open() -> usize {
    /// A file may need two: one to name it and one for its data.
    const EACH: u64 = 2;
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    usize::try_from(limit / 3 / EACH).unwrap_or(usize::MAX).min(100_000)
}

/// How many files clients may have open at once. An open has one or two descriptors, seldom four; one client may have half of the
/// opens, and so never all descriptors.
pub(crate) fn opens_of_clients(set: Option<u64>) -> usize {
    const PART: u64 = 4;
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    usize::try_from(set.unwrap_or((limit / PART).max(16))).unwrap_or(usize::MAX)
}
