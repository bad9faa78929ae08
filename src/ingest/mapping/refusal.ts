import type { FailureCode } from '../../model/failure.ts';

/** Why one signal is refused. */
export type SignalFault = { readonly code: FailureCode; readonly message: string; readonly field?: string };
