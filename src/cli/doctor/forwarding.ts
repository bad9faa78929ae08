import { type ForwardTarget, probeForwarding } from '../../ingest/forward.ts';
import { originOf } from '../config.ts';
import type { Look } from './deployment.ts';
import { type Finding, fault, ok, skipped } from './finding.ts';

/** Posts an OTLP batch with no spans to the endpoint of forwarding. */
export const examineForwarding = async (
  { settings: { forward }, offline }: Look,
  probe: (target: ForwardTarget) => ReturnType<typeof probeForwarding> = probeForwarding,
): Promise<Finding[]> => {
  if (forward === undefined) return [skipped('the config file has no forward block')];
  const origin = originOf(forward.endpoint);
  if (offline) return [skipped(`${origin} was not contacted (--offline)`)];
  const answer = await probe(forward);
  if (answer.ok) return [ok(`${origin} took an OTLP batch with no spans`)];
  return [
    fault(
      `${origin} did not take an OTLP batch with no spans: ${answer.reason}; spans sent on are lost meanwhile`,
      'correct forward.endpoint and forward.headers in the config file, or start the receiver',
    ),
  ];
};
