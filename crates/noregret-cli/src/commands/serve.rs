//! `noregret serve`: models that keep learning over HTTP.

use crate::{arguments, output, screen};
use anyhow::{Context, Result, anyhow};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use noregret::error::{Error, UsageError};
use noregret_server::auth::{Role, new_token};
use noregret_server::source::spec::Spec;
use noregret_server::{Durability, Server, Settings, StartError};
use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn command() -> Command {
    let number = |name: &'static str, default: &'static str| {
        arguments::option(name, "N").value_parser(value_parser!(u64)).default_value(default)
    };
    let bytes = |name: &'static str, default: &'static str| {
        arguments::option(name, "BYTES").value_parser(parse_bytes).default_value(default)
    };
    let span = |name: &'static str, default: &'static str| {
        arguments::option(name, "TIME").value_parser(parse_span).default_value(default)
    };
    let path = |name: &'static str| arguments::option(name, "FILE").value_parser(value_parser!(PathBuf));
    Command::new("serve")
        .about("Serves models that keep learning over HTTP, and lose nothing")
        .long_about(
            "Serves models that keep learning over HTTP, and lose nothing: what was answered is on the disk.\n\n\
             Models are made by PUT /v1/models/NAME, taught by POST /v1/models/NAME/learn, and asked by \
             POST /v1/models/NAME/predict; GET /openapi.json describes everything. SIGTERM and ^C end it well.",
        )
        .arg(
            arguments::option("data", "DIR")
                .value_parser(value_parser!(PathBuf))
                .required_unless_present("new-token")
                .help("The folder that models are kept in; made if it is not there"),
        )
        .arg(
            arguments::option("listen", "ADDRESS")
                .value_parser(value_parser!(SocketAddr))
                .default_value("127.0.0.1:7878")
                .help("Where to listen; port 0 takes any free one. Beyond loopback only with --token-file"),
        )
        .arg(
            arguments::option("durability", "WHEN")
                .value_parser(["sync", "relaxed"])
                .default_value("sync")
                .help("sync: an answer means that it is on the disk; relaxed: it will be in half a second"),
        )
        .arg(span("label-ttl", "24h").help("How long a prediction waits for its label"))
        .arg(number("max-pending", "65536").help("Predictions of a model that may wait for labels; 0 gives no ids"))
        .arg(path("token-file").help("Who may do what: a line `ROLE sha256:HASH` for each token"))
        .arg(
            arguments::option("new-token", "ROLE").value_parser(["read", "learn", "admin"]).help(
                "Prints a new token and ends; its hash is appended to --token-file, or printed on stderr",
            ),
        )
        .arg(path("tls-cert").requires("tls-key").help("The certificate chain as PEM; serves HTTPS"))
        .arg(path("tls-key").requires("tls-cert").help("Its private key as PEM"))
        .arg(
            arguments::option("cors", "ORIGIN")
                .action(ArgAction::Append)
                .help("A site whose pages may use the API, such as https://example.org; may be repeated"),
        )
        .arg(bytes("max-body", "16M").help("The largest JSON body, and the longest line of a stream"))
        .arg(number("max-features", "100000").help("The most features of an example"))
        .arg(number("max-models", "1000").help("The most models"))
        .arg(bytes("max-model-memory", "1G").help("The most memory of a model's features; also the largest upload"))
        .arg(number("max-requests", "1024").help("The most requests at a time; more are answered 503"))
        .arg(number("max-connections", "4096").help("The most connections at a time; more wait"))
        .arg(bytes("max-queued", "64M").help("How much may wait to be learned before clients have to"))
        .arg(span("patience", "30s").help("How long a client may take to send a head, a body, or a piece of a stream"))
        .arg(bytes("snapshot-bytes", "16M").help("A model is written anew when its log has grown by this much"))
        .arg(
            arguments::option("source", "MODEL=URL")
                .value_parser(Spec::parse)
                .action(ArgAction::Append)
                .help(
                    "Teaches a model what comes in elsewhere, JSON examples: a followed file (a path), \
                     redis://HOST:PORT/DB?stream=KEY or nats://HOST:PORT?stream=NAME; may be repeated",
                ),
        )
        .arg(path("source-file").help("A file of sources, MODEL=URL a line: passwords do not belong in a command line"))
        .arg(span("grace", "20s").help("How long requests may go on after the signal to end"))
        .arg(
            arguments::option("log", "FILTER")
                .default_value("info")
                .help("What is logged on stderr: error, warn, info, debug, or a filter such as noregret_server=debug"),
        )
        .arg(
            arguments::option("log-format", "FORM")
                .value_parser(["text", "json"])
                .default_value("text")
                .help("How it is logged"),
        )
        .arg(Arg::new("quiet").long("quiet").short('q').action(ArgAction::SetTrue).help("Logs errors alone"))
}

/// A number of bytes: `512`, `64K`, `16M`, `1G`.
fn parse_bytes(text: &str) -> Result<u64, String> {
    let (number, unit) = text.split_at(text.trim_end_matches(['K', 'M', 'G']).len());
    let factor = match unit {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => 0,
    };
    let bytes = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n > 0);
    bytes.ok_or_else(|| "expected a number of bytes such as 65536, 64K, 16M or 1G".to_owned())
}

