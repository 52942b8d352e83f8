//! Lists that clients write back. A client reads an ACL in the form of its protocol, changes an entry, and sends the whole list.
//! That form says less than the stored one: who is meant by a number, marks, inheritance. An entry that comes back as it was shown
//! stays what it was, and a list that comes back as it was shown changes nothing.

use super::Entry;

/// The list that a client has sent, with each entry that it had read as it was `before`; `None` if it has sent the list that it
/// had read. `as_sent` is an entry in the form in which it comes back; `None` for one that clients of the protocol do not see.
pub fn written_back(
    before: &[Entry],
    sent: Vec<Entry>,
    as_sent: impl Fn(&Entry) -> Option<Entry>,
) -> Option<Vec<Entry>> {
    let shown = before.iter().filter_map(|entry| Some((as_sent(entry)?, entry)));
    let mut shown: Vec<(Entry, &Entry)> = shown.collect();
    if sent.len() == shown.len() && sent.iter().zip(&shown).all(|(sent, (shown, _))| sent == shown) {
        return None;
    }
    let as_it_was = |sent: Entry| match shown.iter().position(|(shown, _)| *shown == sent) {
        Some(at) => shown.remove(at).1.clone(),
        None => sent,
    };
    Some(sent.into_iter().map(as_it_was).collect())
}
