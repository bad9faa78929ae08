import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import css from './tabs.module.css';

export type Tab = { readonly id: string; readonly name: string; readonly content: () => ReactNode };

/** Tabs of which the chosen one alone is drawn. A choice that is not there is the first. */
export const Tabs = ({
  tabs,
  chosen,
  onChoose,
  label,
}: {
  readonly tabs: readonly Tab[];
  readonly chosen: string | undefined;
  readonly onChoose: (id: string) => void;
  readonly label: string;
}) => {
  const open = tabs.find(({ id }) => id === chosen) ?? tabs[0];
  if (open === undefined) return null;
  return (
    <Base.Root value={open.id} onValueChange={(id) => onChoose(String(id))} className={css['root']}>
      <Base.List className={css['list']} aria-label={label}>
        {tabs.map(({ id, name }) => (
          <Base.Tab key={id} value={id} className={css['tab']}>
            {name}
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel value={open.id} className={css['panel']}>
        {open.content()}
      </Base.Panel>
    </Base.Root>
  );
};
