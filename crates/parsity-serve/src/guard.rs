//! Who may look through the window, and how: checked before anything else is done.
//!
//! A page of somebody else, open in the same browser, must neither read a study nor make the
//! server work: so names that are not this machine's are refused, and requests that such a page
//! sent. On a network, whoever looks must know the token.

use crate::token::{COOKIE, Token};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_SECURITY_POLICY, HOST,
    HeaderName, LOCATION, ORIGIN, REFERRER_POLICY, SET_COOKIE, TRANSFER_ENCODING,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, Ipv6Addr};

/// What every response says about itself.
const HEADERS: [(HeaderName, &str); 7] = [
    (
        CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (CACHE_CONTROL, "no-store"),
];

/// Who may look.
pub(crate) struct Guard {
    /// Whether only this machine can reach it.
    loopback: bool,
    /// Names of this machine, besides its addresses.
    hosts: Vec<String>,
    /// What a network must know.
    token: Option<Token>,
}

/// Why a request is not served.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Something else than reading.
    Method,
    /// A request that brings something.
    Body,
    /// It asks for another machine, or does not say for which.
    Host,
    /// A page of somebody else asks.
    Origin,
    /// The token is missing or wrong.
    Token,
    /// The token came with the address: it belongs into a cookie.
    Enter { path: String },
}

impl Guard {
    /// For a server that listens at `address`, with further names of this machine.
    pub(crate) fn new(address: IpAddr, hosts: &[String], token: Option<Token>) -> Self {
        let mut hosts: Vec<String> = hosts.iter().map(|it| it.to_ascii_lowercase()).collect();
        hosts.push("localhost".to_owned());
        Guard { loopback: address.is_loopback(), hosts, token }
    }

    /// The token, if there is one.
    pub(crate) fn token(&self) -> Option<&Token> {
        self.token.as_ref()
    }

    /// Whether a request may be served.
    pub(crate) fn check(&self, request: &Parts) -> Result<(), Refusal> {
        let headers = &request.headers;
        if request.method != Method::GET && request.method != Method::HEAD {
            return Err(Refusal::Method);
        }
        let empty = headers.get(CONTENT_LENGTH).is_none_or(|it| it == "0");
        if !empty || headers.contains_key(TRANSFER_ENCODING) {
            return Err(Refusal::Body);
        }
        let host = only(headers, &HOST).filter(|host| self.is_ours(host)).ok_or(Refusal::Host)?;
        if request.uri.authority().is_some_and(|it| !it.as_str().eq_ignore_ascii_case(host)) {
            return Err(Refusal::Host);
        }
        if headers.contains_key(ORIGIN) && !is_same_origin(only(headers, &ORIGIN), host) {
            return Err(Refusal::Origin);
        }
        let fetch = |name: &'static str| headers.get(name).map(HeaderValue::as_bytes);
        let is_foreign = fetch("sec-fetch-site") == Some(b"cross-site");
        if is_foreign && fetch("sec-fetch-mode") != Some(b"navigate") {
            return Err(Refusal::Origin);
        }
        self.check_token(request)
    }

    fn check_token(&self, request: &Parts) -> Result<(), Refusal> {
        let Some(token) = &self.token else { return Ok(()) };
        let bearer = only(&request.headers, &AUTHORIZATION);
        let bearer = bearer.and_then(|it| it.strip_prefix("Bearer "));
        if bearer.is_some_and(|it| token.is(it)) || cookies(&request.headers).any(|it| token.is(it))
        {
            return Ok(());
        }
        let pairs = request.uri.query().unwrap_or_default().split('&');
        let asked = pairs.clone().find_map(|pair| pair.strip_prefix("token="));
        if !asked.is_some_and(|it| token.is(it)) {
            return Err(Refusal::Token);
        }
        let rest: Vec<&str> = pairs.filter(|pair| !pair.starts_with("token=")).collect();
        let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
        // One slash only: two would name another host.
        let path = request.uri.path().trim_start_matches('/');
        Err(Refusal::Enter { path: format!("/{path}{query}") })
    }

