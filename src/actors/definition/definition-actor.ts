import type { DefinitionOwner } from '../../model/definition/owner.ts';
import type { Json } from '../../model/json.ts';
import type { ActorKind } from '../runs-kernel.ts';
import { type PauseDefinition, pauseDefinition } from './pause-definition.ts';
import type { PausedDefinitions } from './paused-definitions.ts';
import { storeDefinitions } from './store-definitions.ts';

export type DefinitionMessage =
  | { readonly kind: 'store'; readonly owner: DefinitionOwner; readonly documents: readonly Json[] }
  | PauseDefinition;

/** Definitions. The one without an id stores those that no worker has brought; each other, by `ownedId`, may be paused. */
export const createDefinitionActors = (host: {
  readonly paused: Pick<PausedDefinitions, 'set'>;
  /** A definition was resumed: the runs that it held may begin. */
  readonly resumed: (definition: string) => void;
}): ActorKind => ({
  type: 'definition',
  receive: (turn, id, message) => {
    const body = message as DefinitionMessage;
    return body.kind === 'store'
      ? storeDefinitions(turn, body.owner, body.documents)
      : pauseDefinition(host, turn, id, body);
  },
});
