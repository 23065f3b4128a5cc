/** What a row must and should reach: ratios to bare Express or the minimal pair, those of the client to `node -e 0`. */
export interface Target {
  readonly must: number;
  readonly goal: number;
  /** Whether more is better: ratios; or less: times and memory. */
  readonly better: 'more' | 'less';
  readonly unit: 'ratio' | 'ms' | 'kB' | 'MB';
}

const ratio = (must: number, goal: number): Target => ({ must, goal, better: 'more', unit: 'ratio' });
const atMost = (unit: Target['unit'], must: number, goal: number): Target => ({
  must,
  goal,
  better: 'less',
  unit,
});

export const TARGETS = {
  yardstick: ratio(0.9, 0.97),
  credentials: ratio(0.25, 0.4),
  threeProcesses: ratio(2, 2.7),
  cpuOfGrowth: atMost('ratio', 1.5, 1.1),
  memoryOfStream: atMost('kB', 100, 50),
  credentialsOnPostgres: ratio(0.12, 0.25),
  list: ratio(0.3, 0.5),
  refusal: ratio(0.35, 0.6),
  toolsCall: ratio(0.06, 0.2),
  // By CPU time.
  redirect: ratio(0.3, 0.45),
  webhookCredential: ratio(0.2, 0.33),
  wholeFetch: atMost('ratio', 0.5, 0.35),
  p99At2000: atMost('ratio', 3, 1.5),
  // To the minimal pair.
  callRate: ratio(0.6, 0.85),
  callCpuClosed: atMost('ratio', 1.6, 1.2),
  callCpu: atMost('ratio', 1.4, 1.2),
  callP99: atMost('ratio', 2.5, 1.5),
  // Each event goes to the webhook, which stores it as well.
  cpuOfShipping: atMost('ratio', 1.25, 1.1),
  p99OfShipping: atMost('ratio', 1.5, 1.1),
  cpuOfTraces: atMost('ratio', 1.05, 1.03),
  proxyAddedP50: atMost('ms', 1, 0.4),
  proxyAddedP99: atMost('ms', 5, 1.5),
  proxyMegabytes: ratio(0.3, 0.6),
  // To a proxied call of MCP, and to a stream of it.
  httpCall: atMost('ratio', 1.1, 1),
  httpDownload: ratio(0.9, 1),
  p99AtHalf: atMost('ms', 10, 2),
  // Reliability R6.
  p99AmongIdle: atMost('ratio', 2, 1.3),
  p99Watched: atMost('ratio', 1.5, 1.2),
  // Each event is sent to 100 readers.
  cpuWatched: atMost('ratio', 1.5, 1.25),
  // One account's webhook delays no other account.
  p99BesideHostile: atMost('ratio', 1.5, 1.2),
  p99UnderAttack: atMost('ratio', 2, 1.5),
  // Some 1,800 connections a second, of which each costs what any connection does.
  p99UnderSmallExchanges: atMost('ratio', 8, 4),
  memoryOfHalfBodies: atMost('MB', 32, 16),
  requestDecision: atMost('ms', 0.02, 0.01),
  toolListAdded: atMost('ms', 5, 2),
  runStart: atMost('ms', 300, 200),
  runAdded: atMost('ms', 3, 1),
  page: atMost('ms', 100, 30),
  start: atMost('ms', 2000, 800),
  // 150 and 120 ms on a machine where `node -e 0` takes 40 ms.
  clientHelp: atMost('ratio', 3.75, 2.5),
  clientGet: atMost('ratio', 3, 2.5),
  memoryIdle: atMost('MB', 120, 90),
  memoryIdleOfBoth: atMost('MB', 210, 170),
  consoleLoad: atMost('ms', 1_200, 600),
  consoleScreen: atMost('ms', 200, 100),
  consoleBytes: atMost('kB', 220, 170),
  // Of a frame.
  consoleTask: atMost('ms', 50, 30),
  consoleHeap: atMost('ratio', 1.2, 1.05),
  // Reliability R30.
  memoryAnHour: atMost('MB', 1, 0.5),
  flat: atMost('ratio', 1.05, 1),
  flatP99: atMost('ratio', 1.5, 1.1),
  memorySaturated: atMost('MB', 250, 160),
} as const satisfies Record<string, Target>;

export type Verdict = 'goal' | 'must' | 'missed';

export function verdict(value: number, { must, goal, better }: Target): Verdict {
  const reaches = (bar: number): boolean => (better === 'more' ? value >= bar : value <= bar);
  if (reaches(goal)) return 'goal';
  return reaches(must) ? 'must' : 'missed';
}
