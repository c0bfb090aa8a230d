import { pathToFileURL } from 'node:url';
import type { Order } from './warm-program.ts';

/*
 * Runs commands of the program one after the other, in one process: only the first one waits for the program
 * to load. The entry is evaluated again for each, and its imports stay loaded. The order's mark ends what a
 * command has printed.
 */
const entry = pathToFileURL(process.argv[2] ?? '').href;
let runs = 0;

class Exit extends Error {
  readonly code: number;
  constructor(code: number) {
    super('the command has ended');
    this.code = code;
  }
}

process.exit = (code) => {
  throw new Exit(Number(code));
};
// Each command adds its listeners, because its process usually ends with it.
for (const emitter of [process, process.stdout, process.stderr]) emitter.setMaxListeners(0);

async function run({ args, env }: Order): Promise<number> {
  for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name);
  Object.assign(process.env, env);
  process.argv = [process.argv0, 'toncenter-etl', ...args];
  process.exitCode = 0;
  try {
    await import(`${entry}?run=${(runs += 1)}`);
    return process.exitCode;
  } catch (error) {
    if (error instanceof Exit) return error.code;
    console.error(error);
    return 1;
  }
}

process.on('message', (order: Order) => {
  void run(order).then((code) => {
    process.stdout.write(order.mark);
    process.stderr.write(order.mark);
    process.send?.(code);
  });
});
