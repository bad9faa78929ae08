import { useMemo, useState } from 'react';
import { payloadText, previewOf } from '../model/payload.ts';
import { formatBytes } from '../model/units.ts';
import { Button, CopyButton } from './button.tsx';
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

/** A payload, as text and never as anything else: a bounded piece of it, and all of it as a file. @param name of the file */
export const PayloadView = ({ value, name }: { readonly value: unknown; readonly name: string }) => {
  const preview = useMemo(() => previewOf(value), [value]);
  const [isWrapped, setWrapped] = useState(true);
  return (
    <div className={css['payload']}>
      <div className={css['bar']}>
        <span>{preview.size}</span>
        <Button look="plain" aria-pressed={isWrapped} onClick={() => setWrapped((before) => !before)}>
          Wrap
        </Button>
        <CopyButton label={`Copy ${name}`} text={() => payloadText(value)} />
        <Button look="plain" onClick={() => download(value, name)}>
          Download
        </Button>
      </div>
      {preview.isCut && (
        <p className={css['cut']}>
          The first {formatBytes(preview.text.length)} are shown. The file that “Download” gives has all of it.
        </p>
      )}
      <pre tabIndex={0} className={css['text']} data-wrap={isWrapped || undefined}>
        {preview.text}
      </pre>
    </div>
  );
};
