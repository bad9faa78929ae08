import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { Json } from '../../model/json.ts';
import type { ActorKind } from '../runs-kernel.ts';
import { storeDefinitions } from './store-definitions.ts';

export type DefinitionMessage = { readonly owner: DefinitionOwner; readonly documents: readonly Json[] };

/** Stores definitions that no worker has brought. */
export const definitionActor: ActorKind = {
  type: 'definition',
  receive: (turn, _id, message) => {
    const { owner, documents } = message as DefinitionMessage;
    return storeDefinitions(turn, owner, documents);
  },
};
