import { counted, type Finding, ok } from './finding.ts';

/** How many services have a database open, where any has. */
export const judgeServices = (services: number): Finding[] =>
  services === 0 ? [] : [ok(`${counted(services, 'service')} ${services === 1 ? 'has' : 'have'} it open`)];
