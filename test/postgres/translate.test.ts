import pg from 'pg';
import { expect, test } from 'vitest';
import { translate } from '../../src/postgres/translate.ts';
import { EXIT } from '../../src/errors.ts';

const failure = (code: string, message: string) => Object.assign(new Error(message), { code });

test.each([
  ['EHOSTUNREACH', 'connect EHOSTUNREACH 10.0.0.5:5432'],
  ['ENETUNREACH', 'connect ENETUNREACH 10.0.0.5:5432'],
  ['EHOSTDOWN', 'connect EHOSTDOWN 10.0.0.5:5432'],
  ['ENETDOWN', 'connect ENETDOWN 10.0.0.5:5432'],
  ['ECONNABORTED', 'read ECONNABORTED'],
  ['EADDRNOTAVAIL', 'connect EADDRNOTAVAIL 10.0.0.5:5432'],
  ['EAI_FAIL', 'getaddrinfo EAI_FAIL db'],
])('a server without a route is unavailable: %s', (code, message) => {
  expect(translate(failure(code, message))).toMatchObject({
    code: 'database_unavailable',
    retryable: true,
    exitCode: EXIT.tryAgain,
  });
});

test.each([
  ['55P03', 'canceling statement due to lock timeout'],
  ['40P01', 'deadlock detected'],
  ['40001', 'could not serialize access due to concurrent update'],
  ['25P03', 'terminating connection due to idle-in-transaction timeout'],
])(
  'a statement that another transaction or a timeout ended may be retried, even by a person: %s',
  (code, message) => {
    expect(translate(failure(code, message))).toMatchObject({ retryable: true, exitCode: EXIT.tryAgain });
  },
);

test('a session that the database ended as idle names the setting', () => {
  const idle = translate(failure('57P05', 'terminating connection due to idle-session timeout'));
  expect(idle).toMatchObject({ code: 'database_unavailable', exitCode: EXIT.tryAgain });
  expect(String(idle)).toContain('a timeout of the database ended');
  expect(idle).toHaveProperty('hint', expect.stringContaining('idle_session_timeout = 0'));
});

test('an error of this program is not reported as a refusal of the database', () => {
  const made = translate(new RangeError('Invalid string length'));
  expect(String(made)).toContain('cannot run a statement: Invalid string length');
  expect(made).toHaveProperty('hint', expect.stringContaining('report a bug'));
  expect(String(translate(failure('EPERM', 'not permitted')))).toContain('(EPERM)');
  expect(String(translate(failure('EPERM', 'not permitted')))).not.toContain('refused');
  for (const code of ['42P01', 'P0001', '22023'])
    expect(String(translate(failure(code, 'no')))).toContain(`the database refused: no (${code})`);
  const unencrypted = translate(new Error('The server does not support SSL connections'));
  expect(String(unencrypted)).toContain('the database refused: The server does not support SSL');
});

test.each([
  ['53400', 'temporary file size exceeds "temp_file_limit" (1024kB)', /temp_file_limit = -1/],
  ['XX001', 'invalid page in block 3 of relation base/16384/16385', /damaged/],
  ['XX002', 'index "blocks_pk" contains unexpected zero page at block 7', /reindex/],
])('an error that waiting does not fix ends a command, with what to do: %s', (code, message, hint) => {
  const error = translate(failure(code, message));
  expect(error).toMatchObject({ code: 'database', retryable: false, exitCode: EXIT.failed });
  expect(error).toHaveProperty('hint', expect.stringMatching(hint));
});

test.each(['unsupported startup parameter: options', 'no such database: ton', 'no such user: crawler'])(
  'a refusal of PgBouncer is not a lost connection, although it has that code: %s',
  (message) => {
    expect(translate(failure('08P01', message))).toMatchObject({
      code: 'database_access',
      exitCode: EXIT.usage,
      hint: expect.stringContaining('PgBouncer') as string,
    });
    expect(translate(failure('08P01', 'query_wait_timeout'))).toMatchObject({ exitCode: EXIT.tryAgain });
  },
);

test('the hint of the server itself is printed', () => {
  const full = Object.assign(new pg.DatabaseError('out of shared memory', 0, 'error'), {
    code: '53200',
    hint: 'You might need to increase "max_locks_per_transaction".',
  });
  expect(translate(full)).toMatchObject({ retryable: true, hint: full.hint });
});
