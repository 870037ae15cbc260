//! What strangers, foreign pages and bad requests get: nothing.

#![allow(clippy::unwrap_used)] // Tests may.

mod support;

use std::net::SocketAddr;
use support::{fill, get, get_with, open, send};

/// A raw request to a window on a store with one decided cell.
fn with_window(bind: &str, test: impl FnOnce(SocketAddr, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.sqlite");
    drop(fill(&path, 1));
    std::fs::write(folder.path().join("secret.txt"), "a secret").unwrap();
    let window = open(&path, bind);
    let address = SocketAddr::new("127.0.0.1".parse().unwrap(), window.address().port());
    test(address, window.url());
    window.close();
}

#[test]
fn every_response_forbids_scripts_frames_and_guessing_from_elsewhere() {
    with_window("127.0.0.1", |address, _| {
        let paths =
            ["/", "/studies/quickstart", "/assets/main.js", "/api", "/api/studies", "/none"];
        for path in paths {
            let reply = get(address, path);
            let has = |line: &str| assert!(reply.head.contains(line), "{path}: {}", reply.head);
            has(
                "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            );
            has("frame-ancestors 'none'");
            has("x-content-type-options: nosniff");
            has("x-frame-options: deny");
            has("referrer-policy: no-referrer");
            has("cross-origin-resource-policy: same-origin");
            assert!(!reply.head.contains("access-control-allow"), "{path}");
        }
    });
}

#[test]
fn foreign_hosts_origins_methods_and_bodies_are_refused() {
    with_window("127.0.0.1", |address, _| {
        let ask = |text: &str| {
            let text = text.replace("HERE", &address.to_string());
            send(address, text.as_bytes()).map_or(0, |reply| reply.status)
        };
        let api = "/api/studies";
        let end = "Connection: close\r\n\r\n";
        assert_eq!(ask(&format!("GET {api} HTTP/1.1\r\nHost: HERE\r\n{end}")), 200);
        assert_eq!(ask(&format!("GET {api} HTTP/1.1\r\nHost: evil.example\r\n{end}")), 421);
        assert_eq!(ask(&format!("GET {api} HTTP/1.1\r\n{end}")), 421);
        assert_eq!(
            ask(&format!("GET http://evil.example{api} HTTP/1.1\r\nHost: HERE\r\n{end}")),
            421
        );
        let origin = "Host: HERE\r\nOrigin: http://evil.example\r\n";
        assert_eq!(ask(&format!("GET {api} HTTP/1.1\r\n{origin}{end}")), 403);
        for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
            assert_eq!(ask(&format!("{method} {api} HTTP/1.1\r\nHost: HERE\r\n{end}")), 405);
        }
        let body = "Host: HERE\r\nContent-Length: 5\r\n";
        assert_eq!(ask(&format!("GET {api} HTTP/1.1\r\n{body}{end}hello")), 413);
    });
}

#[test]
fn oversized_requests_are_refused() {
    with_window("127.0.0.1", |address, _| {
        let long = "x".repeat(100_000);
        let path = format!("GET /{long} HTTP/1.1\r\nHost: {address}\r\n\r\n");
        let header = format!("GET / HTTP/1.1\r\nHost: {address}\r\nX: {long}\r\n\r\n");
        let many: String = (0..500).map(|i| format!("X-{i}: 1\r\n")).collect();
        let many = format!("GET / HTTP/1.1\r\nHost: {address}\r\n{many}\r\n");
        for request in [path, header, many] {
            let status = send(address, request.as_bytes()).map_or(0, |reply| reply.status);
            assert!([0, 400, 414, 431].contains(&status), "{status}");
        }
        assert_eq!(get(address, "/api").status, 200);
    });
}

#[test]
fn no_path_leads_to_a_file() {
    with_window("127.0.0.1", |address, _| {
        let ways = [
            "/secret.txt",
            "/../secret.txt",
            "/assets/../secret.txt",
            "/assets/..%2fsecret.txt",
            "/assets/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
            "/assets/%00",
            "//etc/passwd",
            "/api/studies/quickstart/..%2f..%2fsecret.txt",
            "/api/studies/..%2f..%2fsecret.txt/page.json",
            "/api/studies/quickstart/s.sqlite",
            "/api/studies/quickstart/%2e%2e/secret.txt",
            "/api/studies/'%20OR%201=1%20--/page.json",
            "/api/studies/quickstart/cells/8/0.123",
            "/api/studies/quickstart/cells/-1/0",
            "/api/studies/quickstart/cells/8/NaN",
            "/api/studies/quickstart/cells/8/1e999",
            "/api/studies/quickstart/cells/99999999999999999999/0",
            "/api/studies/quickstart/cells/8/0/search.svg?goal=99",
            "/api/studies/quickstart/cells/8/0/search.svg?goal=-1",
            "/api/studies/%ff%fe/page.json",
            "/api/studies/,,,,/page.json",
        ];
        for path in ways {
            let reply = get(address, path);
            assert!([400, 404].contains(&reply.status), "{path}: {}", reply.status);
            let text = String::from_utf8_lossy(&reply.body).into_owned();
            assert!(!text.contains("a secret") && !text.contains("root:"), "{path}: {text}");
        }
        assert_eq!(get(address, "/api/studies/quickstart/page.json").status, 200);
    });
}

#[test]
fn on_a_network_only_those_who_know_the_token_are_served() {
    with_window("0.0.0.0", |address, url| {
        let token = url.split_once("?token=").unwrap().1.trim().to_owned();
        assert_eq!(token.len(), 64);
        for path in ["/", "/api", "/api/studies", "/api/events", "/assets/main.js", "/none"] {
            assert_eq!(get(address, path).status, 401, "{path}");
        }
        let other = if token.ends_with('0') { '1' } else { '0' };
        let wrong = format!("{}{other}", &token[..63]);
        for header in ["Bearer ", &format!("Bearer {wrong}"), &format!("Basic {token}"), "Bearer"] {
            let reply = get_with(address, "/api", &format!("Authorization: {header}\r\n"));
            assert_eq!(reply.status, 401, "{header}");
        }
        let bearer = format!("Authorization: Bearer {token}\r\n");
        assert_eq!(get_with(address, "/api/studies", &bearer).status, 200);
        // The address with the token leads to the page without it, and leaves a cookie.
        let entered = get(address, &format!("/?token={token}"));
        assert_eq!(entered.status, 303);
        assert!(entered.head.contains("location: /\r\n"), "{}", entered.head);
        assert!(entered.head.contains("httponly; samesite=strict"), "{}", entered.head);
        let cookie = format!("Cookie: parsity-token={token}\r\n");
        assert_eq!(get_with(address, "/", &cookie).status, 200);
        // Names that were given may be used, others not even with the token.
        let named = |host: &str| {
            let text =
                format!("GET /api HTTP/1.1\r\nHost: {host}\r\n{bearer}Connection: close\r\n\r\n");
            send(address, text.as_bytes()).unwrap().status
        };
        assert_eq!((named("lab.example:1"), named("evil.example")), (200, 421));
    });
}

#[test]
fn on_this_machine_no_token_is_asked_for() {
    with_window("127.0.0.1", |address, url| {
        assert!(!url.contains("token"), "{url}");
        assert_eq!(get(address, "/").status, 200);
    });
}
