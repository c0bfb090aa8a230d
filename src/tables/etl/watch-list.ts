import { address, etlTable, integer, stamp, text } from '../describe.ts';

export const ton_proxies = etlTable('ton_proxies', {
  comment:
    'Jetton masters that stand for TON, beside those that the program knows: rows that people add. The view ton_proxies has both.',
  columns: {
    address: address(
      'Master of a jetton that is to count as TON, raw form: insert it with ton_address(…).',
    ).primaryKey(),
    dex: text('Exchange that uses the proxy; null if it does not matter.'),
    note: text('Why the jetton counts as TON, in the words of the person who added it.'),
  },
});

/** The migration that creates it fills it with known jettons. Users of the database add and delete rows. */
export const stableJettons = etlTable('stable_jettons', {
  comment:
    'Jettons that count as a dollar: prices in USD come from trades against them. Add and delete rows as you see fit.',
  columns: {
    address: address('Contract of the stable jetton, raw form (workchain:HEX) in upper case.').primaryKey(),
    symbol: text('Ticker of the stable jetton, such as USDT.').notNull(),
    decimals: integer('Decimal places of amounts of the stable jetton.').notNull(),
  },
});

export const watch = etlTable('watch', {
  comment: 'Accounts to be read by name, for the datasets that read one account or pool at a time.',
  columns: {
    address: address(
      'Account that is watched, raw form (workchain:HEX), whatever form it was given in.',
    ).primaryKey(),
    note: text('Why the account is watched, in the words of the person who added it; may be empty.')
      .notNull()
      .default(''),
    added_at: stamp('When the account was put on the watch list, on the clock of the database.'),
  },
});

export const labels = etlTable('labels', {
  comment: 'Names of accounts that a person has loaded: `labels import` fills it from CSV files.',
  columns: {
    address: address(
      'Account that has the label, raw form (workchain:HEX), whatever form the file had.',
    ).primaryKey(),
    label: text('What to call the account.').notNull(),
    category: text(
      'What kind of account it is, in the words of the file, such as CEX; null if the file says none.',
    ),
    organization: text('Whose account it is, in the words of the file; null if the file says none.'),
    imported_from: text('Name of the file that the label came from, without its folder.').notNull(),
    imported_at: stamp('When the label was loaded, on the clock of the database.'),
  },
});
