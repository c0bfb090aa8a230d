import { nodeHead } from '../src/records/schemas/v2.ts';
import { defineCollection, sample } from '../src/dataset/collection.ts';
import { block_parents, blocks } from '../src/db/schema/blocks.ts';
import { masterchain_heads } from '../src/db/schema/masterchain-heads.ts';
import { indexHead, indexHeadRows } from '../src/records/rows/index-head.ts';
import { nodeHeadRow } from '../src/records/rows/v2.ts';

export default defineCollection({
  title: 'The newest masterchain block as the nodes and as the index have it, sampled',
  blind: 'heads between two samples; which of several servers answered',
  tables: { masterchain_heads, blocks, block_parents },
  walks: [
    sample({
      name: 'node',
      endpoint: { method: 'getMasterchainInfo' },
      shape: 'one',
      every: 60,
      record: nodeHead,
      id: ['last.root_hash'],
      rows: (record, extra, { at }) => ({ masterchain_heads: [nodeHeadRow(record, extra, at)] }),
    }),
    sample({
      name: 'index',
      endpoint: { path: '/api/v3/masterchainInfo' },
      shape: 'one',
      every: 60,
      record: indexHead,
      id: ['last.root_hash'],
      rows: (record, extra, { at }) => ({ ...indexHeadRows(record, extra, at) }),
    }),
  ],
});
