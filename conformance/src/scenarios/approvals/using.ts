import { givenApprover } from '../../approver/approver.ts';
import type { Check } from '../../check/check.ts';
import { eachVariant } from '../../check/each-variant.ts';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { setUpApi } from '../../upstream/api-setup.ts';
import { expectAsked, givenRefreshable } from '../refresh/refreshable.ts';
import { givenRules, json, toolCall } from '../proxy/ruled-record.ts';
import {
  approvalFor,
  asked,
  expectStatus,
  expectUnapproved,
  fetchFor,
  freshSub,
  OF_API,
  OF_CREDENTIAL,
  OF_PROXY,
  OTHER_METHODS,
  setUpApprovedApi,
  setUpApprovedMcp,
  storeApproved,
  type ApprovableCall,
  type ApprovedProxy,
  type Approval,
} from './approved-record.ts';

/** Few enough for a server that queues five connections and serves one. */
const AT_ONCE = 4;

/** Asks for a use, and has it approved. */
async function approved(
  tools: Tools,
  asking: Parameters<typeof asked>[1],
  scope = 'once',
): Promise<Approval> {
  const approver = await givenApprover(tools);
  const approval = await asked(tools, asking);
  expectOk(await approver.decide(approval.url, { scope }));
  return approval;
}

/** Expects a call to be made, and to be the upstream's next one. */
async function expectMade(proxy: ApprovedProxy, use: () => Promise<Answer>, what: string): Promise<void> {
  const before = proxy.place.calls.length;
  const answer = await use();
  expectThat(proxy.place.calls.length === before + 1, answer, `a call of the upstream for ${what}`);
}

async function expectNotMade(
  { place }: Pick<ApprovedProxy, 'place'>,
  use: () => Promise<Answer>,
  what: string,
): Promise<void> {
  const before = place.calls.length;
  const answer = await use();
  expectThat(place.calls.length === before, answer, `no call of the upstream for ${what}`);
  expectUnapproved(answer, what);
}

