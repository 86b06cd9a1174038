//! The error document: `application/problem+json`, with a stable code for programs and the older member `error`.

mod code;
mod refused;

pub use code::Code;
pub use refused::{Names, Obstacle, code_of_body, code_of_refusal};

use serde::{Deserialize, Serialize};

use crate::body::only_objects;

/// The media type of an error document.
pub const MEDIA_TYPE: &str = "application/problem+json";

/// An error document. Every member may be missing in what a client reads: a broker of the earlier system
/// sends `{"error": "text"}`, and what stands between may send anything.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(remote = "Self", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Problem {
    /// A name for this kind of problem, `urn:rear:problem:` and the code.
    #[serde(rename = "type")]
    pub kind: String,
    /// What kind of problem it is, for people.
    pub title: String,
    /// The status of the answer.
    pub status: u16,
    /// What is wrong this time, for people.
    pub detail: String,
    /// What kind of problem it is, for programs: see [`Code`].
    pub code: String,
    /// The same text as `detail`, where agents of the earlier system look for it.
    pub error: String,
    /// For a refused reservation, what was missing on the closest clusters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<Obstacle>>,
}

only_objects!(Problem);

impl Problem {
    /// A problem of this kind.
    #[must_use]
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self {
            kind: format!("urn:rear:problem:{}", code.name()),
            title: code.title().to_owned(),
            status: code.status(),
            error: detail.clone(),
            detail,
            code: code.name().to_owned(),
            candidates: None,
        }
    }

    /// The code, if it is one that is known here.
    #[must_use]
    pub fn known_code(&self) -> Option<Code> {
        self.code.parse().ok()
    }

    /// What is wrong, wherever the broker wrote it.
    #[must_use]
    pub fn text(&self) -> &str {
        let texts = [&self.detail, &self.error, &self.title];
        texts.into_iter().find(|text| !text.is_empty()).map_or("", String::as_str)
    }
}