/// A span of time: `500ms`, `30s`, `15m`, `24h`, `7d`.
fn parse_span(text: &str) -> Result<Duration, String> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
    let factor = match unit {
        "ms" => 1,
        "s" => 1000,
        "m" => 60 * 1000,
        "h" => 60 * 60 * 1000,
        "d" => 24 * 60 * 60 * 1000,
        _ => 0,
    };
    let span = number.parse::<u64>().ok().and_then(|n| n.checked_mul(factor)).filter(|n| *n > 0);
    span.map(Duration::from_millis)
        .ok_or_else(|| "expected a span such as 500ms, 30s, 15m, 24h or 7d".to_owned())
}

fn settings(matches: &ArgMatches) -> Result<Settings> {
    let number = |name: &str| *matches.get_one::<u64>(name).expect("clap has a default");
    let count = |name: &str| usize::try_from(number(name)).unwrap_or(usize::MAX);
    let span = |name: &str| *matches.get_one::<Duration>(name).expect("clap has a default");
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let data = path("data").expect("clap requires it");
    std::fs::create_dir_all(&data).map_err(|source| Error::Io { path: data.clone(), source })?;
    Ok(Settings {
        listen: *matches.get_one("listen").expect("clap has a default"),
        durability: match matches.get_one::<String>("durability").map(String::as_str) {
            Some("relaxed") => Durability::Relaxed,
            _ => Durability::Sync,
        },
        label_ttl: span("label-ttl"),
        most_pending: number("max-pending"),
        token_file: path("token-file"),
        tls: path("tls-cert").zip(path("tls-key")),
        cors: matches.get_many::<String>("cors").into_iter().flatten().cloned().collect(),
        most_body: count("max-body"),
        most_features: count("max-features"),
        most_models: count("max-models"),
        most_model_memory: number("max-model-memory"),
        most_requests: count("max-requests").clamp(1, 1 << 20),
        most_connections: count("max-connections").clamp(1, 1 << 20),
        most_queued: count("max-queued"),
        patience: span("patience"),
        snapshot_bytes: number("snapshot-bytes"),
        grace: span("grace"),
        sources: sources(matches)?,
        ..Settings::new(&data)
    })
}

fn sources(matches: &ArgMatches) -> Result<Vec<Spec>> {
    let mut all: Vec<Spec> = matches.get_many("source").into_iter().flatten().cloned().collect();
    if let Some(path) = matches.get_one::<PathBuf>("source-file") {
        all.extend(Spec::read(path).map_err(|message| Error::Usage(UsageError(message)))?);
    }
    let mut seen = std::collections::BTreeSet::new();
    if let Some(twice) = all.iter().find(|spec| !seen.insert((spec.model.clone(), spec.name()))) {
        let message = format!("--source: {} is there twice for model `{}`", twice.name(), twice.model);
        return Err(Error::Usage(UsageError(message)).into());
    }
    Ok(all)
}

/// Prints a token that nobody will see again, and keeps its hash.
fn make_token(role: &str, file: Option<&Path>) -> Result<u8> {
    let role = Role::parse(role).expect("clap knows the roles");
    let (token, line) = new_token(role).context("no random numbers")?;
    match file {
        None => screen::message(&format!("for the file of tokens: {line}")),
        Some(path) => {
            let mut options = std::fs::OpenOptions::new();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let appended = options.open(path).and_then(|mut file| writeln!(file, "{line}"));
            appended.map_err(|source| Error::Io { path: path.to_owned(), source })?;
        }
    }
    output::text(&format!("{token}\n"))?;
    Ok(crate::OK)
}

fn log(matches: &ArgMatches) -> Result<()> {
    let quiet = matches.get_flag("quiet");
    let filter = if quiet { "error" } else { matches.get_one::<String>("log").expect("clap has a default") };
    let filter = tracing_subscriber::EnvFilter::try_new(filter)
        .map_err(|e| UsageError(format!("--log: found `{filter}`: {e}")))?;
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    let subscriber = subscriber.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
    let json = matches.get_one::<String>("log-format").is_some_and(|form| form == "json");
    let set = if json { subscriber.json().try_init() } else { subscriber.try_init() };
    set.map_err(|e| anyhow!("the log cannot be started: {e}"))
}

pub(crate) fn run(matches: &ArgMatches) -> Result<u8> {
    if let Some(role) = matches.get_one::<String>("new-token") {
        return make_token(role, matches.get_one::<PathBuf>("token-file").map(PathBuf::as_path));
    }
    let settings = settings(matches)?;
    log(matches)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no threads")?;
    runtime.block_on(async {
        let secure = settings.tls.is_some();
        let server = Server::start(settings).await.map_err(|error| match error {
            StartError::Usage(message) => anyhow::Error::from(Error::Usage(UsageError(message))),
            StartError::Refused(message) => anyhow!(message),
        })?;
        let address = server.address().context("no address")?;
        let scheme = if secure { "https" } else { "http" };
        tracing::info!(%address, "serving");
        output::text(&format!("listening on {scheme}://{address}\n"))?;
        server.run(ended()).await;
        tracing::info!("ended");
        Ok(crate::OK)
    })
}

/// Until the system or the user asks for the end.
async fn ended() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminated) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = terminated.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}
