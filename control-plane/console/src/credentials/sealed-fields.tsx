import { formatRequestRule } from '@svault/shared/request-rules';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { CheckField, SelectField, TextAreaField, TextField } from '../parts/form.tsx';
import { webhookQuery } from '../webhook/queries.ts';
import { Columns, type Held } from './kind-fields.tsx';

const DELIVERIES = [
  ['any', 'Agents with a grant, and proxies'],
  ['proxy-only', 'Proxies only: no agent gets it'],
  ['sealed', 'Encrypted to recipients only'],
] as const;

interface SealedProps {
  readonly held: Held | undefined;
  readonly isAdmin: boolean;
}

/** What is sealed with a secret: it cannot be changed later without the secret. */
export function SealedFields({ held, isAdmin }: SealedProps) {
  const [delivery, setDelivery] = useState<string>(held?.delivery ?? 'any');
  return (
    <>
      <Columns>
        <SelectField
          name="delivery"
          label="Delivery"
          options={DELIVERIES}
          defaultValue={delivery}
          onChange={({ target }) => setDelivery(target.value)}
        />
        <TextField
          name="expiryTime"
          label="Expires"
          type="datetime-local"
          hint="Optional, in the time of this computer."
        />
      </Columns>
      {delivery === 'sealed' && (
        <TextAreaField
          name="recipients"
          label="Public keys of the recipients"
          rows={3}
          className="font-mono text-sm"
          spellCheck={false}
          hint="One or more JWK, as svault agents sealing-key prints it. They are not secret."
        />
      )}
      <Columns>
        <TextAreaField
          name="allowedHosts"
          label="Hosts"
          rows={2}
          spellCheck={false}
          defaultValue={held?.allowedHosts.join('\n')}
          hint="Where proxies may send it, one on each line: api.example.com means https. Without a host no proxy can use it."
        />
        <TextAreaField
          name="allowedHeaders"
          label="Headers"
          rows={2}
          spellCheck={false}
          defaultValue={held?.allowedHeaders.join('\n')}
          placeholder={'authorization\nx-api-key'}
          hint="In which proxies may put it; authorization and x-api-key unless you name others."
        />
      </Columns>
      <TextAreaField
        name="allowedQuery"
        label="Query parameters"
        rows={2}
        spellCheck={false}
        defaultValue={held?.allowedQuery?.join('\n')}
        hint="Optional: in which parameters of the query proxies may put it, one on each line."
      />
      <RequestsField {...{ held, isAdmin }} />
      <ApprovalFields {...{ held, isAdmin }} />
      <CheckField
        name="allowShortSecret"
        label="Proxies may use it although it is short"
        hint="For codes, PINs and secrets of less than 80 bits: those who use the proxy could find it out."
      />
    </>
  );
}

/**
 * What proxies may ask. Rules that are there are shown always, since a store without them drops them. Only admins may read what
 * the webhook claims, so other members are offered the field whatever that is.
 */
function RequestsField({ held, isAdmin }: SealedProps) {
  const isClaimed = useIsClaimed('request-rules', isAdmin);
  if (!isClaimed && held?.requests === undefined) return null;
  return (
    <TextAreaField
      name="requests"
      label="Allowed requests"
      rows={3}
      className="font-mono text-sm"
      spellCheck={false}
      defaultValue={held?.requests?.map(formatRequestRule).join('\n')}
      placeholder={'GET,POST api.example.com/repos/acme/*\ntools search_*,get_issue /mcp'}
      hint="What proxies may ask, one rule on each line; any request to the hosts unless you name some."
    />
  );
}

function useIsClaimed(capability: string, isAdmin: boolean): boolean {
  const { data } = useQuery({ ...webhookQuery, enabled: isAdmin, refetchInterval: false });
  return !isAdmin || data?.capabilities?.includes(capability) === true;
}

const STANDINGS: readonly (readonly [seconds: string, text: string])[] = [
  ['', 'Each use is approved'],
  ['900', '15 minutes'],
  ['3600', '1 hour'],
  ['14400', '4 hours'],
  ['28800', '8 hours'],
];

/** What an approver allows with a passkey before each use; offered as the requests are. */
function ApprovalFields({ held, isAdmin }: SealedProps) {
  const isClaimed = useIsClaimed('approvals', isAdmin);
  const approval = held?.approval;
  if (!isClaimed && approval === undefined) return null;
  const standing = approval?.standingSeconds?.toString() ?? '';
  const isOffered = STANDINGS.some(([seconds]) => seconds === standing);
  return (
    <fieldset className="grid gap-3 rounded-md border border-line p-3">
      <legend className="px-1 font-medium">Approved with a passkey at the webhook</legend>
      <CheckField
        name="approval.credential"
        label="Before somebody gets it"
        hint="Agents and owners alike. Enrol a passkey first: webhook approver-link prints the link."
        defaultChecked={approval?.for.includes('credential') ?? false}
      />
      <CheckField
        name="approval.proxy"
        label="Before each request of a proxy"
        hint="For an MCP server, name its path among the allowed requests too, such as mcp * /mcp: without that each of its messages waits, those that open a session too."
        defaultChecked={approval?.for.includes('proxy') ?? false}
      />
      <SelectField
        name="approval.standingSeconds"
        label="An approver may allow the same use for"
        options={isOffered ? STANDINGS : [...STANDINGS, [standing, `${standing} seconds`]]}
        defaultValue={standing}
      />
    </fieldset>
  );
}
