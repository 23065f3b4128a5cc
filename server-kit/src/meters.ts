import type { ObserveCommit } from './group-commit.ts';

/** What a program measures: its code and the table of docs/operate/monitoring.md come from the same declarations. */
export interface MetricDeclaration<Label extends string = string> {
  readonly name: string;
  /** `reading`: a gauge whose values are read when somebody asks for the metrics. */
  readonly type: 'counter' | 'gauge' | 'histogram' | 'reading';
  readonly help: string;
  /** Label → all of its values. Nothing that a client chooses is a label: any other value is counted as `other`. */
  readonly labels: Readonly<Record<Label, readonly string[]>>;
  /** Upper bounds of a histogram, in its unit. */
  readonly buckets: readonly number[];
}

export type Labels<Label extends string = string> = Readonly<Record<Label, string>>;

/** The values of a gauge: one for each of its series that exists now. */
export type Values<Label extends string = string> = readonly (readonly [
  labels: Labels<Label>,
  value: number,
])[];

type Declared<Type extends MetricDeclaration['type'], Label extends string> = MetricDeclaration<Label> & {
  readonly type: Type;
};
type Counter<Label extends string> = (labels: Labels<Label>) => void;
type Observer<Label extends string> = (labels: Labels<Label>, value: number) => void;
type Reading<Label extends string> = (read: () => Values<Label> | Promise<Values<Label>>) => void;

/** Creates the metrics of a server. */
export interface Meters {
  /** @returns adds one */
  counter<L extends string>(declared: Declared<'counter', L>): Counter<L>;
  /** @returns sets the value */
  gauge<L extends string>(declared: Declared<'gauge', L>): Observer<L>;
  /** @returns adds an observation */
  histogram<L extends string>(declared: Declared<'histogram', L>): Observer<L>;
  /** @returns takes the function that reads the values; one that fails or takes too long leaves its series out */
  reading<L extends string>(declared: Declared<'reading', L>): Reading<L>;
}

/** What records each of these metrics, by the same key. */
export type Recorders<Declarations extends Readonly<Record<string, MetricDeclaration>>> = {
  readonly [Key in keyof Declarations]: Recorder<
    Declarations[Key]['type'],
    keyof Declarations[Key]['labels'] & string
  >;
};
type Recorder<Type, Label extends string> = Type extends 'counter'
  ? Counter<Label>
  : Type extends 'reading'
    ? Reading<Label>
    : Observer<Label>;

export const recordersOf = <Declarations extends Readonly<Record<string, MetricDeclaration>>>(
  meters: Meters,
  declarations: Declarations,
): Recorders<Declarations> =>
  Object.fromEntries(
    Object.entries(declarations).map(([key, declared]) => [key, meters[declared.type](declared as never)]),
  ) as Recorders<Declarations>;

const nothing = (): void => {};

/** Measures nothing. */
export const NO_METERS: Meters = {
  counter: () => nothing,
  gauge: () => nothing,
  histogram: () => nothing,
  reading: () => nothing,
};

const declare =
  <Type extends MetricDeclaration['type']>(type: Type) =>
  <L extends string = never>(
    name: string,
    help: string,
    labels: Readonly<Record<L, readonly string[]>> = {} as Readonly<Record<L, readonly string[]>>,
    buckets: readonly number[] = [],
  ): Declared<Type, L> => ({ name, type, help, labels, buckets });

export const counter = declare('counter');
export const gauge = declare('gauge');
export const histogram = declare('histogram');
export const reading = declare('reading');

/** Seconds of work in this machine: a decision, a commit. */
export const LOCAL_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
/** Seconds of a call to another one, whose time limits are 10 s and 30 s. */
export const CALL_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/** What both programs measure. */
export const COMMON_METRICS = {
  ready: reading('svault_ready', '1 while GET /readyz answers 200'),
  commitSeconds: histogram(
    'svault_commit_seconds',
    'From the start of a commit, which many requests share, until it is on the disk',
    {},
    LOCAL_SECONDS,
  ),
  commitSize: histogram(
    'svault_commit_writes',
    'Writes that share a commit',
    {},
    [1, 2, 5, 10, 25, 50, 100, 250],
  ),
  databaseBytes: reading('svault_database_bytes', 'Size of the SQLite file, and of its write-ahead log', {
    file: ['database', 'wal'],
  }),
};

/** Records commits. */
export const observeCommitBy =
  ({
    commitSeconds,
    commitSize,
  }: Pick<Recorders<typeof COMMON_METRICS>, 'commitSeconds' | 'commitSize'>): ObserveCommit =>
  ({ writes, seconds }) => {
    commitSeconds({}, seconds);
    commitSize({}, writes);
  };
