import { BLOCKED_ADDRESS, blockedHostOf } from '../../ingest/outbound.ts';
import { isLoopbackHost } from '../../http/access/open-surfaces.ts';
import { originOf } from '../config.ts';
import { isPrivateRange } from './address-space.ts';
import { isIP } from 'node:net';
import type { Look } from './deployment.ts';
import { counted, type Finding, ok, skipped, warning } from './finding.ts';

const staysInside = (host: string): boolean => {
  const name = host.replace(/^\[|\]$/g, '');
  return isLoopbackHost(name) || (isIP(name) !== 0 && isPrivateRange(name));
};

/** The judge block as configuration only: nothing is called. @see Interface specification, "Scorers" */
export const examineJudge = ({ settings }: Look): Finding[] => {
  const { judge, requestTimeoutSeconds } = settings;
  if (judge === undefined) return [skipped('the config file has no judge block: judged scoring is off')];
  const { endpoint, model, criteria, api_key: apiKey, timeout_seconds: timeout } = judge;
  const findings: Finding[] = [
    ok(
      `${model} at ${originOf(endpoint)}, ${apiKey === '' ? 'without' : 'with'} a key, asks ${counted(Object.keys(criteria).length, 'criterion').replace('criterions', 'criteria')}; it was not called`,
    ),
  ];
  const url = new URL(endpoint);
  const { protocol, hostname } = url;
  const blocked = blockedHostOf(url);
  if (blocked !== undefined)
    findings.push(
      warning(
        `${blocked} is ${BLOCKED_ADDRESS}: each judgement is declined`,
        'correct judge.endpoint in the config file',
      ),
    );
  if (protocol === 'http:' && !staysInside(hostname))
    findings.push(
      warning(
        `${originOf(endpoint)} is spoken to without encryption: prompts, answers${apiKey === '' ? '' : ' and the key'} cross the network in the clear`,
        'give judge.endpoint as https://',
      ),
    );
  if (timeout > requestTimeoutSeconds)
    findings.push(
      warning(
        `judge.timeout_seconds is ${timeout} and a request ends after ${requestTimeoutSeconds}: no judged pass fits, each is refused`,
        'raise --request-timeout-seconds, or lower judge.timeout_seconds',
      ),
    );
  return findings;
};
