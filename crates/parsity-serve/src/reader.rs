//! The reader: one thread that owns the store and answers questions about it, one at a time.
//!
//! The only place that touches a file. It opens the store for reading only, looks at it once a
//! second while somebody listens, and finds it again if it was made anew. Whatever a request
//! asks for is looked up in what the store and the report have: no request names a file.

use crate::cache::{Shelf, Told};
use crate::events::Listeners;
use crate::machine::Machine;
use crate::views::{self, State};
use axum::body::Bytes;
use parsity_lab::{LabError, Store, StoreError, StoredStudy, seconds_since_1970};
use parsity_report::{Figure, png::png, search::draw_search, svg::svg, tables_of};
use parsity_study::{Cell, Record};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::{oneshot, watch};

/// How long it waits before it looks at the store again.
const ROUND: Duration = Duration::from_secs(1);
/// Questions that may wait; further ones are turned away.
const WAITING: usize = 64;
/// Studies that may be compared at once.
const COMPARED: usize = 12;
/// How long the state may look the same before it is sent again.
const STALE: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Debug)]
pub(crate) enum Question {
    /// The state of all studies.
    State,
    /// What the page of these studies shows.
    Page(String),
    /// A file of the report of these studies.
    File(String, String),
    /// What the run of a study does right now.
    Live(String),
    /// The trials of a cell of a study.
    Cell(String, Cell),
    /// The search of a cell of a study, towards a goal, as a figure.
    Search(String, Cell, usize),
}

/// What is answered.
#[derive(Debug)]
pub(crate) struct Reply {
    /// Its media type.
    pub(crate) kind: &'static str,
    /// Its bytes.
    pub(crate) body: Bytes,
}

/// Why a question has no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// There is no such study, file or cell.
    Nothing(String),
    /// Too many ask at once.
    Busy,
    /// The store cannot be read now.
    Store(String),
    /// Working it out failed.
    Failed,
}

pub(crate) const JSON: &str = "application/json";
pub(crate) const SVG: &str = "image/svg+xml";
const CSV: &str = "text/csv; charset=utf-8";
const PNG: &str = "image/png";

type Asked = (Question, oneshot::Sender<Result<Reply, Trouble>>);

/// Where questions go, and where states come from.
#[derive(Debug, Clone)]
pub(crate) struct Reader {
    questions: SyncSender<Asked>,
    pub(crate) states: watch::Receiver<Bytes>,
    pub(crate) listeners: Listeners,
}

impl Reader {
    /// Starts the thread, which does `first` and ends with the last `Reader`.
    pub(crate) fn start(path: PathBuf, first: fn()) -> io::Result<(Self, JoinHandle<()>)> {
        let (questions, asked) = sync_channel(WAITING);
        let (sender, states) = watch::channel(Bytes::new());
        let listeners = Listeners::default();
        let reader = Reader { questions, states, listeners: listeners.clone() };
        let builder = std::thread::Builder::new().name("reader".to_owned());
        let thread = builder.spawn(move || {
            first();
            Desk::new(path, sender).serve(&asked, &listeners);
        })?;
        Ok((reader, thread))
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn ask(&self, question: Question) -> Result<Reply, Trouble> {
        let (reply, answer) = oneshot::channel();
        self.questions.try_send((question, reply)).map_err(|_| Trouble::Busy)?;
        answer.await.unwrap_or(Err(Trouble::Failed))
    }
}

/// What the thread has before it.
struct Desk {
    path: PathBuf,
    open: Option<(Store, Identity)>,
    shelf: Shelf,
    states: watch::Sender<Bytes>,
    /// When the store was looked at last, and what was told then, apart from the time.
    looked: Option<Instant>,
    told: (Instant, Vec<u8>),
    next: Instant,
}

/// What tells a file from another one of the same name.
type Identity = (u64, u64);

fn identify(path: &Path) -> Option<Identity> {
    let file = std::fs::metadata(path).ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        Some((file.dev(), file.ino()))
    }
    #[cfg(not(unix))]
    Some((0, u64::from(file.is_file())))
}

