/** The door of a refusal begins so where a call on a lease was refused; the others are doors of ingest. */
export const LEASE_CALLS = '/v1/api/steps/:lease/';
