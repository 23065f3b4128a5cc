import { expect, test } from 'vitest';
import { type CpuProfile, callsWithin, ownerOf, sharesOf } from './profile.ts';
import { flameGraph } from './svg.ts';

const OURS = 'file:///home/src/svault/control-plane/src/access/pipeline.ts';
const node = (id: number, functionName: string, url: string, children: number[] = []) => ({
  id,
  callFrame: { functionName, url },
  children,
});
const PROFILE: CpuProfile = {
  nodes: [
    node(1, '(root)', '', [2, 6, 7]),
    node(2, 'run<Pipeline>', OURS, [3]),
    node(3, 'exec', '', [4]),
    node(4, 'emit', 'node:events', [5]),
    node(5, 'write', 'node:net'),
    node(6, '(idle)', ''),
    node(7, '(garbage collector)', ''),
  ],
  startTime: 1_000,
  samples: [2, 3, 5, 6, 7, 4, 2],
  timeDeltas: [100, 100, 100, 100, 100, 100, 100],
};

test('a window of a profile has the calls in it, those within Node as one, without the time in which the program waited', () => {
  const root = callsWithin(PROFILE, 1_200, 1_600);
  const [run, collector] = [...root.callees.values()];
  const [exec] = run!.callees.values();
  expect(root.totalMicros).toBe(400);
  expect(run).toMatchObject({ name: 'run<Pipeline>', selfMicros: 0, totalMicros: 300 });
  expect(exec).toMatchObject({ name: 'exec', selfMicros: 100, totalMicros: 300 });
  expect([...exec!.callees.values()]).toEqual([
    { name: 'Node', owner: 'Node', selfMicros: 200, totalMicros: 200, callees: new Map() },
  ]);
  expect(collector).toMatchObject({ selfMicros: 100, totalMicros: 100 });
  expect(sharesOf(root)).toEqual([
    ['Node', 0.5],
    ['control-plane/access', 0.25],
    ['garbage collection', 0.25],
  ]);
});

test('a function is its folder’s, its package’s or Node’s, and native code its caller’s', () => {
  expect(ownerOf('run', OURS)).toBe('control-plane/access');
  expect(ownerOf('start', 'file:///srv/svault/webhook/src/serve.ts')).toBe('webhook');
  expect(ownerOf('deep', 'file:///srv/control-plane/src/store/kysely/audit-store.ts')).toBe(
    'control-plane/store',
  );
  expect(ownerOf('parse', 'file:///srv/node_modules/@noble/hashes/esm/sha2.js')).toBe('@noble/hashes');
  expect(ownerOf('get', 'file:///srv/node_modules/express/node_modules/router/index.js')).toBe('router');
  expect(ownerOf('emit', 'node:events')).toBe('Node');
  expect(ownerOf('exec', '')).toBeUndefined();
  expect(ownerOf('constructor', '')).toBeUndefined();
});

test('a flame graph draws each frame over its caller and escapes its name', () => {
  const svg = flameGraph(callsWithin(PROFILE, 1_200, 1_600), 'A call');
  expect(svg).toContain('<title>run&lt;Pipeline&gt; (control-plane/access), 75.0 %</title>');
  expect([...svg.matchAll(/<title>(\S+).*?<rect x="([\d.]+)" y="(-\d+)"/g)].map(([, ...box]) => box)).toEqual(
    [
      ['run&lt;Pipeline&gt;', '8.0', '-17'],
      ['exec', '8.0', '-34'],
      ['Node', '8.0', '-51'],
      ['garbage', '896.0', '-17'],
    ],
  );
});
