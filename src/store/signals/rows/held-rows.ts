import type { Held, HeldKind, WrittenKey } from '../moving.ts';
import type { Row } from './columns.ts';
import { decodeWrittenSpan } from './decode.ts';
import {
  decodeAudit,
  decodeFeedback,
  decodeLog,
  decodeMetricPoint,
  decodeNote,
  decodeScore,
} from './decode-records.ts';
import { decodeDataset, decodeExperiment, decodeItem } from './evaluation-rows.ts';
import { decodeWrittenView } from './saved-view.ts';

/** Place of the project in a row of a case, behind what `decodeItem` reads. */
const ITEM_PROJECT = 7;

const decodeKey = ([ingestKey, at]: Row): WrittenKey => ({ ingestKey: ingestKey as string, at: at as bigint });
export const encodeKey = ({ ingestKey, at }: WrittenKey): Row => [ingestKey, at];

/** How a row of each kind is read. @see Moving.scan */
export const decodeHeld: { readonly [K in HeldKind]: (row: Row) => Held[K] } = {
  spans: (row) => decodeWrittenSpan(row, true),
  logs: decodeLog,
  metrics: decodeMetricPoint,
  scores: decodeScore,
  feedback: decodeFeedback,
  aspect_notes: decodeNote,
  datasets: decodeDataset,
  dataset_items: (row) => ({ ...decodeItem(row), project: row[ITEM_PROJECT] as string }),
  experiments: decodeExperiment,
  saved_views: decodeWrittenView,
  audit: decodeAudit,
  ingest_keys: decodeKey,
};
