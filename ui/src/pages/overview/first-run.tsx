import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { api, ask } from '../../api/client.ts';
import { serverNow } from '../../api/server-clock.ts';
import { firstTraceCommand, nativeCommand, otelEnvironment } from '../../model/first-trace.ts';
import { sampleData } from '../../model/sample-data.ts';
import { Button, CopyButton } from '../../widgets/button.tsx';
import { useShared } from '../../widgets/page-state.ts';
import { NeedsScope, useMay } from '../../widgets/scope.tsx';
import { ProblemNotice } from '../../widgets/states.tsx';
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

/** Some traces of an agent, sent through the same door as everybody's. */
const SampleData = ({ project }: { readonly project: string | undefined }) => {
  const client = useQueryClient();
  const may = useMay('ingest', project);
  const send = useMutation({
    mutationFn: () => ask(api.POST('/v1/ingest', { body: sampleData({ nowMs: serverNow(), id: randomHex, project }) })),
    onSuccess: () => client.invalidateQueries(),
  });
  return (
    <div className={css['sample']}>
      <Button disabled={may !== true || send.isPending} onClick={() => send.mutate()}>
        Send sample data
      </Button>
      <span className={css['note']}>
        Six traces of an agent called <code>sample-agent</code>. <NeedsScope scope="ingest" may={may} />
      </span>
      {send.error !== null && <ProblemNotice error={send.error} />}
    </div>
  );
};

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
      <SampleData project={sample.project} />
      <Snippet name="With curl" text={firstTraceCommand(sample)} />
      <Snippet name="With an OpenTelemetry SDK" text={otelEnvironment(sample)} />
      <Snippet name="With curl, in the service’s own words" text={nativeCommand(sample)} />
      <p className={css['note']}>
        Where an ingest key is configured, add <code>-H "authorization: Bearer $KEY"</code>.
      </p>
    </div>
  );
};
