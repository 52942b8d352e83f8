//! Listings, searches, files by their numbers: crates/afp/src/wire/{enumerate,search,id}.rs. The first byte of an input says
//! what is decoded.

use ::wire::{Reader, Writer};
use afp::wire::enumerate::{self, Enumerate, Framing};
use afp::wire::id::{DeleteId, FileId, ResolveId, ResolveIdReply};
use afp::wire::search::{self, SearchRequest};

macro_rules! stable {
    ($message:expr, $type:ty $(, $form:expr)?) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message) $(, $form)?) {
            let mut w = Writer::new();
            value.encode($($form,)? &mut w);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes()) $(, $form)?), Ok(value));
        }
    };
}

/// All of them.
pub fn listing(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, Enumerate<'_>, enumerate::EnumerateForm::Plain),
        1 => stable!(message, Enumerate<'_>, enumerate::EnumerateForm::Ext),
        2 => stable!(message, Enumerate<'_>, enumerate::EnumerateForm::Ext2),
        3 => stable!(message, enumerate::Reply<'_>),
        4 => entries(message, enumerate::EnumerateForm::Plain.framing()),
        5 => entries(message, enumerate::EnumerateForm::Ext2.framing()),
        6 => entries(message, search::SearchForm::Plain.framing()),
        7 => entries(message, search::SearchForm::Ext.framing()),
        8 => search(message, search::SearchForm::Plain),
        9 => search(message, search::SearchForm::Ext),
        10 => stable!(message, search::Reply<'_>),
        11 => stable!(message, FileId),
        12 => stable!(message, DeleteId),
        13 => stable!(message, ResolveId),
        14 => stable!(message, ResolveIdReply<'_>),
        _ => {}
    }
}

/// Entries that are read are written alike, but for padding.
fn entries(message: &[u8], framing: Framing) {
    for entry in framing.entries(message).map_while(Result::ok) {
        let mut w = Writer::new();
        if framing.put(&mut w, entry.is_folder, |w| w.put(entry.parameters)) {
            let again = framing.entries(w.as_bytes()).next().expect("an entry").expect("well-formed");
            assert_eq!(again.is_folder, entry.is_folder);
            assert!(again.parameters.starts_with(entry.parameters));
            assert!(again.parameters.len() <= entry.parameters.len() + 1);
        }
    }
}

/// Names of one request may lie upon each other, and are longer when they do not: only of short ones it is sure that
/// they fit again.
fn search(message: &[u8], form: search::SearchForm) {
    const SHORT: usize = 100;
    if message.len() < SHORT {
        stable!(message, SearchRequest<'_>, form);
    }
    if let Ok(search) = SearchRequest::decode(&mut Reader::new(message), form) {
        search.lower.name(search.bitmap).into_iter().for_each(|name| name.steps().for_each(drop));
    }
}
