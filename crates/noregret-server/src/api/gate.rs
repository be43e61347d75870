//! What every request passes: limits, who is asking, counts, and the headers of every answer.

use super::App;
use crate::auth::Role;
use crate::error::Refusal;
use crate::stall::Unread;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{self, HeaderName, HeaderValue};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// Lets a request through.
pub(crate) async fn gate(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().map(|p| p.as_str().to_owned());
    let name = model_name(request.uri().path());
    let origin = request.headers().get(header::ORIGIN).cloned();
    let long = has_long_body(request.headers());
    let unread = request.extensions().get::<Unread>().cloned();
    let mut response = match admit(&app, &request, route.as_deref()) {
        Err(refusal) => refusal.into_response(),
        Ok(None) => preflight(),
        Ok(Some(_permit)) => next.run(request).await,
    };
    let status = response.status();
    if let Some(refusal) = response.extensions().get::<Refusal>().cloned() {
        if status.is_server_error() {
            tracing::warn!(%method, route, status = status.as_u16(), code = refusal.code, message = refusal.message);
        } else {
            tracing::debug!(%method, route, status = status.as_u16(), code = refusal.code, message = refusal.message);
        }
        if long {
            // The rest of the body may still be under way, so that nothing more can be asked here.
            response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
            unread.iter().for_each(Unread::set);
        }
        if let Some(handle) = name.and_then(|name| app.models.get(&name).ok()) {
            handle.note_error(&refusal, crate::now());
        }
    }
    app.metrics.request(&method, route.as_deref().unwrap_or("other"), status, began.elapsed());
    app.secure(response.headers_mut(), origin.as_ref());
    response
}

fn has_long_body(headers: &HeaderMap) -> bool {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|l| l.to_str().ok()?.parse::<u64>().ok());
    headers.contains_key(header::TRANSFER_ENCODING) || length.is_some_and(|length| length > 4096)
}

fn model_name(path: &str) -> Option<String> {
    let rest = path.strip_prefix("/v1/models/")?;
    Some(rest.split('/').next().unwrap_or(rest).to_owned())
}

/// Whether what a path means is UTF-8.
fn is_text(path: &str) -> bool {
    let digit = |b: Option<&u8>| b.and_then(|b| char::from(*b).to_digit(16)).map(|d| d as u8);
    let bytes = path.as_bytes();
    if !bytes.contains(&b'%') {
        return true;
    }
    let (mut at, mut meant) = (0, Vec::new());
    while at < bytes.len() {
        match (bytes[at], digit(bytes.get(at + 1)), digit(bytes.get(at + 2))) {
            (b'%', Some(high), Some(low)) => {
                meant.push(high << 4 | low);
                at += 3;
            }
            (byte, ..) => {
                meant.push(byte);
                at += 1;
            }
        }
    }
    std::str::from_utf8(&meant).is_ok()
}

/// What a request needs to be allowed; nothing for those that everybody may ask.
fn needed(method: &Method, route: Option<&str>) -> Option<Role> {
    let route = route.unwrap_or_default();
    match route {
        "/healthz" | "/readyz" | "/openapi.json" | "/" => None,
        _ if route.starts_with("/assets/") => None,
        _ if route.ends_with("/learn") || route.ends_with("/label") => Some(Role::Learn),
        _ if route.ends_with("/predict") => Some(Role::Read),
        _ if method == Method::GET || method == Method::HEAD => Some(Role::Read),
        _ => Some(Role::Admin),
    }
}

/// By which name the server is asked. HTTP/2 has it elsewhere.
fn host(request: &Request) -> Option<&str> {
    let said = request.headers().get(header::HOST).and_then(|h| h.to_str().ok());
    said.or_else(|| request.uri().authority().map(axum::http::uri::Authority::as_str))
}

type Permit<'a> = tokio::sync::SemaphorePermit<'a>;

/// A permit to go on; none where the browser only asks whether it may.
fn admit<'a>(app: &'a App, request: &Request, route: Option<&str>) -> Result<Option<Permit<'a>>, Refusal> {
    let headers = request.headers();
    app.check_origin(host(request), headers)?;
    if !is_text(request.uri().path()) {
        return Err(Refusal::bad(
            "bad_name",
            "the path is not text: expected UTF-8 behind its percent signs",
        ));
    }
    if request.method() == Method::OPTIONS && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD) {
        return Ok(None);
    }
    if let (Some(tokens), Some(role)) = (&app.tokens, needed(request.method(), route)) {
        tokens.check(headers.get(header::AUTHORIZATION), role)?;
    }
    let busy = || {
        Refusal::unavailable(
            "busy",
            "as many requests as are allowed (--max-requests) are under way; ask again",
        )
    };
    app.requests.try_acquire().map(Some).map_err(|_| busy())
}

impl App {
    /// Refuses what a page of another site lets a browser send. Without tokens nothing else would keep such a page
    /// from a server on the same machine.
    fn check_origin(&self, host: Option<&str>, headers: &HeaderMap) -> Result<(), Refusal> {
        let forbid = |message: &str| Err(Refusal::new(StatusCode::FORBIDDEN, "other_origin", message));
        if let Some(origin) = headers.get(header::ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            let own = origin.split_once("://").is_some_and(|(_, rest)| Some(rest) == host);
            if !own && !self.allows(origin) {
                return forbid("pages of other sites may not ask this server; --cors allows it to some");
            }
        }
        if self.tokens.is_none()
            && let Some(host) = host
        {
            let name = host.rsplit_once(':').map_or(host, |(name, port)| {
                if port.bytes().all(|b| b.is_ascii_digit()) { name } else { host }
            });
            let name = name.trim_start_matches('[').trim_end_matches(']');
            if !name.eq_ignore_ascii_case("localhost") && name.parse::<std::net::IpAddr>().is_err() {
                return forbid("without tokens the server is asked as localhost, or by its address");
            }
        }
        Ok(())
    }

    fn allows(&self, origin: &str) -> bool {
        self.models.settings().cors.iter().any(|allowed| allowed == origin)
    }

    fn secure(&self, headers: &mut HeaderMap, origin: Option<&HeaderValue>) {
        const ALWAYS: [(HeaderName, &str); 4] = [
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::X_FRAME_OPTIONS, "DENY"),
            (header::REFERRER_POLICY, "no-referrer"),
            (header::CACHE_CONTROL, "no-store"),
        ];
        for (name, value) in ALWAYS {
            headers.entry(name).or_insert(HeaderValue::from_static(value));
        }
        headers
            .entry(header::CONTENT_SECURITY_POLICY)
            .or_insert(HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'"));
        if self.models.settings().tls.is_some() {
            headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static("max-age=31536000"));
        }
        if let Some(origin) = origin
            && origin.to_str().is_ok_and(|o| self.allows(o))
        {
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.append(header::VARY, HeaderValue::from_static("origin"));
        }
    }
}

/// What a browser is told that asks whether it may.
fn preflight() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    let allow = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, PUT, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, "authorization, content-type, idempotency-key"),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    for (name, value) in allow {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// What is answered where the program made a mistake.
#[allow(clippy::needless_pass_by_value, reason = "as the layer calls it")]
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response<Body> {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(panic = text, "a request made the server panic");
    Refusal::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server made a mistake; its log has more, please report it",
    )
    .into_response()
}
