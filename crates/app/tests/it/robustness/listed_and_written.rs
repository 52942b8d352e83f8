//! Clients of NFS list a large folder repeatedly while clients of SMB write in it.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::robustness::client::Client;
use crate::robustness::server::{Server, folder, open_to_all};
use crate::robustness::smb::Smb;

const FILES: usize = 3_000;
const CLIENTS: u8 = 4;
/// How long they work. A deadlock of the listing's locks appeared within this time.
const WORK: Duration = Duration::from_secs(6);

fn name(at: usize) -> String {
    format!("a file of the large folder {at:05}")
}

#[test]
fn a_large_folder_is_listed_over_nfs_while_it_is_written_over_smb() {
    let (top, share) = folder();
    let large = share.join("large");
    std::fs::create_dir(&large).unwrap();
    open_to_all(&large);
    for at in 0..FILES {
        std::fs::write(large.join(name(at)), b"x").unwrap();
        open_to_all(&large.join(name(at)));
    }
    let server = Server::start_with_smb(top.path(), &share);
    let (end, (tell, told)) = (Instant::now() + WORK, mpsc::channel());
    let start = |mut work: Box<dyn FnMut(usize) + Send>| {
        let tell = tell.clone();
        std::thread::spawn(move || {
            let rounds = (0..).take_while(|_| Instant::now() < end).map(&mut work).count();
            tell.send(rounds).unwrap();
        });
    };
    for number in 0..CLIENTS {
        let mut nfs = Client::mount(server.port);
        let root = nfs.root.clone();
        let large = nfs.lookup(&root, "large").unwrap();
        start(Box::new(move |_| assert!(nfs.names_plus(&large).unwrap().len() >= FILES)));
        let mut smb = Smb::enter_as_machine(server.smb_port, number);
        start(Box::new(move |round| {
            let file = smb.open(&format!("large\\{}", name((round * 7) % FILES)), |_| ()).unwrap();
            smb.write(file, 0, &[number; 100]).unwrap();
            smb.close(file).unwrap();
            if round % 20 == 0 {
                let file = smb.open(&format!("large\\new {number} {round}"), |_| ()).unwrap();
                smb.close(file).unwrap();
            }
        }));
    }
    for _ in 0..2 * CLIENTS {
        let rounds = told.recv_timeout(WORK + Duration::from_secs(30)).expect("a client waits for ever");
        assert!(rounds > 0);
    }
}
