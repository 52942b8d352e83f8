//! What the benchmark reads: URLs, its raw data, and the answers that its clients decode themselves.

use ::bench::Target;
use ::bench::report::{self, Report};

/// A URL. A target has a host and a share, and its name has no password.
pub fn urls(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(target) = Target::parse(text) else { return };
    assert!(target.share.len() > 1 || !target.host.is_empty());
    assert!(!target.path.split('/').any(|part| part == ".."));
    let plain = Target { password: String::new(), ..target.clone() };
    assert_eq!(target.to_string(), plain.to_string());
    let _ = target.address();
    let _ = Target::all(text);
}

/// Raw data, the report of it, and its comparison with itself.
pub fn records(data: &[u8]) {
    let Ok(records) = ::bench::record::read(data) else { return };
    let report = Report::of(&records);
    let _ = report::text(&report);
    let _ = ::bench::compare::compare(&report, &report);
    // Charts take long: only libFuzzer draws them.
    if cfg!(fuzzing) {
        let _ = report::html(&report);
    }
}

/// Answers of servers: of iSCSI to SendTargets, of SMB to READ, and of NFS to any call.
pub fn answers(data: &[u8]) {
    let names = ::bench::discover::names(data);
    assert!(names.iter().all(|name| !name.is_empty() && data.len() >= name.len()));
    ::client::decode_answers(data);
}
