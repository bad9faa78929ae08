import { useMemo, useState } from 'react';
import { payloadText, previewOf } from '../model/payload.ts';
import { formatBytes } from '../model/units.ts';
import { Button, CopyButton } from './button.tsx';
import { JsonTree } from './json-tree.tsx';
import css from './payload-view.module.css';

const download = (value: unknown, name: string): void => {
  const isText = typeof value === 'string';
  const address = URL.createObjectURL(
    new Blob([payloadText(value)], { type: isText ? 'text/plain;charset=utf-8' : 'application/json' }),
  );
  const link = document.createElement('a');
  link.href = address;
  link.download = `${name}.${isText ? 'txt' : 'json'}`;
  link.click();
  URL.revokeObjectURL(address);
};

/** JSON above this is first shown as a tree, of which only the lines in view are drawn. */
const TREE_CHARACTERS = 20_000;

/** A payload, as text and never as anything else: a bounded piece of it, and all of it as a file. @param name of the file */
export const PayloadView = ({ value, name }: { readonly value: unknown; readonly name: string }) => {
  const preview = useMemo(() => previewOf(value), [value]);
  const [isWrapped, setWrapped] = useState(true);
  const isJson = typeof value === 'object' && value !== null;
  const [look, setLook] = useState<'text' | 'tree'>(isJson && preview.characters > TREE_CHARACTERS ? 'tree' : 'text');
  return (
    <div className={css['payload']}>
      <div className={css['bar']}>
        <span>{preview.size}</span>
        {isJson && (
          <Button
            look="plain"
            aria-pressed={look === 'tree'}
            onClick={() => setLook((before) => (before === 'tree' ? 'text' : 'tree'))}
          >
            Tree
          </Button>
        )}
        <Button look="plain" aria-pressed={isWrapped} onClick={() => setWrapped((before) => !before)}>
          Wrap
        </Button>
        <CopyButton label={`Copy ${name}`} text={() => payloadText(value)} />
        <Button look="plain" onClick={() => download(value, name)}>
          Download
        </Button>
      </div>
      {look === 'tree' && <JsonTree name={name} value={value} hasFind />}
      {look === 'text' && preview.isCut && (
        <p className={css['cut']}>
          The first {formatBytes(preview.text.length)} are shown. The file that “Download” gives has all of it.
        </p>
      )}
      {look === 'text' && (
        <pre tabIndex={0} className={css['text']} data-wrap={isWrapped || undefined}>
          {preview.text}
        </pre>
      )}
    </div>
  );
};
