//! The secret that signs what is sent, as Standard Webhooks spells it: `whsec_` and the base64 of its bytes.
//!
//! Invariant: it cannot be printed. A signature covers the id, the time and the body, so that neither can be exchanged and
//! an old call cannot be sent again.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// How it begins.
const PREFIX: &str = "whsec_";
/// How many bytes it has; shorter ones can be guessed.
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// A signing secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl Secret {
    /// Reads a secret, or says what is wrong without repeating it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let encoded = text.strip_prefix(PREFIX).ok_or("it does not begin with whsec_")?;
        let bytes = STANDARD.decode(encoded).map_err(|_| "what follows whsec_ is not base64")?;
        if !BYTES.contains(&bytes.len()) {
            return Err("it does not have 24 to 64 bytes");
        }
        Ok(Self(bytes))
    }

    /// The header that proves who sent it: `v1,` and the base64 of the HMAC-SHA256.
    pub(crate) fn signature(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        // A key of any length is taken; the other constructor would make this fallible.
        let mut mac = match Hmac::<Sha256>::new_from_slice(&self.0) {
            Ok(mac) => mac,
            Err(_) => unreachable!("BUG: HMAC takes a key of any length"),
        };
        mac.update(format!("{id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_the_one_of_the_specifications_example() {
        let secret = Secret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature =
            secret.signature("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, b"{\"test\": 2432232314}");
        assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{secret:?}"), "Secret(***)");
    }

    #[test]
    fn what_is_no_secret_is_refused_without_repeating_it() {
        let short = format!("{PREFIX}{}", STANDARD.encode([7; 23]));
        let long = format!("{PREFIX}{}", STANDARD.encode([7; 65]));
        for text in ["", "whsec_", "hunter2hunter2", "whsec_???", &short, &long] {
            let problem = Secret::parse(text).expect_err(text);
            assert!(!problem.contains("hunter2") && !problem.contains("???"), "{problem}");
        }
    }
}
