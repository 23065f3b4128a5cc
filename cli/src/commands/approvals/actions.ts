import { isId } from '@svault/shared';
import * as z from 'zod';
import { apiClient } from '../../api/api-client.ts';
import { APPROVAL } from '../../api/resources.ts';
import { pathOf } from '../../api/resource.ts';
import { Failure, orElse, usage } from '../../failure.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { withQuery } from '../../json-in.ts';
import { plainLine } from '../../output/plain-line.ts';
import { type Shape, printDone, printList, printOne } from '../../output/print.ts';
import { type GrantOptions, grantTerms } from '../grants/grant-terms.ts';

/** An approval, as the control plane describes it. */
const approvalSchema = z.looseObject({
  id: z.string(),
  kind: z.string(),
  status: z.string(),
  agentId: z.string().optional(),
  proxyId: z.string().optional(),
  callerName: z.string().optional(),
  serviceName: z.string(),
  request: z
    .looseObject({ method: z.string(), url: z.string(), tool: z.string().optional(), digest: z.string() })
    .optional(),
  reason: z.string().optional(),
  askedAt: z.string(),
  expiresAt: z.string(),
  decidedAt: z.string().optional(),
  decidedBy: z.string().optional(),
  uses: z.number(),
  used: z.number(),
  url: z.string().optional(),
});
type Approval = z.infer<typeof approvalSchema>;

const callerOf = ({ callerName, agentId, proxyId }: Approval): string =>
  callerName ?? agentId ?? proxyId ?? '';

function operationOf({ kind, request }: Approval): string {
  if (kind === 'access') return 'a grant';
  if (request === undefined) return 'the credential';
  const { method, url, tool } = request;
  return tool === undefined ? `${method} ${url}` : `tool ${tool} at ${url}`;
}

const decidedWhere = ({ kind }: Approval): string => {
  if (kind === 'passkey') return 'at the webhook, with a passkey';
  return kind === 'access' ? 'here: it becomes a grant' : 'here: a policy holds it back';
};

const isPending = ({ status }: Approval): boolean => status === 'pending';

const APPROVALS: Shape<Approval> = {
  columns: [
    { title: 'id', of: ({ id }) => id, whole: true },
    {
      title: 'status',
      of: ({ status }) => status,
      tone: (approval) => (isPending(approval) ? 'yellow' : undefined),
      whole: true,
    },
    { title: 'who', of: callerOf },
    { title: 'service', of: ({ serviceName }) => serviceName },
    { title: 'wants', of: operationOf },
    { title: 'ends', of: ({ expiresAt }, { time }) => time(expiresAt), whole: true },
    { title: 'asked', of: ({ askedAt }, { time }) => time(askedAt), whole: true },
    { title: 'decided', of: decidedWhere, wide: true },
  ],
  name: ({ id }) => id,
};

/** `approvals list` */
export const listApprovals: Run<[], { readonly all?: true }> = async (invocation, _, { all }) => {
  const client = await apiClient(invocation);
  const status = all === true ? undefined : 'pending';
  const approvals = await client.readAll(withQuery(APPROVAL.path, { status }), approvalSchema);
  // Those that can be decided first, the one that ends soonest on top.
  const sorted = approvals.toSorted(
    (one, other) =>
      Number(isPending(other)) - Number(isPending(one)) ||
      (isPending(one) ? one.expiresAt.localeCompare(other.expiresAt) : 0),
  );
  printList(invocation, sorted, {
    ...APPROVALS,
    none:
      all === true
        ? 'nobody asked for an approval not long ago'
        : 'nothing waits for a decision; --all lists what was decided',
  });
};

const SHOWN: Shape<Approval> = {
  columns: [
    ...APPROVALS.columns.slice(0, 4),
    { title: 'caller', of: ({ agentId, proxyId }) => agentId ?? proxyId ?? '' },
    { title: 'wants', of: operationOf },
    { title: 'digest', of: ({ request }) => request?.digest ?? '' },
    // One line, so that no text of an agent's looks like a line of svault.
    { title: 'its words', of: ({ reason = '' }) => (reason === '' ? '' : `“${plainLine(reason)}”`) },
    { title: 'asked', of: ({ askedAt }, { time }) => time(askedAt) },
    { title: 'ends', of: ({ expiresAt }, { time }) => time(expiresAt) },
    { title: 'used', of: ({ kind, used, uses }) => (kind === 'policy' ? `${used} of ${uses}` : '') },
    { title: 'decided', of: ({ decidedAt }, { time }) => time(decidedAt) },
    { title: 'by', of: ({ decidedBy }) => decidedBy ?? '' },
    { title: 'is decided', of: (approval) => (isPending(approval) ? decidedWhere(approval) : '') },
    { title: 'open', of: ({ url }) => url ?? '' },
  ],
  name: ({ id }) => id,
};

/** `approvals show APPROVAL` */
export const showApproval: Run<[string]> = async (invocation, [reference]) => {
  const id = idFrom(reference);
  const client = await apiClient(invocation);
  printOne(
    invocation,
    await aboutApproval(reference, client.read(pathOf(APPROVAL, id), approvalSchema)),
    SHOWN,
  );
};

/** `approvals approve APPROVAL` */
export const approve: Run<[string], GrantOptions> = async (invocation, [reference], options) => {
  const approval = await decide(invocation, reference, 'approve', { body: grantTerms(options) });
  print(invocation, approval, `approved: ${callerOf(approval)} ${outcomeOf(approval)}`);
};

/** `approvals deny APPROVAL` */
export const deny: Run<[string]> = async (invocation, [reference]) => {
  const approval = await decide(invocation, reference, 'deny');
  const said = `denied: ${callerOf(approval)} may not, and the same request is denied for ten minutes`;
  print(invocation, approval, said);
};

function outcomeOf({ kind, serviceName, request, uses, expiresAt }: Approval): string {
  if (kind === 'access') return `is granted ${serviceName}`;
  const may = request === undefined ? 'have' : 'send that very request with';
  return `may ${may} ${serviceName} ${uses === 1 ? 'once' : `${uses} times`} until ${expiresAt}`;
}

const print = (invocation: Invocation, answer: Approval, said: string): void =>
  printDone(invocation, { said, answer, name: answer.id });

async function decide(
  invocation: Invocation,
  reference: string,
  decision: 'approve' | 'deny',
  more: { readonly body?: object } = {},
): Promise<Approval> {
  const id = idFrom(reference);
  const client = await apiClient(invocation);
  const path = `${pathOf(APPROVAL, id)}/${decision}`;
  return aboutApproval(reference, client.change({ method: 'POST', path, schema: approvalSchema, ...more }));
}

const aboutApproval = <T>(reference: string, call: Promise<T>): Promise<T> =>
  orElse(call, (error) => {
    if (error.exit !== 'notFound' || error.isOfAddress) throw error;
    const isLink = URL.canParse(reference);
    throw new Failure(
      'notFound',
      isLink
        ? `this control plane knows no such approval: the link may be of a webhook, where it is decided in a browser, or by svault approve ${plainLine(reference)}`
        : `there is no approval ${plainLine(reference)}; it is deleted a day after its end: svault approvals list --all shows the others`,
    );
  });

/** @throws Failure usage for what is neither an id nor a link to an approval */
function idFrom(reference: string): string {
  const id = /(?:^|\/approvals\/)(apr_[\w-]+)$/.exec(reference)?.[1];
  if (id !== undefined && isId('apr', id)) return id;
  throw usage(
    `${plainLine(reference).slice(0, 100)} is no id of an approval (apr_…) and no link to one: svault approvals lists what waits`,
  );
}