/** Protocol section 5.10: which uses an approval is for. */
export const USING_CHECKS: readonly Check[] = [
  {
    id: 'approvals.required',
    title: 'a delivery that nobody approved is refused, an owner’s too, and uses its ticket up',
    requirements: ['APR-03', 'TIX-33'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const { name } = await storeApproved(tools);
      const tickets = {
        'an agent': tools.ticket('credential', name, { claims: { sub: freshSub() } }),
        'the owner': tools.ticket('credential', name, {
          claims: { sub: 'usr_conformance', gnt: undefined },
        }),
      };
      await eachVariant(tickets, async (ticket) => {
        expectUnapproved(await tools.fetchCredential(ticket));
        expectRefusal(await tools.fetchCredential(ticket), 'TICKET_INVALID', 'the same ticket again');
      });
    },
  },
  {
    id: 'approvals.required-by-proxy',
    title: 'a call that nobody approved is refused without a call, an owner’s too',
    requirements: ['APR-03'],
    claims: OF_PROXY,
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools);
      for (const sub of [mcp.sub, 'usr_conformance', 'prx_conformance'])
        await expectNotMade(mcp, () => mcp.use(json(toolCall('a')), sub), sub);
    },
  },
  {
    id: 'approvals.after-the-rest',
    title:
      'what is refused anyway is refused as it is without an approval, and makes no request to a provider',
    requirements: ['APR-04'],
    claims: [...OF_CREDENTIAL, 'refresh-notify'],
    run: async (tools) => {
      const { name } = await tools.given.text({
        ...approvalFor('credential'),
        ...{ delivery: 'proxy-only', allowedHosts: ['api.example'] },
      });
      expectRefusal(await fetchFor(tools, name, freshSub()), 'DELIVERY_NOT_ALLOWED');
      const record = await givenRefreshable(tools, { beside: approvalFor('credential') });
      const refused = await fetchFor(tools, record.name, freshSub());
      expectUnapproved(refused);
      expectThat(record.provider.calls.length === 0, refused, 'no call of the provider');
    },
  },
  {
    id: 'approvals.after-the-rest-by-proxy',
    title: 'a call that destination or rules refuse is refused as it is without an approval',
    requirements: ['APR-04'],
    claims: [...OF_API, 'request-rules'],
    run: async (tools) => {
      const settings = approvalFor('proxy');
      const ruled = await givenRules(tools, (base) => [{ methods: ['GET'], paths: [`${base}/a`] }], {
        settings,
      });
      const record = { name: ruled.name, value: ruled.value };
      const { place } = ruled;
      const api = await setUpApi(tools, { record, place });
      const strayed = await setUpApi(tools, { record, place, headerTemplates: { 'x-stray': '${TOKEN}' } });
      expectRefusal(await api.call('/b'), 'REQUEST_NOT_ALLOWED', 'another path');
      expectRefusal(await strayed.call('/a'), 'DESTINATION_NOT_ALLOWED', 'a header that is not allowed');
      expectUnapproved(await api.call('/a'), 'a call that is allowed');
    },
  },
  {
    id: 'approvals.used-once',
    title: 'an approved delivery is made once, of several at once too, and for its caller and record alone',
    requirements: ['APR-29', 'APR-30'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const [{ name, value }, other] = [await storeApproved(tools), await storeApproved(tools)];
      const sub = freshSub();
      const approval = await approved(tools, { serviceName: name, sub });
      expectUnapproved(await fetchFor(tools, name, freshSub()), 'another caller');
      expectUnapproved(await fetchFor(tools, name, sub.toUpperCase().replace('AGT', 'agt')), 'its capitals');
      expectUnapproved(await fetchFor(tools, other.name, sub), 'another record');
      const uses = Array.from({ length: AT_ONCE }, () => fetchFor(tools, name, sub));
      const answers = await Promise.all(uses);
      const made = answers.filter(({ status }) => status === 200);
      const [first = answers[0]] = made;
      if (first === undefined) return;
      expectThat(made.length === 1, first, `one delivery, not ${made.length}`);
      const { token } = expectOk(first);
      expectThat((token as { accessToken?: unknown }).accessToken === value, first, 'the credential');
      expectUnapproved(await fetchFor(tools, name, sub), 'a second use');
      await expectStatus(tools, approval, 'used');
      const again = await asked(tools, { serviceName: name, sub });
      const isNew = again.id !== approval.id && again.status === 'pending';
      expectThat(isNew, again.answer, 'another request after that');
    },
  },
  {
    id: 'approvals.used-by-proxy',
    title: 'an approved call is made once, and no other call by it',
    requirements: ['APR-29', 'APR-30'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools);
      const sibling = await setUpApi(tools, { record: api, place: api.place });
      const call = { method: 'POST', target: '/a?b=c', body: 'x', headers: [['x-b', '1']] } as const;
      const approval = await approved(tools, api.asking(call));
      const { sub } = api;
      await eachVariant<() => Promise<Answer>>(
        {
          'another caller': () => api.use(call, freshSub()),
          'another method': () => api.use({ ...call, method: 'PUT' }),
          'another path': () => api.use({ ...call, target: '/a/?b=c' }),
          'another query': () => api.use({ ...call, target: '/a?b=d' }),
          'another body': () => api.use({ ...call, body: 'y' }),
          'another value of a field': () => api.use({ ...call, headers: [['x-b', '2']] }),
          'a field more': () => api.use({ ...call, headers: [...call.headers, ['x-c', '1']] }),
          'a field less': () => api.use({ ...call, headers: [] }),
          'another proxy': () => sibling.call(call.target, { ...call, ticket: { claims: { sub } } }),
        },
        (use) => expectNotMade(api, use, 'it'),
      );
      const headers = [...call.headers, ['traceparent', '00-2']] as const;
      await expectMade(api, () => api.use({ ...call, headers }), 'the call, traced otherwise');
      await expectNotMade(api, () => api.use(call), 'a second use');
      await expectStatus(tools, approval, 'used');
    },
  },
  {
    id: 'approvals.configuration-changed',
    title: 'an approval is not for a call whose proxy was changed meanwhile',
    requirements: ['APR-17', 'APR-30'],
    claims: OF_API,
    run: async (tools) => {
      const settings = { allowedHeaders: ['authorization', 'x-key'] };
      const api = await setUpApprovedApi(tools, { settings });
      const call = { method: 'GET', target: '/a' };
      await approved(tools, api.asking(call));
      const put = (headerTemplates: object): Promise<Answer> =>
        tools.storage({
          ...{ op: 'proxies.put', proxyId: api.proxyId, serviceName: api.name, kind: 'http' },
          ...{ upstreamUrl: api.place.url, headerTemplates },
        });
      for (const changed of [{ 'x-key': '${TOKEN}' }, { authorization: 'Bearer ${TOKEN}', 'x-more': '1' }]) {
        expectOk(await put(changed));
        await expectNotMade(api, () => api.use(call), JSON.stringify(changed));
      }
      expectOk(await put({ authorization: 'Bearer ${TOKEN}' }));
      await expectMade(api, () => api.use(call), 'the configuration that was approved');
    },
  },
  {
    id: 'approvals.used-by-message',
    title: 'an approved call of a tool may come with another id, and with no other argument',
    requirements: ['APR-18', 'APR-30'],
    claims: [...OF_PROXY, 'request-rules'],
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools, { isRuled: true });
      const call = (id: number, argument: number, meta = ''): ApprovableCall =>
        json(
          `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"drop","arguments":{"a":${argument}}${meta}}}`,
        );
      await approved(tools, mcp.asking(call(1, 1)));
      await expectNotMade(mcp, () => mcp.use(call(1, 2)), 'another argument');
      await expectMade(mcp, () => mcp.use(call(2, 1)), 'another id');
      await approved(tools, mcp.asking(call(1, 1, ',"_meta":{"progressToken":1}')));
      await expectMade(mcp, () => mcp.use(call(3, 1, ',"_meta":{"progressToken":"b"}')), 'another token');
      await expectNotMade(mcp, () => mcp.use(call(4, 1)), 'a third use');
    },
  },
  {
    id: 'approvals.standing',
    title: 'an allowance is for every delivery of the record to its caller',
    requirements: ['APR-31', 'APR-28'],
    claims: OF_CREDENTIAL,
    run: async (tools) => {
      const { name: serviceName } = await storeApproved(tools, 3600);
      const sub = freshSub();
      const approval = await approved(tools, { serviceName, sub }, 'standing:600');
      for (let use = 0; use < 3; use++) expectOk(await fetchFor(tools, serviceName, sub));
      await expectStatus(tools, approval, 'approved');
      expectUnapproved(await fetchFor(tools, serviceName, freshSub()), 'another caller');
      const again = await asked(tools, { serviceName, sub });
      expectThat(again.id === approval.id, again.answer, 'the allowance for who asks again');
    },
  },
  {
    id: 'approvals.standing-by-proxy',
    title: 'an allowance is for every call of its method and path, and for no others',
    requirements: ['APR-31'],
    claims: OF_API,
    run: async (tools) => {
      const api = await setUpApprovedApi(tools, { standingSeconds: 3600 });
      const sibling = await setUpApi(tools, { record: api, place: api.place });
      const call = { method: 'POST', target: '/a?b=c', body: 'x' };
      await approved(tools, api.asking(call), 'standing:600');
      const { sub } = api;
      await eachVariant<ApprovableCall>(
        {
          'the call': call,
          'it again': call,
          'another query': { ...call, target: '/a?d=e' },
          'another body': { ...call, body: 'y' },
          'another field': { ...call, headers: [['x-b', '1']] },
        },
        (other) => expectMade(api, () => api.use(other), 'it'),
      );
      await eachVariant<() => Promise<Answer>>(
        {
          'another method': () => api.use({ ...call, method: 'PUT' }),
          'another path': () => api.use({ ...call, target: '/b?b=c' }),
          'a path below': () => api.use({ ...call, target: '/a/b' }),
          'another caller': () => api.use(call, freshSub()),
          'another proxy': () => sibling.call(call.target, { ...call, ticket: { claims: { sub } } }),
        },
        (use) => expectNotMade(api, use, 'it'),
      );
      await eachVariant(OTHER_METHODS, (other) =>
        expectNotMade(api, () => api.use({ ...other, method: 'POST' }), 'it'),
      );
    },
  },
  {
    id: 'approvals.standing-by-tool',
    title: 'an allowance for a call of a tool is for that tool, whatever its arguments are',
    requirements: ['APR-31'],
    claims: [...OF_PROXY, 'request-rules'],
    run: async (tools) => {
      const mcp = await setUpApprovedMcp(tools, { isRuled: true, standingSeconds: 3600 });
      const call = (name: string, given?: unknown): ApprovableCall => json(toolCall(name, given));
      await approved(tools, mcp.asking(call('read', { a: 1 })), 'standing:600');
      for (const a of [1, 2]) await expectMade(mcp, () => mcp.use(call('read', { a })), `the argument ${a}`);
      await expectNotMade(mcp, () => mcp.use(call('drop', { a: 1 })), 'another tool');
      const resource = json('{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"read"}}');
      await expectNotMade(mcp, () => mcp.use(resource), 'another method of MCP');
    },
  },
  {
    id: 'approvals.used-before-provider',
    title: 'an approval is used up before a provider is called, also where the provider fails',
    requirements: ['APR-32'],
    claims: [...OF_CREDENTIAL, 'refresh-notify'],
    run: async (tools) => {
      const { name, provider } = await givenRefreshable(tools, { beside: approvalFor('credential') });
      const sub = freshSub();
      await approved(tools, { serviceName: name, sub });
      provider.answerWith((response) => response.writeHead(500).end());
      const failed = await fetchFor(tools, name, sub);
      expectAsked(failed, provider);
      provider.answerWith(undefined);
      expectUnapproved(await fetchFor(tools, name, sub), 'a second use');
    },
  },
  {
    id: 'approvals.refreshed',
    title: 'a refresh of the record leaves its approvals as they are',
    requirements: ['APR-33'],
    claims: [...OF_CREDENTIAL, 'refresh-notify'],
    run: async (tools) => {
      const { name, provider } = await givenRefreshable(tools, { beside: approvalFor('credential') });
      const [sub, other] = [freshSub(), freshSub()];
      await approved(tools, { serviceName: name, sub: other });
      await approved(tools, { serviceName: name, sub });
      const refreshed = await fetchFor(tools, name, sub);
      expectOk(refreshed);
      expectAsked(refreshed, provider);
      expectOk(await fetchFor(tools, name, other));
    },
  },
  {
    id: 'approvals.stored-anew',
    title: 'a new store and a deletion of the record void its approvals and what is pending',
    requirements: ['APR-34'],
    claims: [...OF_CREDENTIAL, 'storage'],
    run: async (tools) => {
      const body = { tokenType: 'PlainText', value: 'another canary', ...approvalFor('credential', 3600) };
      const store = async (name: string): Promise<void> => void expectOk(await tools.store(name, body));
      const anew = {
        'a store': [store],
        'a deletion': [
          async (name: string) =>
            void expectOk(await tools.storage({ op: 'tokens.delete', serviceName: name })),
          store,
        ],
      };
      await eachVariant(anew, async ([replace = store, ...rest]) => {
        const { name: serviceName } = await storeApproved(tools, 3600);
        const subs = { once: freshSub(), standing: freshSub(), pending: freshSub() };
        const once = await approved(tools, { serviceName, sub: subs.once });
        await approved(tools, { serviceName, sub: subs.standing }, 'standing:600');
        const waiting = await asked(tools, { serviceName, sub: subs.pending });
        await replace(serviceName);
        for (const each of [once, waiting]) await expectStatus(tools, each, 'expired');
        for (const step of rest) await step(serviceName);
        for (const sub of [subs.once, subs.standing])
          expectUnapproved(await fetchFor(tools, serviceName, sub), 'what was approved before');
        const { id, answer } = await asked(tools, { serviceName, sub: subs.pending });
        expectThat(id !== waiting.id, answer, 'another request after that');
      });
    },
  },
];
