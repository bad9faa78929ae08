import { useQuery } from '@tanstack/react-query';
import { api, ask } from '../../api/client.ts';
import type { components } from '../../api/types.ts';
import { DEFAULT_PREFS, type Prefs } from '../../model/prefs.ts';
import { projectsOf, type ScopeRow, scopeRows } from '../../model/scopes.ts';
import { Button } from '../../widgets/button.tsx';
import type { Column } from '../../widgets/data-table.tsx';
import { useKeyDialog } from '../../widgets/key-dialog.tsx';
import { PageHead } from '../../widgets/page-head.tsx';
import { PlainTable } from '../../widgets/plain-table.tsx';
import { usePrefs } from '../../widgets/prefs.tsx';
import { Loaded } from '../../widgets/states.tsx';
import css from './settings.module.css';

type Choice<T> = { readonly value: T; readonly name: string };

/** One choice of few: radio buttons under a name. */
const Choices = <T extends string | number>({
  name,
  value,
  choices,
  onChoose,
}: {
  readonly name: string;
  readonly value: T;
  readonly choices: readonly Choice<T>[];
  readonly onChoose: (value: T) => void;
}) => (
  <fieldset className={css['choices']}>
    <legend>{name}</legend>
    {choices.map((choice) => (
      <label key={choice.value}>
        <input type="radio" name={name} checked={choice.value === value} onChange={() => onChoose(choice.value)} />
        {choice.name}
      </label>
    ))}
  </fieldset>
);

const idOfRow = ({ scope }: ScopeRow): string => scope;

const columnsOf = (who: components['schemas']['Whoami'], hasKey: boolean): readonly Column<ScopeRow>[] => [
  { id: 'scope', head: 'Scope', cell: ({ scope }) => <b>{scope}</b> },
  {
    id: 'here',
    head: hasKey ? 'This key' : 'Without a key',
    cell: ({ scope }) => {
      const projects = projectsOf(who, scope);
      return projects === undefined ? '✕ no' : `✓ ${projects === 'all' ? 'all projects' : projects}`;
    },
  },
  { id: 'allows', head: 'Allows to', cell: ({ allows }) => allows },
  { id: 'inherited', head: 'Also held by', cell: ({ inherited }) => inherited },
];

const Access = () => {
  const keyDialog = useKeyDialog();
  const whoami = useQuery({
    queryKey: ['whoami'],
    queryFn: ({ signal }) => ask(api.GET('/v1/api/whoami', { signal })),
  });
  return (
    <section aria-labelledby="access" className={css['section']}>
      <h2 id="access">Access</h2>
      <Loaded query={whoami} what="what this key may do">
        {(who) => (
          <>
            <div className={css['scopes']}>
              <PlainTable name="Scopes" columns={columnsOf(who, keyDialog.hasKey)} rows={scopeRows} idOf={idOfRow} />
            </div>
            <p className={css['note']}>
              While neither execute nor worker keys are set, ingest and read keys reach what these do, too.
            </p>
            <dl className={css['facts']}>
              <dt>Version</dt>
              <dd>
                {who.version}, data model {who.spec_version}
              </dd>
            </dl>
          </>
        )}
      </Loaded>
      <p>
        <Button onClick={keyDialog.open}>{keyDialog.hasKey ? 'Change the key' : 'Enter a key'}</Button>
      </p>
    </section>
  );
};

const POLLS: readonly Choice<number>[] = [2, 5, 15, 60].map((value) => ({ value, name: `${value} s` }));

export default function SettingsPage() {
  const { prefs, change } = usePrefs();
  const { version: _version, ...defaults }: Prefs = DEFAULT_PREFS;
  return (
    <>
      <PageHead title="Settings" />
      <div className={css['page']}>
        <Access />
        <section aria-labelledby="view" className={css['section']}>
          <h2 id="view">This browser</h2>
          <Choices
            name="Theme"
            value={prefs.theme}
            choices={[
              { value: 'system', name: 'as the system' },
              { value: 'light', name: 'light' },
              { value: 'dark', name: 'dark' },
            ]}
            onChoose={(theme) => change({ theme })}
          />
          <Choices
            name="Times"
            value={prefs.zone}
            choices={[
              { value: 'local', name: 'local' },
              { value: 'utc', name: 'UTC' },
            ]}
            onChoose={(zone) => change({ zone })}
          />
          <Choices
            name="Rows"
            value={prefs.density}
            choices={[
              { value: 'normal', name: 'normal' },
              { value: 'compact', name: 'compact' },
            ]}
            onChoose={(density) => change({ density })}
          />
          <Choices
            name="Lists ask again each"
            value={prefs.pollSeconds}
            choices={[...POLLS, { value: 0, name: 'never' }]}
            onChoose={(pollSeconds) => change({ pollSeconds })}
          />
          <p className={css['note']}>Each read of stored traces and runs leaves a row in the audit log.</p>
          <label className={css['check']}>
            <input
              type="checkbox"
              checked={prefs.shortcuts}
              onChange={({ target }) => change({ shortcuts: target.checked })}
            />
            Single keys are commands (? lists them)
          </label>
          <p>
            <Button onClick={() => change(defaults)}>Reset</Button>
          </p>
        </section>
      </div>
    </>
  );
}
