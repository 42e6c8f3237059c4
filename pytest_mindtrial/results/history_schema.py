"""The tables of the history file; this text is the documentation that other tools may rely on.

Does not read or write. The file is plain SQLite 3. ``PRAGMA user_version`` is the version of the tables; a new version
only adds columns or tables. Texts are UTF-8; times are RFC 3339; durations are nanoseconds; an unknown number is NULL,
never 0.
"""

from __future__ import annotations

__all__ = ["APPLICATION_ID", "SCHEMA", "SCHEMA_VERSION"]

SCHEMA_VERSION = 1
APPLICATION_ID = 0x4D545249
"""``MTRI``: lets a program tell a history file from any other SQLite file."""

SCHEMA = """
-- One row per recorded evaluation, in the order of recording.
CREATE TABLE evaluation (
    id          INTEGER PRIMARY KEY,
    digest      TEXT NOT NULL UNIQUE,  -- of all its results; recording the same results twice changes nothing
    seed        TEXT NOT NULL,         -- evaluation seed; blank = unknown
    label       TEXT NOT NULL,         -- the user's word for it, such as a commit or a branch; may be blank
    source      TEXT NOT NULL,         -- the file it was read from; blank when recorded at the end of a session
    recorded_at TEXT NOT NULL
);

-- One row per result. repeat is 1-based; 0 = the task is not repeated.
CREATE TABLE result (
    evaluation_id INTEGER NOT NULL REFERENCES evaluation (id) ON DELETE CASCADE,
    provider      TEXT NOT NULL,
    run           TEXT NOT NULL,
    task          TEXT NOT NULL,
    repeat        INTEGER NOT NULL,
    kind          TEXT NOT NULL CHECK (kind IN ('Passed', 'Failed', 'Error', 'Skipped')),
    model         TEXT NOT NULL,         -- blank = unknown
    suite         TEXT NOT NULL,
    category      TEXT NOT NULL,
    difficulty    TEXT NOT NULL,
    definition    TEXT NOT NULL,         -- digest of what decides the attempt; blank = unknown
    trace_id      TEXT NOT NULL,
    is_mock       INTEGER NOT NULL,      -- 0 or 1
    duration_ns   INTEGER NOT NULL,      -- model time only
    input_tokens  INTEGER,               -- cache included
    output_tokens INTEGER,               -- reasoning included
    cost          REAL,                  -- candidate only, in currency
    judge_cost    REAL,
    currency      TEXT NOT NULL,
    PRIMARY KEY (evaluation_id, provider, run, task, repeat)
) WITHOUT ROWID;

CREATE TABLE result_tag (
    evaluation_id INTEGER NOT NULL,
    provider      TEXT NOT NULL,
    run           TEXT NOT NULL,
    task          TEXT NOT NULL,
    repeat        INTEGER NOT NULL,
    tag           TEXT NOT NULL,
    PRIMARY KEY (evaluation_id, provider, run, task, repeat, tag),
    FOREIGN KEY (evaluation_id, provider, run, task, repeat)
        REFERENCES result (evaluation_id, provider, run, task, repeat) ON DELETE CASCADE
) WITHOUT ROWID;

CREATE INDEX result_by_task ON result (task, provider, run);

-- Counts per evaluation, run and task, repeats added up.
CREATE VIEW task_trend AS
    SELECT evaluation.id AS evaluation_id, recorded_at, label, provider, run, task,
           sum(kind = 'Passed') AS passed, sum(kind = 'Failed') AS failed,
           sum(kind = 'Error') AS error, sum(kind = 'Skipped') AS skipped
      FROM result JOIN evaluation ON evaluation.id = result.evaluation_id
     GROUP BY evaluation.id, provider, run, task;
"""
