import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startSimulator, type Simulator } from '../support/simulator/simulator.ts';
import { makeValidator } from './open-api.ts';
import { hasOpenapi, NO_OPENAPI } from '../support/shared-data.ts';
import { DOT_TON } from '../support/books/books-of-items.ts';
import { some } from '../support/thorough.ts';

const START = 1_767_225_600;
const NETWORK = { start: START, duration: 900, load: 20, accounts: 400 };

async function get(simulator: Simulator, path: string): Promise<{ status: number; body: unknown }> {
  const response = await fetch(simulator.url + path);
  return { status: response.status, body: await response.json() };
}

/** Strings that are addresses of the network, for each kind of question. */
function addressesOf(simulator: Simulator) {
  const entities = simulator.truth.entities();
  const [transaction] = [...simulator.truth.transactions()].slice(-50);
  const [sent] = [...simulator.truth.messages()].filter(
    ({ source, destination, in_msg_tx_hash }) =>
      source !== null && destination !== null && in_msg_tx_hash !== undefined,
  );
  return {
    account: transaction!.account,
    sent: sent!,
    sale: entities.nftSales().map(({ address }) => address),
    multisig: entities.multisigs(false)[0]!.address,
    vesting: entities.vestings()[0]!.address,
    wallet: entities.dnsRecords()[0]!.dns_wallet,
    item: entities.nftItems()[0]!.address,
    master: entities.jettonMasters()[0]!.address,
  };
}

