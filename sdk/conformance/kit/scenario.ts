import type { OwnService, Service } from '../opposite/daemon.ts';
import type { FakeService, FakeServiceOptions } from '../opposite/scripted.ts';
import type { Fixture } from './fixture.ts';

/** What a language or platform cannot have, or what is optional. @see sdk/conformance/README.md, "Verbs: the process" */
export type Capability = 'threads' | 'fork' | 'log_bridge' | 'otel_bridge' | 'blocking_bodies' | 'int64' | 'batch';

/** What a scenario plays with. All that it starts ends with it. */
export type World = {
  /** A process of the fixture. @param env `SVC_*` settings */
  readonly fixture: (env?: Readonly<Record<string, string>>) => Promise<Fixture>;
  readonly scripted: (options?: FakeServiceOptions) => Promise<FakeService>;
  /**
   * A real daemon behind a proxy of this scenario's own; scenarios share the daemon. `brisk`: a lease lives for a second, for scenarios in
   * which one must run out; else ten, so that none does on a busy machine.
   */
  readonly service: (kind?: 'calm' | 'brisk') => Promise<Service>;
  /** A daemon that this scenario may kill and restart. */
  readonly ownService: (...flags: string[]) => Promise<OwnService>;
  /** An id that no other scenario of this run has. */
  readonly unique: (name: string) => string;
};

export type Scenario = {
  /** Stable; the numbers from 1 to 80 are those of the design. */
  readonly number: number;
  /** `area/name`. */
  readonly name: string;
  /** What must be true. */
  readonly sentence: string;
  readonly needs?: readonly Capability[];
  readonly play: (world: World) => Promise<void>;
};

/** Names a group of scenarios. */
export const area =
  (name: string) =>
  (
    number: number,
    short: string,
    sentence: string,
    play: Scenario['play'],
    more: { readonly needs?: readonly Capability[] } = {},
  ): Scenario => ({ number, name: `${name}/${short}`, sentence, play, ...more });
