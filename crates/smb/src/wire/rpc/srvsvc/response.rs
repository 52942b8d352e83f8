//! Answers of the server service, MS-SRVS 3.1.4.

use super::Change;
use crate::wire::rpc::WinError;
use crate::wire::rpc::ndr::Encoder;

/// The answer to a call that would change the server.
pub fn change_response(change: Change, status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    match change {
        Change::Plain => {}
        Change::WithArgument => e.null(),
        Change::WithHandle => e.handle(&[0; 20]),
    }
    e.u32(status.0);
    e.into_stub()
}

/// The answer of `NetrShareCheck`: a share's type and a status.
pub fn number_response(number: u32, status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    e.u32(number);
    e.u32(status.0);
    e.into_stub()
}

/// The answer of `NetrpGetFileSecurity` without a security descriptor, MS-SRVS 3.1.4.14.
pub fn file_security_response(status: WinError) -> Vec<u8> {
    let mut e = Encoder::new();
    e.null();
    e.u32(status.0);
    e.into_stub()
}

/// `NetrServerDiskEnum`, MS-SRVS 3.1.4.19.
#[derive(Debug)]
pub struct DiskListResponse<'a> {
    /// Drives, such as `C:`.
    pub disks: &'a [&'a str],
    pub resume: Option<u32>,
    pub status: WinError,
}

impl DiskListResponse<'_> {
    /// The list ends with an empty name, which is included in its count but not in its total.
    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        let listed = self.disks.iter().chain([&""]);
        let count = self.disks.len() + 1;
        e.count(count);
        e.pointer();
        e.count(count);
        e.u32(0);
        e.count(count);
        listed.for_each(|disk| e.varying_string(disk));
        e.count(self.disks.len());
        e.unique_u32(self.resume);
        e.u32(self.status.0);
        e.into_stub()
    }
}

/// `TIME_OF_DAY_INFO`, MS-SRVS 2.2.4.105.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeOfDay {
    /// Seconds since 1970.
    pub elapsed: u32,
    /// Milliseconds of a monotonic clock.
    pub milliseconds: u32,
    pub hours: u32,
    pub minutes: u32,
    pub seconds: u32,
    pub hundredths: u32,
    pub day: u32,
    pub month: u32,
    pub year: u32,
    /// 0 is Sunday.
    pub weekday: u32,
}

impl TimeOfDay {
    /// Ten-thousandths of a second from one tick of the clock to the next, as Windows says.
    const TICK: u32 = 310;

    pub fn encode(&self) -> Vec<u8> {
        let mut e = Encoder::new();
        e.pointer();
        for n in [self.elapsed, self.milliseconds] {
            e.u32(n);
        }
        for n in [self.hours, self.minutes, self.seconds, self.hundredths] {
            e.u32(n);
        }
        e.i32(0); // minutes west of Greenwich: the time above is UTC
        e.u32(Self::TICK);
        for n in [self.day, self.month, self.year, self.weekday] {
            e.u32(n);
        }
        e.u32(WinError::OK.0);
        e.into_stub()
    }
}
