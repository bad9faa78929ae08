import { serverNow } from '../../api/server-clock.ts';
import { useState } from 'react';
import { firstTraceCommand, nativeCommand, otelEnvironment } from '../../model/first-trace.ts';
import { CopyButton } from '../../widgets/button.tsx';
import { useShared } from '../../widgets/page-state.ts';
import css from './first-run.module.css';

const randomHex = (bytes: number): string =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

const Snippet = ({ name, text }: { readonly name: string; readonly text: string }) => (
  <figure className={css['snippet']} aria-label={name}>
    <figcaption>
      {name}
      <CopyButton text={text} label={`Copy: ${name}`} />
    </figcaption>
    {/* Scrolls sideways, so the keyboard must reach it. */}
    <pre tabIndex={0}>{text}</pre>
  </figure>
);

/** Nothing has arrived yet: how to send something, to this very address. */
export const FirstRun = () => {
  const [{ project }] = useShared();
  const [sample] = useState(() => ({
    origin: location.origin,
    project: project === '*' ? undefined : project,
    traceId: randomHex(16),
    spanId: randomHex(8),
    nowMs: serverNow(),
  }));
  return (
    <div className={css['page']}>
      <p role="status" className={css['waiting']}>
        <span aria-hidden className={css['pulse']} />
        Waiting for the first span. This page changes by itself when it arrives.
      </p>
      <Snippet name="With curl" text={firstTraceCommand(sample)} />
      <Snippet name="With an OpenTelemetry SDK" text={otelEnvironment(sample)} />
      <Snippet name="With curl, in the service’s own words" text={nativeCommand(sample)} />
      <p className={css['note']}>
        Where an ingest key is configured, add <code>-H "authorization: Bearer $KEY"</code>.
      </p>
    </div>
  );
};
