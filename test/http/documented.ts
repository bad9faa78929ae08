import type { Server } from 'node:http';
import openapi from '../../src/model/generated/openapi.json' with { type: 'json' };

type Operation = { readonly operationId: string; readonly responses: Readonly<Record<string, unknown>> };
type Methods = Readonly<Record<string, Operation>>;

/** Paths of the document as patterns; those without parameters first, as a router takes them. */
const paths: readonly (readonly [RegExp, Methods])[] = Object.entries(
  openapi.paths as unknown as Record<string, Methods>,
)
  .toSorted(([a], [b]) => a.split('{').length - b.split('{').length)
  .map(([path, methods]) => [
    new RegExp(`^${path.replaceAll('.', '\\.').replaceAll(/\{[^}]+\}/g, '[^/]+')}$`),
    methods,
  ]);

const operationAt = (method: string, url: string): Operation | undefined => {
  const path = url.split('?', 1)[0] ?? '';
  const methods = paths.find(([pattern]) => pattern.test(path))?.[1];
  return methods?.[method === 'HEAD' ? 'get' : method.toLowerCase()];
};

/**
 * Watches every answer of a server: an operation gives no status that the document does not list for it.
 * @returns the answers that it does not list, as far as they have gone out
 */
export const watchStatuses = (server: Server): readonly string[] => {
  const unlisted: string[] = [];
  server.on('request', (request, response) => {
    response.once('finish', () => {
      const operation = operationAt(request.method ?? '', request.url ?? '');
      const status = String(response.statusCode);
      if (operation === undefined || status in operation.responses) return;
      unlisted.push(`${operation.operationId} ${status}`);
    });
  });
  return unlisted;
};
