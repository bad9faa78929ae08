/**
 * Lets every report of the monitors meet a receiver that misbehaves, and holds the daemon to what it promises beside it: each
 * evaluation in its second, one attempt for each transition and no second one, ingest and stop that wait for no receiver.
 * Run as a command: `node test/faults/receivers.ts --faults 200`.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startDaemon, temporaryFolder } from '../daemon.ts';
import { eventually } from '../eventually.ts';

type Misbehave = (request: IncomingMessage, response: ServerResponse) => void;

/** What a receiver does once it has read a report whole. `trap` is an address that nothing may ever visit. */
const misbehaviours = (trap: string): Readonly<Record<string, Misbehave>> => ({
  hangs: () => {},
  drips: (_request, response) => {
    const timer = setInterval(() => response.write('a'), 100);
    response.on('close', () => clearInterval(timer));
  },
  resets: ({ socket }) => void socket.resetAndDestroy(),
  'answers 500': (_request, response) => void response.writeHead(500).end('no'),
  redirects: (_request, response) => void response.writeHead(307, { location: trap }).end(),
  'answers hugely': (_request, response) => void response.end('x'.repeat(1 << 20)),
});

/** One a second, so that a campaign of minutes sees hundreds. */
const INTERVAL_MS = 1_000;
/** A window this long holds the run of a moment ago, and then nothing: each wave of runs is a recovery and a trip. */
const WINDOW_SECONDS = 2;
const WAVE_MS = 4_000;
const BESIDE_MS = 100;
/** What a machine with idle cores keeps to; a campaign judges by it, a build does not. A stop cuts what is under way. */
const BOUNDS = { stopMs: 5_000, worstDriftMs: INTERVAL_MS, ingestP99Ms: 5_000 };

export type ReceiverFigures = {
  /** Reports that met a receiver, by what it does. */
  readonly faults: Readonly<Record<string, number>>;
  readonly evaluations: number;
  /** How far an evaluation was from its place on the grid of its monitor, at most. */
  readonly worstDriftMs: number;
  readonly ingested: number;
  readonly ingestP99Ms: number;
  readonly stopMs: number;
};

type Transition = { readonly at: string; readonly condition: string };
type Evaluation = { readonly evaluated_at: string; readonly condition: string };

const rest = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const json = async <T>(url: string): Promise<T> => (await (await fetch(url)).json()) as T;
const textOf = (transitions: readonly Transition[]): string =>
  transitions
    .map(({ at, condition }) => `${condition} at ${at}`)
    .toSorted()
    .join(', ');

