import { connectToDaemon, type DaemonAddress, DaemonError, type SteeringClient } from './daemon-client.ts';
import { EXIT_START, EXIT_USAGE } from './exit-status.ts';
import type { Moments } from './moments.ts';
import { printable } from './printable.ts';

/** What a command has that asks a running service and prints what it answers. */
export type AskIo = DaemonAddress & {
  readonly out: (text: string) => void;
  readonly err: (line: string) => void;
};

/** The same for a command that shows it to people, or with `json` to programs. */
export type ShowIo = AskIo & {
  readonly json: boolean;
  /** Made anew for each time that is shown, as a command may wait. */
  readonly moments: () => Moments;
};

/** Prints what a command found. @returns the exit status of one that did what it was asked for */
export const printed = (io: Pick<AskIo, 'out'>, text: string): number => {
  io.out(text);
  return 0;
};

/** Asks, and prints what the service refuses as one line. @returns the exit status */
export const withDaemon = async (io: AskIo, ask: (client: SteeringClient) => Promise<number>): Promise<number> => {
  const client = connectToDaemon(io);
  if (typeof client === 'string') return misused(io, client);
  try {
    return await ask(client);
  } catch (error) {
    if (!(error instanceof DaemonError)) throw error;
    io.err(`svc: ${printable(error.message)}`);
    return EXIT_START;
  }
};

export const misused = (io: Pick<AskIo, 'err'>, problem: string): number => {
  io.err(`svc: ${problem}`);
  return EXIT_USAGE;
};
