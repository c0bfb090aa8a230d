/** Postgres' error codes, by the names in its documentation. */
export const SQLSTATE = {
  featureNotSupported: '0A000',
  uniqueViolation: '23505',
  checkViolation: '23514',
  readOnlySqlTransaction: '25006',
  inFailedSqlTransaction: '25P02',
  idleInTransactionSessionTimeout: '25P03',
  transactionTimeout: '25P04',
  invalidAuthorizationSpecification: '28000',
  invalidPassword: '28P01',
  invalidCatalogName: '3D000',
  serializationFailure: '40001',
  deadlockDetected: '40P01',
  insufficientPrivilege: '42501',
  undefinedColumn: '42703',
  undefinedFunction: '42883',
  undefinedTable: '42P01',
  duplicateDatabase: '42P04',
  diskFull: '53100',
  configurationLimitExceeded: '53400',
  tooManyConnections: '53300',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  adminShutdown: '57P01',
  crashShutdown: '57P02',
  cannotConnectNow: '57P03',
  databaseDropped: '57P04',
  idleSessionTimeout: '57P05',
  undefinedFile: '58P01',
  internalError: 'XX000',
  dataCorrupted: 'XX001',
  indexCorrupted: 'XX002',
};

/** The first characters of the codes of a class. */
export const SQLSTATE_CLASS = {
  connectionException: '08',
  cardinalityViolation: '21',
  dataException: '22',
  integrityConstraintViolation: '23',
  insufficientResources: '53',
  /** Without canceled statements, which say nothing about the server. */
  operatorIntervention: '57P',
  /** About one value or row, such as one that is too long for an index. */
  programLimitExceeded: '54',
  systemError: '58',
  configurationFileError: 'F0',
  /** Raised by a function or trigger, which may be the operator's own. */
  plpgsqlError: 'P0',
  internalError: 'XX',
};

const LENGTH = 5;

/** Matches these codes, and any code that begins with one of them. */
export function sqlstates(...beginnings: readonly string[]): RegExp {
  return new RegExp(`^(?:${beginnings.map((text) => text.padEnd(LENGTH, '.')).join('|')})$`);
}
