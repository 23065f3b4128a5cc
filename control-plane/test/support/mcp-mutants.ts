import { Agent } from 'node:http';
import { sha256, toHex } from '@svault/shared';
import { postOver } from './post-over.ts';
import { MCP } from './mcp-steps.ts';
import { PROXY } from './proxy-steps.ts';
import { type Mutant, mutant, seeded } from './mcp-mutator.ts';

/** What went wrong, with all that is needed to see it again. */
export interface Finding {
  readonly why: string;
  readonly sent: string;
  readonly headers: object;
  readonly status: number;
  readonly text: string;
}

export interface MutantRun {
  readonly findings: readonly Finding[];
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** JSON-RPC errors by code; `result` for what was served. */
  readonly outcomes: ReadonlyMap<string, number>;
}

const AT_ONCE = 16;
const MAX_FINDINGS = 10;

/** Where mutants are sent, and what is wrong with an answer there. */
export interface MutantDoor {
  readonly path: string;
  readonly fault: (sent: Mutant, status: number, text: string) => string | undefined;
}

/** Sends mutants over connections that stay open, and holds each answer against what was sent. */
export async function sendMutants(
  url: string,
  apiKey: string,
  {
    seed,
    count,
    door = MCP_DOOR,
  }: { readonly seed: number; readonly count: number; readonly door?: MutantDoor },
): Promise<MutantRun> {
  const random = seeded(seed);
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE });
  const findings: Finding[] = [];
  const statuses = new Map<number, number>();
  const outcomes = new Map<string, number>();
  let left = count;
  const worker = async (): Promise<void> => {
    while (left-- > 0 && findings.length < MAX_FINDINGS) {
      const sent = mutant(random);
      const headers = { ...sent.headers, authorization: `Bearer ${apiKey}` };
      const { status, text } = await postOver(agent, url + door.path, headers, sent.body);
      add(statuses, status);
      add(outcomes, outcomeOf(text));
      const why = door.fault(sent, status, text);
      if (why !== undefined)
        findings.push({
          why,
          sent: sent.body.toString().slice(0, 2_000),
          headers: sent.headers,
          status,
          text,
        });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  agent.destroy();
  return { findings, statuses, outcomes };
}

const add = <K>(counts: Map<K, number>, key: K): void => void counts.set(key, (counts.get(key) ?? 0) + 1);

function outcomeOf(text: string): string {
  const { error } = parse(text) as { error?: { code?: number } };
  return text === '' ? 'nothing' : error === undefined ? 'result' : String(error.code);
}

function parse(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : {};
  } catch {
    return {};
  }
}

/** Refusals of HTTP that come before anybody reads a message, and of what cannot be read. */
const BEFORE_READING = new Set([406, 413, 415]);
const PARSE_ERROR = -32_700;

/** @returns what is wrong with an answer; undefined where it is as it should be */
function fault({ body }: Mutant, status: number, text: string): string | undefined {
  if (status >= 500) return 'a 5xx';
  if (/node_modules|\.(?:ts|mjs):\d+|SQLITE/.test(text)) return 'it tells of the inside';
  if (status === 202) return text === '' ? undefined : 'a body where none belongs';
  const answer = parse(text) as {
    jsonrpc?: unknown;
    id?: unknown;
    error?: { code?: number };
    result?: unknown;
  };
  if (answer.jsonrpc !== '2.0') return 'no JSON-RPC';
  if ((answer.error === undefined) === (answer.result === undefined)) return 'not one of result and error';
  const sent = parse(body.toString()) as { id?: unknown };
  // `1e400` is a number that JSON cannot carry back.
  const isCarried = typeof sent.id === 'string' || Number.isFinite(sent.id);
  if (answer.id !== null) return isCarried && answer.id === sent.id ? undefined : 'another id, or type of it';
  const isUnread = BEFORE_READING.has(status) || answer.error?.code === PARSE_ERROR;
  const isDeep = /(?:[[{][^[{\]}]*){33}/.test(body.toString());
  return isCarried && !Array.isArray(sent) && !isUnread && !isDeep ? 'the id is lost' : undefined;
}

const MCP_DOOR: MutantDoor = { path: MCP, fault };

/**
 * The proxies' door, to which every body is the upstream's affair, while all of the requests are let through or all of them
 * limited: the one that says nothing of its own of a body hands it on as it is, the other has its id.
 *
 * @param limited whether every request is above a limit
 */
export const proxyDoor = (limited: boolean): MutantDoor => ({
  path: PROXY,
  fault: (sent, status, text) => {
    if (/node_modules|\.(?:ts|mjs):\d+|SQLITE/.test(text)) return 'it tells of the inside';
    return limited ? faultOfDenial(sent, status, text) : faultOfHandedOn(sent, status, text);
  },
});

function faultOfHandedOn({ body, headers }: Mutant, status: number, text: string): string | undefined {
  // A session that the proxy did not begin.
  if ((headers['mcp-session-id'] ?? '') !== '')
    return status === 404 && /SESSION_NOT_FOUND/.test(text) ? undefined : 'a session of nobody';
  if (status !== 200) return 'not handed on';
  return text === toHex(sha256(body)) ? undefined : 'not the bytes that were sent';
}

function faultOfDenial({ body }: Mutant, status: number, text: string): string | undefined {
  const { jsonrpc, id, error } = parse(text) as {
    jsonrpc?: unknown;
    id?: unknown;
    error?: { code?: number; data?: { code?: string; retryAfter?: number } };
  };
  if (status !== 429 || jsonrpc !== '2.0' || error?.code !== -32_029) return 'no denial of JSON-RPC';
  if (error.data?.code !== 'RATE_LIMITED' || !Number.isInteger(error.data.retryAfter)) return 'no hint';
  const sent = parse(body.toString());
  const { id: given } = sent as { id?: unknown };
  const isCarried = !Array.isArray(sent) && (typeof given === 'string' || Number.isFinite(given));
  if (id !== null) return isCarried && id === given ? undefined : 'another id, or type of it';
  return isCarried && !/(?:[[{][^[{\]}]*){33}/.test(body.toString()) ? 'the id is lost' : undefined;
}
