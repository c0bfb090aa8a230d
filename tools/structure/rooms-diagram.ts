import type { Tree } from './tree.ts';

/** Mermaid's text of the rooms of src/ and their imports, without the files at the root. */
export function roomsDiagram({ sources }: Tree): string {
  const arrows = sources.flatMap(({ path, imports }) =>
    imports.map((one) => ({ from: roomOf(path), to: roomOf(one.path) })),
  );
  const targets = new Map<string, Set<string>>();
  for (const { from, to } of arrows)
    if (from !== undefined && to !== undefined && from !== to)
      targets.set(from, (targets.get(from) ?? new Set()).add(to));
  const lines = [...targets]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([from, to]) => `  ${from} --> ${[...to].sort().join(' & ')}`);
  return ['flowchart TD', ...lines].join('\n');
}

function roomOf(path: string): string | undefined {
  return path.startsWith('jobs/') ? 'jobs' : /^src\/([^/]+)\//.exec(path)?.[1];
}
