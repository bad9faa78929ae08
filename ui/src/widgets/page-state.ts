import { useNavigate, useSearch } from '@tanstack/react-router';
import { useCallback, useMemo } from 'react';
import { formatState, type Grammar, type Params, parseState, shared, type StateOf } from '../model/url.ts';

/** All parameters of the address. */
const useParamsOfAddress = (): Params => useSearch({ strict: false }) as Params;

type SetState<G extends Grammar> = (changed: StateOf<G>, how?: 'replace' | 'push') => void;

/**
 * The state of a page, read from its address, and how to change it. Parameters that the grammar does not name stay as they are.
 * @param grammar a constant of the page's module
 */
export const usePageState = <G extends Grammar>(grammar: G): readonly [StateOf<G>, SetState<G>] => {
  const params = useParamsOfAddress();
  const navigate = useNavigate();
  const state = useMemo(() => parseState(grammar, params), [grammar, params]);
  const setState = useCallback<SetState<G>>(
    (changed, how = 'replace') => {
      void navigate({
        to: '.',
        replace: how === 'replace',
        resetScroll: false,
        search: (before: Params) => {
          const others = Object.entries(before).filter(([name]) => !Object.hasOwn(grammar, name));
          const next = { ...parseState(grammar, before), ...changed };
          return { ...Object.fromEntries(others), ...formatState(grammar, next) };
        },
      });
    },
    [grammar, navigate],
  );
  return [state, setState];
};

/** What the bar on top holds: project, time, environment. */
export const useShared = (): readonly [StateOf<typeof shared>, SetState<typeof shared>] => usePageState(shared);
