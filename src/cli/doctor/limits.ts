import type { Look } from './deployment.ts';
import { type Finding, fault, listed, ok, warning } from './finding.ts';
import { quoted } from '../printable.ts';

/** Ceilings on ingest, and sampling. */
export const examineLimits = ({ settings, refusedSamples }: Look): Finding[] => {
  const { projects, quotaPerMinute, sample } = settings;
  const own = Object.entries(projects)
    .filter(([, { quota_per_minute: ceiling }]) => ceiling !== undefined)
    .map(([name]) => name);

  const findings: Finding[] = [];
  if (quotaPerMinute !== undefined) {
    const others = own.length === 0 ? '' : `; ${listed(own)} by a ceiling of their own`;
    findings.push(ok(`every project is held to ${quotaPerMinute} signals a minute${others}`));
  } else if (own.length > 0)
    findings.push(
      warning(
        `${listed(own)} ${own.length === 1 ? 'has a ceiling' : 'have ceilings'} of signals a minute, and there is none at the top level: a sender that names any other project passes`,
        'set --quota-per-minute',
      ),
    );
  else findings.push(ok('no project has a ceiling of signals a minute'));

  for (const { project, sample: given } of refusedSamples)
    findings.push(
      fault(
        `project ${quoted(project)} has the sampling fraction ${given}, outside 0.0 to 1.0: the service refuses to start with it`,
        `set projects.${project}.sample to a number from 0 to 1`,
      ),
    );
  const fractions: readonly (readonly [name: string, fraction: number | undefined])[] = [
    ['--sample', sample],
    ...Object.entries(projects).map(([name, block]) => [`projects.${name}.sample`, block.sample] as const),
  ];
  const none = fractions.filter(([, fraction]) => fraction === 0).map(([name]) => name);
  for (const name of none)
    findings.push(warning(`${name} is 0: no trace is kept where it holds`, `raise ${name}, or stop sending`));
  if (none.length === 0 && refusedSamples.length === 0)
    findings.push(
      ok(
        fractions
          .filter(([, fraction]) => fraction !== undefined)
          .map(([name, fraction]) => `${name} ${fraction}`)
          .join(', '),
      ),
    );
  return findings;
};
