-- From the first version of the schema to the second.

ALTER TABLE study ADD COLUMN goal_errors TEXT NOT NULL DEFAULT '[]';
UPDATE study SET goal_errors = json_array(goal_error);
ALTER TABLE study DROP COLUMN goal_error;
ALTER TABLE study ADD COLUMN intervals TEXT NOT NULL DEFAULT '';
UPDATE study SET intervals = CAST(check_every AS TEXT);
ALTER TABLE study DROP COLUMN check_every;
ALTER TABLE study RENAME COLUMN intervals TO check_every;

ALTER TABLE study ADD COLUMN search TEXT;

ALTER TABLE trial ADD COLUMN protocol TEXT NOT NULL DEFAULT 'racing';
ALTER TABLE trial ADD COLUMN reached TEXT NOT NULL DEFAULT '[]';
ALTER TABLE trial ADD COLUMN evaluated INTEGER NOT NULL DEFAULT 0;
ALTER TABLE trial ADD COLUMN weights TEXT;
UPDATE trial SET reached = json_array(steps) WHERE outcome = 'complete';

ALTER TABLE observation ADD COLUMN exact INTEGER NOT NULL DEFAULT 1;

CREATE TABLE saliency (
    start  TEXT NOT NULL PRIMARY KEY,
    scores BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE smoothness (
    dataset        TEXT    NOT NULL,
    model          TEXT    NOT NULL,
    optimizer      TEXT    NOT NULL,
    metaparameters TEXT    NOT NULL,
    batch_size     INTEGER NOT NULL,
    sparsity       REAL    NOT NULL,
    seed           INTEGER NOT NULL,
    origin         TEXT    NOT NULL,
    points         TEXT    NOT NULL,
    version        TEXT    NOT NULL,
    finished_at    TEXT    NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ', 'now')),
    PRIMARY KEY (dataset, model, optimizer, metaparameters, batch_size, sparsity, seed)
) STRICT;
