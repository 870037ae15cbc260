//! Progress of a run: one living line on a terminal, plain lines elsewhere.

use crate::words::{duration, grouped};
use indicatif::{ProgressBar, ProgressStyle};
use parsity_analysis::{CellTime, seconds_left};
use parsity_lab::Event;
use parsity_study::{Cell, Outcome, Study};
use std::collections::HashMap;
use std::io::IsTerminal;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Without a terminal, at most this long between two lines.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// Shows what a run does, on standard error.
pub(crate) struct Progress {
    state: Mutex<State>,
    bar: Option<ProgressBar>,
}

struct State {
    begin: Instant,
    told: Instant,
    cells: usize,
    cells_done: usize,
    trials: u64,
    trials_done: u64,
    steps: u64,
    left: TimeLeft,
    where_we_are: String,
}

/// How long the run still takes, worked out now and then.
struct TimeLeft {
    threads: usize,
    times: Vec<CellTime>,
    /// Seconds of computing of trials under way.
    running: HashMap<(Cell, u32), f64>,
    told: Option<f64>,
    at: Instant,
}

impl TimeLeft {
    /// How often it is worked out.
    const EVERY: Duration = Duration::from_millis(500);

    fn now(&mut self) -> Option<f64> {
        if self.at.elapsed() >= Self::EVERY {
            let mut times = self.times.clone();
            for time in &mut times {
                let ours = self.running.iter().filter(|((cell, _), _)| *cell == time.cell);
                time.seconds += ours.map(|(_, seconds)| seconds).sum::<f64>();
            }
            let total: Option<f64> = seconds_left(&times).into_iter().sum();
            self.told = total.map(|seconds| seconds / self.threads as f64);
            self.at = Instant::now();
        }
        self.told
    }

    fn time(&mut self, cell: Cell) -> Option<&mut CellTime> {
        self.times.iter_mut().find(|it| it.cell == cell)
    }
}

impl Progress {
    /// For a run of `study` on so many threads, of whose trials `before` are done and took
    /// `times`.
    pub(crate) fn new(study: &Study, threads: usize, before: u64, times: Vec<CellTime>) -> Self {
        let cells = study.cells().count();
        let trials = cells as u64 * u64::from(study.trials());
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(trials).with_position(before);
            let style =
                ProgressStyle::with_template("{bar:24.cyan/dim} {pos}/{len} trials {wide_msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.enable_steady_tick(Duration::from_millis(250));
            bar
        });
        let now = Instant::now();
        let state = State {
            begin: now,
            told: now,
            cells,
            cells_done: 0,
            trials,
            trials_done: before,
            steps: 0,
            left: TimeLeft { threads, times, running: HashMap::new(), told: None, at: now },
            where_we_are: String::new(),
        };
        if let Some(bar) = &bar {
            bar.set_message("starting; a sparse network is pruned first");
        }
        Progress { state: Mutex::new(state), bar }
    }

    /// Takes note of an event.
    pub(crate) fn watch(&self, event: Event<'_>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::Interval(progress) => {
                state.steps += progress.trained;
                state.left.running.insert((progress.cell, progress.trial), progress.seconds);
                let best = progress.best.map_or("none yet".to_owned(), |best| grouped(best.0));
                state.where_we_are = format!(
                    "B = {}, {} sparse, step {}, best {best}",
                    grouped(u64::from(progress.cell.batch_size.0)),
                    progress.cell.sparsity,
                    grouped(progress.steps.0),
                );
                self.show(&mut state, false);
            }
            Event::Trial { record, message } => {
                state.trials_done += 1;
                state.left.running.remove(&(record.cell, record.trial));
                if let Some(time) = state.left.time(record.cell) {
                    time.seconds += record.seconds;
                }
                if record.outcome == Outcome::Failed {
                    let why = message.unwrap_or("no reason given");
                    self.say(&format!(
                        "trial {} at B = {}, {} sparse, failed: {why}",
                        record.trial, record.cell.batch_size, record.cell.sparsity
                    ));
                }
            }
            Event::Cell { cell, steps_to_result } => {
                state.cells_done += 1;
                if let Some(time) = state.left.time(cell) {
                    time.decided = true;
                }
                let answers = steps_to_result.iter().map(|steps| match steps {
                    Some(steps) => format!("{} steps", grouped(steps.0)),
                    None => "the goal was not reached".to_owned(),
                });
                let answer = answers.collect::<Vec<_>>().join(", then ");
                let (done, cells) = (state.cells_done, state.cells);
                let size = grouped(u64::from(cell.batch_size.0));
                self.say(&format!(
                    "[{done}/{cells}] B = {size}, {} sparse: {answer}",
                    cell.sparsity
                ));
                self.show(&mut state, true);
            }
        }
    }

    /// Leaves the terminal as it was.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => anstream::eprintln!("{line}"),
        }
    }

    fn show(&self, state: &mut State, just_said: bool) {
        let elapsed = state.begin.elapsed().as_secs_f64();
        let mut line = state.where_we_are.clone();
        if elapsed > 1.0 {
            line += &format!(", {} steps/s", grouped((state.steps as f64 / elapsed) as u64));
        }
        if let Some(left) = state.left.now() {
            line += &format!(", about {} left", duration(left));
        }
        match &self.bar {
            Some(bar) => {
                bar.set_position(state.trials_done);
                bar.set_message(line);
            }
            None if just_said => state.told = Instant::now(),
            None if state.told.elapsed() > HEARTBEAT => {
                state.told = Instant::now();
                let (done, trials) = (state.trials_done, state.trials);
                anstream::eprintln!("{done}/{trials} trials; {line}");
            }
            None => {}
        }
    }
}
