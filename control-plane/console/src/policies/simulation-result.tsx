import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Schemas } from '../api/client.ts';
import { Section } from '../parts/screen.tsx';
import { ExactTime } from '../parts/time.tsx';
import { CHANNEL_NAMES, DENIALS } from '../reach/denials.ts';
import { pairsQuery } from '../reach/queries.ts';
import type { Event, Simulation } from './queries.ts';
import type { RequestSearch } from './request-search.ts';
import { changeThatAllows, rulesThatDeny } from './rule-changes.ts';
import { RULE_NAMES, countryName, ruleWords } from './rule-words.ts';
import { TARGET_NAMES } from './targets.ts';

type RulePart = Simulation['rules'][number];

interface Asked {
  readonly simulation: Simulation;
  readonly request: Schemas['ImaginedRequest'];
  readonly search: RequestSearch;
  readonly event: Event | undefined;
}

/** The decision, each rule's part in it, and what would change it. */
export function SimulationResult(asked: Asked) {
  const denying = denyingIn(asked);
  return (
    <>
      <Decision {...asked} />
      <Section id="parts" title="In the order in which it is decided">
        <ol className="mt-2 divide-y divide-line">
          <Before request={asked.request} />
          {asked.simulation.rules.map((part) => (
            <Part
              key={`${part.targetType} ${part.policyId} ${part.position}`}
              part={part}
              denying={denying}
            />
          ))}
          {asked.simulation.rules.length === 0 && (
            <li className="py-2 text-dim">No enabled policy is attached to either of them.</li>
          )}
        </ol>
        <p className="mt-2 text-sm text-dim">Limits and lockouts are not simulated.</p>
      </Section>
      {denying.length > 0 ? <LettingThrough {...asked} denying={denying} /> : <Denying {...asked} />}
    </>
  );
}

/**
 * The rules that deny; a rate limit and a filter of an unknown request as they did when the event happened, since only a
 * request counts, and the log does not have what was asked.
 */
const denyingIn = ({ simulation, event }: Asked): readonly RulePart[] =>
  simulation.rules.filter(
    ({ allowed, policy, rule }) =>
      allowed === false ||
      ((rule === 'rate_limit' || allowed === null) &&
        event?.detail?.['rule'] === rule &&
        event.detail['policy'] === policy),
  );

function Decision({ simulation, event, request }: Asked) {
  const { decision, denial, at, ip, country, rules } = simulation;
  const before = useDenialBefore(request);
  const first = rules.find(({ allowed }) => allowed === false);
  const counting = decision === 'allowed' && !before && event ? countingIn(rules, event) : undefined;
  return (
    <section aria-label="Decision" className={`card ${decision === 'denied' || before ? 'border-warn' : ''}`}>
      <p className="text-lg font-semibold">
        {decision === 'denied' ? (
          <span className="text-warn">Denied</span>
        ) : before ? (
          <>
            <span className="text-warn">Denied before the policies</span>, which{' '}
            {decision === 'unknown' ? 'could' : 'would'} allow it
          </>
        ) : counting ? (
          <>
            <span className="text-warn">Denied then</span>
            {counting.isOver ? (
              <span className="text-good">, allowed now</span>
            ) : (
              ' by a count that still runs'
            )}
          </>
        ) : decision === 'unknown' ? (
          <>
            <span className="text-warn">Not known</span>: it depends on what the proxy is asked
          </>
        ) : (
          <span className="text-good">Allowed by the policies</span>
        )}
      </p>
      {before && decision !== 'denied' && (
        <p className="mt-1">
          {DENIALS[before].text} <code>{before}</code>
        </p>
      )}
      {counting && (
        <p className="mt-1 wrap-anywhere">
          By the rule “{RULE_NAMES[counting.part.rule]}” of{' '}
          <bdi className="font-medium">{counting.part.policy}</bdi>: {ruleWords(counting.part.settings)}.{' '}
          {counting.words}
        </p>
      )}
      {denial && first && (
        <p className="mt-1 wrap-anywhere">
          By the rule “{RULE_NAMES[denial.rule]}” of <bdi className="font-medium">{denial.policy}</bdi>:{' '}
          {ruleWords(first.settings)}. The caller is told: “{denial.reason}”
        </p>
      )}
      <p className="mt-1 text-sm text-dim">
        <ExactTime at={at} />, from {ip ?? 'an unknown address'}
        {ip !== null && ` (${country === null ? 'country not known' : countryName(country)})`}
      </p>
    </section>
  );
}

/** The rule that counts and had denied an event's request, though the policies of now allow it, and what of its count is left. */
function countingIn(rules: readonly RulePart[], { detail, timestamp }: Event) {
  const part = rules.find(({ policy, rule }) => policy === detail?.['policy'] && rule === detail['rule']);
  if (part?.settings.type === 'max_usage')
    return {
      part,
      isOver: true,
      words: `Now ${(part.used ?? 0).toLocaleString('en')} of ${part.settings.limit.toLocaleString('en')} are used up.`,
    };
  if (part?.settings.type !== 'rate_limit') return undefined;
  const isOver = Date.now() >= Date.parse(timestamp) + part.settings.windowSeconds * 1_000;
  const words = isOver
    ? 'What was counted then has expired: it denies again only once that many new requests came.'
    : 'What was counted then may deny until its window has passed.';
  return { part, isOver, words };
}

const Line = (props: {
  readonly what: ReactNode;
  readonly words: ReactNode;
  readonly verdict: ReactNode;
}) => (
  <li className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 py-2 sm:grid-cols-[minmax(0,12rem)_minmax(0,1fr)_auto]">
    <span className="wrap-anywhere">{props.what}</span>
    <span className="order-1 col-span-2 block wrap-anywhere first-letter:uppercase sm:order-none sm:col-span-1">
      {props.words}
    </span>
    <span className="text-right whitespace-nowrap">{props.verdict}</span>
  </li>
);

