-- The records of any number of studies. Nothing here is derived.

CREATE TABLE study (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    question    TEXT    NOT NULL,  -- canonical text of all that can change a number
    fingerprint TEXT    NOT NULL,  -- SHA-256 of the data set
    dataset     TEXT    NOT NULL,
    model       TEXT    NOT NULL,
    optimizer   TEXT    NOT NULL,
    schedule    TEXT    NOT NULL,
    goal_errors TEXT    NOT NULL,  -- from the loosest to the tightest, as JSON
    step_budget INTEGER NOT NULL,
    check_every TEXT    NOT NULL,  -- by batch size, as JSON
    batch_sizes TEXT    NOT NULL,  -- the extent that was asked for last, as JSON
    sparsities  TEXT    NOT NULL,
    trials      INTEGER NOT NULL,
    search      TEXT,              -- the ranges of the search, as JSON
    created_at  TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now'))
) STRICT;

CREATE TABLE trial (
    id            INTEGER PRIMARY KEY,
    study         INTEGER NOT NULL REFERENCES study,
    batch_size    INTEGER NOT NULL,
    sparsity      REAL    NOT NULL,
    trial         INTEGER NOT NULL,
    hash          TEXT    NOT NULL,  -- the trial's id: a hash of its canonical text
    learning_rate REAL    NOT NULL,
    momentum      REAL,
    decay_steps   INTEGER,
    end_factor    REAL,
    protocol      TEXT    NOT NULL,  -- racing or exhaustive
    outcome       TEXT    NOT NULL,
    steps         INTEGER NOT NULL,
    reached       TEXT    NOT NULL,  -- steps to each goal reached, from the loosest, as JSON
    evaluated     INTEGER NOT NULL,  -- images looked at in goal checks
    seconds       REAL    NOT NULL,
    weights       TEXT,              -- SHA-256 of the weights it ended with
    message       TEXT,              -- why it failed
    version       TEXT    NOT NULL,  -- of Parsity
    finished_at   TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    UNIQUE (study, batch_size, sparsity, trial)
) STRICT;

CREATE TABLE observation (
    trial INTEGER NOT NULL REFERENCES trial ON DELETE CASCADE,
    step  INTEGER NOT NULL,
    loss  REAL    NOT NULL,  -- mean training loss since the last goal check
    error REAL    NOT NULL,  -- on the entire validation split, or at least that
    exact INTEGER NOT NULL,  -- 0 if the check ended early, and `error` is a lower bound
    PRIMARY KEY (trial, step)
) STRICT, WITHOUT ROWID;

-- What initial weights are worth before pruning; serves all studies with the same data set,
-- model, pruning and seed.
CREATE TABLE saliency (
    start  TEXT NOT NULL PRIMARY KEY,  -- a hash of what they follow from
    scores BLOB NOT NULL               -- one number of 4 bytes per parameter
) STRICT, WITHOUT ROWID;

-- Trainings whose smoothness was watched; they serve all studies with the same data set and
-- model.
CREATE TABLE smoothness (
    dataset        TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    optimizer      TEXT    NOT NULL,
    metaparameters TEXT    NOT NULL,  -- as JSON
    batch_size     INTEGER NOT NULL,
    sparsity       REAL    NOT NULL,
    seed           INTEGER NOT NULL,  -- of the initial weights
    origin         TEXT    NOT NULL,  -- what it follows from
    points         TEXT    NOT NULL,  -- what was seen, in the order of steps, as JSON
    version        TEXT    NOT NULL,  -- of Parsity
    finished_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    PRIMARY KEY (dataset, model, optimizer, metaparameters, batch_size, sparsity, seed)
) STRICT;

-- What the last run of a study does right now, or did when it ended; written about once a second,
-- and never needed for a result.
CREATE TABLE heartbeat (
    study INTEGER PRIMARY KEY REFERENCES study,
    at    REAL    NOT NULL,  -- seconds since 1970
    state TEXT    NOT NULL   -- what is trained, and how fast, as JSON
) STRICT;
