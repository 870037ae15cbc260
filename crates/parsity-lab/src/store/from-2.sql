-- From the second version of the schema to the third.

CREATE TABLE heartbeat (
    study INTEGER PRIMARY KEY REFERENCES study,
    at    REAL    NOT NULL,
    state TEXT    NOT NULL
) STRICT;
