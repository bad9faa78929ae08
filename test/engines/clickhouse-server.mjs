/**
 * A ClickHouse server: the library of chDB, which holds all of it, with its command line of `clickhouse local` and its HTTP interface
 * on. It ends with its standard input. Arguments: folder of the data, port, settings of the server as `--name=value`.
 */
import { createRequire } from 'node:module';
import { dlopen, getRawPointer } from 'node:ffi';
import { dirname, join } from 'node:path';

const [folder, port, ...settings] = process.argv.slice(2);
const library = join(dirname(createRequire(import.meta.url).resolve('@chdb/lib-linux-x64-gnu')), 'libchdb.so');
const args = [
  'clickhouse',
  '--multiquery',
  `--path=${folder}`,
  `--http_port=${port}`,
  '--listen_host=127.0.0.1',
  ...settings,
  // Reading the standard input takes as long as the starter lives.
  "--query=SYSTEM START LISTEN HTTP; SELECT * FROM file('-', 'LineAsString') FORMAT Null",
].map((argument) => Buffer.from(`${argument}\0`));
const pointers = Buffer.alloc(8 * (args.length + 1));
for (const [place, argument] of args.entries()) pointers.writeBigUInt64LE(getRawPointer(argument), 8 * place);
const { functions } = dlopen(library, { chdb_query_cmdline: { arguments: ['i32', 'pointer'], return: 'pointer' } });
functions.chdb_query_cmdline(args.length, getRawPointer(pointers));
process.exit(0);
