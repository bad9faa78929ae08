import type { ActorRecord } from './records.ts';
import type { ActorRow } from './run-queries.ts';

/** The value of a snapshot, read without its machine; one that is no JSON shows as nothing. */
const valueOf = (snapshot: string): string => {
  try {
    return JSON.stringify((JSON.parse(snapshot) as { readonly v?: unknown }).v ?? null);
  } catch {
    return 'null';
  }
};

/** An actor with a row of its own, as the list of actors shows it. */
export const keptActorRow = ({
  type,
  id,
  project,
  snapshot,
  status,
  version,
  updatedAt,
  fault,
}: ActorRecord): ActorRow => ({
  type,
  id,
  project,
  machine: type,
  value: valueOf(snapshot),
  status: fault === undefined ? status : 'quarantined',
  version,
  updatedAt,
});
