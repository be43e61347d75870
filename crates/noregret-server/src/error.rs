//! What is answered when something cannot be done.

use crate::wording::in_requests;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// An error as it is answered: `{"error": {...}}`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// The error.
    pub error: ErrorTold,
}

/// What went wrong.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorTold {
    /// A word for programs, such as `bad_feature`.
    pub code: String,
    /// A sentence for people: what was found, what was expected, what to do.
    pub message: String,
    /// Which example of the request is meant, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<u64>,
    /// How many examples of the request were learned all the same, where any were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub learned: Option<u64>,
}

/// A request that is refused, or could not be served.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// The status.
    pub status: StatusCode,
    /// A word for programs.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
    /// Which example, from 0.
    pub example: Option<u64>,
    /// How many were learned all the same.
    pub learned: Option<u64>,
}

impl Refusal {
    /// With a status, a code and a message.
    pub fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, code, message: message.into(), example: None, learned: None }
    }

    /// 400.
    pub fn bad(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, message)
    }

    /// 400, with a message of the library.
    pub(crate) fn library(code: &'static str, message: &str) -> Self {
        Self::bad(code, in_requests(message))
    }

    /// 404.
    pub fn unknown_model(name: &str) -> Self {
        let message = format!("there is no model `{name}`; make it with PUT /v1/models/{name}");
        Self::new(StatusCode::NOT_FOUND, "unknown_model", message)
    }

    /// 409.
    pub fn conflict(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, code, message)
    }

    /// 413.
    pub fn too_large(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, code, message)
    }

    /// 503.
    pub fn unavailable(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, code, message)
    }

    /// Says which example is meant.
    pub fn at(mut self, example: usize) -> Self {
        self.example = Some(example as u64);
        self
    }

    /// Says how many were learned.
    pub fn after(mut self, learned: u64) -> Self {
        self.learned = Some(learned);
        self
    }

    /// As it is answered.
    pub fn body(&self) -> ErrorBody {
        ErrorBody {
            error: ErrorTold {
                code: self.code.to_owned(),
                message: self.message.clone(),
                example: self.example,
                learned: self.learned,
            },
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let body = serde_json::to_vec(&self.body()).unwrap_or_default();
        let mut response = (self.status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        match self.status {
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            StatusCode::UNAUTHORIZED => {
                headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            }
            _ => {}
        }
        // For the log and the list of recent errors.
        response.extensions_mut().insert(self);
        response
    }
}
