//! Databases of accounts that other servers have left.

use auth::samba;

/// Samba's `passdb.tdb` and `secrets.tdb`.
pub fn samba_databases(data: &[u8]) {
    if let Ok((accounts, _)) = samba::accounts(data) {
        assert!(accounts.iter().all(|account| !account.name.is_empty()));
    }
    let domains = samba::domains(data).unwrap_or_default();
    assert!(domains.iter().all(|(_, sid)| sid.starts_with("S-1-")));
}
