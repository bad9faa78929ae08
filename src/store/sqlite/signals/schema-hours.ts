/**
 * What the traces and the model calls of an hour that is over add up to, so that a report reads a row an hour and not each call. A row
 * stands as long as nothing of its hour changes: a write or delete of a span or a trace of the hour takes the row away in its own
 * transaction, and the writer makes it anew when the hour has been left alone for a while. So a row that stands is right, and an hour
 * without one is read from the spans themselves.
 * `by_...` are rows of `CallFigures` as JSON; `facets` is what `tallyText` spells; `durations` are those of the traces that have one, as
 * 64-bit floats. The longest stand last: SQLite goes through all of a column to the next. What is too large to be of use is absent, and
 * what JSON has no number for.
 * `past_hours_position` says how far the file was written when rows were last taken away. A build that does not know of them writes on
 * without it: the next one that does finds the file further than that, and forgets all rows. (A trace of which no span has an input, an
 * output or an error leaves no sign when such a build erases it.)
 */
export const hours = `
DROP TABLE IF EXISTS hours;
CREATE TABLE IF NOT EXISTS past_hours (
  project INTEGER NOT NULL, hour INTEGER NOT NULL,
  traces INTEGER NOT NULL, errors INTEGER NOT NULL, cancelled INTEGER NOT NULL, total_cost REAL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  by_model TEXT, by_provider TEXT, by_entity_name TEXT, facets TEXT, durations BLOB,
  PRIMARY KEY (project, hour)
);
CREATE TABLE IF NOT EXISTS past_hours_position (
  id INTEGER PRIMARY KEY CHECK (id = 1), span INTEGER NOT NULL, erasure INTEGER NOT NULL
);
`;
