import { isWebhookErrorCode } from '@svault/shared';
import type { Check } from '../../check/check.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Answer } from '../../http/client.ts';
import type { Tools } from '../../check/tools.ts';
import { isMembers } from './holdings.ts';

const CLAIMS = ['storage'] as const;
type Members = Readonly<Record<string, unknown>>;

/** A batch's results. @throws CheckFailed where there is not one for each operation */
export function resultsOf(answer: Answer, count: number): readonly Members[] {
  const { results } = expectOk(answer);
  expectThat(
    Array.isArray(results) && results.length === count && results.every(isMembers),
    answer,
    `results, a list of ${count} objects`,
  );
  return results;
}

/** Expects that a result is the body of a refusal. */
export function expectError(answer: Answer, result: Members | undefined, code: string, what: string): void {
  expectThat(
    result !== undefined && result['code'] === code && typeof result['error'] === 'string',
    answer,
    `{ error, code: ${code} } as the result of ${what}`,
  );
}

function put(
  tools: Tools,
  upstreamUrl = 'https://api.example/',
): { readonly op: string; readonly proxyId: string } {
  const config = { serviceName: 'svault-conformance', upstreamUrl, headerTemplates: {} };
  return { op: 'proxies.put', proxyId: tools.freshProxyId(), ...config };
}

