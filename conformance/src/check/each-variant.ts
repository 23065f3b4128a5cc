import { CheckFailed } from './outcome.ts';

type Variants<T> = Readonly<Record<string, T>>;

/**
 * Looks at several variants of one promise, one after the other; a failure says which one it was.
 * @param variants what the variant is, in words → what makes it
 */
export async function eachVariant<T>(
  variants: Variants<T>,
  look: (variant: T) => Promise<unknown>,
): Promise<void> {
  for (const [name, variant] of Object.entries(variants))
    await look(variant).catch((error: unknown) => rethrow(error, name));
}

/** Few enough for a server that queues five connections and serves one. */
const AT_ONCE = 4;

/** As {@link eachVariant}, for variants that do not depend on each other: a few at once, to save a slow webhook's time. */
export async function variantsAtOnce<T>(
  variants: Variants<T>,
  look: (variant: T) => Promise<unknown>,
): Promise<void> {
  const all = Object.entries(variants);
  for (let at = 0; at < all.length; at += AT_ONCE) {
    const some = all.slice(at, at + AT_ONCE);
    const outcomes = await Promise.allSettled(some.map(([, variant]) => look(variant)));
    for (const [index, outcome] of outcomes.entries())
      if (outcome.status === 'rejected') rethrow(outcome.reason, some[index]?.[0] ?? '');
  }
}

function rethrow(error: unknown, name: string): never {
  if (!(error instanceof CheckFailed)) throw error;
  throw new CheckFailed(error.answer, `${error.expected}, in the case: ${name}`);
}
