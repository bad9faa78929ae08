/**
 * How tables lie: on one server, or on the replicas of a cluster, each of which holds all rows and makes each table by
 * `ON CLUSTER`. Paths and names of replicas are those that the servers are configured with (`default_replica_path`,
 * `default_replica_name`).
 */
export type Layout = {
  /** Behind the name of a table or database that is made. */
  readonly on: string;
  /** The engine of a table, from that of one server. */
  readonly engine: (engine: `${string}MergeTree`) => string;
  /** For how many inserts a table knows their tokens. */
  readonly knownTokens: (inserts: number) => string;
};

const oneServer: Layout = {
  on: '',
  engine: (engine) => engine,
  knownTokens: (inserts) => `non_replicated_deduplication_window = ${inserts}`,
};

/** @param cluster as `parseUrl` takes it: a name that needs no escape between backticks */
export const layoutOf = (cluster: string | undefined): Layout =>
  cluster === undefined
    ? oneServer
    : {
        on: ` ON CLUSTER \`${cluster}\``,
        engine: (engine) => `Replicated${engine}`,
        knownTokens: (inserts) => `replicated_deduplication_window = ${inserts}`,
      };
