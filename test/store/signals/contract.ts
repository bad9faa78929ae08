import { analyticsContract } from './analytics-contract.ts';
import { deletionContract } from './deletion-contract.ts';
import { evaluationContract } from './evaluation-contract.ts';
import { hostileContract } from './hostile-contract.ts';
import { lifeContract } from './life-contract.ts';
import { movingContract } from './moving-contract.ts';
import { recordsContract } from './records-contract.ts';
import { replicasContract } from './replicas-contract.ts';
import { rollupsContract } from './rollups-contract.ts';
import { savedViewsContract } from './saved-views-contract.ts';
import { searchContract } from './search-contract.ts';
import { spansContract } from './spans-contract.ts';
import { traceFacetsContract } from './trace-facets-contract.ts';
import { traceListContract } from './trace-list-contract.ts';
import { tracesContract } from './traces-contract.ts';
import { watchContract } from './watch-contract.ts';
import { writingContract } from './writing-contract.ts';
import type { OpenStore } from './opening.ts';

/** What every engine promises, an aggregate a file; `sharingContract` is of those that services share. Called once an engine; `open` gives an empty store of its own. */
export const signalStoreContract = (engine: string, open: OpenStore): void => {
  spansContract(engine, open);
  tracesContract(engine, open);
  traceListContract(engine, open);
  traceFacetsContract(engine, open);
  searchContract(engine, open);
  recordsContract(engine, open);
  rollupsContract(engine, open);
  analyticsContract(engine, open);
  writingContract(engine, open);
  deletionContract(engine, open);
  lifeContract(engine, open);
  evaluationContract(engine, open);
  savedViewsContract(engine, open);
  watchContract(engine, open);
  hostileContract(engine, open);
  replicasContract(engine, open);
  movingContract(engine, open);
};
