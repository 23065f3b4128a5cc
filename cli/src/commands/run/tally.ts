/** Counts the requests of a run by host and outcome; keeps nothing else of them. */
export interface Tally {
  /** A request for a covered host that was sent to the control plane. */
  called(host: string, credential: string): void;
  /** A connection, or a request without TLS, that was forwarded to its host. */
  straight(host: string): void;
  refused(host: string, why: string): void;
  /** One line for each host and outcome; none without requests. */
  lines(): readonly string[];
}

/** Further hosts share one line. */
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
      ...linesOf(groups.called, 'request'),
      ...linesOf(groups.straight, 'connection'),
      ...linesOf(groups.refused, 'request'),
    ],
  };
}

const linesOf = (group: ReadonlyMap<string, number>, unit: string): readonly string[] =>
  [...group].map(([text, times]) => `${times} ${times === 1 ? unit : `${unit}s`} ${text}`);
