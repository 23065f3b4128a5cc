import { formatRequestRule } from '@svault/shared/request-rules';
import type { ReactNode } from 'react';
import { SelectField, TextAreaField, TextField } from '../parts/form.tsx';
import { CountryFields } from './country-fields.tsx';
import { APPROVED, type Rule, type RuleOf, type RuleType, UNITS, inUnits } from './rule-words.ts';
import { TimeWindowFields } from './time-window-fields.tsx';

const HINTS: Readonly<Record<RuleType, string>> = {
  time_window: 'A request passes while the local time there is within one of the windows.',
  ip_allowlist: 'A request passes from these networks alone. An unknown address is in none of them.',
  geo_restrict:
    'By the database of countries of the control plane. The country of a private address is not known: “only from” denies it, “not from” lets it pass.',
  rate_limit:
    'Counted for each target that the policy is attached to. At a credential, all agents share one count. Above it a request gets 429 and the time to wait.',
  max_usage:
    'Counted for each target that the policy is attached to. At a credential, all agents share one count. Detaching the policy forgets it.',
  request_filter:
    'Proxies may ask what one of the lines matches. No agent gets the credential itself, since nothing limits what it would ask.',
  manual_approval:
    'A request is denied with a link, under which a person approves it. The same request then passes. Through a proxy the same is the same method, address and content.',
};

/** The fields of a rule; each has the path by which the API names it. */
export function RuleFields({ rule, path }: { readonly rule: Rule; readonly path: string }) {
  return (
    <>
      <input type="hidden" name={`${path}.type`} value={rule.type} />
      <p className="text-sm text-dim">{HINTS[rule.type]}</p>
      {fieldsOf(rule, path)}
    </>
  );
}

function fieldsOf(rule: Rule, path: string): ReactNode {
  switch (rule.type) {
    case 'time_window':
      return <TimeWindowFields rule={rule} path={path} />;
    case 'ip_allowlist':
      return (
        <TextAreaField
          name={`${path}.cidrs`}
          label="Networks and addresses"
          hint="One a line, such as 10.0.0.0/8, 2001:db8::/32 or 192.0.2.7."
          required
          rows={4}
          spellCheck={false}
          className="font-mono text-sm"
          defaultValue={rule.cidrs.join('\n')}
        />
      );
    case 'geo_restrict':
      return <CountryFields rule={rule} path={path} />;
    case 'rate_limit':
      return <RateFields rule={rule} path={path} />;
    case 'max_usage':
      return <NumberField name={`${path}.limit`} label="Uses in all" value={rule.limit} />;
    case 'request_filter':
      return (
        <TextAreaField
          name={`${path}.requests`}
          label="Allowed requests"
          hint="One rule on each line: methods with a path, tools with a path and arguments, or methods of MCP with a path. A path begins with / or with a host; * is one segment of it, ** the rest."
          required
          rows={4}
          spellCheck={false}
          className="font-mono text-sm"
          placeholder={'GET,POST api.example.com/repos/acme/*\ntools search_*,get_issue /mcp'}
          defaultValue={rule.requests.map(formatRequestRule).join('\n')}
        />
      );
    case 'manual_approval':
      return <ApprovalFields rule={rule} path={path} />;
  }
}

function RateFields({ rule, path }: { readonly rule: RuleOf<'rate_limit'>; readonly path: string }) {
  const { count, unit } = inUnits(rule.windowSeconds);
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_1fr_1fr]">
      <NumberField name={`${path}.limit`} label="Requests" value={rule.limit} />
      <NumberField name={`${path}.windowSeconds`} label="In" value={count} />
      <SelectField
        name={`${path}.unit`}
        label="Unit"
        defaultValue={String(unit)}
        options={UNITS.map(([name, length]) => [String(length), `${name}s`] as const)}
      />
    </div>
  );
}

function ApprovalFields({ rule, path }: { readonly rule: RuleOf<'manual_approval'>; readonly path: string }) {
  const { count, unit } = inUnits(rule.expiresInSeconds ?? APPROVED.seconds);
  return (
    <div className="grid gap-3 sm:grid-cols-[1fr_1fr_1fr]">
      <NumberField name={`${path}.uses`} label="Passes" value={rule.uses ?? APPROVED.uses} />
      <NumberField name={`${path}.expiresInSeconds`} label="Times within" value={count} />
      <SelectField
        name={`${path}.unit`}
        label="Unit"
        hint="From 5 minutes to a day."
        defaultValue={String(unit)}
        options={UNITS.map(([name, length]) => [String(length), `${name}s`] as const)}
      />
    </div>
  );
}

const NumberField = (props: { readonly name: string; readonly label: string; readonly value: number }) => (
  <TextField
    name={props.name}
    label={props.label}
    inputMode="numeric"
    required
    autoComplete="off"
    defaultValue={Number.isNaN(props.value) ? '' : props.value}
    check={(text) => (/^\s*[1-9][0-9]*\s*$/.test(text) ? undefined : 'Give a whole number from 1 on.')}
  />
);
