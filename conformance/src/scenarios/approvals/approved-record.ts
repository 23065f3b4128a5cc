import { parseTime, randomToken, type HeaderPairs } from '@svault/shared';
import { expectOk, expectRefusal, expectThat } from '../../check/expect.ts';
import type { ProxiedCall, Tools } from '../../check/tools.ts';
import type { Answer } from '../../http/client.ts';
import { givenRules, type Rule } from '../proxy/ruled-record.ts';
import { setUpSigned } from '../../upstream/aws-setup.ts';
import { setUpApi, type ApiOptions, type ApiSetup } from '../../upstream/api-setup.ts';
import { setUpProxy, storeText, type ProxySetup, type StoredText } from '../../upstream/proxy-setup.ts';

type Json = Readonly<Record<string, unknown>>;

export const CREDENTIAL = { type: 'credential' } as const;

/** What has to be claimed for what is asked about deliveries, and about calls. */
export const OF_CREDENTIAL = ['store', 'credential', 'approvals'] as const;
export const OF_PROXY = ['storage', 'store', 'proxy', 'approvals'] as const;
export const OF_API = [...OF_PROXY, 'http-proxy'] as const;

/** `approval` of a store. */
export const approvalFor = (operation: 'credential' | 'proxy', standingSeconds?: number): Json => ({
  approval: { by: 'passkey', for: [operation], ...(standingSeconds !== undefined && { standingSeconds }) },
});

/** A caller of its own: what is pending is counted for each. */
export const freshSub = (): string => `agt_${randomToken()}`;

/** A record whose delivery needs an approval. @throws NotTestable */
export const storeApproved = (tools: Tools, standingSeconds?: number): Promise<StoredText> =>
  tools.given.text(approvalFor('credential', standingSeconds));

/** What `POST /v1/approvals` answers. */
export interface Approval {
  readonly answer: Answer;
  readonly id: string;
  readonly status: string;
  readonly askedAt: string;
  readonly expiresAt: string;
  readonly url: string;
}

/** A use that is asked for. */
export interface Asking {
  readonly serviceName: string;
  readonly sub: string;
  /** The delivery where it is absent. */
  readonly operation?: Json;
  readonly name?: unknown;
  readonly reason?: unknown;
}

export const ask = (tools: Tools, asking: Asking): Promise<Answer> =>
  tools.signed({ method: 'POST', path: '/v1/approvals', body: { operation: CREDENTIAL, ...asking } });

/** Asks, and expects a request in the form of the protocol. @throws CheckFailed */
export async function asked(tools: Tools, asking: Asking): Promise<Approval> {
  const answer = await ask(tools, asking);
  const { id, status, askedAt, expiresAt, url } = expectOk(answer);
  const isApproval =
    typeof id === 'string' &&
    /^apr_[A-Za-z0-9_-]{22}$/.test(id) &&
    typeof status === 'string' &&
    typeof url === 'string' &&
    [askedAt, expiresAt].every((time) => typeof time === 'string' && parseTime(time) !== undefined);
  expectThat(isApproval, answer, '{ id, status, askedAt, expiresAt, url } of an approval');
  return { answer, id, status, url, askedAt: String(askedAt), expiresAt: String(expiresAt) };
}

/** The items of `POST /v1/approvals/list`. @throws CheckFailed */
export async function listed(
  tools: Tools,
  ids: readonly string[],
): Promise<{ readonly answer: Answer; readonly items: readonly Json[] }> {
  const answer = await tools.signed({ method: 'POST', path: '/v1/approvals/list', body: { ids } });
  const { items } = expectOk(answer);
  expectThat(Array.isArray(items), answer, '{ items: […] }');
  return { answer, items: items as readonly Json[] };
}

/** Expects this to be the status of a request. @throws CheckFailed */
export async function expectStatus(tools: Tools, { id }: Approval, status: string): Promise<Json> {
  const { answer, items } = await listed(tools, [id]);
  const [item = {}] = items;
  expectThat(
    items.length === 1 && item['id'] === id && item['status'] === status,
    answer,
    `the status ${status} of this request`,
  );
  return item;
}

/** Fetches a record for a caller. */
export const fetchFor = (tools: Tools, name: string, sub: string): Promise<Answer> =>
  tools.fetchCredential(tools.ticket('credential', name, { claims: { sub } }));

export const expectUnapproved = (answer: Answer, what?: string): void =>
  expectRefusal(answer, 'APPROVAL_REQUIRED', what);