    /// Whether a `Host` names this machine. Its port may be that of a tunnel.
    fn is_ours(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return false };
        if host.contains('@') {
            return false;
        }
        let name = authority.host().to_ascii_lowercase();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            // No name can be made to point at an address that is given as such.
            Ok(address) => !self.loopback || is_loopback(address),
            Err(_) => self.hosts.contains(&name),
        }
    }

    /// What is said instead of serving a request.
    pub(crate) fn refuse(&self, refusal: &Refusal) -> Response {
        let say = |status: StatusCode, text: &'static str| (status, text).into_response();
        let mut response = match refusal {
            Refusal::Method => {
                say(StatusCode::METHOD_NOT_ALLOWED, "this server can only be read\n")
            }
            Refusal::Body => {
                say(StatusCode::PAYLOAD_TOO_LARGE, "this server takes nothing; send no body\n")
            }
            Refusal::Host => say(
                StatusCode::MISDIRECTED_REQUEST,
                "this is not the server of that name; `parsity serve --host NAME` adds one\n",
            ),
            Refusal::Origin => {
                say(StatusCode::FORBIDDEN, "another page may not read this server\n")
            }
            Refusal::Token => say(
                StatusCode::UNAUTHORIZED,
                "the token is missing or wrong; open the address that `parsity serve` printed, or send \
                 `Authorization: Bearer TOKEN`\n",
            ),
            Refusal::Enter { .. } => StatusCode::SEE_OTHER.into_response(),
        };
        let headers = response.headers_mut();
        match refusal {
            Refusal::Method => {
                headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
                // What came with it is not read.
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Refusal::Body => {
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Refusal::Enter { path } => {
                let token = self.token.as_ref().map_or("", Token::reveal);
                let cookie = format!("{COOKIE}={token}; Path=/; HttpOnly; SameSite=Strict");
                let values = [(LOCATION, path.as_str()), (SET_COOKIE, cookie.as_str())];
                for (name, value) in values {
                    if let Ok(value) = HeaderValue::from_str(value) {
                        headers.insert(name, value);
                    }
                }
            }
            _ => {}
        }
        response
    }
}

/// Puts what every response says into one.
pub(crate) fn label(response: &mut Response) {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
}

fn is_loopback(address: IpAddr) -> bool {
    let mapped = match address {
        IpAddr::V6(address) => Ipv6Addr::to_ipv4_mapped(&address).map(IpAddr::V4),
        IpAddr::V4(_) => None,
    };
    mapped.unwrap_or(address).is_loopback()
}

/// The value of a header that stands there once and is text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn is_same_origin(origin: Option<&str>, host: &str) -> bool {
    let origin = origin.unwrap_or_default();
    let rest = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    rest.is_some_and(|rest| rest.eq_ignore_ascii_case(host))
}

