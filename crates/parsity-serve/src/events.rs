//! Event streams: the state of all studies, whenever it changes.
//!
//! A listener gets the latest state and nothing in between, so one that is slow misses states
//! and keeps nobody waiting.

use axum::body::Bytes;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::watch;

/// Streams at the same time; who comes then is asked to come back.
const STREAMS: usize = 256;
/// After so much silence a stream is shown to be alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Those that listen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listeners(Arc<AtomicUsize>);

impl Listeners {
    /// Whether anybody listens.
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// One more, if there is room.
    fn enter(&self) -> Option<Listener> {
        let more = |count| (count < STREAMS).then_some(count + 1);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(Listener(Arc::clone(&self.0)))
    }
}

/// One that listens, until it is dropped.
struct Listener(Arc<AtomicUsize>);

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream of the states in `states`, beginning with the latest.
pub(crate) fn stream(listeners: &Listeners, states: &watch::Receiver<Bytes>) -> Response {
    let Some(listener) = listeners.enter() else {
        let busy = (StatusCode::SERVICE_UNAVAILABLE, "too many listen already; try again later\n");
        let mut response = busy.into_response();
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("30"));
        return response;
    };
    let mut states = states.clone();
    states.mark_changed();
    let stream = stream::unfold((states, listener), |(mut states, listener)| async move {
        loop {
            // The reader ends when the server does.
            states.changed().await.ok()?;
            let state = states.borrow_and_update().clone();
            if let Ok(text) = std::str::from_utf8(&state)
                && !text.is_empty()
            {
                let event = Event::default().event("state").data(text);
                return Some((Ok::<_, Infallible>(event), (states, listener)));
            }
        }
    });
    Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response()
}
