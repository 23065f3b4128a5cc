import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { startMinimalWebhook } from '../../fixtures/minimal.ts';
import { RIGHT } from '../../fixtures/rules.ts';
import { instrument, type Point } from './instrument.ts';
import { here } from './places.ts';

const FIXTURES = new URL('../../fixtures/', import.meta.url).href;
const MUTATED = '?mutated';

/** Every place of the minimal webhook's code that can be got wrong; grows while it is loaded. */
export const POINTS: Point[] = [];

/** What is wrong: one variant of one point, at one place or everywhere. */
export interface Mutation {
  readonly id: string;
  readonly point: number;
  readonly variant: number;
  /** Empty: everywhere. */
  readonly place: string;
}

let active: Mutation | undefined;
let note: ((point: number) => void) | undefined;

/** Files whose rules hold at several endpoints, and those whose rules hold for several operations or types. */
const BY_ENDPOINT = /^(signature-(gate|rules)|ticket-(gate|rules)|keys|signed-routes|short-secrets)\.ts$/;
const BY_DETAIL = /^(current|tokens|store-body|paging)\.ts$/;

/**
 * The place where a point is reached now; one for all where it is no rule that holds at several, and
 * none where what is asked for is of no known kind.
 */
export function placeOf(point: number): string | undefined {
  const { file = '', isRule = false } = POINTS[point] ?? {};
  const { path = '', detail = '' } = here() ?? {};
  if (!isRule) return '';
  if (BY_DETAIL.test(file)) return detail === '' ? undefined : `${path} ${detail}`;
  return BY_ENDPOINT.test(file) ? path : '';
}

Object.assign(globalThis, {
  __mutation: {
    at(point: number): boolean {
      note?.(point);
      if (active?.point !== point) return false;
      return active.place === placeOf(point);
    },
    is: (variant: number): boolean => active?.variant === variant,
    merged: (...parts: readonly object[]): object =>
      Object.defineProperties(
        {},
        Object.assign(
          {},
          ...parts.map((each) => Object.getOwnPropertyDescriptors(each)),
        ) as PropertyDescriptorMap,
      ),
    ignoringCase: (one: unknown, other: unknown): boolean =>
      one === other ||
      (typeof one === 'string' && typeof other === 'string' && one.toLowerCase() === other.toLowerCase()),
    byPrefix: (one: unknown, other: unknown): boolean =>
      one === other ||
      (typeof one === 'string' &&
        typeof other === 'string' &&
        one !== '' &&
        other !== '' &&
        (one.startsWith(other) || other.startsWith(one))),
  },
});

/** Has the webhook be this mutation from now on; none: the right one. */
export function mutate(mutation: Mutation | undefined): void {
  active = mutation;
}

/** Has the points that are reached told to somebody from now on. */
export function onReached(told: ((point: number) => void) | undefined): void {
  note = told;
}

registerHooks({
  resolve(specifier, context, next) {
    const found = next(specifier, context);
    const isInside = context.parentURL?.endsWith(MUTATED) === true && found.url.startsWith(FIXTURES);
    return isInside ? { ...found, url: found.url + MUTATED } : found;
  },
  load(url, context, next) {
    if (!url.endsWith(MUTATED)) return next(url, context);
    const path = fileURLToPath(url.slice(0, -MUTATED.length));
    const { text, points } = instrument(basename(path), readFileSync(path, 'utf8'), POINTS.length, {
      ...RIGHT,
    });
    POINTS.push(...points);
    return { source: text, format: 'module-typescript', shortCircuit: true };
  },
});

const loaded = (await import(`${FIXTURES}minimal.ts${MUTATED}`)) as {
  readonly startMinimalWebhook: typeof startMinimalWebhook;
};

/** Starts a webhook of the code that can be mutated. */
export const startMutatedWebhook = loaded.startMinimalWebhook;
