import type { components } from '../model/generated/openapi.ts';
import { printable } from './printable.ts';
import { type AskIo, printed, withDaemon } from './with-daemon.ts';

type Health = components['schemas']['Health'];

/**
 * `svc health`: asks a running service whether it serves, or with `ready` whether its stores answer, too. It needs no key, and is what
 * the health check of a container runs.
 * @returns the exit status: 0 when it does, 1 when it does not
 * @see Interface specification, "Operational endpoints"
 */
export const showHealth = (io: AskIo & { readonly ready: boolean }): Promise<number> =>
  withDaemon(io, async (client) => {
    const { status, version, storage, uptime_seconds } = await client.get<Health>(io.ready ? '/readyz' : '/healthz');
    return printed(io, `${printable(`${status}: svc ${version}, ${storage}, up ${uptime_seconds} s`)}\n`);
  });
