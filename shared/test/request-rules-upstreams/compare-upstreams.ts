import { isDeepStrictEqual } from 'node:util';
import {
  type HttpRequest,
  type RequestRule,
  type RequestVerdict,
  compileRequestRules,
} from '@svault/shared/request-rules';
import { Random, edgeRequest, rawRequest } from './edge-requests.ts';
import { startNodeUpstream } from './node-upstream.ts';
import { startGoUpstream, startPythonUpstream } from './program-upstream.ts';
import type { Reading, Upstream } from './reading.ts';

const BATCH = 2000;
/** One of so many requests that are denied for two readings is shown to the upstreams as well. */
const DENIED_SHOWN = 20;
const MAX_EXAMPLES = 10;

const NUMBERS = [7, -3];
const REPOS = ['acme/site', 'é'];
const RULES: readonly RequestRule[] = [
  { methods: ['GET', 'POST'], paths: ['/repos/*/issues', '/files/**'] },
  { tools: ['get_*'], paths: ['/mcp'], arguments: { '/repo': REPOS, '/number': NUMBERS } },
  { tools: ['search_*'], paths: ['/search'] },
  { mcp: ['resources/*'], paths: ['/resources'] },
];
const PATH_OF_PATTERN: Readonly<Record<string, RegExp>> = {
  '/repos/*/issues': /^\/repos\/[^/]+\/issues$/,
  '/files/**': /^\/files\/.*$/s,
};

interface Comparison {
  readonly allowed: number;
  /** Of requests that were allowed: what an upstream reads that no rule allows, or that another one reads otherwise. */
  readonly differences: readonly string[];
  /** Of the requests that were denied for two readings and shown to the upstreams. */
  readonly denied: { readonly shown: number; readonly readDifferently: number };
}

/** Gives what the rules allow of many requests to three upstreams, and compares what they read. */
export async function compareUpstreams(options: {
  readonly requests: number;
  readonly seed: number;
}): Promise<Comparison> {
  const upstreams = [startNodeUpstream(), startPythonUpstream(), await startGoUpstream()];
  try {
    return await compare(upstreams, options);
  } finally {
    await Promise.all(upstreams.map((upstream) => upstream.stop()));
  }
}

async function compare(
  upstreams: readonly Upstream[],
  { requests, seed }: { readonly requests: number; readonly seed: number },
): Promise<Comparison> {
  const random = new Random(seed);
  const rules = compileRequestRules(RULES);
  const differences: string[] = [];
  const denied = { shown: 0, readDifferently: 0 };
  let allowed = 0;
  for (let from = 0; from < requests; from += BATCH) {
    const shown: { readonly request: HttpRequest; readonly verdict: RequestVerdict }[] = [];
    for (let at = from; at < Math.min(from + BATCH, requests); at++) {
      const request = edgeRequest(random);
      const verdict = rules.decide(request);
      const isShown = verdict.allowed || (isReadable(request, verdict) && random.below(DENIED_SHOWN) === 0);
      if (isShown) shown.push({ request, verdict });
    }
    const raw = shown.map(({ request }) => rawRequest(request));
    const readings = await Promise.all(upstreams.map((upstream) => upstream.read(raw)));
    for (const [at, { request, verdict }] of shown.entries()) {
      const ofThis = readings.map((read) => read[at] ?? 'refused');
      if (!verdict.allowed) {
        denied.shown++;
        if (!areSame(ofThis)) denied.readDifferently++;
        continue;
      }
      allowed++;
      const seen = ofThis.map((reading) => withoutOtherArguments(reading, verdict));
      if (areSame(seen) && seen.every((reading) => isAllowed(reading, verdict, request))) continue;
      if (differences.length < MAX_EXAMPLES)
        differences.push(`${raw[at]?.toString()}\n${JSON.stringify(seen)}`);
    }
  }
  return { allowed, differences, denied };
}

/** Whether a request is denied for two readings, and has an end that an upstream finds. */
const isReadable = ({ fields }: HttpRequest, { reason }: Exclude<RequestVerdict, Allowed>): boolean =>
  reason !== 'rule' && !fields.some(([name]) => name === 'content-length');

type Allowed = Extract<RequestVerdict, { readonly allowed: true }>;

const areSame = (readings: readonly Reading[]): boolean =>
  readings.every((reading) => isDeepStrictEqual(reading, readings[0]));

/** Rules without arguments, and methods other than tools/call, leave them to the upstream. */
function withoutOtherArguments(reading: Reading, { path, tool }: Allowed): Reading {
  if (reading === 'refused' || (path === '/mcp' && tool !== undefined)) return reading;
  return reading.slice(0, tool === undefined ? 3 : 4);
}

/** Whether the rule that matched allows what an upstream reads. */
function isAllowed(reading: Reading, { path, tool }: Allowed, request: HttpRequest): boolean {
  if (reading === 'refused') return false;
  const [method, read, message, called, repo, number] = reading;
  if (method !== request.method) return false;
  const pattern = PATH_OF_PATTERN[path];
  if (pattern !== undefined) return pattern.test(String(read));
  if (read !== path) return false;
  if (tool === undefined) return message !== 'tools/call';
  if (message !== 'tools/call' || called !== tool) return false;
  return path !== '/mcp' || (REPOS.includes(String(repo)) && NUMBERS.map(String).includes(String(number)));
}
