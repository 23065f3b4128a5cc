/** A series of a metric: label → value, of a small set of values. */
export type Labels = Readonly<Record<string, string>>;

/** Creates the counters and gauges of a server. */
export interface Meters {
  /** @returns adds one */
  counter(name: string, help: string, labels: readonly string[]): (labels: Labels) => void;
  /** @returns sets the value */
  gauge(name: string, help: string, labels: readonly string[]): (labels: Labels, value: number) => void;
}

const nothing = (): void => {};

/** Discards everything. */
export const NO_METERS: Meters = { counter: () => nothing, gauge: () => nothing };
