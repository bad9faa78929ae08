import { lookup } from 'node:dns/promises';

/**
 * The address to listen on. For the name `localhost` the framework would open a server for each of its addresses, and the bounds on
 * connections, gRPC and the order of a stop would hold for the first alone. IPv4 goes first: every client tries it.
 * @see fastify, lib/server.js, `multipleBindings`
 */
export const listenHost = async (
  host: string,
  find: (name: string) => Promise<readonly { readonly address: string }[]> = (name) =>
    lookup(name, { all: true, order: 'ipv4first' }),
): Promise<string> => {
  if (host.toLowerCase() !== 'localhost') return host;
  const [first] = await find(host);
  return first?.address ?? host;
};
