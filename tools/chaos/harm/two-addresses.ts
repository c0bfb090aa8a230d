import dns from 'node:dns';

/** A name with two addresses: no server answers at the first, and the simulator at the second. */
export const TWO_ADDRESSES = 'two-addresses.example';

const ADDRESSES = ['127.0.0.2', '127.0.0.1'].map((address) => ({ address, family: 4 }));

/** A process that imports this file can resolve the name: the harness, and the workers through `--import`. */
const { lookup } = dns;
dns.lookup = new Proxy(lookup, {
  apply(target, self, given: unknown[]) {
    const done = given.at(-1);
    if (given[0] === TWO_ADDRESSES && typeof done === 'function') process.nextTick(done, null, ADDRESSES);
    else Reflect.apply(target, self, given);
  },
});
