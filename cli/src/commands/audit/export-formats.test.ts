import { readFileSync } from 'node:fs';
import { describe, expect, it, test } from 'vitest';
import type { ExportedEvent } from './event-lines.ts';
import { lineWriter } from './export-formats.ts';

const HOST = 'svault.example.com';
const EVENT: ExportedEvent = {
  vaultId: 'vlt_1',
  seq: 7,
  id: 'evt_1',
  eventType: 'AGENT_CREDENTIAL_ACCESS',
  timestamp: '2026-11-20T12:00:00.123Z',
  outcome: 'denied',
  hash: 'a'.repeat(64),
  previousHash: 'b'.repeat(64),
};
const FULL: ExportedEvent = {
  ...EVENT,
  ...{ agentId: 'agt_1', agentName: 'ci', proxyId: 'prx_1', proxyName: 'px', userId: 'usr_1' },
  ...{ userEmail: 'ada@example.org', adminKeyName: 'deploy', serviceName: 'github', count: 3 },
  detail: { code: 'NO_GRANT', name: 'n', policyId: 'pol_1', members: ['a', 'b'], forced: true },
  origin: {
    ...{ requestId: 'req_1', channel: 'rest', address: '2001:db8::1' },
    ...{ authenticatedBy: 'svagent_abc…', userAgent: 'curl/8' },
  },
};

/** The types of the control plane's log, in the reference that is made from its code. */
const TYPES = [
  ...readFileSync(new URL('../../../../docs/reference/audit-events.md', import.meta.url), 'utf8').matchAll(
    /^\| `([A-Z_]+)`/gm,
  ),
].map(([, type = '']) => type);

type Json = Readonly<Record<string, unknown>>;
/** An attribute: what its value is, and whether it is required. */
type Rule = 'string' | 'integer' | 'object' | 'json' | ObjectRule | readonly [ObjectRule];
interface ObjectRule {
  readonly required: readonly string[];
  readonly atLeastOne?: readonly string[];
  readonly attributes: Readonly<Record<string, Rule>>;
}

/*
 * The attributes of OCSF 1.8.0 that records may have, with the types of its dictionary, its requirements and its constraints:
 * schema.ocsf.io/1.8.0, classes api_activity, authentication and entity_management.
 */
const PRODUCT: ObjectRule = {
  required: [],
  atLeastOne: ['name', 'uid'],
  attributes: { name: 'string', uid: 'string', vendor_name: 'string', version: 'string' },
};
const NAMED = PRODUCT;
const USER: ObjectRule = {
  required: [],
  atLeastOne: ['account', 'name', 'uid'],
  attributes: { uid: 'string', name: 'string', email_addr: 'string', type_id: 'integer' },
};
const BASE: ObjectRule = {
  required: ['activity_id', 'category_uid', 'class_uid', 'metadata', 'severity_id', 'time', 'type_uid'],
  attributes: {
    ...{ activity_id: 'integer', category_uid: 'integer', class_uid: 'integer', type_uid: 'integer' },
    ...{ severity_id: 'integer', time: 'integer', count: 'integer', status_id: 'integer' },
    ...{ status: 'string', status_code: 'string', unmapped: 'json' },
    metadata: {
      required: ['product', 'version'],
      attributes: {
        ...{ version: 'string', uid: 'string', original_event_uid: 'string', event_code: 'string' },
        ...{ sequence: 'integer', original_time: 'string', tenant_uid: 'string' },
        ...{ correlation_uid: 'string', log_name: 'string', product: PRODUCT },
      },
    },
    actor: {
      required: [],
      atLeastOne: ['process', 'user', 'invoked_by', 'session', 'app_name', 'app_uid'],
      attributes: { user: USER, app_name: 'string' },
    },
    src_endpoint: {
      required: [],
      atLeastOne: ['ip', 'uid', 'name', 'hostname', 'svc_name'],
      attributes: { ip: 'string', name: 'string' },
    },
    http_request: { required: [], attributes: { user_agent: 'string', uid: 'string' } },
  },
};
const extended = (required: readonly string[], attributes: ObjectRule['attributes']): ObjectRule => ({
  ...BASE,
  required: [...BASE.required, ...required],
  attributes: { ...BASE.attributes, ...attributes },
});
const CLASSES: Readonly<Record<number, readonly [rule: ObjectRule, activities: readonly number[]]>> = {
  6003: [
    extended(['actor', 'api', 'src_endpoint'], {
      api: { required: ['operation'], attributes: { operation: 'string', service: NAMED } },
      resources: [
        {
          required: [],
          atLeastOne: ['name', 'uid'],
          attributes: { uid: 'string', name: 'string', type: 'string' },
        },
      ],
    }),
    [0, 1, 2, 3, 4, 99],
  ],
  3002: [
    // At least one of service and dst_endpoint.
    extended(['user', 'service'], {
      user: USER,
      service: NAMED,
      session: { required: [], attributes: { uid: 'string' } },
    }),
    [0, 1, 2, 3, 4, 5, 6, 7, 99],
  ],
  3004: [
    extended(['entity'], {
      entity: {
        required: [],
        atLeastOne: ['name', 'uid', 'device', 'group', 'org', 'policy', 'user'],
        attributes: { uid: 'string', name: 'string', type: 'string', type_id: 'integer' },
      },
    }),
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 99],
  ],
};

