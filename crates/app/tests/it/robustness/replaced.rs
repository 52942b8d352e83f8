//! Renames over a file that is open elsewhere: for other clients, the name always leads to a file,
//! the old or the new one.

use std::sync::atomic::{AtomicBool, Ordering};

use ::smb::wire::create::{Disposition, Request};
use ::smb::wire::fscc::FileClass;
use ::smb::wire::fscc::file_name::Target;
use ::smb::wire::security::AccessMask;
use ::smb::wire::{Command, InfoType, Status, set_info};
use wire::Writer;

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder};
use crate::robustness::smb::Smb;

const ROUNDS: usize = 200;

#[test]
fn a_name_is_never_without_a_file_while_smb_renames_over_it() {
    let (top, share) = folder();
    let server = Server::start_with_smb(top.path(), &share);
    let (mut mover, mut opener) = (Smb::enter(server.smb_port), Smb::enter_as_machine(server.smb_port, 2));
    let first = mover.make("there", b"0");
    mover.close(first).unwrap();
    let is_over = AtomicBool::new(false);
    let looks = std::thread::scope(|scope| {
        let looking = scope.spawn(|| {
            let mut nfs = Client::mount(server.port);
            let root = nfs.root.clone();
            let mut looks = 0;
            while !is_over.load(Ordering::Relaxed) {
                nfs.lookup(&root, "there").expect("there is always a file");
                looks += 1;
            }
            looks
        });
        for round in 0..ROUNDS {
            let open = opener.open("there", to_read).unwrap();
            rename_over(&mut mover, round);
            assert_eq!(
                opener.content(open).unwrap(),
                round.to_string().as_bytes(),
                "the open file is unchanged"
            );
            opener.close(open).unwrap();
        }
        is_over.store(true, Ordering::Relaxed);
        looking.join().unwrap()
    });
    assert!(looks > ROUNDS, "{looks} looks");
}

fn to_read(request: &mut Request<'_>) {
    request.desired_access = AccessMask::FILE_READ.0;
    request.disposition = Disposition::OPEN;
}

/// FileRenameInformation as Linux sends it: it replaces, and does not request POSIX semantics.
fn rename_over(mover: &mut Smb, round: usize) {
    let file = mover.make("new", (round + 1).to_string().as_bytes());
    let target =
        Target { replace_if_exists: true, root_directory: 0, name: "there".encode_utf16().collect() };
    let mut w = Writer::new();
    target.encode(&mut w);
    let request = set_info::Request {
        info_type: InfoType::FILE,
        information_class: FileClass::RENAME.0,
        additional_information: 0,
        file,
        data: w.as_bytes(),
    };
    let answer = mover.call(Command::SET_INFO, |w| request.encode(w));
    assert_eq!(answer.status(), Status::SUCCESS, "round {round}");
    mover.close(file).unwrap();
}
