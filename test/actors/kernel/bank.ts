import type { ChangeSet } from '../../../src/actors/kernel/group.ts';
import type { KernelStore } from '../../../src/actors/kernel/kernel.ts';
import { defineSlot } from '../../../src/actors/kernel/slot.ts';
import type { ActorKind } from '../../../src/actors/kernel/turn.ts';
import { StoreUnavailable } from '../../../src/store/unavailable.ts';

export type Account = { readonly id: string; readonly balance: number; readonly version: number };

/** What a bank is asked: an account, or what all of them hold together. */
export type Lookup = { readonly account: string } | { readonly total: true };
/** What a bank writes: accounts as they stand, and lines of its book. */
export type Changes = { readonly accounts: Account[]; readonly lines: string[] };
export type BankActor = ActorKind<Lookup, Changes>;
export type Bank = KernelStore<Lookup, Changes>;

export const bankChanges: ChangeSet<Changes> = {
  empty: () => ({ accounts: [], lines: [] }),
  merge: (into, from) => {
    into.accounts.push(...from.accounts);
    into.lines.push(...from.lines);
  },
  clear: ({ accounts, lines }) => {
    accounts.length = 0;
    lines.length = 0;
  },
  isEmpty: ({ accounts, lines }) => accounts.length === 0 && lines.length === 0,
};

/** A bank in memory. */
export const createBank = (): Bank => {
  const accounts = new Map<string, Account>();
  const answer = (lookup: Lookup): Account | number | undefined =>
    'account' in lookup
      ? accounts.get(lookup.account)
      : [...accounts.values()].reduce((sum, { balance }) => sum + balance, 0);
  return {
    load: async (lookups) => lookups.map(answer),
    commit: async (changes) => {
      for (const account of changes.accounts) accounts.set(account.id, account);
    },
  };
};

/** A bank that counts what it is asked for, and fails on command. */
export const createFaultyBank = () => {
  const inner = createBank();
  const asked: (readonly Lookup[])[] = [];
  let commits = 0;
  let failsNext = false;
  let isAway = false;
  const store: Bank = {
    load: async (lookups) => {
      asked.push(lookups);
      if (isAway) throw new StoreUnavailable('the bank is closed');
      return inner.load(lookups);
    },
    commit: async (changes) => {
      commits += 1;
      if (isAway || failsNext) {
        failsNext = false;
        throw new StoreUnavailable('the bank said no');
      }
      await inner.commit(changes);
    },
  };
  return {
    store,
    asked,
    commits: (): number => commits,
    failNext: (): void => {
      failsNext = true;
    },
    setAway: (value: boolean): void => {
      isAway = value;
    },
    ping: async (): Promise<void> => {
      if (isAway) throw new StoreUnavailable('the bank is closed');
    },
  };
};

export const accountSlot = defineSlot<string, Account | undefined, Lookup, Changes>({
  name: 'account',
  lifetime: 'kept',
  keyOf: (id) => id,
  lookup: (id) => ({ account: id }),
  weigh: () => 100,
  flush: (_before, account, { accounts }) => {
    if (account !== undefined) accounts.push(account);
  },
});

/** What all accounts hold together, as of the last commit: an excerpt of what many actors change. */
export const totalSlot = defineSlot<undefined, number, Lookup, Changes>({
  name: 'total',
  lifetime: 'group',
  keyOf: () => '',
  lookup: () => ({ total: true }),
});

/** An order to an account: money comes or goes, and may come from another account in the same turn. */
export type Order = { readonly add: number; readonly payTo?: string; readonly thenThrow?: boolean };

/** @param noted called after the commit of each order */
export const createAccounts = (noted: (line: string) => void = () => {}): BankActor => ({
  type: 'account',
  receive: (turn, id, body) => {
    const { add, payTo, thenThrow } = body as Order;
    const before = turn.read(accountSlot, id);
    const balance = (before?.balance ?? 0) + add;
    turn.write(accountSlot, id, { id, balance, version: (before?.version ?? 0) + 1 });
    if (payTo !== undefined)
      turn.tell({ type: 'account', id: payTo }, { add: -add, thenThrow: thenThrow === true } satisfies Order);
    else if (thenThrow === true) throw new Error('a bug');
    turn.after(() => {
      noted(`${id}=${balance}`);
    });
    return () => balance;
  },
});