/// The values of our cookie.
fn cookies(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let lines = headers.get_all("cookie").iter().filter_map(|line| line.to_str().ok());
    let cookies = lines.flat_map(|line| line.split(';'));
    cookies.filter_map(|it| it.trim().strip_prefix(COOKIE)?.strip_prefix('='))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn check(guard: &Guard, method: &str, uri: &str, headers: &[(&str, &str)]) -> Option<Refusal> {
        let mut request = Request::builder().method(method).uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        guard.check(&parts).err()
    }

    fn local() -> Guard {
        Guard::new("127.0.0.1".parse().unwrap(), &[], None)
    }

    #[test]
    fn names_of_this_machine_are_served_and_others_are_not() {
        let ours =
            ["localhost", "LOCALHOST:8347", "127.0.0.1:9000", "[::1]:8347", "[::ffff:7f00:1]"];
        for host in ours {
            assert_eq!(check(&local(), "GET", "/", &[("host", host)]), None, "{host}");
        }
        let foreign = [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.1.7:8347",
            "user@localhost",
            "localhost@evil.example",
            "localhost/",
            "",
            "[::1",
        ];
        for host in foreign {
            assert_eq!(
                check(&local(), "GET", "/", &[("host", host)]),
                Some(Refusal::Host),
                "{host}"
            );
        }
        assert_eq!(check(&local(), "GET", "/", &[]), Some(Refusal::Host));
        let twice = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(check(&local(), "GET", "/", &twice), Some(Refusal::Host));
        let absolute = "http://evil.example/";
        assert_eq!(check(&local(), "GET", absolute, &[("host", "localhost")]), Some(Refusal::Host));
    }

    #[test]
    fn on_a_network_addresses_and_given_names_are_served_and_others_are_not() {
        let token = Token::new().unwrap();
        let bearer = format!("Bearer {}", token.reveal());
        let guard =
            Guard::new("0.0.0.0".parse().unwrap(), &["Lab.Example".to_owned()], Some(token));
        for (host, served) in
            [("192.168.1.7", true), ("lab.example:1", true), ("evil.example", false)]
        {
            let found = check(&guard, "GET", "/", &[("host", host), ("authorization", &bearer)]);
            assert_eq!(found, (!served).then_some(Refusal::Host), "{host}");
        }
    }

    #[test]
    fn pages_of_others_are_refused() {
        let from = |name, value| {
            check(&local(), "GET", "/api/studies", &[("host", "localhost:8347"), (name, value)])
        };
        assert_eq!(from("origin", "http://localhost:8347"), None);
        for origin in ["http://evil.example", "null", "http://localhost:1", "localhost:8347", ""] {
            assert_eq!(from("origin", origin), Some(Refusal::Origin), "{origin}");
        }
        assert_eq!(from("sec-fetch-site", "cross-site"), Some(Refusal::Origin));
        assert_eq!(from("sec-fetch-site", "same-origin"), None);
    }

    #[test]
    fn only_reading_is_served_and_nothing_is_taken() {
        let host = ("host", "localhost");
        for method in ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
            let found = check(&local(), method, "/", &[host]);
            assert_eq!(found, Some(Refusal::Method), "{method}");
        }
        assert_eq!(check(&local(), "HEAD", "/", &[host]), None);
        for body in
            [("content-length", "1"), ("content-length", "x"), ("transfer-encoding", "chunked")]
        {
            assert_eq!(check(&local(), "GET", "/", &[host, body]), Some(Refusal::Body));
        }
        assert_eq!(check(&local(), "GET", "/", &[host, ("content-length", "0")]), None);
    }

    #[test]
    fn the_token_is_taken_from_header_cookie_or_address_and_leaves_the_address() {
        let token = Token::new().unwrap();
        let text = token.reveal().to_owned();
        let guard = Guard::new("0.0.0.0".parse().unwrap(), &[], Some(token));
        let get = |uri: &str, headers: &[(&str, &str)]| {
            let host: &[(&str, &str)] = &[("host", "10.0.0.1")];
            check(&guard, "GET", uri, &[host, headers].concat())
        };
        assert_eq!(get("/", &[]), Some(Refusal::Token));
        assert_eq!(get("/", &[("authorization", &format!("Bearer {text}"))]), None);
        assert_eq!(get("/", &[("authorization", &text)]), Some(Refusal::Token));
        assert_eq!(get("/", &[("cookie", &format!("a=b; {COOKIE}={text}"))]), None);
        assert_eq!(get("/", &[("cookie", &format!("{COOKIE}x={text}"))]), Some(Refusal::Token));
        assert_eq!(get("/?token=0", &[]), Some(Refusal::Token));
        let enter = |uri: &str| get(&uri.replace("TOKEN", &text), &[]);
        let to = |path: &str| Some(Refusal::Enter { path: path.to_owned() });
        assert_eq!(enter("/studies/a?goal=1&token=TOKEN"), to("/studies/a?goal=1"));
        assert_eq!(enter("//evil.example/?token=TOKEN"), to("/evil.example/"));
    }
}
