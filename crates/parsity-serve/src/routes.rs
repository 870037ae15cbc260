//! Routes: which address shows what.
//!
//! `/` and `/studies/NAME` are the page, `/api` is for it and for programs; docs/dashboard.md
//! describes the latter.

use crate::assets;
use crate::events;
use crate::guard::{Guard, label};
use crate::reader::{JSON, Question, Reader, Reply, Trouble};
use axum::Router;
use axum::extract::{Path, RawQuery, Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use parsity_study::{BatchSize, Cell, Sparsity};
use serde_json::json;
use std::sync::Arc;

/// Everything that can be asked for, behind `guard`.
pub(crate) fn router(guard: Arc<Guard>, reader: Reader) -> Router {
    Router::new()
        .route("/", get(page))
        .route("/studies/{names}", get(page))
        .route("/favicon.ico", get(icon))
        .route("/assets/{file}", get(asset))
        .route("/api", get(index))
        .route("/api/events", get(listen))
        .route("/api/studies", get(state))
        .route("/api/studies/{names}", get(answer))
        .route("/api/studies/{names}/page.json", get(view))
        .route("/api/studies/{names}/live.json", get(live))
        .route("/api/studies/{names}/{file}", get(file))
        .route("/api/studies/{name}/cells/{batch_size}/{sparsity}", get(cell))
        .route("/api/studies/{name}/cells/{batch_size}/{sparsity}/search.svg", get(search))
        .fallback(nothing)
        .with_state(reader)
        .layer(from_fn_with_state(guard, guarded))
}

async fn guarded(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match guard.check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(refusal) => guard.refuse(&refusal),
    };
    label(&mut response);
    response
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        ([(header::CONTENT_TYPE, self.kind)], self.body).into_response()
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let (status, text) = match self {
            Trouble::Nothing(text) => (StatusCode::NOT_FOUND, text),
            Trouble::Busy => {
                (StatusCode::SERVICE_UNAVAILABLE, "too many ask at once; try again".to_owned())
            }
            Trouble::Store(text) => (StatusCode::SERVICE_UNAVAILABLE, text),
            Trouble::Failed => {
                (StatusCode::INTERNAL_SERVER_ERROR, "this could not be worked out".to_owned())
            }
        };
        let body = json!({ "error": text }).to_string();
        let mut response = (status, [(header::CONTENT_TYPE, JSON)], body).into_response();
        if status == StatusCode::SERVICE_UNAVAILABLE {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("2"));
        }
        response
    }
}

async fn nothing() -> Trouble {
    Trouble::Nothing("nothing is here; `/api` lists what is".to_owned())
}

async fn page() -> Response {
    assets::PAGE.response()
}

async fn icon() -> Response {
    assets::ICON.response()
}

async fn asset(Path(file): Path<String>) -> Response {
    match assets::find(&file) {
        Some(asset) => asset.response(),
        None => nothing().await.into_response(),
    }
}

/// What there is, for whoever starts here.
async fn index() -> Reply {
    let body = json!({
        "parsity": env!("CARGO_PKG_VERSION"),
        "api": 1,
        "paths": {
            "/api/studies": "all studies, and how far each is",
            "/api/studies/{study}": "the answer, as `parsity report --json` prints it",
            "/api/studies/{study}/{file}": "a file of the report: steps-to-result.csv, scaling.svg, …",
            "/api/studies/{study}/live.json": "what its run does right now",
            "/api/studies/{study}/cells/{batch_size}/{sparsity}": "the trials of a cell",
            "/api/studies/{study}/cells/{batch_size}/{sparsity}/search.svg": "its search",
            "/api/events": "the state of all studies, whenever it changes (server-sent events)",
        },
    });
    Reply { kind: JSON, body: body.to_string().into() }
}

async fn listen(State(reader): State<Reader>) -> Response {
    events::stream(&reader.listeners, &reader.states)
}

async fn state(State(reader): State<Reader>) -> Result<Reply, Trouble> {
    reader.ask(Question::State).await
}

async fn answer(State(reader): State<Reader>, Path(names): Path<String>) -> Result<Reply, Trouble> {
    reader.ask(Question::File(names, "answer.json".to_owned())).await
}

async fn view(State(reader): State<Reader>, Path(names): Path<String>) -> Result<Reply, Trouble> {
    reader.ask(Question::Page(names)).await
}

async fn live(State(reader): State<Reader>, Path(name): Path<String>) -> Result<Reply, Trouble> {
    reader.ask(Question::Live(name)).await
}

async fn file(
    State(reader): State<Reader>,
    Path((names, file)): Path<(String, String)>,
) -> Result<Reply, Trouble> {
    reader.ask(Question::File(names, file)).await
}

/// A cell as it stands in an address: a batch size and a share.
type Place = (String, u32, f64);

async fn cell(
    State(reader): State<Reader>,
    Path((name, batch_size, share)): Path<Place>,
) -> Result<Reply, Trouble> {
    reader.ask(Question::Cell(name, cell_at(batch_size, share)?)).await
}

async fn search(
    State(reader): State<Reader>,
    Path((name, batch_size, share)): Path<Place>,
    RawQuery(query): RawQuery,
) -> Result<Reply, Trouble> {
    let query = query.unwrap_or_default();
    let goal = query.split('&').find_map(|pair| pair.strip_prefix("goal="));
    let goal = goal.map_or(Ok(0), str::parse);
    let goal = goal.map_err(|_| Trouble::Nothing("`goal` counts from 0".to_owned()))?;
    reader.ask(Question::Search(name, cell_at(batch_size, share)?, goal)).await
}

fn cell_at(batch_size: u32, share: f64) -> Result<Cell, Trouble> {
    let sparsity = Sparsity::new(share)
        .ok_or_else(|| Trouble::Nothing("a sparsity is at least 0 and below 1".to_owned()))?;
    Ok(Cell { batch_size: BatchSize(batch_size), sparsity })
}
