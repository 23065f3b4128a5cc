declare module 'vitest' {
  interface TaskMeta {
    /** Lines of control-plane/test/specification/specification.md that the test holds. */
    spec?: readonly string[];
  }
}

/** Options of a test that holds lines of the specification, quoted word for word: trace.test.ts finds those without one. */
export const spec = (
  ...lines: readonly string[]
): { readonly meta: { readonly spec: readonly string[] } } => ({
  meta: { spec: lines },
});
