/** Logs of OTLP as a reader takes them that rejects every name and type that the protocol does not have. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pythonEnvironment } from '@svault/test-kit/foreign-packages';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ExportedEvent } from '../../src/commands/audit/event-lines.ts';
import { lineWriter } from '../../src/commands/audit/export-formats.ts';
import { type PairAndPeople, pairAndPeople } from '../pair-and-people.ts';

const READER = `
import json, sys
from google.protobuf.json_format import Parse
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.logs.v1.logs_pb2 import SeverityNumber

def plain(value):
    kind = value.WhichOneof('value')
    if kind == 'kvlist_value':
        return members(value.kvlist_value.values)
    if kind == 'array_value':
        return [plain(each) for each in value.array_value.values]
    return None if kind is None else getattr(value, kind)

def members(pairs):
    return {pair.key: plain(pair.value) for pair in pairs}

for line in sys.stdin.buffer:
    request = Parse(line, ExportLogsServiceRequest())
    request.SerializeToString()
    [of_resource] = request.resource_logs
    [of_scope] = of_resource.scope_logs
    [record] = of_scope.log_records
    print(json.dumps({
        'resource': members(of_resource.resource.attributes),
        'scope': of_scope.scope.name,
        'time': record.time_unix_nano // 1000000,
        'observed': record.observed_time_unix_nano // 1000000,
        'severity': SeverityNumber.Name(record.severity_number),
        'name': record.event_name,
        'attributes': members(record.attributes),
        'body': plain(record.body),
    }))
`;

interface ReadRecord {
  readonly resource: unknown;
  readonly scope: string;
  readonly time: number;
  readonly observed: number;
  readonly severity: string;
  readonly name: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly body: ExportedEvent;
}

let people: PairAndPeople;
let python: string;
beforeAll(async () => {
  [people, python] = await Promise.all([
    pairAndPeople(),
    pythonEnvironment(join(import.meta.dirname, 'requirements.txt')),
  ]);
  const agent = await people.agent('ci', 'github');
  for (const name of ['github', 'npm']) await agent.svault(['get', name]);
});
afterAll(() => people.close());

/** @throws Error with what the reader says of a line */
const read = (lines: string): readonly ReadRecord[] =>
  execFileSync(python, ['-c', READER], { input: lines, encoding: 'utf8', stdio: 'pipe' })
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ReadRecord);

async function exported(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await people.admin.svault(['audit', 'export', ...args]);
  expect([code, err]).toEqual([0, '']);
  return out;
}

test('audit export --as otlp writes records with the whole event, and goes on behind its state file', async () => {
  const [to, state] = ['audit.otlp.jsonl', 'otlp.state'].map((name) => join(people.admin.dir, name));
  const startedAt = Date.now();
  for (const verb of ['lock', 'unlock']) {
    await people.admin.svault(['vault', verb]);
    await exported('--as', 'otlp', '--state', state!, '--to', to!);
  }
  const events = (await exported())
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as ExportedEvent);
  const records = read(readFileSync(to!, 'utf8'));
  expect(records.map(({ body }) => body)).toEqual(events);
  for (const { resource, scope, time, observed, name, attributes, body } of records) {
    expect([resource, scope]).toEqual([{ 'service.name': 'svault-control-plane' }, 'svault.audit']);
    expect(time).toBe(Date.parse(body.timestamp));
    expect(observed).toBeGreaterThanOrEqual(startedAt);
    expect(name).toBe(`svault.audit.${body.eventType.toLowerCase()}`);
    expect(attributes).toMatchObject({ 'svault.seq': body.seq, 'svault.hash': body.hash });
  }
  const denied = records.find(({ severity }) => severity === 'SEVERITY_NUMBER_WARN');
  expect(denied?.attributes).toMatchObject({ 'svault.service_name': 'npm', 'svault.outcome': 'denied' });
});

test('every member and every text of an event is one of OTLP', () => {
  const event: ExportedEvent = {
    ...{ vaultId: 'vlt_1', seq: 2 ** 53 - 1, id: 'evt_1', eventType: 'KEY_ROTATED', outcome: 'error' },
    ...{ timestamp: '2026-11-20T12:00:00.123Z', hash: 'a'.repeat(64), previousHash: 'b'.repeat(64) },
    ...{
      agentId: 'agt_1',
      proxyId: 'prx_1',
      userId: 'usr_1',
      serviceName: 'é\u2028😀\u0000\ud800',
      count: 3,
    },
    detail: { code: 'NO_GRANT', members: ['a', 'b'], none: [], forced: true, left: -1 },
    origin: {
      ...{ requestId: 'req_1', channel: 'rest', address: '2001:db8::1' },
      ...{ authenticatedBy: 'svagent_abc…', userAgent: 'curl/8\n{"resourceLogs":[]}' },
    },
    // Of a newer control plane.
    ...{ ratio: 0.5, nothing: null },
  };
  const lineOf = lineWriter({ as: 'otlp' }, 'svault.example.com');
  const [record] = read(lineOf({ ...event, 'a\udc00': { b: {} } }));
  const serviceName = 'é\u2028😀\u0000\ufffd';
  expect(record).toEqual({
    resource: { 'service.name': 'svault-control-plane' },
    scope: 'svault.audit',
    time: Date.parse(event.timestamp),
    observed: expect.any(Number),
    severity: 'SEVERITY_NUMBER_ERROR',
    name: 'svault.audit.key_rotated',
    attributes: {
      ...{ 'server.address': 'svault.example.com', 'client.address': '2001:db8::1' },
      ...{ 'user_agent.original': event.origin?.userAgent, 'svault.vault_id': 'vlt_1' },
      ...{ 'svault.seq': event.seq, 'svault.event_id': 'evt_1', 'svault.event_type': 'KEY_ROTATED' },
      ...{ 'svault.outcome': 'error', 'svault.code': 'NO_GRANT', 'svault.agent_id': 'agt_1' },
      ...{ 'svault.proxy_id': 'prx_1', 'svault.user_id': 'usr_1', 'svault.request_id': 'req_1' },
      ...{ 'svault.service_name': serviceName, 'svault.channel': 'rest' },
      ...{ 'svault.hash': event.hash },
    },
    body: { ...event, serviceName, 'a\ufffd': { b: {} } },
  });
});

test('the reader rejects a name that OTLP does not have, and a number in place of a text', () => {
  const rejects = (line: object) => expect(() => read(`${JSON.stringify(line)}\n`)).toThrow(/ParseError/);
  rejects({ resourceLogs: [{ scope_log: [] }] });
  rejects({ resourceLogs: [{ scopeLogs: [{ logRecords: [{ eventName: 7 }] }] }] });
});
