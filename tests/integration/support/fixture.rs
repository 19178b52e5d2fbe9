//! The fixture that misbehaves, served as a process, for tests of the host around it.

use crate::support::harness::MEDIA_TYPE;
use crate::support::process::{Place, Served};

pub const ECHO: &str = "/api/index.php/v1/misbehaves/echo/1/word";

pub const HELD: &str = "/api/index.php/v1/misbehaves/held/release";

pub const PENDING: &str = "/api/index.php/v1/misbehaves/pending";

/// Makes the host trust this client as a proxy.
pub const BELIEVED: (&str, &str) = ("HOST_TRUSTED_PROXIES", "127.0.0.1");

/// The fixture, served with this environment, and the token of a user.
pub async fn serve(environment: &[(&str, &str)]) -> (Place, Served, String) {
    let place = Place::of_the_fixture();
    let token = place.user("ann", "Manager").await;
    let served = place.serve_with(environment).await;
    (place, served, token)
}

pub fn echo(served: &Served, token: &str) -> reqwest::RequestBuilder {
    served.get(ECHO, token)
}

/// A request as bytes.
pub fn request(token: &str, path: &str, id: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nhost: localhost\r\naccept: {MEDIA_TYPE}\r\n\
         authorization: Bearer {token}\r\nx-request-id: {id}\r\n\r\n"
    )
}
