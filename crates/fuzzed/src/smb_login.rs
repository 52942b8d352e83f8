//! What a login is made of: crates/smb/src/wire/spnego.rs and ntlm.rs.

use smb::wire::ntlm::{Authenticate, Challenge, Negotiate, NtlmV2Response, av_pairs, encode_av_pairs};
use smb::wire::spnego::SpnegoToken;
use wire::Writer;

/// wire/spnego.rs: any token; what it means survives being written again.
pub fn spnego(data: &[u8]) {
    match SpnegoToken::decode(data) {
        Ok(SpnegoToken::Init(init)) => {
            init.mech_types.iter().for_each(|mechanism| assert!(mechanism.len() < data.len()));
            assert_eq!(SpnegoToken::decode(&init.encode()), Ok(SpnegoToken::Init(init)));
        }
        Ok(SpnegoToken::Resp(resp)) => {
            assert_eq!(SpnegoToken::decode(&resp.encode()), Ok(SpnegoToken::Resp(resp)))
        }
        Ok(SpnegoToken::Ntlm(ntlm)) => assert_eq!(ntlm, data),
        Err(_) => {}
    }
}

/// wire/ntlm.rs: the three messages; the first byte chooses the list of AV pairs or the response alone.
pub fn ntlm(data: &[u8]) {
    match data.split_first() {
        Some((1, bytes)) => pairs(bytes),
        Some((2, bytes)) => response(bytes),
        _ => {}
    }
    if let Ok(negotiate) = Negotiate::decode(data) {
        let again = written(|w| negotiate.encode(w));
        let again = Negotiate::decode(&again).expect("what was written");
        assert_eq!((again.domain, again.workstation), (negotiate.domain, negotiate.workstation));
    }
    if let Ok(challenge) = Challenge::decode(data) {
        let again = written(|w| challenge.encode(w));
        assert_eq!(Challenge::decode(&again), Ok(challenge));
        pairs(challenge.target_info);
    }
    if let Ok(authenticate) = Authenticate::decode(data) {
        let again = written(|w| authenticate.encode(w));
        let again = Authenticate::decode(&again).expect("what was written");
        assert_eq!((again.user, again.nt_response), (authenticate.user, authenticate.nt_response));
        response(authenticate.nt_response);
    }
}

fn response(bytes: &[u8]) {
    if let Ok(response) = NtlmV2Response::decode(bytes) {
        assert_eq!(response.proof.len() + response.client_challenge.len(), bytes.len());
        pairs(response.av_pairs);
    }
}

fn pairs(bytes: &[u8]) {
    assert!(av_pairs(bytes).count() <= bytes.len() / 4 + 1);
    if let Ok(pairs) = av_pairs(bytes).collect::<Result<Vec<_>, _>>() {
        let again = written(|w| encode_av_pairs(w, &pairs));
        assert_eq!(av_pairs(&again).collect::<Result<Vec<_>, _>>(), Ok(pairs));
    }
}

fn written(encode: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new();
    encode(&mut w);
    w.into_bytes()
}
