import { Refusal } from '../../model/failure.ts';
import { readPresentedKey } from '../access/auth.ts';
import { auditEntryToWire } from '../codec/audit.ts';
import { type QueryOf, specVersion } from '../contract/contract.ts';
import { mapLazily } from '../answer/json-pieces.ts';
import { auditedProjects, given, listingOf, pageBody } from '../lists/listing.ts';
import type { QueryDeps } from './query-deps.ts';
import type { Route } from '../route.ts';

/** Who may do what, and who read what. @see Interface decisions, "3. Keys and scopes", "4. Signals, native names" */
export const administrationRoutes = ({
  store,
  authenticator,
  audit,
  defaultProject,
  version,
  clock,
}: QueryDeps): Route[] => [
  {
    method: 'GET',
    path: '/v1/api/whoami',
    scope: 'open',
    operationId: 'getCaller',
    neverRefused: true,
    surface: 'query',
    handler: async (request) => {
      const identity = authenticator.identify(readPresentedKey(request.raw.rawHeaders));
      if (identity.kind === 'refused') throw new Refusal(identity.failure);
      return {
        scopes: identity.scopes,
        projects: auditedProjects(identity.reach),
        grants: Object.fromEntries(
          Object.entries(identity.grants).map(([scope, reach]) => [scope, auditedProjects(reach ?? [])]),
        ),
        version,
        spec_version: specVersion,
      };
    },
  },
  {
    method: 'GET',
    path: '/v1/api/audit',
    scope: 'admin',
    operationId: 'listAudit',
    surface: 'query',
    handler: async (request) => {
      const query = request.query as QueryOf<'listAudit'>;
      const { paging, window, cursorAfter } = listingOf(request, 'listAudit', defaultProject, clock);
      // Who looks right after a read must find it.
      await audit.flush();
      const page = await store.listAudit({
        ...paging,
        ...window,
        ...given({ operation: query.operation, subject: query.subject }),
      });
      return pageBody('entries', mapLazily(page.items, auditEntryToWire), cursorAfter(page));
    },
  },
];