function problemsOf(value: unknown, rule: Rule, path: string): string[] {
  if (rule === 'json') return [];
  if (rule === 'integer') return Number.isSafeInteger(value) ? [] : [`${path} is no integer`];
  if (typeof rule === 'string')
    return typeof value === 'string' && value !== '' ? [] : [`${path} is no string`];
  if (Array.isArray(rule))
    return (value as readonly unknown[]).flatMap((item) =>
      problemsOf(item, (rule as readonly [ObjectRule])[0], path),
    );
  const { required, atLeastOne, attributes } = rule as ObjectRule;
  const members = value as Json;
  const has = (name: string): boolean => members[name] !== undefined;
  return [
    ...required.filter((name) => !has(name)).map((name) => `${path}.${name} is missing`),
    ...(atLeastOne === undefined || atLeastOne.some(has) ? [] : [`${path} has none of ${atLeastOne.join()}`]),
    ...Object.entries(members).flatMap(([name, member]) => {
      const inner = attributes[name];
      return inner === undefined
        ? [`${path}.${name} is unknown`]
        : problemsOf(member, inner, `${path}.${name}`);
    }),
  ];
}

const recordOf = (event: ExportedEvent): Json => JSON.parse(lineWriter({ as: 'ocsf' }, HOST)(event)) as Json;

function problemsIn(record: Json): string[] {
  const { class_uid: uid, activity_id: activity, type_uid: type, category_uid: category } = record;
  const [rule, activities] = CLASSES[uid as number] ?? [BASE, []];
  return [
    ...problemsOf(record, rule, 'record'),
    ...(activities.includes(activity as number)
      ? []
      : [`activity ${String(activity)} is not of ${String(uid)}`]),
    ...(type === (uid as number) * 100 + (activity as number) ? [] : ['type_uid']),
    ...(category === Math.floor((uid as number) / 1000) ? [] : ['category_uid']),
  ];
}

describe('a record of OCSF', () => {
  it.each(TYPES)(
    'is valid for %s, with every member and with none, and has a known activity',
    (eventType) => {
      for (const outcome of ['success', 'denied', 'rate_limited', 'error'])
        for (const event of [EVENT, FULL]) {
          const record = recordOf({ ...event, eventType, outcome });
          expect(problemsIn(record)).toEqual([]);
          expect(record['activity_id']).not.toBe(0);
          expect(record['time']).toBe(Date.UTC(2026, 10, 20, 12, 0, 0, 123));
          expect(record['status_id']).toBe(outcome === 'success' ? 1 : 2);
        }
    },
  );

  it('keeps in unmapped what it has no attribute for, and names who acted from where', () => {
    expect(TYPES.length).toBeGreaterThan(50);
    expect(recordOf(FULL)).toMatchObject({
      type_uid: 600302,
      severity_id: 2,
      status_code: 'NO_GRANT',
      count: 3,
      actor: { user: { uid: 'usr_1', email_addr: 'ada@example.org' }, app_name: 'deploy' },
      src_endpoint: { ip: '2001:db8::1' },
      metadata: { version: '1.8.0', uid: 'evt_1', sequence: 7, correlation_uid: 'req_1' },
      unmapped: { detail: FULL.detail, hash: FULL.hash, previousHash: FULL.previousHash, channel: 'rest' },
    });
    const { userId: _user, ...byAgent } = FULL;
    expect(recordOf(byAgent)).toMatchObject({ actor: { user: { uid: 'agt_1', name: 'ci', type_id: 4 } } });
    expect(recordOf({ ...byAgent, eventType: 'PROXY_CREDENTIAL_USE' })).toMatchObject({
      actor: { user: { uid: 'prx_1', name: 'px' } },
    });
  });

  it('is an API activity that is not known for a type of a newer control plane', () => {
    const record = recordOf({ ...FULL, eventType: 'INVENTED' });
    expect([problemsIn(record), record['type_uid']]).toEqual([[], 600300]);
  });
});

