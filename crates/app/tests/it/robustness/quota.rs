//! Quotas as clients of each protocol meet them: the size of the disk, the refusal at the limit, and changes while they
//! are connected.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use ::afp::client::Client as AfpClient;
use ::afp::wire::{ResultCode, VolumeBitmap, command, volume::GetVolParms};
use ::smb::wire::{Command as SmbCommand, InfoType, Status, query_info};
use nfs::wire::v3::types::{Sattr3, Status as NfsStatus};
use nfs::wire::v3::write::StableHow;
use rustix::process::Signal;

use crate::robustness::afp::Afp;
use crate::robustness::client::Client;
use crate::robustness::server::{Server, USER, folder, open_to_all};
use crate::robustness::smb::Smb;
use crate::waiting::until_equal;

const KIB: u64 = 1024;

fn settings(top: &Path, share: &str, more: &str) {
    let text = format!(
        "[server]\nafp-logins = [\"cleartext\"]\nstate = \"state\"\n\n[[user]]\nname = \"{}\"\nuid = 1000\n\n\
         [[share]]\nname = \"share\"\npath = \"share\"\n{share}\n{more}",
        USER.0
    );
    std::fs::write(top.join("fourfold.toml"), text).unwrap();
}

fn start(top: &Path) -> Server {
    let user = format!("{}:{}", USER.0, USER.1);
    let ports = ["--nfs-port", "0", "--smb-port", "0", "--afp-port", "0", "--user", &user];
    Server::run(top, &ports)
}

/// Total and available bytes.
type Space = (u64, u64);

fn nfs_space(client: &mut Client) -> Space {
    let root = client.root.clone();
    let found = client.fsstat(&root).unwrap();
    assert_eq!(found.free_bytes, found.available_bytes);
    (found.total_bytes, found.available_bytes)
}

/// FileFsSizeInformation (3) and FileFsFullSizeInformation (7), MS-FSCC 2.5.
fn smb_space(smb: &mut Smb) -> Space {
    let file = smb.open("", |_| ()).unwrap();
    let mut ask = |information_class, length: usize| {
        let request = query_info::Request {
            info_type: InfoType::FILE_SYSTEM,
            information_class,
            output_buffer_length: 64,
            additional_information: 0,
            flags: query_info::Flags::NONE,
            file,
            input: &[],
        };
        let answer = smb.call(SmbCommand::QUERY_INFO, |w| request.encode(w));
        let data = answer.message[72..72 + length].to_vec();
        let long = |at: usize| u64::from_le_bytes(data[at..at + 8].try_into().unwrap());
        let unit = |at: usize| {
            let words: [[u8; 4]; 2] =
                [data[at..at + 4].try_into().unwrap(), data[at + 4..at + 8].try_into().unwrap()];
            words.map(u32::from_le_bytes).into_iter().map(u64::from).product::<u64>()
        };
        let unit = unit(length - 8);
        (0..(length - 8) / 8).map(|at| long(8 * at) * unit).collect::<Vec<u64>>()
    };
    let (size, full) = (ask(3, 24), ask(7, 32));
    assert_eq!((size[0], size[1], size[1]), (full[0], full[1], full[2]));
    smb.close(file).unwrap();
    (size[0], size[1])
}

fn afp_space(afp: &mut Afp) -> Space {
    let bitmap = VolumeBitmap::EXTENDED_FREE | VolumeBitmap::EXTENDED_TOTAL;
    let request = GetVolParms { volume: afp.volume, bitmap };
    let client: &mut AfpClient<_> = &mut afp.client;
    let reply = client.call(command::GET_VOL_PARMS, |w| request.encode(w)).unwrap().well().unwrap();
    let long = |at: usize| u64::from_be_bytes(reply[at..at + 8].try_into().unwrap());
    (long(10), long(2))
}

