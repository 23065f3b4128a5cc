/** Which one of a metric's series: label → value, of a small set of values. */
export type Labels = Readonly<Record<string, string>>;

/** What a server counts and measures of itself, without knowing who reads it. */
export interface Meters {
  /** @returns adds one */
  counter(name: string, help: string, labels: readonly string[]): (labels: Labels) => void;
  /** @returns sets the value */
  gauge(name: string, help: string, labels: readonly string[]): (labels: Labels, value: number) => void;
}

const nothing = (): void => {};

/** Where nobody reads: costs a call that does nothing. */
export const NO_METERS: Meters = { counter: () => nothing, gauge: () => nothing };
