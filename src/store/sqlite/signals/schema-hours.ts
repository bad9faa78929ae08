/**
 * What the traces and the model calls of an hour that is over add up to, so that a report reads a row an hour and not each call. A row
 * stands as long as nothing of its hour changes: a write or delete of a span or a trace of the hour takes the row away in its own
 * transaction, and the writer makes it anew when the hour has been left alone for a while. So a row that stands is right, and an hour
 * without one is read from the spans themselves.
 * `durations` are those of the traces that have one, as 64-bit floats; `by_...` are rows of `CallFigures` as JSON. What is too large to be
 * of use is absent.
 */
export const hours = `
CREATE TABLE IF NOT EXISTS hours (
  project INTEGER NOT NULL, hour INTEGER NOT NULL,
  traces INTEGER NOT NULL, errors INTEGER NOT NULL, cancelled INTEGER NOT NULL, total_cost REAL,
  input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL, durations BLOB,
  by_model TEXT, by_provider TEXT, by_entity_name TEXT,
  PRIMARY KEY (project, hour)
);
`;