/** Protocol section 5.3, batches. */
export const STORAGE_BATCH_CHECKS: readonly Check[] = [
  {
    id: 'storage.batch',
    title: 'a batch of one and a batch of a hundred have a result for each operation, in order',
    requirements: ['STO-06', 'STO-07', 'STO-08'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name } = await tools.given.text();
      const known = { op: 'tokens.get', serviceName: name };
      const [only] = resultsOf(await tools.storage({ batch: [known] }), 1);
      const unknown = { op: 'tokens.get', serviceName: tools.freshName() };
      const batch = Array.from({ length: 100 }, (_, index) => (index % 7 === 3 ? known : unknown));
      const answer = await tools.storage({ batch });
      expectThat(only?.['serviceName'] === name, answer, 'the token as the one result');
      for (const [index, result] of resultsOf(answer, 100).entries()) {
        if (batch[index] === unknown) expectError(answer, result, 'NOT_FOUND', `operation ${index}`);
        else
          expectThat(result['serviceName'] === name, answer, `the token as the result of operation ${index}`);
      }
    },
  },
  {
    id: 'storage.batch-size',
    title: 'a batch of none, of 101, or that is no list is refused, and nothing of it is done',
    requirements: ['STO-06'],
    claims: CLAIMS,
    run: async (tools) => {
      const first = put(tools);
      const batch = [first, ...Array.from({ length: 100 }, () => ({ op: 'tokens.list', limit: 1 }))];
      expectRefusal(await tools.storage({ batch }), 'INVALID_REQUEST', 'a batch of 101');
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId: first.proxyId }), 'NOT_FOUND');
      expectRefusal(await tools.storage({ batch: [] }), 'INVALID_REQUEST', 'a batch of none');
      expectRefusal(await tools.storage({ batch: first }), 'INVALID_REQUEST', 'a batch that is no list');
    },
  },
  {
    id: 'storage.batch-order',
    title: 'each operation of a batch sees what those before it did, and nothing of those after it',
    requirements: ['STO-07'],
    claims: CLAIMS,
    run: async (tools) => {
      const config = put(tools);
      const { proxyId } = config;
      const get = { op: 'proxies.get', proxyId };
      const remove = { op: 'proxies.delete', proxyId };
      const batch = [get, config, get, remove, get, remove, config];
      const answer = await tools.storage({ batch });
      const [none, written, there, deleted, gone, again, anew] = resultsOf(answer, batch.length);
      expectError(answer, none, 'NOT_FOUND', 'the first get');
      expectThat(written?.['proxyId'] === proxyId, answer, 'the configuration as the result of the put');
      expectThat(there?.['proxyId'] === proxyId, answer, 'the configuration behind the put');
      expectThat(deleted?.['deleted'] === true, answer, 'deleted true');
      expectError(answer, gone, 'NOT_FOUND', 'the get behind the delete');
      expectThat(again?.['deleted'] === false, answer, 'deleted false the second time');
      expectThat(anew?.['proxyId'] === proxyId, answer, 'the configuration as the result of the last put');
      expectOk(await tools.storage(get));
    },
  },
  {
    id: 'storage.batch-errors',
    title: 'an operation of a batch that is refused stops no other',
    requirements: ['STO-07', 'STO-08'],
    claims: CLAIMS,
    run: async (tools) => {
      const [first, middle, last] = [put(tools), put(tools), put(tools)];
      const wrong = [
        { op: 'tokens.get', serviceName: tools.freshName() },
        { op: 'tokens.nothing' },
        { op: 'tokens.list', limit: 0 },
        { ...put(tools), ifVersion: 7 },
        ...[null, 7, 'tokens.list', [{ op: 'tokens.list' }]],
      ];
      const batch = [first, ...wrong.slice(0, 2), middle, ...wrong.slice(2), last];
      const answer = await tools.storage({ batch });
      const results = resultsOf(answer, batch.length);
      for (const [index, operation] of batch.entries()) {
        const result = results[index];
        const right = operation === first || operation === middle || operation === last;
        if (right) expectThat(result?.['version'] === 1, answer, `a configuration as result ${index}`);
        else
          expectThat(
            isWebhookErrorCode(String(result?.['code'])) && typeof result?.['error'] === 'string',
            answer,
            `{ error, code } as result ${index}`,
          );
      }
      for (const { proxyId } of [first, middle, last])
        expectOk(await tools.storage({ op: 'proxies.get', proxyId }));
    },
  },
  {
    id: 'storage.batch-as-alone',
    title: 'an operation of a batch is refused for what it is refused for alone, and does nothing then',
    requirements: ['STO-04', 'STO-08', 'STO-11', 'STO-17', 'STO-20'],
    claims: CLAIMS,
    run: async (tools) => {
      await tools.given.text();
      const { name: serviceName } = await tools.given.text({ allowedHeaders: ['x-mine'] });
      const alone = expectOk(await tools.storage({ op: 'tokens.get', serviceName }));
      const config = put(tools);
      const { proxyId } = config;
      expectOk(await tools.storage(config));
      const refused = [
        ['SECRET_FIELD', { op: 'tokens.get', serviceName, more: [{ Password: 'x' }] }],
        ['SECRET_FIELD', { op: 'tokens.delete', serviceName, secret: 'x' }],
        ['VERSION_CONFLICT', { op: 'tokens.delete', serviceName, ifVersion: 7 }],
        ['VERSION_CONFLICT', { op: 'proxies.delete', proxyId, ifVersion: 7 }],
        ['VERSION_CONFLICT', { ...put(tools), proxyId, upstreamUrl: 'https://b.example/', ifVersion: 7 }],
        ['INVALID_REQUEST', { ...config, upstreamUrl: 'https://me@api.example/' }],
        ['INVALID_REQUEST', { op: 'tokens.list', limit: 501 }],
        ['INVALID_REQUEST', { op: 'proxies.list', limit: 501 }],
        ['INVALID_REQUEST', { op: 'audit.list', limit: 101 }],
        ['INVALID_REQUEST', { op: 'audit.append', events: 'none' }],
      ] as const;
      const still = [
        { op: 'tokens.list', limit: 1 },
        { op: 'tokens.list', limit: 500 },
        { op: 'tokens.get', serviceName },
        { op: 'proxies.get', proxyId },
        { op: 'tokens.delete', serviceName, ifVersion: 1 },
        { op: 'proxies.delete', proxyId, ifVersion: 1 },
        // What is not there is not there, whatever ifVersion says (STO-20).
        { op: 'tokens.delete', serviceName, ifVersion: 1 },
        { op: 'proxies.delete', proxyId, ifVersion: 1 },
      ];
      const batch = [...refused.map(([, operation]) => operation), ...still];
      const answer = await tools.storage({ batch });
      const results = resultsOf(answer, batch.length);
      for (const [at, [code, operation]] of refused.entries())
        expectError(answer, results[at], code, JSON.stringify(operation));
      const [page, whole, token, kept, ...deletions] = results.slice(refused.length);
      expectThat(
        typeof page?.['nextCursor'] === 'string',
        answer,
        'a nextCursor behind the first of several',
      );
      expectThat(Array.isArray(whole?.['items']), answer, 'items of a page of 500');
      const [deleted, again] = [deletions.slice(0, 2), deletions.slice(2)];
      expectThat(
        again.every((each) => each['deleted'] === false),
        answer,
        'deleted false the second time',
      );
      const same = JSON.stringify(token) === JSON.stringify(alone);
      expectThat(same, answer, 'the token, still there, as tokens.get returns it alone');
      expectThat(kept?.['upstreamUrl'] === 'https://api.example/', answer, 'the configuration as it was');
      expectThat(
        deleted.every((each) => each['deleted'] === true),
        answer,
        'deleted with the version that is stored',
      );
      if (!tools.claims.has('credential')) return;
      const gone = await tools.fetchCredential(tools.ticket('credential', serviceName));
      expectRefusal(gone, 'NOT_FOUND', 'what a batch deleted');
    },
  },
  {
    id: 'storage.batch-in-batch',
    title: 'a batch inside a batch is refused, and nothing of it is done',
    requirements: ['STO-09'],
    claims: CLAIMS,
    run: async (tools) => {
      const inner = put(tools);
      const answer = await tools.storage({ batch: [{ op: 'tokens.list', limit: 1 }, { batch: [inner] }] });
      // The whole of it may be refused, or the one operation that it is.
      if (answer.status === 200)
        expectError(answer, resultsOf(answer, 2)[1], 'INVALID_REQUEST', 'the inner batch');
      else expectRefusal(answer, 'INVALID_REQUEST');
      expectRefusal(await tools.storage({ op: 'proxies.get', proxyId: inner.proxyId }), 'NOT_FOUND');
    },
  },
  {
    id: 'storage.unknown-operation',
    title: 'an operation that there is not is refused, also without a name',
    requirements: ['STO-10'],
    claims: CLAIMS,
    run: async (tools) => {
      const { name: serviceName } = await tools.given.text();
      for (const op of ['tokens.put', 'TOKENS.GET', 'tokens.get ', '', 'constructor', 7, ['tokens.get']]) {
        const answer = await tools.storage({ op, serviceName });
        expectRefusal(answer, 'INVALID_REQUEST', `op ${JSON.stringify(op)}`);
      }
      expectRefusal(await tools.storage({ serviceName }), 'INVALID_REQUEST', 'a request without op');
      expectRefusal(await tools.storage({}), 'INVALID_REQUEST', 'an empty object');
    },
  },
];
