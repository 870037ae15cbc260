//! The secret that a window on a network asks for.

use crate::error::ServeError;
use subtle::ConstantTimeEq;

/// The cookie that holds it.
pub(crate) const COOKIE: &str = "parsity-token";

/// A secret of 256 random bits, as hexadecimal digits.
pub(crate) struct Token(String);

impl Token {
    /// A new one.
    pub(crate) fn new() -> Result<Self, ServeError> {
        let mut bytes = [0u8; 32];
        getrandom::fill(&mut bytes).map_err(|source| ServeError::NoToken { source })?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// Whether `offered` is it; how long that takes does not tell how much of it is right.
    pub(crate) fn is(&self, offered: &str) -> bool {
        self.0.as_bytes().ct_eq(offered.as_bytes()).into()
    }

    /// Its digits, for the one who may know them.
    pub(crate) fn reveal(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_only_itself() {
        let (one, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert_eq!(one.reveal().len(), 64);
        assert!(one.is(one.reveal()) && !one.is(other.reveal()));
        for wrong in ["", "0", &one.reveal()[..63], &format!("{}0", one.reveal())] {
            assert!(!one.is(wrong));
        }
    }
}
