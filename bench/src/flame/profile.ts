/** What is read of a file that `node --cpu-prof` writes. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
    readonly children?: readonly number[];
  }[];
  /** Microseconds of the clock of `process.hrtime`. */
  readonly startTime: number;
  /** The node that ran at each sample, and the microseconds since the former one. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function of ours, or a package or Node with all that it calls within itself, as called by those above it. */
export interface Frame {
  readonly name: string;
  /** Whose time it is: see {@link ownerOf}. */
  readonly owner: string;
  /** Microseconds in it alone, and with all that it called. */
  selfMicros: number;
  totalMicros: number;
  readonly callees: Map<string, Frame>;
}

const frameOf = (name: string, owner: string): Frame => ({
  ...{ name, owner, selfMicros: 0, totalMicros: 0 },
  callees: new Map(),
});

/** Time in which the program waited. */
const WAITING = '(idle)';
const OF_V8 = new Map([
  ['(garbage collector)', 'garbage collection'],
  ['(program)', 'outside JavaScript'],
]);

export const isOurs = (owner: string): boolean =>
  /^(?:control-plane|webhook|shared|server-kit)(?:\/|$)/.test(owner);

/**
 * The calls of a profile within a window of time, waiting left out.
 * @param fromMicros,toMicros of the clock of `process.hrtime`
 */
export function callsWithin(profile: CpuProfile, fromMicros: number, toMicros: number): Frame {
  const self = new Map<number, number>();
  let now = profile.startTime;
  for (const [at, id] of profile.samples.entries()) {
    const delta = profile.timeDeltas[at] ?? 0;
    now += delta;
    if (now >= fromMicros && now <= toMicros) self.set(id, (self.get(id) ?? 0) + delta);
  }
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const root = frameOf('', '');
  /** @returns the microseconds that were added */
  const addTo = (caller: Frame, id: number): number => {
    const node = byId.get(id);
    if (node === undefined || node.callFrame.functionName === WAITING) return 0;
    const { functionName, url } = node.callFrame;
    const owner = ownerOf(functionName, url) ?? (caller.owner || 'Node');
    const name = isOurs(owner) ? functionName || url.slice(url.lastIndexOf('/') + 1) : owner;
    const isWithin = owner === caller.owner && !isOurs(owner);
    const key = isOurs(owner) ? `${name} ${url}` : owner;
    const frame = isWithin ? caller : (caller.callees.get(key) ?? frameOf(name, owner));
    const own = self.get(id) ?? 0;
    frame.selfMicros += own;
    const called = (node.children ?? []).reduce((sum, callee) => sum + addTo(frame, callee), 0);
    if (isWithin) return own + called;
    frame.totalMicros += own + called;
    if (frame.totalMicros > 0) caller.callees.set(key, frame);
    return own + called;
  };
  for (const id of profile.nodes[0]?.children ?? []) root.totalMicros += addTo(root, id);
  return root;
}

/**
 * Whose function it is: a folder of ours such as `control-plane/access`, a package, or `Node`. Undefined for native code, whose time is
 * its caller's.
 */
export function ownerOf(name: string, url: string): string | undefined {
  const ofV8 = OF_V8.get(name);
  if (ofV8 !== undefined) return ofV8;
  if (url.startsWith('node:')) return 'Node';
  const innermost = [...url.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)(?=\/)/g)].at(-1)?.[1];
  if (innermost !== undefined) return innermost;
  // The last `src` of a path: a checkout may lie in a folder of that name.
  const [, program, folder] = /^.*\/([^/]+)\/src\/(?:([^/]+)\/)?/.exec(url) ?? [];
  return folder === undefined ? program : `${program}/${folder}`;
}

/** The share of the whole time that each owner's functions took themselves, the largest first. */
export function sharesOf(root: Frame): readonly (readonly [owner: string, share: number])[] {
  const micros = new Map<string, number>();
  const add = ({ callees }: Frame): void => {
    for (const callee of callees.values()) {
      micros.set(callee.owner, (micros.get(callee.owner) ?? 0) + callee.selfMicros);
      add(callee);
    }
  };
  add(root);
  return [...micros]
    .map(([owner, own]) => [owner, own / root.totalMicros] as const)
    .toSorted(([, one], [, other]) => other - one);
}
