import { createInterface } from 'node:readline';
import { openEmbedded, type EmbeddedOptions } from '../../src/embedded/embedded.ts';
import type { EtlError } from '../../src/errors.ts';

/**
 * A process that opens the embedded server with the options in its first argument. On stdout it prints a line
 * of JSON when it has opened it (or why not), and when it has closed it. `close` on stdin closes, `forget`
 * leaves without closing.
 */
const options = JSON.parse(process.argv[2] ?? '') as EmbeddedOptions;
const say = (line: unknown) => process.stdout.write(`${JSON.stringify(line)}\n`);
try {
  const server = await openEmbedded(options);
  say(server);
  const input = createInterface({ input: process.stdin });
  for await (const order of input) {
    if (order === 'close') await server.close();
    input.close();
    process.stdin.destroy();
    say(order);
  }
} catch (error) {
  const { name, message, hint } = error as EtlError;
  say({ error: { name, message, hint } });
}
