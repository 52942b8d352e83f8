//! Very many clients.

use super::*;

/// So many clients come at once.
const CLIENTS: usize = 10_000;
/// The most memory that they may take together, in bytes, with what other tests take meanwhile.
const MOST: usize = 400 << 20;

/// Bytes of memory that this process has.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").expect("what the kernel says");
    text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}

#[test]
fn ten_thousand_clients_with_a_session_each_take_bounded_memory() {
    let client = client_1();
    let before = resident();
    let sessions: Vec<Session> = (0..CLIENTS as u16)
        .map(|number| {
            let [high, low] = number.to_be_bytes();
            let client = client.clone().at([10, 0, high, low]);
            Session::fresh(&client, format!("client {number}").as_bytes(), 1)
        })
        .collect();
    let taken = resident().saturating_sub(before);
    assert!(taken < MOST, "{taken} bytes");
    // All of them are served, and the number of clients and of sessions has a limit.
    for session in sessions.iter().step_by(99) {
        assert_eq!(session.call(&[words(&[58, 0])]).0, 0);
        session.opened(b"owner", (1, 0), b"shared");
    }
    let more = (0..7_000_u16).find_map(|number| {
        let client = client.clone().at([10, 1, (number >> 8) as u8, number as u8]);
        let (id, sequence, _) = exchanged(&client, format!("more {number}").as_bytes(), 1, 0).ok()?;
        let reply = compound_1(&client, &[create_session(id, sequence, 1 << 20)]);
        (status(&reply) != 0).then(|| (number, status(&reply)))
    });
    let (number, status) = more.expect("a limit");
    assert!((6_000..=6_384).contains(&number), "16,384 clients at most: {number}");
    assert!([28, 10008].contains(&status), "NOSPC or DELAY: {status}");
    assert!(resident().saturating_sub(before) < MOST);
}
