import { createHash } from 'node:crypto';
import { parseRegistrationLink } from '../../src/binding/registration-link.ts';
import type { Check } from '../../src/check/check.ts';
import { CHECKS } from '../../src/registry.ts';
import { startRun, type Run, type RunOptions } from '../../src/runner.ts';
import { requirements } from '../suite.ts';
import { SERVICE_URL, type MinimalWebhook } from '../../fixtures/minimal.ts';
import { mutate, onReached, placeOf, POINTS, startMutatedWebhook, type Mutation } from './mutated-webhook.ts';
import { lookAt, watchRequests } from './places.ts';

const ON_BOUND = CHECKS.filter((check) => 'run' in check);
const OBSERVERS = CHECKS.filter((check) => 'observe' in check);
/** They look at all that was answered in a run, or at the approver whom the first check that needs one enrols. */
const OF_THE_RUN = ON_BOUND.filter(({ id }) =>
  /-in-this-run$|^approvals\.(approved|approver-logged|link-once|logged|other-origin)$/.test(id),
);
/** How long an answer may take before a mutation counts as found. */
const ANSWER_MS = 4_000;
/** How long all checks of a mutation may take. */
const LIFE_MS = 60_000;

/** Which checks lead to which points, and where. */
export type Reached = ReadonlyMap<string, ReadonlySet<Check>>;

/** What became of a mutation. */
export interface Verdict {
  readonly id: string;
  /** The check that found it; nothing where none did. */
  readonly foundBy: string | undefined;
}

/** What starts the webhook, and what reads and writes HTTP for it: a mistake there breaks every answer. */
const NOT_MUTATED = /^(minimal|rules|received|reply|errors|refreshing|ssh-key|signature-(mac|reading))\.ts$/;

watchRequests();

const spot = (point: number, place: string): string => `${point} ${place}`;

/** Runs the whole suite on the right webhook. @returns what led where */
export async function recordReached(): Promise<Reached> {
  const reached = new Map<string, Set<Check>>();
  const under = async (checks: readonly Check[], work: () => Promise<unknown>): Promise<void> => {
    onReached((point) => {
      const place = placeOf(point);
      if (place === undefined) return;
      const name = spot(point, place);
      const led = reached.get(name) ?? new Set();
      reached.set(name, led);
      for (const check of checks) led.add(check);
    });
    await work();
    onReached(undefined);
  };
  await under(OBSERVERS, async () => (await boundByRun()).end());
  const { run, end } = await bound();
  for (const check of ON_BOUND)
    await under([check], async () => {
      const { outcome } = await run.check(check);
      if (outcome.kind === 'failed') throw new Error(`${check.id} fails on the right webhook`);
    });
  await end();
  return reached;
}

/** A point that more checks lead to is on the way of nearly every request. */
const MAX_LEADING = 36;

/**
 * Each variant of each point that not every request passes, at one of the places where the suite comes to it: chosen by hash,
 * so that all places have their share of them. @param everywhere each variant of every point, at each of its places
 */
export function mutationsOf(reached: Reached, everywhere: boolean): readonly Mutation[] {
  const places = new Map<number, string[]>();
  for (const name of reached.keys()) {
    const [point = '', ...place] = name.split(' ');
    places.set(Number(point), [...(places.get(Number(point)) ?? []), place.join(' ')]);
  }
  const all = [...places]
    .filter(([point]) => !NOT_MUTATED.test(POINTS[point]?.file ?? ''))
    .flatMap(([point, at]) =>
      (POINTS[point]?.variants ?? []).flatMap(({ id }, variant) =>
        (everywhere ? at : [chosenBy(id, at.toSorted())]).map((place): Mutation => {
          return { id: place === '' ? id : `${id} @ ${place}`, point, variant, place };
        }),
      ),
    );
  const leading = ({ point, place }: Mutation): number => reached.get(spot(point, place))?.size ?? 0;
  return everywhere ? all : all.filter((mutation) => leading(mutation) <= MAX_LEADING);
}

function chosenBy(id: string, places: readonly string[]): string {
  const hash = createHash('sha256').update(id).digest().readUInt32BE();
  return places[hash % places.length] ?? '';
}

/** The mutation that has this id. @throws Error where there is none */
export function mutationNamed(id: string): Mutation {
  const [named = '', place = ''] = id.split(' @ ');
  for (const [point, { variants }] of POINTS.entries()) {
    const variant = variants.findIndex((each) => each.id === named);
    if (variant !== -1) return { id, point, variant, place };
  }
  throw new Error(`there is no mutation ${id}`);
}

/** Points where the suite never comes, such as those of sabotages. */
export function unreached(reached: Reached): readonly number[] {
  const found = new Set([...reached.keys()].map((name) => Number(name.split(' ', 1)[0])));
  return POINTS.flatMap((_, point) => (found.has(point) ? [] : [point]));
}

