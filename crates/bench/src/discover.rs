//! Finds an empty disk of a host, for `--all`.

use std::time::Duration;

use ::iscsi::client::{Client, Login};

use crate::{Error, Result, Target};
use client::{Reach, Socket, chap, is_empty, iscsi_failed};

/// The most names that are read from an answer.
const MAX_NAMES: usize = 64;
/// The numbers of LUNs that are tried: most targets have 0, those of tgt have 1.
const LUNS: [&str; 2] = ["0", "1"];

/// The first disk of a host that holds nothing where partition tables and file systems have their marks.
///
/// # Errors
/// The host has no iSCSI target, or none of its disks is empty.
pub fn empty_disk(host: &Target, timeout: Duration) -> Result<Target> {
    let reach = Reach::direct(timeout);
    let mut client = Client::new(Socket::connect(&host.address(), &reach)?);
    let login = Login { chap: chap(host), ..Login::discovery() };
    let failed = |error| iscsi_failed(error, reach.seconds());
    client.log_in(&login).map_err(failed)?;
    let answer = client.text(b"SendTargets=All\0").map_err(failed)?;
    for name in names(&answer) {
        for lun in LUNS {
            let disk = Target { share: name.clone(), path: lun.into(), ..host.clone() };
            if is_empty(&disk, &reach) {
                return Ok(disk);
            }
        }
    }
    Err(Error::Missing("an empty LUN".into()))
}

/// The names of targets in an answer to SendTargets, RFC 7143 appendix C.
pub fn names(answer: &[u8]) -> Vec<String> {
    let pairs = answer.split(|byte| *byte == 0).filter_map(|pair| std::str::from_utf8(pair).ok());
    let names = pairs.filter_map(|pair| pair.strip_prefix("TargetName="));
    names.filter(|name| !name.is_empty()).take(MAX_NAMES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_from_addresses() {
        // The example of RFC 7143 appendix C, shortened.
        let answer = b"TargetName=iqn.1993-11.com.example:diskarray.sn.8675309\0\
            TargetAddress=10.1.0.45:3000,1\0TargetName=iqn.2026-01.invalid:other\0";
        assert_eq!(
            names(answer),
            ["iqn.1993-11.com.example:diskarray.sn.8675309", "iqn.2026-01.invalid:other"]
        );
        assert!(names(b"TargetName=\0\xFF\0").is_empty());
    }
}
