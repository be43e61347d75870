//! Which sources are wanted: `MODEL=URL`.

use std::path::{Path, PathBuf};
use url::Url;

/// Where examples come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file that grows, an example a line.
    File(PathBuf),
    /// A stream of Redis.
    Redis {
        /// The server.
        server: Url,
        /// The key of the stream.
        stream: String,
        /// The field of an entry that holds the example.
        field: String,
    },
    /// A stream of NATS JetStream.
    Nats {
        /// The server.
        server: Url,
        /// The name of the stream.
        stream: String,
        /// Only messages of these subjects, where they are said.
        subject: Option<String>,
        /// A file of credentials.
        credentials: Option<PathBuf>,
    },
}

/// A source and the model that it teaches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The model.
    pub model: String,
    /// From where.
    pub origin: Origin,
}

const FORMS: &str = "expected MODEL=file:///PATH, MODEL=redis://HOST:PORT/DATABASE?stream=KEY or \
                     MODEL=nats://HOST:PORT?stream=NAME";

impl Spec {
    /// Reads `MODEL=URL`; a path is as good as a URL of a file.
    pub fn parse(text: &str) -> Result<Self, String> {
        let found = || format!("found `{}`, {FORMS}", without_secrets(text));
        let (model, from) = text.split_once('=').ok_or_else(found)?;
        if model.is_empty() || from.is_empty() {
            return Err(found());
        }
        let model = model.to_owned();
        if !from.contains("://") {
            return Ok(Self { model, origin: Origin::File(PathBuf::from(from)) });
        }
        let url = Url::parse(from).map_err(|e| format!("{}: {e}", found()))?;
        let origin = match url.scheme() {
            "file" => Origin::File(url.to_file_path().map_err(|()| found())?),
            "redis" | "rediss" => {
                let (server, [stream, field]) = take(url, ["stream", "field"])?;
                let stream = stream.ok_or("which stream? add ?stream=KEY to the URL of Redis")?;
                Origin::Redis { server, stream, field: field.unwrap_or_else(|| "example".to_owned()) }
            }
            "nats" | "tls" => {
                let (server, [stream, subject, credentials]) =
                    take(url, ["stream", "subject", "credentials"])?;
                let stream = stream.ok_or("which stream? add ?stream=NAME to the URL of NATS")?;
                Origin::Nats { server, stream, subject, credentials: credentials.map(PathBuf::from) }
            }
            _ => return Err(found()),
        };
        Ok(Self { model, origin })
    }

    /// Reads a file of them, one a line, `#` for comments.
    pub fn read(path: &Path) -> Result<Vec<Self>, String> {
        let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let lines = text.lines().map(str::trim).enumerate();
        lines
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .map(|(k, line)| {
                Self::parse(line).map_err(|message| format!("{}, line {}: {message}", path.display(), k + 1))
            })
            .collect()
    }

    /// The name under which the position is kept; it has no secrets in it.
    pub fn name(&self) -> String {
        let place = |server: &Url| {
            let port = server.port().map_or_else(String::new, |port| format!(":{port}"));
            let host = server.host_str().unwrap_or_default();
            format!("{}://{host}{port}{}", server.scheme(), server.path().trim_end_matches('/'))
        };
        match &self.origin {
            Origin::File(path) => format!("file://{}", path.display()),
            Origin::Redis { server, stream, .. } => format!("{}?stream={stream}", place(server)),
            Origin::Nats { server, stream, subject, .. } => {
                let subject = subject.as_ref().map_or_else(String::new, |s| format!("&subject={s}"));
                format!("{}?stream={stream}{subject}", place(server))
            }
        }
    }
}

/// Takes what is ours out of the query. Anything else there is a mistake.
fn take<const N: usize>(mut url: Url, keys: [&str; N]) -> Result<(Url, [Option<String>; N]), String> {
    let mut found = [const { None }; N];
    for (key, value) in url.query_pairs() {
        let Some(k) = keys.iter().position(|known| *known == key) else {
            return Err(format!("found `{key}` in a source's URL, expected one of {}", keys.join(", ")));
        };
        found[k] = Some(value.into_owned()).filter(|value| !value.is_empty());
    }
    url.set_query(None);
    Ok((url, found))
}

/// What can be shown: a password stands between `//` and `@`.
fn without_secrets(text: &str) -> String {
    match (text.find("//"), text.rfind('@')) {
        (Some(from), Some(to)) if from < to => format!("{}...{}", &text[..from + 2], &text[to..]),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_read_and_named_without_their_secrets() {
        let spec = Spec::parse("clicks=redis://me:secret@localhost:6379/2?stream=events&field=json").unwrap();
        assert_eq!(spec.name(), "redis://localhost:6379/2?stream=events");
        assert!(matches!(&spec.origin, Origin::Redis { stream, field, server }
            if stream == "events" && field == "json" && server.password() == Some("secret") && server.query().is_none()));
        let spec = Spec::parse("m=nats://u:p@127.0.0.1:4222?stream=S&subject=a.>").unwrap();
        assert_eq!(spec.name(), "nats://127.0.0.1:4222?stream=S&subject=a.>");
        let file = Origin::File(PathBuf::from("/var/log/x.jsonl"));
        for text in ["m=/var/log/x.jsonl", "m=file:///var/log/x.jsonl"] {
            assert_eq!(Spec::parse(text), Ok(Spec { model: "m".to_owned(), origin: file.clone() }));
        }
    }

    #[test]
    fn mistakes_are_named_and_secrets_are_not() {
        for text in
            ["", "m", "m=", "=x", "m=ftp://x", "m=redis://h", "m=redis://h?stream=", "m=nats://h?streem=x"]
        {
            assert!(Spec::parse(text).is_err(), "{text}");
        }
        let message = Spec::parse("m=amqp://me:secret@host").unwrap_err();
        assert!(!message.contains("secret") && message.contains("@host"), "{message}");
    }
}
