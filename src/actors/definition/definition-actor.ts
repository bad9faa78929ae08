import type { Json } from '../../model/json.ts';
import type { ActorKind } from '../runs-kernel.ts';
import { storeDefinitions } from './store-definitions.ts';

export type DefinitionMessage = { readonly documents: readonly Json[] };

/** Stores definitions that no worker has brought. */
export const definitionActor: ActorKind = {
  type: 'definition',
  receive: (turn, _id, message) => storeDefinitions(turn, (message as DefinitionMessage).documents),
};
