//! The stylesheet, the script and the icon of the pages, compiled into the program. Their names
//! contain a hash of their content, so browsers can cache them for ever.

use std::sync::LazyLock;

use axum::body::Body;
use axum::http::{HeaderValue, Response, header};
use sha2::{Digest, Sha256};

use super::paths::href;

/// The folder of the files.
const FOLDER: &str = "/assets/";

/// A file that pages refer to.
pub(crate) struct Asset {
    /// The path below the administration.
    path: String,
    media_type: &'static str,
    text: &'static str,
}

pub(crate) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("style", "css", "text/css; charset=utf-8", include_str!("../../assets/style.css"))
});
pub(crate) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new(
        "script",
        "js",
        "text/javascript; charset=utf-8",
        include_str!("../../assets/script.js"),
    )
});
pub(crate) static ICON: LazyLock<Asset> = LazyLock::new(|| {
    Asset::new("icon", "svg", "image/svg+xml", include_str!("../../assets/icon.svg"))
});

/// The asset at a path below the administration.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    let all: [&'static Asset; 3] = [&STYLE, &SCRIPT, &ICON];
    all.into_iter().find(|asset| asset.path == path)
}

impl Asset {
    fn new(name: &str, suffix: &str, media_type: &'static str, text: &'static str) -> Self {
        let digest = Sha256::digest(text.as_bytes());
        let tag = hex::encode(&digest[..8]);
        Self { path: format!("{FOLDER}{name}-{tag}.{suffix}"), media_type, text }
    }

    /// Its address.
    pub(crate) fn href(&self) -> String {
        href(&self.path)
    }

    pub(crate) fn response(&self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.text));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.media_type));
        let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
        headers.insert(header::CACHE_CONTROL, kept);
        response
    }
}
