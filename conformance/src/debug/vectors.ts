import { readFileSync } from 'node:fs';
import { VECTORS } from '@svault/shared/vectors';

/** The frozen vectors, by the names of their files. */
export const VECTOR_SETS = [
  'request-signatures',
  'tickets',
  'content-digests',
  'sealed',
  'recipients',
  'request-rules',
  'approvals',
  'published',
] as const;

/** The text of one set, as it is kept. */
function vectorSet(name: (typeof VECTOR_SETS)[number]): string {
  return readFileSync(new URL(`${name}.json`, VECTORS), 'utf8');
}

/**
 * Finds vectors: a set by its name, or every vector of a name, in whatever set.
 * @param name absent: all sets
 * @returns JSON text; nothing where no vector is called so
 */
export function vectors(name?: string): string | undefined {
  const set = VECTOR_SETS.find((each) => each === name);
  if (set !== undefined) return vectorSet(set).trimEnd();
  const sets = VECTOR_SETS.map((each) => [each, JSON.parse(vectorSet(each)) as object] as const);
  if (name === undefined) return JSON.stringify(Object.fromEntries(sets), null, 2);
  const found = sets.flatMap(([from, content]) =>
    vectorsOf(content)
      .filter((vector) => vector.name === name)
      .map((vector) => ({ set: from, ...vector })),
  );
  return found.length === 0 ? undefined : JSON.stringify(found.length === 1 ? found[0] : found, null, 2);
}

interface Vector {
  readonly name?: string;
}

/** Those of a set that has several lists too. */
function vectorsOf(content: object): readonly Vector[] {
  return Object.values(content).flatMap((list: unknown) =>
    Array.isArray(list) ? (list as readonly Vector[]) : [],
  );
}