fn trouble(error: impl Into<LabError>) -> Trouble {
    match error.into() {
        LabError::Store(StoreError::NoStudy { study, .. }) => {
            Trouble::Nothing(format!("no study `{study}`"))
        }
        other => Trouble::Store(other.to_string()),
    }
}

impl Desk {
    fn new(path: PathBuf, states: watch::Sender<Bytes>) -> Self {
        let now = Instant::now();
        let (open, shelf) = (None, Shelf::default());
        Desk { path, open, shelf, states, looked: None, told: (now, Vec::new()), next: now }
    }

    /// Answers until nobody can ask any more.
    fn serve(mut self, asked: &Receiver<Asked>, listeners: &Listeners) {
        loop {
            match asked.recv_timeout(self.next.saturating_duration_since(Instant::now())) {
                Ok((question, reply)) => {
                    let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&question)));
                    let answered = answered.unwrap_or_else(|_| {
                        // Whatever was half done is thrown away.
                        (self.open, self.shelf) = (None, Shelf::default());
                        Err(Trouble::Failed)
                    });
                    // Whoever asked may have gone.
                    let _ = reply.send(answered);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if Instant::now() < self.next {
                continue;
            }
            self.next = Instant::now() + ROUND;
            if !listeners.any() {
                continue;
            }
            match catch_unwind(AssertUnwindSafe(|| self.look())) {
                // The next answer follows when those who wait have been served.
                Ok(true) => self.next = Instant::now(),
                Ok(false) => {}
                Err(_) => (self.open, self.shelf) = (None, Shelf::default()),
            }
        }
    }

    /// Opens the store, unless it is open and still the one of that name.
    fn open(&mut self) -> Result<(), StoreError> {
        let identity = identify(&self.path);
        if let Some((_, known)) = &self.open
            && Some(*known) == identity
        {
            return Ok(());
        }
        (self.open, self.shelf) = (None, Shelf::default());
        let store = Store::look_at(&self.path)?;
        self.open = identity.map(|identity| (store, identity));
        Ok(())
    }

    /// Looks at the store and tells whoever listens, if anything is new. At most one answer is
    /// worked out; whether there are more to come.
    fn look(&mut self) -> bool {
        self.looked = Some(Instant::now());
        let found = self.open().map_err(LabError::from).and_then(|()| self.studies());
        let (studies, more, trouble) = match found {
            Ok((studies, more)) => (studies, more, None),
            Err(error) => {
                self.open = None;
                (Vec::new(), false, Some(error.to_string()))
            }
        };
        let state = State {
            at: seconds_since_1970(),
            store: self.path.display().to_string(),
            trouble,
            version: env!("CARGO_PKG_VERSION"),
            machine: Machine::now(),
            studies,
        };
        let told = serde_json::to_vec(&(&state.trouble, &state.studies)).unwrap_or_default();
        if told != self.told.1 || self.told.0.elapsed() > STALE {
            self.told = (Instant::now(), told);
            self.states.send_replace(views::to_json(&state));
        }
        more
    }

    /// The state of all studies, and whether there are answers still to be worked out.
    fn studies(&mut self) -> Result<(Vec<views::StudyState>, bool), LabError> {
        let Some((store, _)) = &self.open else { return Ok((Vec::new(), false)) };
        let stored = store.studies()?;
        let names: Vec<&str> = stored.iter().map(|it| it.facts.name.as_str()).collect();
        self.shelf.keep(&names);
        let (mut worked, mut more) = (false, false);
        let mut states = Vec::new();
        for study in &stored {
            let name = &study.facts.name;
            let told = match self.shelf.fresh(name, &store.edition(study)?) {
                Some(told) => Some(told),
                None if !worked => {
                    worked = true;
                    Some(self.shelf.told(store, vec![study.clone()])?)
                }
                None => {
                    more = true;
                    self.shelf.last(name)
                }
            };
            let heartbeat = store.heartbeat(study)?;
            let now = seconds_since_1970();
            states.push(views::study_state(study, told.as_deref(), heartbeat.as_ref(), now));
        }
        Ok((states, more))
    }

    fn answer(&mut self, question: &Question) -> Result<Reply, Trouble> {
        let json = |body| Ok(Reply { kind: JSON, body });
        match question {
            Question::State => {
                if self.looked.is_none_or(|at| at.elapsed() > ROUND) {
                    while self.look() {}
                }
                json(self.states.borrow().clone())
            }
            Question::Page(names) => json(self.told(names)?.page()),
            Question::File(names, file) => file_of(&*self.told(names)?, file),
            Question::Live(name) => {
                let told = self.told(name)?;
                let (store, study) = self.study(name)?;
                let heartbeat = store.heartbeat(&study).map_err(trouble)?;
                json(views::live(&told, heartbeat.as_ref(), seconds_since_1970()))
            }
            Question::Cell(name, cell) => {
                let (store, study) = self.study(name)?;
                let records = in_cell(&study, *cell)
                    .and_then(|()| store.cell_records(&study, *cell).map_err(trouble))?;
                json(views::cell(&study.facts.goal_errors, &records))
            }
            Question::Search(name, cell, goal) => {
                let told = self.told(name)?;
                in_cell(&told.stored[0], *cell)?;
                let study = &told.evidence.studies[0];
                let of_cell = study.records.iter().filter(|it| it.cell == *cell);
                let records: Vec<Record> = of_cell.cloned().collect();
                let figure = draw_search(&study.facts, *goal, &[*cell], &records);
                let none = || Trouble::Nothing("no trial of this cell is done yet".to_owned());
                Ok(Reply { kind: SVG, body: svg(&figure.ok_or_else(none)?).into() })
            }
        }
    }

    fn study(&mut self, name: &str) -> Result<(&Store, StoredStudy), Trouble> {
        self.open().map_err(trouble)?;
        let Some((store, _)) = &self.open else {
            return Err(Trouble::Store("the store is gone".to_owned()));
        };
        let study = store.study(name).map_err(trouble)?;
        Ok((store, study))
    }

    /// What is told of the studies whose names stand there, with commas between them.
    fn told(&mut self, names: &str) -> Result<Rc<Told>, Trouble> {
        let mut studies: Vec<StoredStudy> = Vec::new();
        for name in names.split(',') {
            if studies.iter().any(|it| it.facts.name == name) {
                continue;
            }
            if studies.len() == COMPARED {
                let most = format!("at most {COMPARED} studies can be compared at once");
                return Err(Trouble::Nothing(most));
            }
            studies.push(self.study(name)?.1);
        }
        let Some((store, _)) = &self.open else {
            return Err(Trouble::Store("the store is gone".to_owned()));
        };
        self.shelf.told(store, studies).map_err(trouble)
    }
}

