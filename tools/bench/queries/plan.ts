import * as z from 'zod';

interface Node {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string | undefined;
  readonly Schema?: string | undefined;
  readonly 'Actual Loops': number;
  /** Of one loop, like the number that a filter removed. */
  readonly 'Actual Rows': number;
  readonly 'Rows Removed by Filter'?: number | undefined;
  readonly Plans?: readonly Node[] | undefined;
}

const Node: z.ZodType<Node> = z.lazy(() =>
  z.looseObject({
    'Node Type': z.string(),
    'Relation Name': z.string().optional(),
    Schema: z.string().optional(),
    'Actual Loops': z.number(),
    'Actual Rows': z.number(),
    'Rows Removed by Filter': z.number().optional(),
    Plans: z.array(Node).optional(),
  }),
);

const Explained = z.tuple([
  z.looseObject({ Plan: Node, 'Planning Time': z.number(), 'Execution Time': z.number() }),
]);

/** Rows for which no index is worth opening. */
const FEW = 1000;

export interface Plan {
  readonly planning: number;
  readonly execution: number;
  /** Partitions that were read from end to end, except those that are nearly empty. */
  readonly scanned: readonly string[];
  /** Names of partitions that were read at all, and how. */
  readonly read: readonly string[];
}

/** Reads the result of `explain (analyze, verbose, format json)`; nodes that were never executed do not count. */
export function readPlan(json: unknown): Plan {
  const [explained] = Explained.parse(json);
  const nodes = flatten(explained.Plan).filter((node) => node['Actual Loops'] > 0);
  const partitions = nodes.filter((node) => node.Schema === 'etl_partitions');
  const named = (chosen: readonly Node[], name: (node: Node) => string) =>
    [...new Set(chosen.map(name))].sort();
  return {
    planning: explained['Planning Time'],
    execution: explained['Execution Time'],
    scanned: named(
      partitions.filter((node) => /Seq Scan/.test(node['Node Type']) && rowsRead(node) > FEW),
      (node) => node['Relation Name'] ?? '',
    ),
    read: named(partitions, (node) => `${node['Node Type']} on ${node['Relation Name'] ?? ''}`),
  };
}

function rowsRead(node: Node): number {
  return (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'];
}

function flatten(node: Node): Node[] {
  return [node, ...(node.Plans ?? []).flatMap(flatten)];
}
