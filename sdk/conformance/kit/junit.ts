import type { Outcome } from './play.ts';

const CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;
const escaped = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll(CONTROL, '\ufffd')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll('\n', '&#10;');

const seconds = (ms: number): string => (ms / 1000).toFixed(3);

const caseOf = ({ scenario, state, ms, message = '' }: Outcome): string => {
  const [group = '', name = ''] = scenario.name.split('/');
  const head = `<testcase classname="conformance.${escaped(group)}" name="${escaped(`${scenario.number} ${name}: ${scenario.sentence}`)}" time="${seconds(ms)}"`;
  switch (state) {
    case 'passed':
      return `${head}/>`;
    case 'failed':
    case 'needlessly excluded':
      return `${head}><failure message="${escaped(message)}"/></testcase>`;
    case 'skipped':
    case 'excluded':
      return `${head}><skipped message="${escaped(message)}"/></testcase>`;
    default:
      return state satisfies never;
  }
};

/** The report that build servers read. */
export const junitOf = (library: string, outcomes: readonly Outcome[], ms: number): string => {
  const count = (...states: readonly Outcome['state'][]): number =>
    outcomes.filter(({ state }) => states.includes(state)).length;
  const failures = count('failed', 'needlessly excluded');
  const skipped = count('skipped', 'excluded');
  const counts = `tests="${outcomes.length}" failures="${failures}" errors="0" skipped="${skipped}" time="${seconds(ms)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${counts}>`,
    `<testsuite name="${escaped(library)}" ${counts}>`,
    ...outcomes.map(caseOf),
    '</testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
};