/** Runs the checks that lead to a mutation, those first that lead to little else, until one fails. */
export async function verdictOn(mutation: Mutation, reached: Reached): Promise<Verdict> {
  mutate(mutation);
  const late = AbortSignal.timeout(LIFE_MS);
  const tooLong = new Promise<string>((resolve) => {
    late.addEventListener('abort', () => resolve('does not end'), { once: true });
  });
  try {
    const foundBy = await Promise.race([search(mutation, reached), tooLong]);
    return { id: mutation.id, foundBy };
  } finally {
    mutate(undefined);
  }
}

/** Runs one check on a mutation. @returns whether it fails */
export async function isFoundBy(mutation: Mutation, id: string): Promise<boolean> {
  const check = CHECKS.find((each) => each.id === id);
  if (check === undefined) throw new Error(`there is no check ${id}`);
  mutate(mutation);
  try {
    return (await firstFailed('run' in check ? bound : boundByRun, [check])) !== undefined;
  } finally {
    mutate(undefined);
  }
}

async function search(mutation: Mutation, reached: Reached): Promise<string | undefined> {
  const leading = reached.get(spot(mutation.point, mutation.place)) ?? new Set();
  const { file = '', within = '' } = POINTS[mutation.point] ?? {};
  const scores = scoresIn(file, reached);
  const score = (check: Check): number => scores.get(check) ?? Infinity;
  const finders = findersIn(`${file} ${within}`);
  const onBound = [...leading].filter(isOnBound).toSorted((one, other) => score(one) - score(other));
  const likely = onBound.toSorted((one, other) => finders.indexOf(other.id) - finders.indexOf(one.id));
  const foundBy =
    (await firstFailed(bound, [...likely, ...OF_THE_RUN])) ??
    (OBSERVERS.some((check) => leading.has(check)) ? await firstFailed(boundByRun, OBSERVERS) : undefined);
  if (foundBy !== undefined) moveToEnd(finders, foundBy);
  return foundBy;
}

const isOnBound = (check: Check): boolean => 'run' in check && !OF_THE_RUN.includes(check);

function moveToEnd(list: string[], item: string): void {
  const at = list.indexOf(item);
  if (at !== -1) list.splice(at, 1);
  list.push(item);
}

const findersOf = new Map<string, string[]>();

/** Ids of the checks that found mutations of a function, the latest one last: it may find the next one too. */
function findersIn(name: string): string[] {
  const known = findersOf.get(name) ?? [];
  findersOf.set(name, known);
  return known;
}

const scoresOf = new Map<string, ReadonlyMap<Check, number>>();

/**
 * By how few checks the rarest point of a file is reached that a check comes to: who is refused comes where few do, and is
 * more likely to find what is wrong there.
 */
function scoresIn(file: string, reached: Reached): ReadonlyMap<Check, number> {
  const known = scoresOf.get(file);
  if (known !== undefined) return known;
  const scores = new Map<Check, number>();
  for (const [name, checks] of reached)
    if (POINTS[Number(name.split(' ', 1)[0])]?.file === file)
      for (const check of checks) scores.set(check, Math.min(scores.get(check) ?? Infinity, checks.size));
  scoresOf.set(file, scores);
  return scores;
}

interface Started {
  readonly run: Run;
  end(): Promise<void>;
}

async function firstFailed(
  start: () => Promise<Started>,
  checks: readonly Check[],
): Promise<string | undefined> {
  if (checks.length === 0) return undefined;
  const { run, end } = await start();
  try {
    for (const check of checks) {
      const { outcome } = await run.check(check);
      if (outcome.kind === 'failed') return check.id;
    }
    return undefined;
  } finally {
    await end();
  }
}

/** A webhook that was bound before the run. */
async function bound(): Promise<Started> {
  const webhook = await startMutatedWebhook();
  return started(webhook, {
    webhook: {
      address: { webhookUrl: webhook.url, serviceUrl: SERVICE_URL, timeoutMs: ANSWER_MS },
      binding: webhook.binding,
    },
    mayReplaceKey: true,
    restart: webhook.restart,
  });
}

/** A webhook that the run binds. */
async function boundByRun(): Promise<Started> {
  const webhook = await startMutatedWebhook({}, { bound: false });
  return started(webhook, { webhook: parseRegistrationLink(webhook.invite(), { timeoutMs: ANSWER_MS }) });
}

async function started(webhook: MinimalWebhook, options: Omit<RunOptions, 'requirements'>): Promise<Started> {
  lookAt(webhook.world);
  const approver = { approverLink: async () => webhook.approverLink() };
  const run = await startRun({ ...options, ...approver, requirements, reusesConnections: true });
  return {
    run,
    end: async () => {
      await run.end();
      await webhook.close();
    },
  };
}
