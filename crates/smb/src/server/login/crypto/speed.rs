//! How fast, printed: `cargo test --release -p smb --lib crypto::speed -- --ignored --nocapture`.

use std::time::Instant;

use super::sealing::{Cipher, NONCE_LENGTH, SealingKey};
use super::signing::{Signer, SigningAlgorithm};

const MIB: usize = 1 << 20;

fn measure(what: &str, bytes: usize, mut work: impl FnMut()) {
    let rounds = (256 * MIB / bytes.max(4096)).clamp(64, 100_000);
    work();
    let start = Instant::now();
    (0..rounds).for_each(|_| work());
    let each = start.elapsed().as_secs_f64() / rounds as f64;
    println!("{what:28} {bytes:8} bytes {:8.2} µs {:7.3} GB/s", each * 1e6, bytes as f64 / each / 1e9);
}

#[test]
#[ignore = "measures"]
fn of_signing() {
    for algorithm in [SigningAlgorithm::AesGmac, SigningAlgorithm::AesCmac, SigningAlgorithm::HmacSha256] {
        let signer = Signer::new(algorithm, &[3; 16]);
        for size in [128, 4096, 64 << 10, MIB] {
            let mut message = vec![1; size];
            measure(&format!("{algorithm:?} sign"), size, || signer.sign(&mut message));
            measure(&format!("{algorithm:?} verify"), size, || assert!(signer.verify(&message)));
            let (head, rest) = message.split_at_mut(80);
            measure(&format!("{algorithm:?} sign in two parts"), size, || signer.sign_parts(head, rest));
        }
    }
}

#[test]
#[ignore = "measures"]
fn of_sealing() {
    for cipher in [Cipher::Aes128Gcm, Cipher::Aes256Gcm, Cipher::Aes128Ccm, Cipher::Aes256Ccm] {
        let key = SealingKey::new(cipher, &[3; 32][..cipher.key_length()]);
        let nonce = [0; NONCE_LENGTH];
        for size in [128, 4096, 64 << 10, MIB] {
            let mut buffer = vec![1; size];
            let mut tag = [0; 16];
            measure(&format!("{cipher:?} encrypt"), size, || {
                tag = key.encrypt_in_place(&nonce, &[0; 32], &mut buffer);
            });
            measure(&format!("{cipher:?} decrypt"), size, || {
                let _ = key.decrypt_in_place(&nonce, &[0; 32], &mut buffer, &tag); // right the first time only
            });
        }
    }
}
