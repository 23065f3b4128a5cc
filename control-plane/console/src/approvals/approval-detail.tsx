import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { ScreenNotLoaded } from '../parts/failure.tsx';
import { Facts, Screen, Section } from '../parts/screen.tsx';
import { ExactTime, Time } from '../parts/time.tsx';
import { visibleLine, visibleText } from '../parts/visible-text.ts';
import { KIND_WORDS, callerName, operationOf, shortened } from './approval-words.ts';
import { Decision } from './decision.tsx';
import { type Approval, approvalQuery } from './queries.ts';
import { TimeLeft } from './time-left.tsx';

const route = getRouteApi('/approvals/$id');

/**
 * One approval, at the address that agents and notifications carry. What others wrote takes a fixed room, whatever it is: the
 * facts and the buttons are where a person knows them to be.
 */
export function ApprovalDetail() {
  const { id } = route.useParams();
  const query = useQuery(approvalQuery(id));
  const { data: approval } = query;
  const asked = useRef<HTMLElement>(null);
  const isLoaded = approval !== undefined;
  // Who follows the link of a message is here at once, past the menu of screens.
  useEffect(() => {
    if (isLoaded && document.activeElement === document.body) asked.current?.focus({ preventScroll: true });
  }, [isLoaded]);
  if (approval === undefined) return <ScreenNotLoaded query={query} />;
  return (
    <Screen title="Approval" up={{ to: '/approvals', name: 'Approvals' }}>
      <div className="mt-4 grid max-w-3xl grid-cols-[minmax(0,1fr)] gap-4">
        <section ref={asked} aria-label="What is asked" tabIndex={-1} className="card pb-0 outline-none">
          <Asked approval={approval} />
          <OwnWords approval={approval} />
          <Decision key={approval.id} approval={approval} />
        </section>
        <Section id="whole" title="Details">
          <Facts facts={wholeOf(approval)} />
        </Section>
      </div>
    </Screen>
  );
}

/** Two lines of a text of others on a phone, one elsewhere, and never more or less. */
const Fixed = ({ children }: { readonly children: ReactNode }) => (
  <span className="line-clamp-2 h-[2lh] wrap-anywhere sm:line-clamp-1 sm:h-[1lh]">{children}</span>
);

/** A link in a room of fixed height shows inside of it that it has the focus. */
const CLIPPED = 'focus-visible:-outline-offset-2';

function Asked({ approval }: { readonly approval: Approval }) {
  const { kind, askedAt, expiresAt, status, agentId, proxyId = '', serviceName } = approval;
  const { words, request } = operationOf(approval);
  const name = <bdi className="font-semibold">{shortened(callerName(approval))}</bdi>;
  return (
    <dl className="grid gap-x-6 gap-y-1 sm:grid-cols-[8rem_minmax(0,1fr)]">
      <Fact name={agentId === undefined ? 'Proxy' : 'Agent'}>
        <Fixed>
          {agentId === undefined ? (
            <Link to="/connect/$id" params={{ id: proxyId }} className={CLIPPED}>
              {name}
            </Link>
          ) : (
            <Link to="/agents/$id" params={{ id: agentId }} className={CLIPPED}>
              {name}
            </Link>
          )}
        </Fixed>
      </Fact>
      <Fact name="Credential">
        <Fixed>
          <Link to="/credentials/$serviceName" params={{ serviceName }} className={CLIPPED}>
            <bdi className="font-semibold">{shortened(visibleLine(serviceName))}</bdi>
          </Link>
        </Fixed>
      </Fact>
      <Fact name="Asks for">
        <Fixed>
          <bdi>{words}</bdi>
        </Fixed>
      </Fact>
      {request !== undefined && (
        <Fact name="As">
          <Fixed>
            <bdi>
              <code>{request}</code>
            </bdi>
          </Fixed>
        </Fact>
      )}
      <Fact name="Why">{KIND_WORDS[kind]}</Fact>
      <Fact name="Asked">
        <Time at={askedAt} />
        {status === 'pending' && (
          <>
            , <TimeLeft until={expiresAt} />
          </>
        )}
      </Fact>
    </dl>
  );
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <div className="contents">
    <dt className="text-sm/6 text-dim">{name}</dt>
    <dd className="min-w-0">{children}</dd>
  </div>
);

/** What the agent says it is for, set apart: nobody checked it. */
function OwnWords({ approval: { reason, agentId } }: { readonly approval: Approval }) {
  const whose = agentId === undefined ? 'In the words of the proxy’s client' : 'In the agent’s own words';
  return (
    <div className="mt-3">
      <p className="text-sm text-dim">{whose}, which nobody has checked:</p>
      <blockquote
        tabIndex={0}
        aria-label={whose}
        className="mt-1 h-28 overflow-y-auto rounded-md border border-dashed border-dim bg-ground px-3 py-2 wrap-anywhere whitespace-pre-wrap"
      >
        {reason === undefined || reason === '' ? (
          <span className="text-dim">No reason was given.</span>
        ) : (
          <bdi>{visibleText(reason)}</bdi>
        )}
      </blockquote>
    </div>
  );
}

/** Everything of it, each at its full length. */
function wholeOf(approval: Approval): readonly (readonly [string, ReactNode])[] {
  const { id, agentId, proxyId, serviceName, request, kind, uses, used } = approval;
  const { askedAt, expiresAt, decidedAt, decidedBy } = approval;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['Name', <bdi>{callerName(approval)}</bdi>],
    [agentId === undefined ? 'Proxy id' : 'Agent id', <code>{agentId ?? proxyId}</code>],
    ['Credential', <bdi>{visibleLine(serviceName)}</bdi>],
    ['Request', request && <code>{visibleLine(`${request.method} ${request.url}`)}</code>],
    ['Tool', request?.tool !== undefined && <code>{visibleLine(request.tool)}</code>],
    ['Digest', request && <code>{request.digest}</code>],
    ['Uses', kind === 'policy' && `${used} of ${uses}`],
    ['Asked', <ExactTime at={askedAt} />],
    ['Expires', <ExactTime at={expiresAt} />],
    ['Decided', decidedAt && <ExactTime at={decidedAt} />],
    ['Decided by', decidedBy && <code>{decidedBy}</code>],
    ['Id', <code>{id}</code>],
  ];
  return facts.filter(([, value]) => Boolean(value));
}
