//! A workstation of AFP over AppleTalk, for the interop suite and for measurements. No package has it.
//!
//! ```text
//! asp LINK find [TYPE]                            servers and their addresses
//! asp LINK status SERVER                          the server's information, as bytes on standard output
//! asp LINK SERVER VERSION LOGIN VOLUME COMMAND…   LOGIN is guest, or METHOD:USER:PASSWORD
//! ```
//!
//! LINK is `ltoudp`, `ltoudp:INTERFACE`, `ethertalk:INTERFACE` or `tashtalk:DEVICE`. SERVER is a name, or NAME@ZONE. VERSION is one of
//! AFP, such as `AFP2.2` or `AFPVersion 2.1`. METHOD is cleartext, randnum or two-way. COMMAND is one of `list`, `put FILE NAME`,
//! `get NAME FILE`, `copy NAME NEW`, `rename NAME NEW`, `folder NAME`, `delete NAME`; more follow after a `+`. `put` and `get` print bytes
//! and seconds.

use std::error::Error;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use afp::client::{Client, ClientLogin, ROOT};
use appletalk::{Endpoint, EntityName};
use client::appletalk::{AspStream, Workstation};

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes between two lines about progress, and the most of a file that is in memory.
const PIECE: usize = 1 << 20;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let [link, words @ ..] = &words[..] else {
        return Err("asp LINK …: the comment of its source says what".into());
    };
    let mut node = Workstation::open(&link.parse()?)?;
    match words {
        ["find", rest @ ..] => find(&mut node, rest.first().copied().unwrap_or("AFPServer")),
        ["status", server] => {
            let mut client = Client::new(session(node, server)?);
            Ok(io::stdout().write_all(&client.status()?)?)
        }
        [server, version, login, volume, commands @ ..] => {
            let mut client = Client::open(session(node, server)?)?;
            log_in(&mut client, version, login)?;
            let volume = client.open_volume(volume)?;
            for command in commands.split(|word| *word == "+") {
                run(&mut client, volume, command)?;
            }
            Ok(())
        }
        _ => Err("the words after LINK are not understood".into()),
    }
}

fn find(node: &mut Workstation, kind: &str) -> Outcome {
    let name = EntityName::from_text("=", kind, "*").ok_or("a type that AppleTalk cannot have")?;
    for found in node.find(name, TIMEOUT)? {
        writeln!(io::stdout(), "{}\t{}", found.name.object, found.endpoint)?;
    }
    Ok(())
}

fn session(mut node: Workstation, server: &str) -> Outcome<AspStream> {
    let (object, zone) = server.rsplit_once('@').unwrap_or((server, "*"));
    let name = EntityName::from_text(object, "AFPServer", zone).ok_or("a name that AppleTalk cannot have")?;
    let found = node.find(name, TIMEOUT)?;
    let server: Endpoint = found.first().ok_or("no server has this name")?.endpoint;
    Ok(node.session(server, TIMEOUT)?)
}

fn log_in(client: &mut Client<AspStream>, version: &str, login: &str) -> Outcome {
    let words: Vec<&str> = login.splitn(3, ':').collect();
    let login = match words[..] {
        ["guest"] => ClientLogin::Guest,
        ["cleartext", name, password] => ClientLogin::Cleartext { name, password },
        ["randnum", name, password] => ClientLogin::Randnum { name, password },
        ["two-way", name, password] => ClientLogin::TwoWayRandnum { name, password },
        _ => return Err("LOGIN is guest, or METHOD:USER:PASSWORD".into()),
    };
    Ok(client.log_in(version, &login)?)
}

fn run(client: &mut Client<AspStream>, volume: u16, command: &[&str]) -> Outcome {
    match *command {
        ["list"] => {
            for entry in client.enumerate(volume, ROOT)? {
                let mark = if entry.is_folder { "/" } else { "" };
                writeln!(io::stdout(), "{}{mark}", String::from_utf8_lossy(&entry.name))?;
            }
            Ok(())
        }
        ["put", file, name] => put(client, volume, &std::fs::read(file)?, name),
        ["get", name, file] => Ok(std::fs::write(file, get(client, volume, name)?)?),
        ["copy", name, new] => Ok(client.copy(volume, ROOT, name, new)?),
        ["rename", name, new] => Ok(client.rename(volume, ROOT, name, new)?),
        ["folder", name] => Ok(client.create_folder(volume, ROOT, name).map(drop)?),
        ["delete", name] => Ok(client.delete(volume, ROOT, name)?),
        _ => Err(format!("no command: {}", command.join(" ")).into()),
    }
}

fn put(client: &mut Client<AspStream>, volume: u16, data: &[u8], name: &str) -> Outcome {
    client.create(volume, name)?;
    let fork = client.open_data(volume, name)?;
    let start = Instant::now();
    for (at, piece) in data.chunks(PIECE).enumerate() {
        client.write(fork, (at * PIECE) as i64, piece)?;
    }
    client.flush(fork)?;
    report("put", data.len(), start)?;
    Ok(client.close(fork)?)
}

fn get(client: &mut Client<AspStream>, volume: u16, name: &str) -> Outcome<Vec<u8>> {
    let fork = client.open_data(volume, name)?;
    let (mut data, start) = (Vec::new(), Instant::now());
    loop {
        let piece = client.read(fork, data.len() as i64, PIECE as i64)?;
        data.extend_from_slice(&piece);
        if piece.len() < PIECE {
            break;
        }
    }
    report("get", data.len(), start)?;
    client.close(fork)?;
    Ok(data)
}

fn report(what: &str, bytes: usize, start: Instant) -> Outcome {
    let seconds = start.elapsed().as_secs_f64();
    Ok(writeln!(io::stdout(), "{what}: {bytes} bytes in {seconds:.3} s")?)
}
