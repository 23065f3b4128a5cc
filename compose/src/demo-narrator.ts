/** Prints each step with what came of it; a step that does not do what it should ends the demo. */
export interface Narrator {
  readonly step: (what: string, run: () => Promise<string>) => Promise<void>;
}

export function createNarrator(out: NodeJS.WritableStream): Narrator {
  let count = 0;
  return {
    step: async (what, run) => {
      count += 1;
      const number = String(count).padStart(2);
      try {
        out.write(`${number}. ${what}\n      ${await run()}\n`);
      } catch (error) {
        out.write(
          `${number}. ${what}\n      FAILED: ${error instanceof Error ? error.message : String(error)}\n`,
        );
        throw error;
      }
    },
  };
}

/** @throws Error naming both values when they differ */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  if (actual !== expected) throw new Error(`${what} is ${String(actual)}, expected ${String(expected)}`);
}
