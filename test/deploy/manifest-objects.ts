/** The objects in a manifest of Kubernetes, by kind. Pure: it parses texts. */
import assert from 'node:assert/strict';
import { type Document, parseAllDocuments } from 'yaml';

/** Where the pod is in a Deployment. */
export const POD = ['spec', 'template', 'spec'] as const;

/** By kind; fails if a text is no YAML, or has two of a kind. */
export function objectsOf(manifest: string): ReadonlyMap<string, Document> {
  const found = new Map<string, Document>();
  for (const document of [parseAllDocuments(manifest)].flat()) {
    assert.deepEqual(document.errors, []);
    if (document.contents === null) continue;
    const kind = String(document.get('kind'));
    assert.ok(!found.has(kind), `two of the kind ${kind}`);
    found.set(kind, document);
  }
  return found;
}
