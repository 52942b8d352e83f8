//! Requests that other people's clients sent, byte for byte: each is decoded whole, and encoded again it is the same.
#![allow(clippy::unwrap_used)]

use afp::wire::fork::{OneFork, Width};
use afp::wire::{
    acl, attribute, command, desktop, directory, enumerate, file, fork, id, identity, lock, search, session,
    volume,
};
use wire::{Malformed, Reader, Writer, hex};

const CAPTURED: &str = include_str!("captured.txt");

fn bytes(line: &str) -> Vec<u8> {
    hex::decode_any(line).unwrap()
}

/// What the codecs make of a request: its bytes once more. `None` for a command that has no type of its own.
fn again(number: u8, r: &mut Reader<'_>) -> Option<Result<Vec<u8>, Malformed>> {
    macro_rules! by {
        ($type:ty) => {
            <$type>::decode(r).map(|request| written(|w| request.encode(w)))
        };
        ($type:ty, form $form:expr) => {
            <$type>::decode(r, $form).map(|request| written(|w| request.encode($form, w)))
        };
        ($type:ty, width $width:expr) => {
            <$type>::decode($width, r).map(|request| written(|w| request.encode($width, w)))
        };
    }
    Some(match number {
        command::BYTE_RANGE_LOCK => by!(lock::ByteRangeLock, width Width::Bits32),
        command::BYTE_RANGE_LOCK_EXT => by!(lock::ByteRangeLock, width Width::Bits64),
        command::CLOSE_VOL | command::FLUSH => by!(volume::OfVolume),
        command::CLOSE_DIR => by!(directory::CloseDir),
        command::CLOSE_FORK | command::FLUSH_FORK | command::SYNC_FORK => by!(OneFork),
        command::COPY_FILE => by!(file::CopyFile),
        command::CREATE_DIR | command::OPEN_DIR | command::DELETE | command::CREATE_ID => {
            by!(directory::OfPlace)
        }
        command::CREATE_FILE => by!(file::CreateFile),
        command::ENUMERATE => by!(enumerate::Enumerate, form enumerate::EnumerateForm::Plain),
        command::ENUMERATE_EXT => by!(enumerate::Enumerate, form enumerate::EnumerateForm::Ext),
        command::ENUMERATE_EXT2 => by!(enumerate::Enumerate, form enumerate::EnumerateForm::Ext2),
        command::GET_FORK_PARMS => by!(fork::GetForkParms),
        command::SET_FORK_PARMS => by!(fork::SetForkParms),
        command::GET_VOL_PARMS => by!(volume::GetVolParms),
        command::SET_VOL_PARMS => by!(volume::SetVolParms),
        command::OPEN_VOL => by!(volume::OpenVol),
        command::MAP_ID => by!(identity::MapId),
        command::GET_USER_INFO => by!(identity::GetUserInfo),
        command::MOVE_AND_RENAME => by!(file::MoveAndRename),
        command::RENAME => by!(file::Rename),
        command::EXCHANGE_FILES => by!(file::ExchangeFiles),
        command::OPEN_FORK => by!(fork::OpenFork),
        command::READ => by!(fork::Read, width Width::Bits32),
        command::READ_EXT => by!(fork::Read, width Width::Bits64),
        command::WRITE => by!(fork::Write, width Width::Bits32),
        command::WRITE_EXT => by!(fork::Write, width Width::Bits64),
        command::GET_FILE_DIR_PARMS => by!(file::GetFileDirParms),
        command::SET_FILE_DIR_PARMS | command::SET_FILE_PARMS | command::SET_DIR_PARMS => {
            by!(directory::SetParms)
        }
        command::GET_SRVR_MSG => by!(session::GetSrvrMsg),
        command::GET_SESSION_TOKEN => by!(session::GetSessionToken),
        command::ZZZ => by!(session::Zzz),
        command::RESOLVE_ID => by!(id::ResolveId),
        command::DELETE_ID => by!(id::DeleteId),
        command::CAT_SEARCH => by!(search::SearchRequest, form search::SearchForm::Plain),
        command::CAT_SEARCH_EXT => by!(search::SearchRequest, form search::SearchForm::Ext),
        command::OPEN_DT => by!(desktop::OpenDt),
        command::CLOSE_DT => by!(desktop::CloseDt),
        command::ADD_ICON => by!(desktop::AddIcon),
        command::GET_ICON => by!(desktop::GetIcon),
        command::GET_ICON_INFO => by!(desktop::GetIconInfo),
        command::ADD_APPL => by!(desktop::AddAppl),
        command::REMOVE_APPL => by!(desktop::RemoveAppl),
        command::GET_APPL => by!(desktop::GetAppl),
        command::ADD_COMMENT => by!(desktop::AddComment),
        command::GET_COMMENT | command::REMOVE_COMMENT => by!(desktop::OfFile),
        command::GET_EXT_ATTR => by!(attribute::Get),
        command::SET_EXT_ATTR => by!(attribute::Set),
        command::REMOVE_EXT_ATTR => by!(attribute::Remove),
        command::LIST_EXT_ATTRS => by!(attribute::List),
        command::GET_ACL => by!(acl::Get),
        command::SET_ACL => by!(acl::Set),
        command::ACCESS => by!(acl::Access),
        _ => return None,
    })
}

fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    write(&mut w);
    w.into_bytes()
}

#[test]
fn what_other_clients_sent_is_decoded_whole_and_encoded_the_same() {
    let mut count = 0;
    let mut wrong = Vec::new();
    for line in CAPTURED.lines().filter(|line| !line.starts_with('#')) {
        let sent = bytes(line);
        let mut r = Reader::new(&sent[1..]);
        let Some(back) = again(sent[0], &mut r) else { continue };
        match back {
            Ok(back) if is_same(&back, &sent[1..]) => count += 1,
            Ok(back) => wrong.push(format!("{line}\nwas encoded as {:02x}{}", sent[0], hex::encode(&back))),
            Err(error) => wrong.push(format!("{line}\n{error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(count > 140, "{count}");
}

/// The same, but for the byte to an even length that some clients add at the end.
fn is_same(back: &[u8], sent: &[u8]) -> bool {
    back == sent || (!sent.len().is_multiple_of(2) && sent.strip_suffix(&[0]) == Some(back))
}
