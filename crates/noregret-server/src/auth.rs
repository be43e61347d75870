//! Tokens: who may do what. The file holds no token, only what a token hashes to.

use crate::error::Refusal;
use axum::http::{HeaderValue, StatusCode};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::path::Path;

/// What a token allows; each includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Predict and look.
    Read,
    /// Teach.
    Learn,
    /// Make and delete models.
    Admin,
}

impl Role {
    /// By name.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "read" => Some(Self::Read),
            "learn" => Some(Self::Learn),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Learn => "learn",
            Self::Admin => "admin",
        }
    }
}

/// The tokens that are known.
pub struct Tokens(HashMap<[u8; 32], Role>);

/// What a token hashes to. A token has 256 random bits, so that one round is enough.
fn digest(token: &str) -> [u8; 32] {
    Sha256::digest(token.as_bytes()).into()
}

fn hex(bytes: &[u8]) -> String {
    let digit = |d: u8| char::from_digit(u32::from(d), 16).unwrap_or('0');
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (k, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * k..2 * k + 2], 16).ok()?;
    }
    Some(bytes)
}

/// A new token, and its line for the file.
pub fn new_token(role: Role) -> std::io::Result<(String, String)> {
    let mut secret = [0; 32];
    getrandom::fill(&mut secret).map_err(|e| std::io::Error::other(e.to_string()))?;
    let token = format!("nrt_{}", hex(&secret));
    let line = format!("{} sha256:{}", role.name(), hex(&digest(&token)));
    Ok((token, line))
}

impl Tokens {
    /// Reads a file of tokens: a role and a hash a line, `#` for comments.
    pub fn read(path: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        Self::parse(&text).map_err(|message| format!("{}: {message}", path.display()))
    }

    /// The same from its text.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut tokens = HashMap::new();
        for (k, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let mut words = line.split_whitespace();
            let role = words.next().and_then(Role::parse);
            let hash = words.next().and_then(|w| w.strip_prefix("sha256:")).and_then(unhex);
            let (Some(role), Some(hash), None) = (role, hash, words.next()) else {
                return Err(format!(
                    "line {}: expected a role (read, learn, admin) and `sha256:` with 64 hexadecimal digits; \
                     `noregret serve --new-token ROLE` makes such a line",
                    k + 1
                ));
            };
            tokens.insert(hash, role);
        }
        if tokens.is_empty() {
            return Err("no token is listed; `noregret serve --new-token admin` makes one".to_owned());
        }
        Ok(Self(tokens))
    }

    /// Whether a request may be served.
    pub fn check(&self, authorization: Option<&HeaderValue>, needed: Role) -> Result<(), Refusal> {
        let refuse = |message: &str| {
            Err(Refusal::new(
                StatusCode::UNAUTHORIZED,
                "bad_token",
                format!("{message}: send `Authorization: Bearer TOKEN`"),
            ))
        };
        let Some(header) = authorization else { return refuse("the request has no token") };
        let token = header.to_str().ok().and_then(|h| h.split_once(' '));
        let Some((_, token)) = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")) else {
            return refuse("the request's authorization is not a bearer token");
        };
        // Found by its hash, which nobody can choose: how long it takes tells nothing of other tokens.
        match self.0.get(&digest(token.trim())) {
            None => refuse("the token is not known"),
            Some(role) if *role < needed => Err(Refusal::new(
                StatusCode::FORBIDDEN,
                "not_allowed",
                format!("the token's role is `{}`, and this needs `{}`", role.name(), needed.name()),
            )),
            Some(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_hash_and_allows_what_its_role_does() {
        let (token, line) = new_token(Role::Learn).unwrap();
        assert!(!line.contains(&token[4..]));
        let tokens = Tokens::parse(&format!("# mine\n\n{line}  # laptop\n")).unwrap();
        let header = |t: &str| HeaderValue::from_str(&format!("Bearer {t}")).unwrap();
        assert_eq!(tokens.check(Some(&header(&token)), Role::Read), Ok(()));
        assert_eq!(tokens.check(Some(&header(&token)), Role::Learn), Ok(()));
        let status = |r: Result<(), Refusal>| r.unwrap_err().status.as_u16();
        assert_eq!(status(tokens.check(Some(&header(&token)), Role::Admin)), 403);
        assert_eq!(status(tokens.check(Some(&header("nrt_0")), Role::Read)), 401);
        assert_eq!(status(tokens.check(None, Role::Read)), 401);
        assert_eq!(status(tokens.check(Some(&HeaderValue::from_static("Basic x")), Role::Read)), 401);
        assert!(Tokens::parse("").is_err() && Tokens::parse("root sha256:00").is_err());
    }
}
