import { CheckFailed } from './check-outcome.ts';

/**
 * Looks at several variants of one promise, one after the other; a failure says which one it was.
 * @param variants what the variant is, in words → what makes it
 */
export async function eachVariant<T>(
  variants: Readonly<Record<string, T>>,
  look: (variant: T) => Promise<unknown>,
): Promise<void> {
  for (const [name, variant] of Object.entries(variants)) {
    try {
      await look(variant);
    } catch (error) {
      if (!(error instanceof CheckFailed)) throw error;
      throw new CheckFailed(error.answer, `${error.expected}, in the case: ${name}`);
    }
  }
}
