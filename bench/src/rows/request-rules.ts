import { randomToken } from '@svault/shared';
import { compileRequestRules } from '@svault/shared/request-rules';
import type { Pair } from '@svault/compose/pair';
import type { Row } from '../report.ts';
import { type RoundOptions, median, rowOf } from '../rounds.ts';
import { TARGETS } from '../targets.ts';
import { CALL, PROXY_PATH, makeProxies } from './bench-proxies.ts';
import { startUpstream } from './yardsticks.ts';

const TOOLS_PATH = '/tools?n=500';
const RULES = 50;
const DECISIONS = 20_000;
const LISTS = 20;

/** The last of these allows `CALL`, and all tools of the upstream but some. */
const rulesFor = (path: string) =>
  Array.from({ length: RULES }, (_, at) => ({
    paths: [`/other/${at}/*`, path],
    tools: at === RULES - 1 ? ['echo', 'tool_1*', 'tool_2*', 'tool_3*'] : [`never_${at}_*`],
  }));

/**
 * What request rules cost: the decision about one call by 50 of them, which a call without rules does not have, in this
 * process, and what filtering adds to a list of 500 tools through both hops, lists with and without it in turn.
 */
export async function requestRuleRows(pair: Pair, { rounds }: RoundOptions): Promise<readonly Row[]> {
  await using started = new AsyncDisposableStack();
  const upstreamUrl = await startUpstream(started);
  const list = JSON.stringify({ ...CALL, method: 'tools/list', params: {} });
  const service = (name: string, requests?: object) => ({
    serviceName: name,
    body: { tokenType: 'PlainText', value: randomToken(), allowedHosts: [upstreamUrl], ...requests },
  });
  const keyOf = async (...[name, requests]: Parameters<typeof service>): Promise<string> => {
    const keys = await makeProxies(pair, upstreamUrl, [TOOLS_PATH], service(name, requests));
    return keys.get(TOOLS_PATH) ?? '';
  };
  const free = await keyOf('bench-free');
  const ruled = await keyOf('bench-ruled', { requests: rulesFor('/tools') });
  const listMs = async (key: string): Promise<number> => {
    const startedMs = performance.now();
    const response = await fetch(pair.controlPlaneUrl + PROXY_PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: list,
    });
    const { result } = (await response.json()) as { result: { tools: unknown[] } };
    const endedMs = performance.now();
    if (result.tools.length > 500 || result.tools.length < 100)
      throw new Error('not the list of the upstream');
    return endedMs - startedMs;
  };
  const addedMs = async (): Promise<number> => {
    const [without, filtered]: [number[], number[]] = [[], []];
    for (let count = 0; count < LISTS; count++) {
      without.push(await listMs(free));
      filtered.push(await listMs(ruled));
    }
    return median(filtered) - median(without);
  };
  const added: number[] = [];
  const decided: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const [lists, decision] = [await addedMs(), decisionMs(upstreamUrl)];
    // The first is for the compilers.
    if (round === 0) continue;
    added.push(lists);
    decided.push(decision);
  }
  return [
    rowOf(
      `decision by ${RULES} request rules`,
      TARGETS.requestDecision,
      decided,
      'CPU time, in the process alone',
    ),
    rowOf('tools/list of 500 tools, added by rules', TARGETS.toolListAdded, added),
  ];
}

/** CPU time, which other work on the machine disturbs least. */
function decisionMs(upstreamUrl: string): number {
  const rules = compileRequestRules(rulesFor('/mcp'));
  const request = {
    origin: new URL(upstreamUrl),
    method: 'POST',
    target: '/mcp',
    fields: [
      ['content-type', 'application/json'],
      ['accept', 'application/json, text/event-stream'],
    ] as const,
    body: Buffer.from(JSON.stringify(CALL)),
  };
  const before = process.cpuUsage();
  for (let count = 0; count < DECISIONS; count++)
    if (!rules.decide(request).allowed) throw new Error('the call of the bench is not allowed');
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / DECISIONS;
}
