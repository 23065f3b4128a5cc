import { parseTime, randomToken } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import { NotTestable } from '../../check/outcome.ts';
import type { Answer } from '../../http/client.ts';
import { header } from '../../http/read-answer.ts';
import { setUpApi } from '../../upstream/api-setup.ts';
import { setUpProxy, storeText } from '../../upstream/proxy-setup.ts';
import { pathBelow } from '../../approver/approver.ts';
import { metadataOf } from '../storage/holdings.ts';
import { givenRules } from '../proxy/ruled-record.ts';
import {
  approvalFor,
  ask,
  asked,
  freshSub,
  listed,
  OF_API,
  OF_CREDENTIAL,
  OF_PROXY,
  operationOf,
  setUpApprovedApi,
  storeApproved,
} from './approved-record.ts';

const MINUTE_MS = 60_000;
const LIFETIME_MS = 15 * MINUTE_MS;
const OPEN_PER_SUB = 20;
const OPEN_PER_RECORD = 100;

const setting = (members: object = {}): object => ({ by: 'passkey', for: ['credential'], ...members });

/** Protocol section 5.10: the sealed setting, and what a service asks. */
export const ASKING_CHECKS: readonly Check[] = [
  {
    id: 'approvals.listed',
    title: 'approval is listed with the record as it was stored, and left out where there is none',
    requirements: ['APR-01'],
    claims: ['store', 'storage', 'approvals'],
    run: async (tools) => {
      for (const approval of [
        setting(),
        setting({ for: ['proxy', 'credential'], standingSeconds: 60 }),
        setting({ for: ['proxy'], standingSeconds: 28_800 }),
      ]) {
        const { name } = await tools.given.text({ approval });
        const { answer, token } = await metadataOf(tools, name);
        const isSame = sorted(token['approval']) === sorted(approval);
        expectThat(isSame, answer, `approval ${JSON.stringify(approval)}`);
      }
      const { name } = await tools.given.text();
      const { answer, token } = await metadataOf(tools, name);
      expectThat((token['approval'] ?? null) === null, answer, 'no approval');
    },
  },
  {
    id: 'approvals.bad-setting',
    title: 'an approval of another form is refused, and nothing is stored',
    requirements: ['APR-02'],
    claims: ['store', 'approvals'],
    run: (tools) =>
      eachVariant<unknown>(
        {
          'another member': setting({ note: 'x' }),
          'another by': setting({ by: 'password' }),
          'no by': { for: ['credential'] },
          'no list': setting({ for: 'credential' }),
          'an empty list': setting({ for: [] }),
          'an operation twice': setting({ for: ['proxy', 'proxy'] }),
          'another operation': setting({ for: ['store'] }),
          'a standing of 59 seconds': setting({ standingSeconds: 59 }),
          'a standing of 28,801 seconds': setting({ standingSeconds: 28_801 }),
          'a standing with a fraction': setting({ standingSeconds: 60.5 }),
          'a standing that is a text': setting({ standingSeconds: '60' }),
          'a text': 'passkey',
        },
        async (approval) => {
          const name = tools.freshName();
          const body = { tokenType: 'PlainText', value: `canary-${randomToken()}` };
          expectRefusal(await tools.store(name, { ...body, approval }), 'INVALID_REQUEST');
          expectOk(await tools.store(name, body, { claims: { ifv: 0 } }));
        },
      ),
  },
  {
    id: 'approvals.asked',
    title:
      'a request has a random id, is pending for 15 minutes, and is decided at an address of the webhook',
    requirements: ['APR-09', 'APR-12'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools);
      const ids = new Set<string>();
      for (let turn = 0; turn < 3; turn++) {
        const words = { name: 'ö'.repeat(100), reason: '😀'.repeat(250) };
        const { answer, id, status, askedAt, expiresAt, url } = await asked(tools, {
          ...{ serviceName, sub: freshSub() },
          ...words,
        });
        const lifetime = (parseTime(expiresAt) ?? 0) - (parseTime(askedAt) ?? 0);
        expectThat(status === 'pending', answer, 'the status pending');
        expectThat(lifetime === LIFETIME_MS, answer, 'an end 15 minutes after askedAt');
        pathBelow(tools, url, answer);
        ids.add(id.slice(0, 14));
        expectThat(ids.size === turn + 1, answer, 'an id that is another from its beginning on');
      }
    },
  },
  {
    id: 'approvals.asked-again',
    title: 'a request for the same use by the same caller is the one that is pending, whatever its words are',
    requirements: ['APR-10'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools);
      const sub = freshSub();
      const first = await asked(tools, { serviceName, sub, reason: 'for the report' });
      const again = await asked(tools, { serviceName, sub, reason: 'for another one', name: 'Ana' });
      expectThat(again.id === first.id, again.answer, 'the id of the first request');
      expectThat(again.expiresAt === first.expiresAt, again.answer, 'the end of the first request');
      const others = await asked(tools, { serviceName, sub: freshSub() });
      expectThat(others.id !== first.id, others.answer, 'another id for another caller');
    },
  },
  {
    id: 'approvals.asked-again-by-proxy',
    title: 'calls that differ in what a decision does not cover are one request, and all others are not',
    requirements: ['APR-10', 'APR-16'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools);
      const call = { method: 'POST', target: '/a?b=c', body: 'x', headers: [['x-b', '1']] } as const;
      const { id } = await asked(tools, api.asking(call));
      const same = {
        ...call,
        headers: [
          ['x-b', '1'],
          ['traceparent', '00-1'],
          ['user-agent', 'x'],
        ],
      } as const;
      const again = await asked(tools, api.asking(same));
      expectThat(again.id === id, again.answer, 'the id of the first request');
      await eachVariant<object>(
        {
          'another method': { ...call, method: 'PUT' },
          'another path': { ...call, target: '/A?b=c' },
          'another query': { ...call, target: '/a?b=d' },
          'another body': { ...call, body: 'y' },
          'another value of a field': { ...call, headers: [['x-b', '2']] },
          'another field': { ...call, headers: [['x-c', '1']] },
          'another version of the API': {
            ...call,
            headers: [...call.headers, ['accept', 'application/vnd.v2']],
          },
        },
        async (other) => {
          const { answer, id: its } = await asked(tools, api.asking(other));
          expectThat(its !== id, answer, 'another request');
        },
      );
    },
  },
  {
    id: 'approvals.not-required',
    title:
      'where the record asks for no approval of a use the answer is not_required, and the use needs none',
    requirements: ['APR-05', 'APR-03'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const sub = freshSub();
      for (const settings of [{}, approvalFor('proxy')]) {
        const { name: serviceName } = await tools.given.text(settings);
        const answer = await ask(tools, { serviceName, sub });
        const { status, id } = expectOk(answer);
        expectThat(status === 'not_required' && id === undefined, answer, '{ status: not_required }');
        expectOk(await tools.fetchCredential(tools.ticket('credential', serviceName, { claims: { sub } })));
      }
    },
  },
  {
    id: 'approvals.not-required-by-proxy',
    title: 'a record whose deliveries need an approval is put into calls without one',
    requirements: ['APR-05', 'APR-03'],
    claims: OF_PROXY,
    run: async (tools) => {
      const record = await storeText(tools, approvalFor('credential'));
      const { proxyId, call, place, name } = await setUpProxy(tools, { record });
      const operation = operationOf(proxyId, {});
      const answer = await ask(tools, { serviceName: name, sub: freshSub(), operation });
      expectThat(expectOk(answer)['status'] === 'not_required', answer, '{ status: not_required }');
      const called = await call();
      expectThat(place.calls.length === 1, called, 'a call of the upstream');
    },
  },
  {
    id: 'approvals.unknown',
    title: 'a request for a record or a proxy that is not there is answered with 404',
    requirements: ['APR-06'],
    claims: ['store', 'storage', 'approvals'],
    run: async (tools) => {
      const sub = freshSub();
      expectRefusal(await ask(tools, { serviceName: tools.freshName(), sub }), 'NOT_FOUND', 'no record');
      const { name: serviceName } = await tools.given.text(approvalFor('proxy'));
      const operation = operationOf(tools.freshProxyId(), {});
      expectRefusal(await ask(tools, { serviceName, sub, operation }), 'NOT_FOUND', 'no proxy');
    },
  },
  {
    id: 'approvals.asked-in-vain',
    title: 'a request for a delivery that the record does not allow is refused as the delivery is',
    requirements: ['APR-06'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text({
        ...approvalFor('credential'),
        ...{ delivery: 'proxy-only', allowedHosts: ['api.example'] },
      });
      expectRefusal(await ask(tools, { serviceName, sub: freshSub() }), 'DELIVERY_NOT_ALLOWED');
    },
  },
  {
    id: 'approvals.asked-in-vain-by-proxy',
    title: 'a request for a call that would be refused is refused in the same way',
    requirements: ['APR-06'],
    claims: [...OF_API, 'request-rules'],
    run: async (tools) => {
      const settings = approvalFor('proxy');
      const ruled = await givenRules(tools, (base) => [{ methods: ['GET'], paths: [`${base}/a`] }], {
        settings,
      });
      const record = { name: ruled.name, value: ruled.value };
      const { place } = ruled;
      const api = await setUpApi(tools, { record, place });
      const other = await setUpApi(tools, { place });
      const mcp = await setUpProxy(tools, { record });
      const stray = { 'x-stray': '${TOKEN}' };
      const strayed = await setUpApi(tools, { record, place, headerTemplates: stray });
      const asking = (proxyId: string, call: object): Promise<Answer> =>
        ask(tools, { serviceName: ruled.name, sub: freshSub(), operation: operationOf(proxyId, call) });
      const get = { method: 'GET', target: '/a' };
      const destination = 'DESTINATION_NOT_ALLOWED';
      const { allowedHost } = await tools.given.upstream();
      for (const name of [ruled.name.toUpperCase(), ruled.name.slice(0, -1)]) {
        const body = {
          tokenType: 'PlainText',
          value: `canary-${randomToken()}`,
          allowedHosts: [allowedHost],
        };
        expectOk(await tools.store(name, { ...body, ...settings }));
        const operation = operationOf(api.proxyId, get);
        const answer = await ask(tools, { serviceName: name, sub: freshSub(), operation });
        expectRefusal(answer, destination, `a proxy of ${ruled.name} for ${name}`);
      }
      expectRefusal(await asking(other.proxyId, get), destination, 'a proxy of another record');
      expectRefusal(await asking(strayed.proxyId, get), destination, 'a header that is not allowed');
      expectRefusal(await asking(api.proxyId, { method: 'GET' }), destination, 'no target for an API');
      expectRefusal(await asking(mcp.proxyId, get), destination, 'a target for a server of MCP');
      expectRefusal(
        await asking(mcp.proxyId, { method: 'PUT' }),
        destination,
        'a method that is none of MCP',
      );
      const denied = 'REQUEST_NOT_ALLOWED';
      expectRefusal(await asking(api.proxyId, { ...get, target: '/b' }), denied, 'another path');
      expectRefusal(await asking(api.proxyId, { ...get, method: 'PUT' }), denied, 'another method');
      expectRefusal(await asking(api.proxyId, { ...get, target: '/a/../b' }), denied, 'a dot segment');
      const answer = await asking(api.proxyId, get);
      expectThat(expectOk(answer)['status'] === 'pending', answer, 'a request for a call that is allowed');
      const list = await listed(tools, [String(expectOk(answer)['id'])]);
      expectThat(list.items.length === 1, list.answer, 'that request in a list');
    },
  },
  {
    id: 'approvals.bad-request',
    title: 'a request that is too long, or of another form, is answered with 400',
    requirements: ['APR-08'],
    claims: OF_API,
    run: async (tools) => {
      const { name: serviceName, proxyId, sub } = await setUpApprovedApi(tools);
      const call = { type: 'proxy', proxyId, method: 'POST', target: '/a' };
      const bodyDigest = `sha-256=:${Buffer.alloc(32).toString('base64')}:`;
      const bytes = (count: number): string => Buffer.alloc(count).toString('base64');
      const fields = (count: number, size: number): object =>
        Array.from({ length: count }, (_, at) => [`x-${at}`.padEnd(5, '_'), 'x'.repeat(size - 5)]);
      const right = { serviceName, sub, operation: call };
      const digested = (by: unknown): object => ({
        ...right,
        operation: { ...call, bodyDigest: by, bodyBytes: 20_000 },
      });
      await eachVariant<object>(
        {
          'a name of 101 characters': { ...right, name: 'n'.repeat(101) },
          'a reason of 501 characters': { ...right, reason: 'r'.repeat(501) },
          'a reason that is no text': { ...right, reason: ['x'] },
          'a body of 16 KiB and a byte': { ...right, operation: { ...call, body: bytes(16 * 1024 + 1) } },
          'a body that is no base64': { ...right, operation: { ...call, body: 'a' } },
          '101 fields': { ...right, operation: { ...call, fields: fields(101, 10) } },
          'more than 16 KiB of fields': { ...right, operation: { ...call, fields: fields(65, 256) } },
          'fields that are no pairs': { ...right, operation: { ...call, fields: [['x-a']] } },
          'a field that is a text': { ...right, operation: { ...call, fields: ['xa'] } },
          'a field whose value is no text': { ...right, operation: { ...call, fields: [['x-a', 1]] } },
          'a digest without a length': { ...right, operation: { ...call, bodyDigest } },
          'a body and its digest': {
            ...right,
            operation: { ...call, body: bytes(3), bodyDigest, bodyBytes: 3 },
          },
          'another algorithm of a digest': digested(bodyDigest.replace('256', '512')),
          'a digest with more before it': digested(`x${bodyDigest}`),
          'a digest with more behind it': digested(`${bodyDigest}x`),
          'a digest in capitals': digested(bodyDigest.toUpperCase()),
          'a digest that is no text': digested([bodyDigest]),
          'another operation': { ...right, operation: { type: 'store' } },
          'another operation with the members of a call': { ...right, operation: { ...call, type: 'store' } },
          'a call without a method': { ...right, operation: { ...call, method: undefined } },
          'a call without a proxy': { ...right, operation: { ...call, proxyId: undefined } },
          'no operation': { serviceName, sub, operation: undefined },
        },
        async (body) =>
          expectRefusal(
            await tools.signed({ method: 'POST', path: '/v1/approvals', body }),
            'INVALID_REQUEST',
          ),
      );
      await eachVariant<object>(
        {
          'a body of 16 KiB': { ...call, body: bytes(16 * 1024) },
          '100 fields': { ...call, fields: fields(100, 10) },
          '16 KiB of fields': { ...call, fields: fields(64, 256) },
          'the digest of a longer body': { ...call, bodyDigest, bodyBytes: 20_000 },
        },
        async (operation) => void (await asked(tools, { serviceName, sub, operation: { ...operation } })),
      );
    },
  },
  {
    id: 'approvals.limits',
    title: '20 requests of a caller and 100 for a record may be pending, and the next are answered with 429',
    requirements: ['APR-11', 'TRN-24'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const sub = freshSub();
      const names = await Promise.all(Array.from({ length: 3 }, () => storeApproved(tools)));
      const [one, other] = names;
      if (one === undefined || other === undefined) throw new NotTestable('there are no records');
      const api = { by: 'sub', open: OPEN_PER_SUB };
      for (let at = 0; at < api.open; at++) {
        const { name: serviceName } = await storeApproved(tools);
        await asked(tools, { serviceName, sub });
      }
      const refused = await ask(tools, { serviceName: one.name, sub });
      expectRefusal(refused, 'RATE_LIMITED', 'the 21st of a caller');
      expectThat(/^\d+$/.test(header(refused, 'retry-after') ?? ''), refused, 'a Retry-After');
      await asked(tools, { serviceName: one.name, sub: freshSub() });
      for (let at = 1; at < OPEN_PER_RECORD; at++)
        await asked(tools, { serviceName: one.name, sub: freshSub() });
      const late = await ask(tools, { serviceName: one.name, sub: freshSub() });
      expectRefusal(late, 'RATE_LIMITED', 'the 101st for a record');
      await asked(tools, { serviceName: other.name, sub: freshSub() });
    },
  },
  {
    id: 'approvals.list',
    title: 'a list has the states of the requests that are known, and leaves out the others',
    requirements: ['APR-13'],
    claims: ['store', 'approvals'],
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools);
      const [one, other] = [
        await asked(tools, { serviceName, sub: freshSub() }),
        await asked(tools, { serviceName, sub: freshSub() }),
      ];
      const unknown = Array.from({ length: 98 }, () => `apr_${randomToken()}`);
      const { answer, items } = await listed(tools, [one.id, ...unknown, other.id]);
      const found = new Map(items.map((item) => [item['id'], item]));
      expectThat(items.length === 2 && found.size === 2, answer, 'the two requests that are known');
      for (const { id, expiresAt } of [one, other]) {
        const isRight = found.get(id)?.['status'] === 'pending' && found.get(id)?.['expiresAt'] === expiresAt;
        expectThat(isRight, answer, 'both of them pending, with their ends');
      }
      for (const ids of [[], ['agt_1'], [one.id, ...unknown, other.id, one.id], undefined])
        expectRefusal(
          await tools.signed({ method: 'POST', path: '/v1/approvals/list', body: { ids } }),
          'INVALID_REQUEST',
          `${ids?.length ?? 'no'} ids`,
        );
    },
  },
];

const sorted = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );
