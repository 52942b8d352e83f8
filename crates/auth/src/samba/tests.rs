use super::*;

/// Values that Samba 4.17's pdbedit and smbpasswd wrote for two users with the passwords `Passgames` and `Passbackup`. The second one
/// is disabled.
const GAMES: &str = "\
    000000007fa9547c7fa9547c0000000095b6056b000000007fa9547c0600000067616d657300070000004f4c444e4153000100000000060000006761\
    6d657300000000000000000000000000000000000100000000010000000001000000000100000000e80300000102000000000000100000005ad885e1\
    00196cb9fc5e5c6dbcacf6b80000000010000000a8001500000020000000ffffffffffffffffffffffffffffffffffffffffff000000000000000000\
    000000000000ec040000";
const BACKUP: &str = "\
    000000007fa9547c7fa9547c0000000095b6056b000000007fa9547c070000006261636b757000070000004f4c444e41530001000000000700000062\
    61636b757000000000000000000000000000000000000100000000010000000001000000000100000000e90300000102000000000000100000002a84\
    50c52eff4c3caab66ae21d23113d0000000011000000a8001500000020000000ffffffffffffffffffffffffffffffffffffffffff00000000000000\
    0000000000000000ec040000";
/// The SID of the server in secrets.tdb.
const SID: &str = "010400000000000515000000a54c3cf3956303f528f1f7e5";

fn bytes(hex: &str) -> Vec<u8> {
    wire::hex::decode_any(&hex.split_whitespace().collect::<String>()).unwrap()
}

/// A database with these records in chains in turn: two heads, each record before the former ones.
fn database(records: &[(&[u8], Vec<u8>)]) -> Vec<u8> {
    let mut file = b"TDB file\n".to_vec();
    file.resize(32, 0);
    file.extend([0x2601_196D_u32, 2].map(u32::to_le_bytes).concat());
    file.resize(168 + 4 * 3, 0);
    for (number, (key, value)) in records.iter().enumerate() {
        let (head, at) = (168 + 4 * (number % 2 + 1), file.len() as u32);
        let next: [u8; 4] = file[head..head + 4].try_into().unwrap();
        file[head..head + 4].copy_from_slice(&at.to_le_bytes());
        file.extend(next);
        let (key_len, len) = (key.len() as u32, value.len() as u32);
        file.extend([key_len + len, key_len, len, 7, 0x2601_1999].map(u32::to_le_bytes).concat());
        file.extend([key, &value[..]].concat());
    }
    file
}

fn passdb() -> Vec<u8> {
    database(&[
        (b"USER_games\0", bytes(GAMES)),
        (b"RID_000003e8\0", b"games\0".to_vec()),
        (b"INFO/version\0", vec![4, 0, 0, 0]),
        (b"USER_broken\0", vec![0; 40]),
        (b"USER_backup\0", bytes(BACKUP)),
    ])
}

#[test]
fn accounts_have_the_hashes_of_their_passwords() {
    let (accounts, unread) = accounts(&passdb()).unwrap();
    let known: Vec<(&str, u32, Option<LoginRestriction>)> =
        accounts.iter().map(|account| (&*account.name, account.rid, account.closed)).collect();
    assert_eq!(known, [("backup", 1001, Some(LoginRestriction::Disabled)), ("games", 1000, None)]);
    for account in &accounts {
        assert_eq!((&*account.domain, account.is_machine), ("OLDNAS", false));
        assert_eq!(account.nt_hash, Some(crate::nt_hash(&format!("Pass{}", account.name))));
    }
    assert_eq!(unread, ["broken"]);
    assert!(!format!("{accounts:?}").contains("hash"), "secrets are not printed");
}

#[test]
fn domains_have_their_sids() {
    // What `pdbedit -L -v` said of the users' SIDs, without the last number.
    let sid = "S-1-5-21-4080815269-4110640021-3858231592";
    let room = [bytes(SID), vec![0; 44]].concat();
    let secrets = database(&[(b"SECRETS/SID/OLDNAS", room), (b"SECRETS/MACHINE_PASSWORD/X", b"x".to_vec())]);
    assert_eq!(domains(&secrets), Ok(vec![("OLDNAS".to_owned(), sid.to_owned())]));
}

#[test]
fn a_file_that_is_cut_off_or_damaged_is_refused_and_ends() {
    let whole = passdb();
    for len in 0..whole.len() - 1 {
        assert!(accounts(&whole[..len]).is_err(), "{len}");
    }
    let mut endless = whole.clone();
    let at = endless[172..176].to_vec();
    let first = u32::from_le_bytes(at.clone().try_into().unwrap()) as usize;
    endless[first..first + 4].copy_from_slice(&at);
    assert_eq!(accounts(&endless), Err(SambaFileError("a chain of records has no end")));
    let newer = database(&[(b"INFO/version\0", vec![5, 0, 0, 0])]);
    assert_eq!(accounts(&newer), Err(SambaFileError("its accounts have another version of the format")));
    assert_eq!(accounts(b"TDB2 and more"), Err(SambaFileError("it is not a TDB file")));
}