describe.each(some(['1.3', '1.2'] as const, 1))('contracts and accounts of build %s', (build) => {
  let simulator: Simulator;
  beforeAll(async () => {
    simulator = await startSimulator({ ...NETWORK, build });
  });
  afterAll(() => simulator.close());

  test.skipIf(!hasOpenapi)(`are served as described (${NO_OPENAPI} if it is absent)`, async () => {
    const validate = makeValidator();
    const { account, sale, multisig, vesting, wallet, item, master } = addressesOf(simulator);
    const [auction] = simulator.truth.entities().dnsAuctions();
    const questions = [
      ...(build === '1.2' ? [] : [`/api/v3/dns/activeAuctions?bidder=${auction!.max_bid_address}`]),
      '/api/v3/jetton/masters?limit=1000',
      `/api/v3/jetton/masters?address=${master}`,
      '/api/v3/jetton/wallets?limit=1000',
      '/api/v3/nft/collections?limit=1000',
      '/api/v3/nft/items?limit=1000',
      `/api/v3/nft/items?address=${item}`,
      `/api/v3/nft/sales?${sale.map((one) => `address=${one}`).join('&')}`,
      `/api/v3/accountStates?address=${account}&address=${wallet}&include_boc=true`,
      `/api/v3/accountStates?address=${account}&include_boc=false`,
      `/api/v3/addressBook?address=${account}`,
      `/api/v3/metadata?address=${item}&address=${master}&address=${account}`,
      '/api/v3/topAccountsByBalance?limit=20',
      `/api/v3/multisig/wallets?address=${multisig}`,
      `/api/v3/multisig/orders?multisig_address=${multisig}&parse_actions=true`,
      `/api/v3/vesting?contract_address=${vesting}`,
      `/api/v3/dns/records?wallet=${wallet}`,
    ];
    for (const question of questions) {
      const { status, body } = await get(simulator, question);
      expect(status, question).toBe(200);
      expect(validate(question.split('?')[0]!, 200, body), question).toBeUndefined();
      expect(JSON.stringify(body).length, question).toBeGreaterThan(60);
    }
  });

  test.skipIf(!hasOpenapi)('are served by v2 as described, over GET and through jsonRPC', async () => {
    const validate = makeValidator('v2');
    const { account, sent } = addressesOf(simulator);
    const [shard] = [...simulator.truth.blocks()].filter(({ workchain }) => workchain === 0).slice(-20);
    const signed = String(BigInt.asIntN(64, BigInt(`0x${shard!.shard}`)));
    const calls: [string, Record<string, string>][] = [
      ['getMasterchainInfo', {}],
      ['getShards', { seqno: '100' }],
      ['getTransactions', { address: account, limit: '20', archival: 'true' }],
      ['tryLocateTx', { source: sent.source!, destination: sent.destination!, created_lt: sent.created_lt! }],
      ['getExtendedAddressInformation', { address: account }],
      ['getExtendedAddressInformation', { address: sent.destination! }],
      ['getShardBlockProof', { workchain: '0', shard: signed, seqno: String(shard!.seqno) }],
    ];
    for (const [method, params] of calls) {
      const rest = await get(simulator, `/api/v2/${method}?${new URLSearchParams(params).toString()}`);
      expect(rest.status, method).toBe(200);
      expect(validate(`/api/v2/${method}`, 200, rest.body), method).toBeUndefined();
      const response = await fetch(`${simulator.url}/api/v2/jsonRPC`, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
      });
      // The inner body alone: neither jsonrpc nor id.
      expect(await response.json()).toEqual(rest.body);
    }
  });

  test('metadata of a jetton has the decimals of its content, or of the file to which that points', async () => {
    const { body } = await get(simulator, '/api/v3/jetton/masters?limit=1000');
    const { jetton_masters: masters, metadata } = body as {
      jetton_masters: { address: string; jetton_content: { decimals?: string; uri?: string } | null }[];
      metadata: Record<string, { token_info: { extra?: { decimals?: string } }[] }>;
    };
    const contents = masters.flatMap(({ address, jetton_content: content }) => {
      const { decimals } = metadata[address]!.token_info[0]!.extra ?? {};
      return content?.uri === undefined ? [[content?.decimals, decimals]] : [];
    });
    for (const [content, found] of contents) expect(found).toBe(content);
    const kinds = new Set(contents.map(([content]) => content));
    for (const kind of ['18', '9', 'nine', undefined]) expect(kinds.has(kind), kind).toBe(true);
    const files = masters.flatMap(({ address, jetton_content: content }) =>
      content?.uri === undefined ? [] : [metadata[address]!.token_info[0]!.extra?.decimals],
    );
    expect(files).toContain('0');
    expect(files).toContain('18');
  });

  test('listings, bids and ends of offers in actions name the contract that offers the item, and its terms', () => {
    const entities = simulator.truth.entities();
    const sales = new Map(entities.nftSales().map((sale) => [sale.address, sale]));
    const found = new Set<string>();
    for (const { type, details } of simulator.truth.actions()) {
      const named = details as Readonly<Record<string, string | null>>;
      const offers = ['sale_address', 'auction_address', 'auction', 'sale_contract'].map(
        (name) => named[name],
      );
      const offer = offers.find((one) => one != null);
      const sale = sales.get(offer ?? '');
      if (offer == null || sale === undefined) continue;
      found.add(type);
      expect([type, named['nft_item'] ?? named['nft_address']]).toEqual([type, sale.nft_address]);
      // A price that was changed is no longer the one of the listing, and the newest contracts hold no fees.
      const terms = type === 'nft_put_on_auction' ? ['max_bid', 'min_bid'] : [];
      for (const term of terms) expect(sale.details).toMatchObject({ [term]: named[term] });
      if (type === 'nft_put_on_sale' || type === 'nft_put_on_auction')
        expect([named['owner'], named['marketplace_address']]).toEqual([sale.nft_owner_address, null]);
      else if (named['marketplace_address'] != null)
        expect(named['marketplace_address']).toBe(sale.marketplace_address);
    }
    const market = ['nft_put_on_sale', 'nft_put_on_auction', 'auction_outbid', 'nft_finish_auction'];
    expect([...found]).toEqual(expect.arrayContaining([...market, 'auction_bid', 'nft_cancel_sale']));
  });

  test('an item goes from owner to owner, and belongs to the contract that offers it', () => {
    const entities = simulator.truth.entities();
    const owners = new Map<string, string>();
    for (const { nft_address: item, old_owner, new_owner, ...row } of simulator.truth.nftTransfers()) {
      if (row.transaction_aborted) continue;
      expect([item, old_owner]).toEqual([item, owners.get(item) ?? old_owner]);
      owners.set(item, new_owner);
    }
    const sales = new Map(entities.nftSales().map((sale) => [sale.address, sale]));
    const offered = entities.nftItems().filter(({ on_sale }) => on_sale);
    expect(offered.length).toBeGreaterThan(5);
    for (const { address, owner_address: owner, real_owner, ...item } of offered) {
      expect([owner, sales.get(owner ?? '')?.nft_address]).toEqual([owners.get(address), address]);
      expect(sales.get(owner ?? '')?.nft_owner_address).toBe(real_owner);
      expect(item.sale_contract_address ?? item.auction_contract_address).toBe(owner);
    }
  });

  test('a domain has an item and a record from its first bid on, and an owner once it is claimed', () => {
    const entities = simulator.truth.entities();
    const domains = entities.nftItems().filter(({ collection_address: group }) => group === DOT_TON);
    const records = new Map(entities.dnsRecords().map((record) => [record.nft_item_address, record]));
    const auctions = new Set(entities.dnsAuctions().map(({ nft_item_address: item }) => item));
    for (const { address, owner_address: owner, content } of domains) {
      const { nft_item_owner, domain } = records.get(address)!;
      expect([nft_item_owner, { domain }]).toEqual([owner, content]);
      expect(auctions.has(address)).toBe(owner === null);
    }
    const states = new Set(domains.map(({ owner_address: owner }) => owner === null));
    expect(states).toEqual(new Set([true, false]));
    expect(domains.filter(({ owner_address: owner }) => owner === null).length).toBe(auctions.size);
  });

  test('refuse what the real servers refuse', async () => {
    const { account } = addressesOf(simulator);
    const refused: [string, number][] = [
      ['/api/v3/jetton/masters?limit=1001', 500],
      ['/api/v3/accountStates', 422],
      ['/api/v3/multisig/orders', 422],
      ['/api/v3/vesting', 422],
      ['/api/v3/dns/records', 422],
      ['/api/v3/dns/activeAuctions', build === '1.2' ? 500 : 422],
      [`/api/v3/nft/sales?${`address=${account}&`.repeat(1001)}`, 422],
      [`/api/v2/getTransactions?address=${account}&lt=5`, 422],
      [`/api/v2/getTransactions?address=${account}&limit=1001`, 422],
      ['/api/v2/shards?seqno=99999999', 500],
      [`/api/v2/tryLocateTx?source=${account}&destination=${account}&created_lt=1`, 404],
      ['/api/v2/jsonRPC', 405],
    ];
    for (const [question, status] of refused)
      expect((await get(simulator, question)).status, question).toBe(status);
  });

  test('a page of an account’s transactions begins at the requested one, and ends before to_lt', async () => {
    const accounts = [...simulator.truth.transactions()].map(({ account: each }) => each);
    const account = accounts.find((each, index) => accounts.lastIndexOf(each) > index + 10) ?? '';
    const truth = simulator.truth.accountTransactions(account);
    const [, second, third] = truth.map(({ transaction_id }) => transaction_id);
    if (second === undefined || third === undefined) throw new Error('too few transactions');
    const start = new URLSearchParams({ address: account, lt: second.lt, hash: second.hash, limit: '2' });
    const { body } = await get(simulator, `/api/v2/getTransactions?${start.toString()}`);
    expect((body as { result: object[] }).result).toEqual(truth.slice(1, 3));
    const until = await get(
      simulator,
      `/api/v2/getTransactions?address=${account}&limit=1000&to_lt=${third.lt}`,
    );
    expect((until.body as { result: object[] }).result).toEqual(truth.slice(0, 2));
  });
});
