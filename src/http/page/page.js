// The page at "/". It shows text nodes only, asks the query API with the reader's own key, and keeps that key in
// sessionStorage: it goes when the tab goes.
'use strict';

const KEY = 'svc-key';
const REFRESH_MS = 15_000; // every look at stored traces leaves a row in the audit log

const byId = (id) => document.getElementById(id);
const presentedKey = () => sessionStorage.getItem(KEY) ?? '';

/** Asks the query API. Throws an Error with what the service said. */
const ask = async (path) => {
  const key = presentedKey();
  const response = await fetch(path, { headers: key === '' ? {} : { authorization: `Bearer ${key}` } });
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  const error = new Error(body.message ?? `the service answered ${response.status}`);
  error.status = response.status;
  throw error;
};

const money = (cost) => {
  if (cost?.total_cost === undefined) return '–';
  const digits = cost.total_cost !== 0 && Math.abs(cost.total_cost) < 0.01 ? 6 : 2;
  return `${cost.total_cost.toFixed(digits)} ${cost.currency ?? ''}`.trim();
};

const duration = (ms) => {
  if (ms === undefined || ms === null) return '–';
  if (ms < 1) return `${ms.toFixed(2)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
};

const cell = (text, className) => {
  const element = document.createElement('td');
  if (className !== undefined) element.className = className;
  element.textContent = text;
  element.title = text;
  return element;
};

const traceRow = (trace) => {
  const row = document.createElement('tr');
  const { total_tokens, input_tokens = 0, output_tokens = 0 } = trace.usage ?? {};
  const tokens = trace.usage === undefined ? '–' : String(total_tokens ?? input_tokens + output_tokens);
  row.append(
    cell(new Date(trace.start_time).toLocaleString()),
    cell(trace.name, 'name'),
    cell(trace.status === 'unset' ? 'running' : trace.status, `status-${trace.status}`),
    cell(duration(trace.duration_ns === null ? null : trace.duration_ns / 1e6), 'number'),
    cell(String(trace.span_count), 'number'),
    cell(tokens, 'number'),
    cell(money(trace.cost), 'number'),
    cell(trace.models.join(', ') || '–'),
  );
  return row;
};

const showNotice = (text) => {
  const notice = byId('notice');
  notice.textContent = text ?? '';
  notice.hidden = text === undefined;
};

const showHealth = async () => {
  const line = byId('health');
  try {
    const health = await (await fetch('/readyz')).json();
    line.className = `health ${health.status === 'ok' ? 'ok' : 'bad'}`;
    line.textContent = health.detail ?? `ready, version ${health.version}, storage ${health.storage}`;
  } catch {
    line.className = 'health bad';
    line.textContent = 'the service does not answer';
  }
};

/** Fills the choice of projects, keeping what is chosen. */
const showProjects = async () => {
  const select = byId('project');
  const { projects } = await ask('/v1/api/projects?limit=1000');
  const chosen = select.value;
  const names = projects.map(({ project }) => project);
  const options = [['', 'daemon’s default'], ...names.map((name) => [name, name])].map(([value, text]) => {
    const option = document.createElement('option');
    option.value = value;
    option.textContent = text;
    return option;
  });
  select.replaceChildren(...options);
  select.value = names.includes(chosen) ? chosen : '';
};

const showTraces = async (project) => {
  const { traces } = await ask(`/v1/api/traces?limit=20${project}`);
  byId('rows').replaceChildren(...traces.map(traceRow));
  byId('table').hidden = traces.length === 0;
  byId('empty').hidden = traces.length !== 0;
};

const showSummary = async (project) => {
  const summary = await ask(`/v1/api/analytics/summary?from=-7d${project}`);
  byId('traces').textContent = String(summary.trace_count);
  byId('errors').textContent = String(summary.error_count);
  byId('p95').textContent = duration(summary.latency?.p95);
  byId('cost').textContent = money(summary);
};

let refreshing = false;
const refresh = async () => {
  if (refreshing) return;
  refreshing = true;
  try {
    await showHealth();
    await showProjects();
    const chosen = byId('project').value;
    const project = chosen === '' ? '' : `&project=${encodeURIComponent(chosen)}`;
    await Promise.all([showTraces(project), showSummary(project)]);
    showNotice();
  } catch (error) {
    showNotice(error.status === 401 ? `A key is needed: enter one above. (${error.message})` : error.message);
  } finally {
    refreshing = false;
  }
};

const randomHex = (bytes) =>
  [...crypto.getRandomValues(new Uint8Array(bytes))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** The shown commands send to where this page came from, and can be run as they are. */
const showCommands = () => {
  const { origin } = location;
  byId('otel').textContent = [
    `export OTEL_EXPORTER_OTLP_ENDPOINT=${origin}`,
    'export OTEL_EXPORTER_OTLP_PROTOCOL=http/json',
    'export OTEL_SERVICE_NAME=my-agent',
    "# export OTEL_EXPORTER_OTLP_HEADERS='authorization=Bearer <key>'   where an ingest key is configured",
  ].join('\n');
  const now = BigInt(Date.now()) * 1_000_000n;
  const attribute = (key, value) => `{"key":"${key}","value":${JSON.stringify(value)}}`;
  byId('curl').textContent = [
    `curl ${origin}/v1/traces -H 'content-type: application/json' -d '`,
    '{"resourceSpans":[{"scopeSpans":[{"spans":[{',
    `  "traceId":"${randomHex(16)}","spanId":"${randomHex(8)}","name":"first trace",`,
    `  "startTimeUnixNano":"${now - 1_200_000_000n}","endTimeUnixNano":"${now}","status":{"code":1},`,
    '  "attributes":[',
    `    ${attribute('gen_ai.operation.name', { stringValue: 'chat' })},`,
    `    ${attribute('gen_ai.request.model', { stringValue: 'gpt-4o-mini' })},`,
    `    ${attribute('gen_ai.usage.input_tokens', { intValue: '1200' })},`,
    `    ${attribute('gen_ai.usage.output_tokens', { intValue: '300' })},`,
    `    ${attribute('input.value', { stringValue: 'What is the weather in Paris?' })},`,
    `    ${attribute('output.value', { stringValue: 'Sunny, 21 degrees.' })}`,
    "  ]}]}]}]}'",
  ].join('\n');
};

const copy = async (button) => {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
    button.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(byId(button.dataset.copy));
    button.textContent = 'Selected';
  }
  setTimeout(() => {
    button.textContent = before;
  }, 1500);
};

byId('key').value = presentedKey();
byId('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const key = byId('key').value.trim();
  if (key === '') sessionStorage.removeItem(KEY);
  else sessionStorage.setItem(KEY, key);
  void refresh();
});
byId('refresh').addEventListener('click', () => void refresh());
byId('project').addEventListener('change', () => void refresh());
for (const button of document.querySelectorAll('[data-copy]'))
  button.addEventListener('click', () => void copy(button));

showCommands();
void refresh();
setInterval(() => {
  if (document.visibilityState === 'visible') void refresh();
}, REFRESH_MS);