/** @throws Error that names the monitor, what its receiver does, and the difference, where a promise does not hold */
export const receiverFaults = async (options: {
  /** Reports that must have met a receiver before it ends. */
  readonly faults: number;
  readonly monitorsOfEach: number;
  readonly home: string;
  readonly onWave?: (met: number) => void;
}): Promise<ReceiverFigures> => {
  const servers: ReturnType<typeof createServer>[] = [];
  const listen = async (listener: Misbehave): Promise<string> => {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  let trapped = 0;
  const trap = await listen((_request, response) => {
    trapped += 1;
    response.end();
  });

  const subjects: { readonly id: string; readonly does: string; readonly url: string; readonly met: Transition[] }[] =
    [];
  for (const [does, misbehave] of Object.entries(misbehaviours(trap)))
    for (let n = 0; n < options.monitorsOfEach; n += 1) {
      const met: Transition[] = [];
      const url = await listen((request, response) => {
        let body = '';
        request.on('data', (chunk) => (body += String(chunk)));
        request.on('end', () => {
          met.push(JSON.parse(body) as Transition);
          misbehave(request, response);
        });
      });
      subjects.push({ id: `${does.replaceAll(' ', '-')}-${n}`, does, url, met });
    }
  const config = join(options.home, 'config.json');
  writeFileSync(
    config,
    JSON.stringify({
      monitor_interval_seconds: INTERVAL_MS / 1000,
      monitors: subjects.map(({ id, url }) => ({
        ...{ id, project: id, webhook: `${url}/hook`, watch: 'trace_count', compare: 'below', threshold: 1 },
        ...{ window_seconds: WINDOW_SECONDS, min_samples: 0 },
      })),
    }),
  );
  const daemon = await startDaemon(options.home, ['--config-file', config]);
  try {
    const ingestMs: number[] = [];
    let made = 0;
    const send = async (projects: readonly string[]): Promise<void> => {
      const from = performance.now();
      const spans = projects.map((project) => {
        made += 1;
        const id = made.toString(16);
        const ids = { trace_id: id.padStart(32, 'a'), span_id: id.padStart(16, 'b') };
        const now = new Date().toISOString();
        return {
          ...ids,
          name: 'run',
          kind: 'agent_run',
          status: 'ok',
          start_time: now,
          end_time: now,
          correlation: { project },
        };
      });
      const reply = await fetch(`${daemon.url}/v1/ingest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ spans }),
      });
      if (reply.status !== 200) throw new Error(`ingest beside the receivers answered ${reply.status}`);
      await reply.arrayBuffer();
      ingestMs.push(performance.now() - from);
    };
    const countMet = (): number => subjects.reduce((sum, { met }) => sum + met.length, 0);
    let lastWaveAt = 0;
    while (countMet() < options.faults) {
      const waveEnds = performance.now() + WAVE_MS;
      await send(subjects.map(({ id }) => id));
      lastWaveAt = Date.now();
      while (performance.now() < waveEnds) {
        await rest(BESIDE_MS);
        await send(['beside']);
      }
      options.onWave?.(countMet());
    }

    // No run is sent any more, so every monitor trips; once the window of a round holds no run, nothing changes.
    const quietFrom = lastWaveAt + WINDOW_SECONDS * 1000;
    await eventually('every monitor to trip for good', async () =>
      (await json<{ monitors: Evaluation[] }>(`${daemon.url}/v1/api/monitors`)).monitors.every(
        ({ condition, evaluated_at: at }) => condition === 'tripped' && Date.parse(at) > quietFrom,
      ),
    );
    let worstDriftMs = 0;
    let evaluations = 0;
    const happened = new Map<string, Transition[]>();
    for (const { id, does } of subjects) {
      const history: Evaluation[] = [];
      for (let cursor = ''; ; ) {
        const page = await json<{ evaluations: Evaluation[]; next_cursor?: string }>(
          `${daemon.url}/v1/api/monitors/${id}/history?limit=1000${cursor}`,
        );
        history.unshift(...page.evaluations.toReversed());
        if (page.next_cursor === undefined) break;
        cursor = `&cursor=${page.next_cursor}`;
      }
      const first = Date.parse(history[0]?.evaluated_at ?? '');
      const transitions: Transition[] = [];
      for (const [no, { evaluated_at: at, condition }] of history.entries()) {
        worstDriftMs = Math.max(worstDriftMs, Math.abs(Date.parse(at) - first - no * INTERVAL_MS));
        if (condition !== (history[no - 1]?.condition ?? 'nominal')) transitions.push({ at, condition });
      }
      evaluations += history.length;
      happened.set(id, transitions);
      if (transitions.length === 0) throw new Error(`${id} (${does}): no transition, so nothing was tried`);
    }

    await eventually('every report to meet its receiver', () =>
      subjects.every(({ id, met }) => met.length >= (happened.get(id)?.length ?? 0)),
    );

    const stopFrom = performance.now();
    const code = await daemon.stop();
    const stopMs = performance.now() - stopFrom;
    if (code !== 0) throw new Error(`the stop took ${stopMs.toFixed(0)} ms and ended with ${code}`);
    if (trapped > 0) throw new Error(`a redirect was followed ${trapped} times`);

    const logged = daemon.lines.flatMap((line) =>
      line.startsWith('{') ? [JSON.parse(line) as Record<string, unknown>] : [],
    );
    for (const { id, does, met } of subjects) {
      const wanted = happened.get(id) ?? [];
      const lines = logged.filter((line) => line['monitor_id'] === id);
      const reported = lines.filter(({ msg }) => msg === 'monitor tripped' || msg === 'monitor is back to nominal');
      if (reported.length !== wanted.length)
        throw new Error(`${id} (${does}): ${wanted.length} transitions, ${reported.length} lines in the log`);
      const dropped = lines.filter(({ msg }) => String(msg).startsWith('a webhook was not delivered'));
      if (dropped.length !== wanted.length)
        throw new Error(`${id} (${does}): ${wanted.length} transitions, ${dropped.length} logged as not delivered`);
      if (textOf(met) !== textOf(wanted))
        throw new Error(`${id} (${does}): the receiver met ${textOf(met)}; the transitions were ${textOf(wanted)}`);
    }

    const sorted = ingestMs.toSorted((a, b) => a - b);
    return {
      faults: Object.fromEntries(
        Map.groupBy(subjects, ({ does }) => does)
          .entries()
          .map(([does, ones]) => [does, ones.reduce((sum, { met }) => sum + met.length, 0)]),
      ),
      evaluations,
      worstDriftMs,
      ingested: ingestMs.length,
      ingestP99Ms: sorted[Math.ceil(sorted.length * 0.99) - 1] ?? Number.NaN,
      stopMs,
    };
  } finally {
    await daemon.stop('SIGKILL');
    for (const server of servers) {
      server.closeAllConnections();
      server.close();
    }
  }
};

if (import.meta.main) {
  const { values } = parseArgs({ options: { faults: { type: 'string', default: '200' } } });
  const home = temporaryFolder();
  try {
    const figures = await receiverFaults({
      faults: Number(values.faults),
      monitorsOfEach: 4,
      home: home.path,
      onWave: (met) => console.log(`${met} reports met a receiver`),
    });
    console.log(figures);
    for (const [name, bound] of Object.entries(BOUNDS))
      if (figures[name as keyof typeof BOUNDS] >= bound) throw new Error(`${name} is not below ${bound}`);
  } finally {
    home.remove();
  }
}
