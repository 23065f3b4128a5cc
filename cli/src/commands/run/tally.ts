/** What became of the requests of a run, by host. Nothing else of a request is kept. */
export interface Tally {
  /** A request that went to the control plane, for the host of a proxy. */
  called(host: string, credential: string): void;
  /** A connection, or a request without TLS, that went straight to its host. */
  straight(host: string): void;
  refused(host: string, why: string): void;
  /** One line for each host and what became of it; none where nothing was called. */
  lines(): readonly string[];
}

/** A program that calls more is summed up in one line. */
const MAX_LINES = 100;

export function createTally(): Tally {
  const newGroup = (): Map<string, number> => new Map();
  const groups = { called: newGroup(), straight: newGroup(), refused: newGroup() };
  const count = (group: Map<string, number>, text: string, summedUp = 'to other hosts'): void => {
    const counted = group.has(text) || group.size < MAX_LINES ? text : summedUp;
    group.set(counted, (group.get(counted) ?? 0) + 1);
  };
  return {
    called: (host, credential) => count(groups.called, `to ${host} with the credential ${credential}`),
    straight: (host) => count(groups.straight, `straight to ${host}`),
    refused: (host, why) => count(groups.refused, `to ${host} refused: ${why}`, 'to other hosts refused'),
    lines: () => [
      ...linesOf(groups.called, requests),
      ...linesOf(groups.straight, (times) => (times === 1 ? '1 connection' : `${times} connections`)),
      ...linesOf(groups.refused, requests),
    ],
  };
}

const requests = (times: number): string => (times === 1 ? '1 request' : `${times} requests`);

const linesOf = (group: ReadonlyMap<string, number>, counted: (times: number) => string): readonly string[] =>
  [...group].map(([text, times]) => `${counted(times)} ${text}`);