/** What is decided before policies are asked, as of now. */
function useReach({ agentId, proxyId, serviceName }: Asked['request']) {
  const { data, isPlaceholderData } = useQuery(
    pairsQuery({
      ...(proxyId === undefined ? { agent: agentId } : { proxy: proxyId }),
      credential: serviceName,
    }),
  );
  return data === undefined || isPlaceholderData ? undefined : data.items;
}

/** With what a request is denied on every channel, whatever the policies decide. */
function useDenialBefore(request: Asked['request']) {
  const items = useReach(request);
  if (items === undefined) return undefined;
  const [reach] = items;
  if (reach === undefined) return request.proxyId === undefined ? 'NO_GRANT' : undefined;
  const denials = reach.channels.map(({ denial }) => denial);
  return denials.includes(null) ? undefined : denials[0];
}

function Before({ request }: { readonly request: Asked['request'] }) {
  const items = useReach(request);
  if (items === undefined) return <Line what="Before policies" words="…" verdict="" />;
  const [reach] = items;
  if (reach !== undefined)
    return reach.channels.map(({ channel, denial }) => (
      <Line
        key={channel}
        what={channel === 'proxy' ? 'Before policies' : `Before policies, ${CHANNEL_NAMES[channel]}`}
        words={
          denial === null ? (
            'state, vault lock, grant and webhook, as they are now'
          ) : (
            <>
              {DENIALS[denial].text} <code>{denial}</code>
            </>
          )
        }
        verdict={denial === null ? <Allows /> : <Denies />}
      />
    ));
  return (
    <Line
      what="Before policies"
      words={
        request.proxyId === undefined ? (
          <>
            {DENIALS.NO_GRANT.text} <code>NO_GRANT</code>
          </>
        ) : (
          'the proxy injects another credential'
        )
      }
      verdict={<Denies />}
    />
  );
}

const Allows = () => <span className="text-good">allows</span>;
const Denies = () => <span className="text-warn">denies</span>;

function Part({ part, denying }: { readonly part: RulePart; readonly denying: readonly RulePart[] }) {
  const { policyId, policy, targetType, settings, used } = part;
  return (
    <Line
      what={
        <>
          <Link to="/policies/$id" params={{ id: policyId }}>
            <bdi>{policy}</bdi>
          </Link>{' '}
          <span className="text-sm text-dim">of the {TARGET_NAMES[targetType].toLowerCase()}</span>
        </>
      }
      words={
        <>
          {ruleWords(settings)}
          {used !== undefined && <span className="text-dim"> (used {used.toLocaleString('en')})</span>}
        </>
      }
      verdict={verdictOf(part, denying)}
    />
  );
}

function verdictOf(part: RulePart, denying: readonly RulePart[]): ReactNode {
  if (part.allowed && denying.includes(part)) return <span className="text-warn">denied then</span>;
  if (part.allowed && part.rule === 'rate_limit') return <span className="text-dim">counts requests</span>;
  if (part.allowed) return <Allows />;
  if (part.allowed === null)
    return denying.includes(part) ? (
      <span className="text-warn">denied then</span>
    ) : (
      <span className="text-dim">not known</span>
    );
  return part === denying[0] ? <Denies /> : <span className="text-warn">would deny, too</span>;
}

const OFFER = 'grid items-center justify-items-start gap-x-4 gap-y-1 py-2 sm:grid-cols-[minmax(0,1fr)_auto]';

/** A change of each rule that denies, leading to the form in which it is made. */
function LettingThrough({ simulation, search, denying }: Asked & { readonly denying: readonly RulePart[] }) {
  return (
    <Section id="change" title="What would let it through">
      <p className="mt-1 text-sm text-dim">
        {denying.length === 1 ? 'This change' : 'All of these changes'}, or disable or detach the{' '}
        {denying.length === 1 ? 'policy' : 'policies'}. The form shows first which other requests it lets
        through.
      </p>
      <ul className="mt-2 divide-y divide-line">
        {denying.map((part) => {
          const { policyId, policy, position, settings, used } = part;
          const { words, rule } = changeThatAllows(settings, { ...simulation, used });
          return (
            <li key={`${part.targetType} ${policyId} ${position}`} className={OFFER}>
              <span className="min-w-0 grow wrap-anywhere">
                <bdi className="font-medium">{policy}</bdi>: {words}
              </span>
              <Link
                to="/policies/$id/edit"
                params={{ id: policyId }}
                search={{ ...search, allow: String(position) }}
                className="button flex-none"
              >
                {rule === undefined ? 'Open the policy' : 'Make this change'}{' '}
                <span className="sr-only">in {policy}</span>
              </Link>
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

/** The other way, from a request that was made and allowed: rules that deny it. */
function Denying({ simulation, event }: Asked) {
  if (event?.outcome !== 'success') return null;
  return (
    <Section id="deny" title="What would deny it">
      <p className="mt-1 text-sm text-dim">
        A new policy for its caller. The form shows first which other requests it denies.
      </p>
      <ul className="mt-2 divide-y divide-line">
        {rulesThatDeny(simulation).map(({ type, words }) => (
          <li key={type} className={OFFER}>
            <span className="min-w-0 grow wrap-anywhere">{words}</span>
            <Link
              to="/policies/new"
              search={{ from: String(event.seq), rule: type }}
              className="button flex-none"
            >
              Make this policy <span className="sr-only">with {RULE_NAMES[type]}</span>
            </Link>
          </li>
        ))}
      </ul>
    </Section>
  );
}