describe('a log record of OTLP', () => {
  // What a strict reader makes of it: cli/test/audit-export-otlp.clients.test.ts.
  const recordIn = (event: ExportedEvent): Json => {
    const { resourceLogs } = JSON.parse(lineWriter({ as: 'otlp' }, HOST)(event)) as {
      resourceLogs: [{ scopeLogs: [{ logRecords: [Json] }] }];
    };
    return resourceLogs[0].scopeLogs[0].logRecords[0];
  };

  it.each([
    ['success', 9, 'INFO'],
    ['denied', 13, 'WARN'],
    ['rate_limited', 13, 'WARN'],
    ['error', 17, 'ERROR'],
    ['constructor', 13, 'WARN'],
  ])('of the outcome %s has the severity %i', (outcome, severityNumber, severityText) => {
    expect(recordIn({ ...EVENT, outcome })).toMatchObject({ severityNumber, severityText });
  });

  it('is an error where the webhook’s log contradicts what was seen of it', () => {
    const event = { ...EVENT, eventType: 'WEBHOOK_LOG_CONTRADICTION', outcome: 'success' };
    expect(recordIn(event)).toMatchObject({ severityNumber: 17 });
  });

  it('has its time as a string, and no attribute without a value', () => {
    const { timeUnixNano, attributes } = recordIn(EVENT) as { timeUnixNano: string; attributes: Json[] };
    expect(timeUnixNano).toBe(`${BigInt(Date.parse(EVENT.timestamp)) * 1_000_000n}`);
    expect(attributes.map(({ key }) => key)).toEqual([
      ...['server.address', 'svault.vault_id', 'svault.seq', 'svault.event_id', 'svault.event_type'],
      ...['svault.outcome', 'svault.hash'],
    ]);
    expect(attributes[2]).toEqual({ key: 'svault.seq', value: { intValue: '7' } });
  });
});

/** RFC 5424 section 6, as a reader of the lines has it. */
const LINE =
  /^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([!-~]{1,255}) (svault) - ([!-~]{1,32}) (-|(?:\[[^ =\]"]{1,32}(?: [^ =\]"]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*\])+) (\{.*\})\n$/;

describe('a line of syslog', () => {
  const lineOf = (event: ExportedEvent, enterprise?: string): string =>
    lineWriter({ as: 'syslog', ...(enterprise !== undefined && { enterprise }) }, HOST)(event);

  it('is one of RFC 5424 that carries the whole event as JSON in ASCII', () => {
    const event = { ...FULL, serviceName: 'é\u2028😀\u0085' };
    const [, priority, time, host, , type, data, json = ''] = LINE.exec(lineOf(event)) ?? [];
    expect([priority, time, host, type, data]).toEqual(['108', EVENT.timestamp, HOST, EVENT.eventType, '-']);
    expect(json).toMatch(/^[ -~]+$/);
    expect(JSON.parse(json)).toEqual(event);
    expect(lineOf({ ...EVENT, outcome: 'success' })).toMatch(/^<110>1 /);
    expect(lineOf({ ...EVENT, outcome: 'error' })).toMatch(/^<107>1 /);
  });

  it('escapes structured data, so that no text of an agent ends its element or its line', () => {
    const origin = { userAgent: 'a"] [x@1 y="z\\"]\n<13>1 - forged' };
    const line = lineOf({ ...FULL, origin }, '99999');
    const [, , , , , , data = ''] = LINE.exec(line) ?? [];
    expect(data).toBe(
      `[svault@99999 seq="7" outcome="denied" agentId="agt_1" proxyId="prx_1" userId="usr_1" serviceName="github" hash="${EVENT.hash}" userAgent="a\\"\\] [x@1 y=\\"z\\\\\\"\\] <13>1 - forged" code="NO_GRANT"]`,
    );
    expect(line.indexOf('\n')).toBe(line.length - 1);
  });

  it('has nothing in its header that would end it', () => {
    const line = lineOf({ ...EVENT, eventType: 'A B\n] '.repeat(20) });
    expect(LINE.exec(line)?.[5]).toBe('AB]'.repeat(11).slice(0, 32));
  });
});

test.each([
  [{ as: 'jsonl', enterprise: '1' }, /--enterprise is for --as syslog/],
  [{ as: 'syslog', enterprise: '0' }, /private enterprise number/],
  [{ as: 'syslog', enterprise: '1] x' }, /private enterprise number/],
] as const)('%j is refused', (options, said) => {
  expect(() => lineWriter(options, HOST)).toThrow(said);
});
