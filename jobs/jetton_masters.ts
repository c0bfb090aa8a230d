import { jettonMaster } from '../src/records/schemas/jetton-master.ts';
import { defineCollection, list } from '../src/dataset/collection.ts';
import { jetton_masters } from '../src/db/schema/jetton-masters.ts';
import { offset } from '../src/dataset/paginators/offset.ts';
import { jettonMasterRow } from '../src/records/rows/jetton-master.ts';

export default defineCollection({
  title: 'Jettons (fungible tokens): supply, name, symbol, decimals and content of each master contract',
  blind:
    'what a jetton was before it was read; changes between two scans, but for those of its name and supply at the next',
  tables: { jetton_masters },
  walks: [
    list({
      endpoint: { path: '/api/v3/jetton/masters' },
      shape: { member: 'jetton_masters' },
      paginator: offset(),
      record: jettonMaster,
      id: ['address'],
      rows: (record, extra) => ({ jetton_masters: [jettonMasterRow(record, extra)] }),
    }),
  ],
});
