import type { components, operations } from '../../model/generated/openapi.ts';
import { count } from '../format.ts';
import { jsonText, printable } from '../printable.ts';
import { table } from '../table.ts';
import { printed, type ShowIo, withDaemon } from '../with-daemon.ts';
import { moreText } from './list.ts';

/** `svc events`: one page of the events that no run has taken yet. @returns the exit status */
export const listEvents = (
  io: ShowIo,
  filters: NonNullable<operations['listParkedEvents']['parameters']['query']>,
): Promise<number> =>
  withDaemon(io, async (client) => {
    const page = await client.get<{
      readonly events: readonly components['schemas']['ParkedEvent'][];
      readonly next_cursor?: string;
    }>('/v1/api/events', filters, 'execute');
    if (io.json) return printed(io, `${jsonText(page, 2)}\n`);
    const { events, next_cursor: cursor } = page;
    if (events.length === 0) return printed(io, 'No event is parked.\n');
    const { moment, distance } = io.moments();
    const rows = table([
      ['EVENT', 'KEY', 'PROJECT', 'PARKED', 'EXPIRES', 'BYTES', 'EVENT ID'],
      ...events.map((one) => [
        printable(one.event, 80),
        printable(one.key, 80),
        printable(one.project),
        moment(one.parked_at),
        distance(one.expires_at),
        count(one.payload_bytes),
        printable(one.event_id ?? '-', 80),
      ]),
    ]);
    return printed(io, rows + moreText(events.length, cursor));
  });
