//! Wireshark records the packets on a port, and reports whether a message of the server is
//! malformed.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::outcome::Outcomes;
use crate::isolate;
use crate::process::{self, Running};

const LIMIT: Duration = Duration::from_secs(240);

/// A protocol with Wireshark's names for it.
#[derive(Debug)]
pub struct CapturedProtocol {
    /// The layer above TCP.
    pub layer: &'static str,
    /// The filter that finds the server's replies.
    pub replies: &'static str,
    /// Packets that Wireshark decodes wrongly, by a word in their summaries.
    pub mistaken: &'static [&'static str],
    /// Fields with the number of a frame, the number of its request, the length of a reply, and the
    /// length that the request allows. A reply of that length may have been cut at the client's
    /// request.
    pub lengths: &'static [&'static str],
}

/// The packets that tshark records on the loopback device.
#[derive(Debug)]
pub struct Capture {
    tshark: Running,
    file: PathBuf,
}

impl Capture {
    pub fn start(folder: &Path, port: u16) -> Result<Self> {
        ensure!(process::find("tshark").is_some(), "tshark is not installed");
        ensure!(isolate::is_isolated(), "only a network of our own is listened to (as root)");
        let file = folder.join("session.pcapng");
        let (path, filter) = (file.to_string_lossy().into_owned(), format!("tcp port {port}"));
        let log = process::log_file(&folder.join("tshark.log"))?;
        // A large buffer, since dropped packets would look malformed.
        let args = ["-i", "lo", "-q", "-B", "64", "-w", &path, "-f", &filter];
        let tshark = Running::start(process::find("tshark").context("tshark")?, &args, Stdio::null(), log)?;
        for _ in 0..100 {
            if file.exists() {
                std::thread::sleep(Duration::from_millis(500));
                return Ok(Self { tshark, file });
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("tshark does not record");
    }

    /// Checks that Wireshark reports no message of the server as malformed.
    pub fn judge(self, outcomes: &mut Outcomes, port: u16, protocol: &CapturedProtocol) {
        std::thread::sleep(Duration::from_secs(1)); // the last packets are on their way
        drop(self.tshark);
        let read = |filter: &str, more: &[&str]| {
            let (file, layer) = (self.file.to_string_lossy(), format!("tcp.port=={port},{}", protocol.layer));
            process::stdout_of("tshark", &[&["-r", &file, "-d", &layer, "-Y", filter], more].concat(), LIMIT)
        };
        outcomes.run("wireshark: it understands the replies", &["tshark"], || {
            let replies =
                read(&format!("{} && tcp.srcport == {port}", protocol.replies), &[])?.lines().count();
            ensure!(replies > 100, "only {replies} replies");
            Ok(())
        });
        outcomes.run("wireshark: nothing is malformed", &["tshark"], || {
            let fields: Vec<&str> = protocol.lengths.iter().flat_map(|field| ["-e", *field]).collect();
            let cut_short = match protocol.lengths {
                [] => Vec::new(),
                _ => cut_short(&read(protocol.layer, &[&["-T", "fields"], &fields[..]].concat())?),
            };
            let filter = format!("(_ws.malformed || _ws.expert.severity == error) && tcp.srcport == {port}");
            let bad = read(&filter, &[])?;
            let number = |line: &str| line.split_whitespace().next().unwrap_or_default().to_owned();
            let is_mistaken = |line: &&str| {
                cut_short.contains(&number(line)) || protocol.mistaken.iter().any(|word| line.contains(word))
            };
            let bad: Vec<&str> = bad.lines().filter(|line| !is_mistaken(line)).collect();
            ensure!(bad.is_empty(), "{} packets: {}", bad.len(), bad[..bad.len().min(5)].join("; "));
            Ok(())
        });
    }
}

/// The numbers of replies that are as long as their requests allow: lines of frame, request's frame, length, length allowed.
fn cut_short(table: &str) -> Vec<String> {
    let rows: Vec<Vec<&str>> = table.lines().map(|line| line.split('\t').collect()).collect();
    let allowed: HashMap<&str, &str> = rows.iter().filter_map(|row| Some((row[0], *row.get(3)?))).collect();
    let is_full =
        |row: &&Vec<&str>| row.len() == 4 && allowed.get(row[1]).is_some_and(|most| *most == row[2]);
    rows.iter().filter(is_full).map(|row| row[0].to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_as_long_as_was_asked_for_may_be_cut_short() {
        let table = "4\t\t0\t64\n5\t4\t64\t\n8\t\t0\t255\n9\t8\t76\t\n";
        assert_eq!(cut_short(table), ["5"]);
    }
}
