//! Logins and who is who: crates/afp/src/wire/login.rs and identity.rs. The first byte says what is decoded; whatever decodes
//! must encode to the same value again.

use ::wire::{Reader, Writer};
use afp::wire::identity::{Account, GetUserInfo, MapId, MapName, MappedId, UserInfo};
use afp::wire::login::{
    AuthMethods, ChangePassword, Continue, GetAuthMethods, KerberosReply, KerberosToken, Login, LoginCont,
    LoginExt,
};

macro_rules! stable {
    ($message:expr, $type:ty) => {
        if let Ok(value) = <$type>::decode(&mut Reader::new($message)) {
            let mut w = Writer::new();
            value.encode(&mut w);
            assert_eq!(<$type>::decode(&mut Reader::new(w.as_bytes())), Ok(value));
        }
    };
}

/// Requests and replies.
pub fn messages(input: &[u8]) {
    let Some((selector, message)) = input.split_first() else { return };
    match selector {
        0 => stable!(message, Login<'_>),
        1 => stable!(message, LoginExt<'_>),
        2 => stable!(message, LoginCont<'_>),
        3 => stable!(message, Continue<'_>),
        4 => stable!(message, ChangePassword<'_>),
        5 => stable!(message, GetAuthMethods<'_>),
        6 => stable!(message, AuthMethods<'_>),
        7 => stable!(message, GetUserInfo),
        8 => stable!(message, UserInfo),
        9 => stable!(message, MapId),
        10 => stable!(message, MapName<'_>),
        11 => mapped(message),
        12 => drop(KerberosToken::decode(message)),
        13 => stable!(message, KerberosReply<'_>),
        _ => {}
    }
}

/// Replies whose form is that of the subfunction that was asked: the first byte.
fn mapped(message: &[u8]) {
    let Some((&subfunction, reply)) = message.split_first() else { return };
    if let Ok(id) = MappedId::decode(subfunction, &mut Reader::new(reply)) {
        let mut w = Writer::new();
        id.encode(&mut w);
        assert_eq!(MappedId::decode(subfunction, &mut Reader::new(w.as_bytes())), Ok(id));
    }
    if let Ok(account) = Account::decode_mapped(subfunction, &mut Reader::new(reply)) {
        let mut w = Writer::new();
        account.encode_mapped(&mut w);
        assert!(reply.starts_with(w.as_bytes()));
    }
}
