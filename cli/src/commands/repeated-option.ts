/** For an option that may be repeated: all its values, in order. */
export const collect = (value: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  value,
];
