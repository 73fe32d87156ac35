/** Orders the runs of a workflow as a tree, and computes how deep each is. Pure: it draws nothing. */

/** Deeper nodes are drawn at this depth: there has to be room for their names. */
const DEPTH_MAX = 20;

export interface TreeNode {
  readonly id: string;
  /** '' for a root. */
  readonly parentId: string;
  readonly fromMs: number;
}

export interface InTree<Node> {
  readonly node: Node;
  readonly depth: number;
}

/** @returns each node once, below its parent, siblings by their beginning; even if parents form a cycle */
export function inTreeOrder<Node extends TreeNode>(nodes: readonly Node[]): readonly InTree<Node>[] {
  const ids = new Set(nodes.map(({ id }) => id));
  const earliest = nodes.toSorted((a, b) => a.fromMs - b.fromMs);
  const children = Map.groupBy(earliest, ({ parentId }) => parentId);
  const rows: InTree<Node>[] = [];
  const drawn = new Set<Node>();
  // No recursion: a chain may be as long as a trace has runs.
  const draw = (root: Node): void => {
    const waiting = [{ node: root, depth: 0 }];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      const { node, depth } = next;
      if (drawn.has(node)) continue;
      drawn.add(node);
      rows.push({ node, depth });
      for (const child of (children.get(node.id) ?? []).toReversed())
        waiting.push({ node: child, depth: Math.min(depth + 1, DEPTH_MAX) });
    }
  };
  for (const node of earliest) if (!ids.has(node.parentId)) draw(node);
  for (const node of earliest) draw(node);
  return rows;
}
