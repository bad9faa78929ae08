import {
  Bell,
  Boxes,
  CalendarClock,
  CircleDollarSign,
  Cpu,
  FileJson,
  LayoutDashboard,
  ListTree,
  MessagesSquare,
  Play,
  ScrollText,
  Settings,
  Star,
  Stethoscope,
  Target,
  Users,
  Workflow,
} from 'lucide-react';
import type { Page } from './page.ts';

/** Every page, in the order of the rail. @see ui/README.md, "How to add a page" */
export const pages: readonly Page[] = [
  {
    path: '/',
    load: () => import('./overview/overview-page.tsx'),
    rail: { name: 'Overview', icon: LayoutDashboard },
  },
  {
    path: '/traces',
    load: () => import('./traces/traces-page.tsx'),
    rail: { section: 'Observe', name: 'Traces', icon: ListTree, key: 't' },
  },
  { path: '/traces/$traceId', load: () => import('./trace/trace-page.tsx') },
  {
    path: '/sessions',
    load: () => import('./people/sessions-page.tsx'),
    rail: { section: 'Observe', name: 'Sessions', icon: MessagesSquare, key: 's' },
  },
  { path: '/sessions/$sessionId', load: () => import('./people/session-page.tsx') },
  {
    path: '/users',
    load: () => import('./people/users-page.tsx'),
    rail: { section: 'Observe', name: 'Users', icon: Users, key: 'u' },
  },
  { path: '/users/$userId', load: () => import('./people/user-page.tsx') },
  {
    path: '/cost',
    load: () => import('./cost/cost-page.tsx'),
    rail: { section: 'Observe', name: 'Cost', icon: CircleDollarSign, key: 'c' },
  },
  {
    path: '/scores',
    load: () => import('./judgements/scores-page.tsx'),
    rail: { section: 'Judge', name: 'Scores', icon: Star, key: 'o' },
  },
  { path: '/scorers', load: () => import('./judgements/scorers-page.tsx') },
  {
    path: '/monitors',
    load: () => import('./watch/monitors-page.tsx'),
    rail: { section: 'Guard', name: 'Monitors', icon: Bell, key: 'm' },
  },
  { path: '/monitors/$id', load: () => import('./watch/monitor-page.tsx') },
  {
    path: '/slos',
    load: () => import('./watch/slos-page.tsx'),
    rail: { section: 'Guard', name: 'SLOs', icon: Target, key: 'l' },
  },
  { path: '/slos/$id', load: () => import('./watch/slo-page.tsx') },
  {
    path: '/runs',
    load: () => import('./runs/runs-page.tsx'),
    rail: { section: 'Run', name: 'Runs', icon: Play, key: 'r' },
  },
  { path: '/runs/$runId', load: () => import('./run/run-page.tsx') },
  {
    path: '/schedules',
    load: () => import('./schedules/schedules-page.tsx'),
    rail: { section: 'Run', name: 'Schedules', icon: CalendarClock },
  },
  { path: '/schedules/$id', load: () => import('./schedules/schedule-page.tsx') },
  {
    path: '/workers',
    load: () => import('./workers/workers-page.tsx'),
    rail: { section: 'Run', name: 'Workers', icon: Cpu, key: 'w' },
  },
  {
    path: '/definitions',
    load: () => import('./definitions/definitions-page.tsx'),
    rail: { section: 'Run', name: 'Definitions', icon: FileJson },
  },
  { path: '/definitions/$id', load: () => import('./definitions/definition-page.tsx') },
  {
    path: '/actors',
    load: () => import('./actors/actors-page.tsx'),
    rail: { section: 'System', name: 'Actors', icon: Boxes, key: 'a' },
  },
  { path: '/actors/$type/$id', load: () => import('./actors/actor-page.tsx') },
  {
    path: '/machines',
    load: () => import('./machines/machines-page.tsx'),
    rail: { section: 'System', name: 'Machines', icon: Workflow, key: 'x' },
  },
  { path: '/machines/$name', load: () => import('./machines/machine-page.tsx') },
  {
    path: '/doctor',
    load: () => import('./doctor/doctor-page.tsx'),
    rail: { section: 'System', name: 'Doctor', icon: Stethoscope, key: 'h' },
  },
  {
    path: '/audit',
    load: () => import('./audit/audit-page.tsx'),
    rail: { section: 'System', name: 'Audit', icon: ScrollText },
  },
  {
    path: '/settings',
    load: () => import('./settings/settings-page.tsx'),
    rail: { section: 'System', name: 'Settings', icon: Settings },
  },
];