fn in_cell(study: &StoredStudy, cell: Cell) -> Result<(), Trouble> {
    match study.batch_sizes.contains(&cell.batch_size) && study.sparsities.contains(&cell.sparsity)
    {
        true => Ok(()),
        false => Err(Trouble::Nothing("the study has no such cell".to_owned())),
    }
}

/// A file of the report.
fn file_of(told: &Told, file: &str) -> Result<Reply, Trouble> {
    let none = || Trouble::Nothing(format!("no file `{file}`"));
    if let Some((_, body)) = tables_of(&told.answer).into_iter().find(|(name, _)| name == file) {
        let kind = if file.ends_with(".json") { JSON } else { CSV };
        return Ok(Reply { kind, body: body.into() });
    }
    let (name, ending) = file.rsplit_once('.').ok_or_else(none)?;
    let exhibit = told.exhibits().iter().find(|it| it.name == name).ok_or_else(none)?;
    let figure: &Figure = &exhibit.figure;
    let (kind, body): (_, Bytes) = match ending {
        "svg" => (SVG, svg(figure).into()),
        "png" => (PNG, png(figure).into()),
        "csv" => (CSV, figure.data.csv().into()),
        "json" => (JSON, views::to_json(figure)),
        _ => return Err(none()),
    };
    Ok(Reply { kind, body })
}