/** A call, as it is made and as it is asked for. */
export interface ApprovableCall {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: HeaderPairs;
  readonly body?: string | Uint8Array;
}

const FORM = [['content-type', 'application/x-www-form-urlencoded']] as const;
/** Calls by `POST` of `/a` that name another method or path for the upstream to take (RUL-07 to RUL-09). */
export const OTHER_METHODS: Readonly<Record<string, ApprovableCall>> = {
  'another method in a header': { target: '/a', headers: [['x-http-method-override', 'DELETE']] },
  'another path in a header': { target: '/a', headers: [['x-original-url', '/b']] },
  'another method in the query': { target: '/a?_method=DELETE' },
  'a path with two readings': { target: '/a%2Fb' },
  'another method in a form': { target: '/a', headers: FORM, body: '_method=DELETE' },
};

const base64 = (body: string | Uint8Array): string => Buffer.from(body).toString('base64');

/** `operation` of a call. */
export const operationOf = (
  proxyId: string,
  { method = 'POST', target, headers = [], body = '' }: ApprovableCall,
): Json => ({
  type: 'proxy',
  proxyId,
  method,
  ...(target !== undefined && { target }),
  // As the service sends it where the agent sends none (TRN-18).
  fields:
    body === '' || headers.some(([name]) => name === 'content-type')
      ? headers
      : [...headers, ['content-type', 'application/octet-stream']],
  ...(body !== '' && { body: base64(body) }),
});

/** A record and a proxy whose calls need an approval. */
export interface ApprovedProxy extends ProxySetup {
  readonly sub: string;
  /** What is asked for such a call. */
  asking(call: ApprovableCall, sub?: string): Asking;
  /** Makes a call for a caller. */
  use(call: ApprovableCall, sub?: string): Promise<Answer>;
}

function approved(tools: Tools, setup: ProxySetup | ApiSetup): ApprovedProxy {
  const { name, value, proxyId, place } = setup;
  const sub = freshSub();
  const use: ApprovedProxy['use'] = (call, by = sub) =>
    tools.proxied({ proxyId, serviceName: name, ...call, ticket: { claims: { sub: by } } });
  return {
    ...{ name, value, proxyId, place, sub, use },
    call: (how?: Partial<ProxiedCall>) => tools.proxied({ proxyId, serviceName: name, ...how }),
    asking: (call, by = sub) => ({ serviceName: name, sub: by, operation: operationOf(proxyId, call) }),
  };
}

/**
 * A server of MCP.
 * @param options.isRuled whether the record has a rule for MCP, which allows everything; absent: it has no rules
 * @param options.rest what stands behind the place's URL, without rules
 * @throws NotTestable
 */
export async function setUpApprovedMcp(
  tools: Tools,
  options: { readonly isRuled?: boolean; readonly standingSeconds?: number; readonly rest?: string } = {},
): Promise<ApprovedProxy> {
  const { isRuled, standingSeconds, rest = '' } = options;
  const settings = approvalFor('proxy', standingSeconds);
  if (isRuled === undefined)
    return approved(tools, await setUpProxy(tools, { record: await storeText(tools, settings), rest }));
  const rules = (base: string): readonly Rule[] => [
    isRuled ? { mcp: ['*'], paths: [base] } : { methods: ['GET', 'POST', 'DELETE'], paths: [base] },
    { mcp: ['*'], paths: [`${base}/elsewhere`] },
  ];
  const { name, value, place, proxy } = await givenRules(tools, rules, { settings });
  const { proxyId, call } = await proxy();
  return approved(tools, { name, value, place, proxyId, call });
}

/** An HTTP API. @throws NotTestable */
export async function setUpApprovedApi(
  tools: Tools,
  options: ApiOptions & { readonly settings?: object; readonly standingSeconds?: number } = {},
): Promise<ApprovedProxy> {
  const { settings = {}, standingSeconds, record, ...others } = options;
  const stored =
    record ?? (await storeText(tools, { ...approvalFor('proxy', standingSeconds), ...settings }));
  return approved(tools, await setUpApi(tools, { ...others, record: stored }));
}

/** A service of AWS, whose calls the webhook signs. @throws NotTestable */
export const setUpApprovedAws = async (tools: Tools): Promise<ApprovedProxy> =>
  approved(tools, await setUpSigned(tools, { settings: approvalFor('proxy') }));
