import type { LookupWalk, Walk } from '../../../dataset/walk.ts';
import type { Collection } from '../../../dataset/dataset.ts';
import { restingRequests } from '../../../dataset/pace.ts';
import { describeTable, type TableDescription } from '../../../db/read/table-description.ts';
import { formatDuration } from '../../../range.ts';

/** What a dataset that is no stream of time is, for people and (`--json`) for programs. */
export interface CollectionSheet {
  readonly name: string;
  readonly title: string;
  readonly core: false;
  /** Endpoints, one a walk. */
  readonly endpoint: string;
  readonly walks: readonly {
    readonly how: string;
    readonly from: string;
    /** The server's index that its requests ride; a node's own endpoints have none. */
    readonly index: string | undefined;
    readonly cost: string;
  }[];
  /** Requests a minute that keep it up to date while nothing happens; look-ups and histories take none then. */
  readonly requestsAtRest: number;
  readonly cannotKnow: string;
  readonly onRequest: boolean;
  readonly tables: readonly TableDescription[];
}

export function collectionSheet({ name, job }: Collection, freshness: number): CollectionSheet {
  return {
    name,
    title: job.title,
    core: job.core,
    endpoint: [...new Set(job.walks.map(endpointOf))].join(', '),
    walks: job.walks.map((walk) => ({
      how: walk.kind,
      from: endpointOf(walk),
      index: 'path' in walk.endpoint ? walk.endpoint.index : undefined,
      cost: costOf(walk),
    })),
    requestsAtRest: restingRequests(job, freshness),
    cannotKnow: job.limitations,
    onRequest: job.onRequest,
    tables: Object.values(job.tables).map(describeTable),
  };
}

/** The facts of a sheet, title and text. */
export function collectionFacts(sheet: CollectionSheet): [string, string][] {
  return [
    ['dataset', `${sheet.name}${sheet.onRequest ? ' (read only where it is named)' : ''}`],
    ['what', sheet.title],
    ...sheet.walks.flatMap(({ how, from, index, cost }): [string, string][] => [
      ['how', `${WORDS[how] ?? how}: ${from}`],
      ...(index === undefined ? [] : [fact('index', index)]),
      ['cost', cost],
    ]),
    ['at rest', `${sheet.requestsAtRest.toFixed(1)} requests a minute`],
    ['limits', `it cannot know ${sheet.cannotKnow}`],
    ['tables', sheet.tables.map(({ name }) => name).join(', ')],
  ];
}

function fact(name: string, text: string): [string, string] {
  return [name, text];
}

const WORDS: Readonly<Record<string, string>> = {
  list: 'a list, by offset',
  lookup: 'a look-up by name',
  backward: 'the history of each watched account, from its newest transaction backwards',
  per_block: 'a response for each masterchain block',
  sample: 'what the source says at a moment',
};

function endpointOf({ endpoint }: Walk): string {
  return 'path' in endpoint ? `GET ${endpoint.path}` : `GET /api/v2/${endpoint.method}`;
}

function costOf(walk: Walk): string {
  switch (walk.kind) {
    case 'list':
      return `one request for each ${walk.paginator.maxSize} records, one every ${formatDuration(walk.everySeconds)} to see whether any were appended; whole again every ${formatDuration(walk.rescanSeconds)}`;
    case 'lookup':
      return lookupCost(walk);
    case 'backward':
      return `one request for each ${walk.paginator.maxSize - 1} transactions of a watched account that has moved, one for 500 accounts to see which have`;
    case 'per_block':
      return 'one request for each masterchain block of the range';
    case 'sample':
      return `one request, not more often than every ${formatDuration(walk.everySeconds)}`;
  }
}

function lookupCost({ paginator, subjects, refreshSeconds, unknownForSeconds }: LookupWalk): string {
  const names = subjects.seenIn.map(({ relation, key }) => `${relation}.${key}`);
  const sources = [...(subjects.watched ? ['the watch list'] : []), ...names].join(', ');
  const only = subjects.onlyIfSeen === true ? ' (all but the watch list only with ETL_ACCOUNTS=seen)' : '';
  const each = paginator.most === 1 ? 'one request each' : `one request for up to ${paginator.most}`;
  const again = refreshSeconds === undefined ? '' : `, all again after ${formatDuration(refreshSeconds)}`;
  return `${each} of those that are new or have moved in ${sources}${only}${again}; unknown ones again after ${formatDuration(unknownForSeconds)}`;
}
