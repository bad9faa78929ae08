/** Under which calls on a lease stand among the refusals; the others are of the doors of ingest. */
export const LEASE_CALLS = '/v1/api/steps/:lease/';
