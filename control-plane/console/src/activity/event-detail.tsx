import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { EVENT_COLUMNS, EVENT_GRID, EventLine, EventSentence } from '../events/event-line.tsx';
import { type AuditEvent, nameOf, outcomeOf, sentenceText } from '../events/event-words.ts';
import type { LogFilter } from '../events/log-filter.ts';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { Lines } from '../parts/list.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { ExactTime, Time } from '../parts/time.tsx';
import { eventQuery, sameRequestQuery } from './audit-queries.ts';
import { Delivery } from './delivery.tsx';
import { Reason } from './reason.tsx';

const route = getRouteApi('/activity/$seq');

/** One event by its number: what it came to and why, what to do about it, and everything that it holds. */
export function EventDetail() {
  const { seq } = route.useParams();
  const query = useQuery(eventQuery(seq));
  const { data: event } = query;
  if (event === undefined) return <ScreenNotLoaded query={query} />;
  const { text } = outcomeOf(event);
  return (
    <Screen
      title={sentenceText(event)}
      heading={<EventSentence event={event} />}
      up={{ to: '/activity', name: 'Activity' }}
    >
      <p className="mt-1">
        <span className={event.outcome === 'success' ? 'text-good' : 'text-warn'}>{text}</span>
        <span className="text-dim">
          {': '}
          <ExactTime at={event.timestamp} />, <Time at={event.timestamp} />
        </span>
      </p>
      <div className="mt-4 grid gap-4">
        {event.outcome !== 'success' && <Reason event={event} />}
        {event.delivery && <Delivery delivery={event.delivery} />}
        <Section id="facts" title="What was recorded">
          <Facts facts={factsOf(event)} />
        </Section>
        {event.origin?.requestId !== undefined && (
          <SameRequest event={event} requestId={event.origin.requestId} />
        )}
      </div>
    </Screen>
  );
}

/** A link to the events that have the same value. */
function Alike({ search, children }: { readonly search: LogFilter; readonly children: ReactNode }) {
  return (
    <Link to="/activity" search={search} className="ml-2 text-sm">
      {children}
    </Link>
  );
}

function factsOf(event: AuditEvent): [string, ReactNode][] {
  const { agentId, agentName, proxyId, proxyName, userId, userEmail, adminKeyName, serviceName } = event;
  const { count = 1, detail = {}, origin = {} } = event;
  const facts: [string, ReactNode | undefined][] = [
    [
      'Event',
      <>
        {nameOf(event.eventType)} <code className="text-dim">{event.eventType}</code>
      </>,
    ],
    ['Number', event.seq],
    ['Time', <time dateTime={event.timestamp}>{event.timestamp}</time>],
    ['Stands for', count > 1 ? `${count} equal events` : undefined],
    [
      'Agent',
      agentId && (
        <>
          <Link to="/agents/$id" params={{ id: agentId }}>
            <bdi>{agentName ?? agentId}</bdi>
          </Link>
          <Alike search={{ agent: agentId }}>All its events</Alike>
        </>
      ),
    ],
    [
      'Proxy',
      proxyId && (
        <Link to="/connect/$id" params={{ id: proxyId }}>
          <bdi>{proxyName ?? proxyId}</bdi>
        </Link>
      ),
    ],
    [
      'Credential',
      serviceName && (
        <>
          <Link to="/credentials/$serviceName" params={{ serviceName }}>
            <bdi>{serviceName}</bdi>
          </Link>
          <Alike search={{ credential: serviceName }}>All its events</Alike>
        </>
      ),
    ],
    ['Person', (userEmail ?? userId) && <bdi>{userEmail ?? userId}</bdi>],
    ['Admin key', adminKeyName && <bdi>{adminKeyName}</bdi>],
    ['Channel', origin.channel && CHANNELS[origin.channel]],
    [
      'Address',
      origin.address && (
        <>
          <code>{origin.address}</code>
          <Alike search={{ address: origin.address }}>All events from it</Alike>
        </>
      ),
    ],
    ['Key or session', origin.authenticatedBy && <code>{origin.authenticatedBy}</code>],
    ['Client', origin.userAgent && <bdi>{origin.userAgent}</bdi>],
    [
      'Approval',
      typeof detail['approvalId'] === 'string' && (
        <Link to="/approvals/$id" params={{ id: detail['approvalId'] }}>
          Open it
        </Link>
      ),
    ],
    ['Request', origin.requestId && <code>{origin.requestId}</code>],
    ...Object.entries(detail).map(([name, value]): [string, ReactNode] => [
      `Detail: ${name}`,
      <bdi>{Array.isArray(value) ? value.join(', ') : String(value)}</bdi>,
    ]),
    ['Id', <code>{event.id}</code>],
    ['Hash', <code>{event.hash}</code>],
  ];
  return facts.filter((fact): fact is [string, ReactNode] => Boolean(fact[1]));
}

const CHANNELS = {
  rest: 'REST',
  mcp: 'MCP',
  proxy: 'Proxy',
  cli: 'Command line',
  console: 'Browser',
} as const;

function SameRequest({ event, requestId }: { readonly event: AuditEvent; readonly requestId: string }) {
  const { data } = useQuery(sameRequestQuery(requestId, event.timestamp));
  const others = data?.items.filter(({ seq }) => seq !== event.seq) ?? [];
  if (others.length === 0) return null;
  return (
    <Section id="same-request" title="Other events of the same request">
      <Lines
        plain
        name="other events"
        items={others}
        columns={EVENT_COLUMNS}
        rowClass={EVENT_GRID}
        rowKey={({ seq }) => seq}
        row={(other) => <EventLine event={other} />}
        empty={null}
      />
    </Section>
  );
}