#[test]
fn each_protocol_shows_the_quota_and_refuses_in_its_own_words() {
    let (top, share) = folder();
    settings(top.path(), "quota = \"1 MiB\"\n", "");
    let server = start(top.path());
    let (mut nfs, mut smb) = (Client::mount(server.port), Smb::enter(server.smb_port));
    let mut afp = Afp::enter(server.afp_port);
    let root = nfs.root.clone();
    let handle = nfs.create(&root, "by nfs").unwrap();
    nfs.setattr(&root, Sattr3 { mode: Some(0o777), ..Sattr3::default() }).ok();
    nfs.write(&handle, 0, &[1; 300 << 10], StableHow::FILE_SYNC).unwrap();
    let file = smb.make("by smb", &[2; 60 << 10]);
    let fork = afp.make("by afp", &[3; 400 << 10]);
    let left = (1024 - 300 - 60 - 400) * KIB;
    let spaces = [nfs_space(&mut nfs), smb_space(&mut smb), afp_space(&mut afp)];
    assert_eq!(spaces, [(1024 * KIB, left); 3]);

    // What crosses the limit is refused whole, and what is there can be changed.
    assert_eq!(nfs.write(&handle, 300 * KIB, &[1; 300 << 10], StableHow::FILE_SYNC), Err(NfsStatus::DQUOT));
    nfs.write(&handle, 300 * KIB, &[1; 260 << 10], StableHow::UNSTABLE).unwrap();
    assert_eq!(nfs_space(&mut nfs), (1024 * KIB, 4 * KIB));
    assert_eq!(smb.write(file, 60 * KIB, &[2; 8192]), Err(Status::DISK_FULL));
    assert_eq!(
        afp.client.write(fork, 400 << 10, &[3; 8192]).unwrap_err().code(),
        Some(ResultCode::DISK_FULL)
    );
    smb.write(file, 0, &[4; 60 << 10]).unwrap();
    afp.client.write(fork, 0, &[5; 400 << 10]).unwrap();
    assert_eq!(smb.content(file).unwrap(), [4; 60 << 10]);

    // A larger quota counts at once, for what is open.
    settings(top.path(), "quota = \"2 MiB\"\n", "");
    server.signal(Signal::HUP);
    until_equal(&(2048 * KIB, 1028 * KIB), || nfs_space(&mut nfs));
    smb.write(file, 60 * KIB, &[2; 8192]).unwrap();
    afp.client.write(fork, 400 << 10, &[3; 8192]).unwrap();
    nfs.remove(&root, "by nfs").unwrap();
    assert_eq!(smb_space(&mut smb), (2048 * KIB, (2048 - 68 - 408) * KIB));

    // Without a quota it is the host's disk.
    settings(top.path(), "", "");
    server.signal(Signal::HUP);
    until_equal(&true, || afp_space(&mut afp).0 > 1 << 30);
    smb.write(file, 0, &[4; 60 << 10]).unwrap();
    drop((server, share));
}

#[test]
fn the_quota_of_a_share_binds_those_below_it() {
    let (top, share) = folder();
    std::fs::create_dir(share.join("video")).unwrap();
    open_to_all(&share.join("video"));
    settings(top.path(), "quota = \"100 KiB\"\n", "[[share]]\nname = \"share/video\"\nquota = \"1 MiB\"\n");
    let server = start(top.path());
    let mut outer = Smb::enter(server.smb_port);
    let mut inner = Smb::enter_share(server.smb_port, "share_video", USER).unwrap();
    let file = inner.make("film", &[1; 60 << 10]);
    outer.make("notes", &[2; 32 << 10]);
    assert_eq!(inner.write(file, 60 * KIB, &[1; 12 << 10]), Err(Status::DISK_FULL));
    inner.write(file, 60 * KIB, &[1; 8 << 10]).unwrap();
    assert_eq!((smb_space(&mut outer), smb_space(&mut inner)), ((100 * KIB, 0), (100 * KIB, 0)));
    inner.close(file).unwrap();
    inner.remove("film").unwrap();
    assert_eq!(
        (smb_space(&mut outer), smb_space(&mut inner)),
        ((100 * KIB, 68 * KIB), (100 * KIB, 68 * KIB))
    );
}

/// The row of `fourfold list`.
fn listed(top: &Path) -> serde_json::Value {
    let words = ["list", "share", "--json", "--state", "state"];
    let output = Command::new(env!("CARGO_BIN_EXE_fourfold")).args(words).current_dir(top).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()[0].clone()
}

/// Waits until all files are counted.
pub(crate) fn counted(top: &Path) -> u64 {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        let row = listed(top);
        if row.get("used_is_estimate").is_none() && !row["used"].is_null() {
            return row["used"].as_u64().unwrap();
        }
        assert!(Instant::now() < deadline, "{row}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn the_sum_is_right_after_a_crash_and_kept_over_a_clean_stop() {
    let (top, share) = folder();
    settings(top.path(), "quota = \"1 MiB\"\n", "");
    std::fs::write(share.join("old"), [1; 50_000]).unwrap();
    let server = start(top.path());
    assert_eq!(counted(top.path()), 52 * KIB);
    let mut nfs = Client::mount(server.port);
    let root = nfs.root.clone();
    let handle = nfs.create(&root, "new").unwrap();
    nfs.write(&handle, 0, &[1; 100 << 10], StableHow::UNSTABLE).unwrap();
    server.kill();
    std::fs::write(share.join("meanwhile"), [1; 4096]).unwrap();

    let server = start(top.path());
    assert_eq!(counted(top.path()), 156 * KIB, "counted again");
    assert_eq!(nfs_space(&mut Client::mount(server.port)), (1024 * KIB, 868 * KIB));
    server.signal(Signal::TERM);
    assert_eq!(server.exit_code(), Some(0));

    std::fs::remove_file(share.join("meanwhile")).unwrap();
    let row = listed(top.path());
    assert_eq!((row["used"].as_u64(), row["available"].as_u64()), (Some(156 * KIB), Some(868 * KIB)));
    let server = start(top.path());
    assert_eq!(counted(top.path()), 156 * KIB, "not counted again: the server has stopped cleanly");
    drop(server);
}
