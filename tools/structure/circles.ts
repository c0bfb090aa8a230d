import type { Tree } from './tree.ts';

/** Groups of files that import each other, directly or not; imports of types alone count. Tarjan's algorithm. */
export function circlesOf(tree: Tree): string[][] {
  const targets = new Map(tree.sources.map(({ path, imports }) => [path, imports.map((one) => one.path)]));
  const seen = new Map<string, { index: number; low: number; open: boolean }>();
  const stack: string[] = [];
  const circles: string[][] = [];

  const enter = (path: string): { index: number; low: number; open: boolean } => {
    const node = { index: seen.size, low: seen.size, open: true };
    seen.set(path, node);
    stack.push(path);
    for (const target of targets.get(path) ?? []) {
      if (!targets.has(target)) continue;
      const known = seen.get(target);
      if (known === undefined) node.low = Math.min(node.low, enter(target).low);
      else if (known.open) node.low = Math.min(node.low, known.index);
    }
    if (node.low === node.index) leave(path);
    return node;
  };
  const leave = (path: string): void => {
    const group = stack.splice(stack.lastIndexOf(path));
    for (const one of group) {
      const node = seen.get(one);
      if (node !== undefined) node.open = false;
    }
    if (group.length > 1) circles.push(group.sort());
  };

  for (const path of targets.keys()) if (!seen.has(path)) enter(path);
  return circles;
}
