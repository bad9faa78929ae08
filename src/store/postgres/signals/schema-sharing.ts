/** What services that share the database settle through it. */
export const sharing = `
CREATE TABLE duties (duty text PRIMARY KEY, holder text NOT NULL, expires_at timestamptz NOT NULL);

CREATE TABLE reported_conditions (subject text COLLATE "C" PRIMARY KEY, condition text NOT NULL, at timestamptz NOT NULL);

-- The project is its signal_key. Windows that are over go when another begins.
CREATE TABLE quota_windows (
  project text COLLATE "C" NOT NULL, minute bigint NOT NULL, taken bigint NOT NULL, PRIMARY KEY (project, minute)
) WITH (fillfactor = 50);
CREATE INDEX quota_windows_by_minute ON quota_windows (minute);
`;
