/** Prints each step with what came of it; a step that does not do what it should ends the demo. */
export interface Narrator {
  /** @param run gives what came of it, one or more lines */
  readonly step: (what: string, run: () => Promise<string>) => Promise<void>;
}

const INDENT = '\n      ';

export function createNarrator(out: NodeJS.WritableStream): Narrator {
  let count = 0;
  const say = (what: string, result: string): void => {
    out.write(`${String(count).padStart(2)}. ${what}${INDENT}${result.replaceAll('\n', INDENT)}\n`);
  };
  return {
    step: async (what, run) => {
      count += 1;
      try {
        say(what, await run());
      } catch (error) {
        say(what, `FAILED: ${error instanceof Error ? error.message : String(error)}`);
        throw error;
      }
    },
  };
}

/** @throws Error naming both values when they differ */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what} is ${String(actual)}, expected ${String(expected)}`);
}
