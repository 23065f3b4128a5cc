import { useQuery } from '@tanstack/react-query';
import { Link, getRouteApi } from '@tanstack/react-router';
import { NotLoaded } from '../parts/failure.tsx';
import { Lines, List, ROW_LINK } from '../parts/list.tsx';
import { Screen, Section } from '../parts/screen.tsx';
import { Time } from '../parts/time.tsx';
import { visibleLine } from '../parts/visible-text.ts';
import { AccessRequests } from './access-requests.tsx';
import { KIND_WORDS, STATUS_WORDS, byEnd, callerName, operationOf, shortened } from './approval-words.ts';
import { type Approval, approvalsQuery, pendingQuery } from './queries.ts';
import { TimeLeft } from './time-left.tsx';

const route = getRouteApi('/approvals');

/** What waits for a decision, and below it what was decided not long ago. */
export function ApprovalList() {
  const pending = useQuery(pendingQuery);
  return (
    <Screen title="Approvals">
      <div className="mt-4 grid gap-4">
        <Section id="pending" title="Pending">
          {pending.data === undefined ? (
            <NotLoaded query={pending} className="min-h-24" />
          ) : (
            <Lines
              plain
              name="pending approvals"
              items={byEnd(pending.data.items)}
              columns={['Request', 'Asked', 'Expires']}
              rowClass={ROW}
              rowKey={({ id }) => id}
              row={(approval) => <Row approval={approval} last={<TimeLeft until={approval.expiresAt} />} />}
              empty={
                <p>
                  None. To require approvals: <code>svault policies apply approvals.yaml</code>
                </p>
              }
            />
          )}
          {pending.data?.nextCursor && (
            <p className="mt-2 text-sm text-dim">
              More are pending than are shown: <code>svault approvals list</code>
            </p>
          )}
        </Section>
        <Decided />
        <AccessRequests />
      </div>
    </Screen>
  );
}

const ROW = 'gap-x-4 gap-y-1 sm:grid-cols-[minmax(0,1fr)_8rem_10rem]';

function Decided() {
  const query = useQuery(approvalsQuery(route.useSearch()));
  const { data } = query;
  // The API sends the oldest first.
  const decided = data && {
    ...data,
    items: data.items.filter(({ status }) => status !== 'pending').toReversed(),
  };
  return (
    <Section id="decided" title="Decided or expired">
      <List
        plain
        name="earlier approvals"
        query={{ ...query, data: decided }}
        columns={['Request', 'Asked', 'State']}
        rowClass={ROW}
        rowKey={({ id }) => id}
        row={(approval) => <Row approval={approval} last={<State approval={approval} />} />}
        empty={
          <p>
            None in the last day. To list them: <code>svault approvals list --all</code>
          </p>
        }
      />
    </Section>
  );
}

function Row({ approval, last }: { readonly approval: Approval; readonly last: React.ReactNode }) {
  const { id, kind, serviceName, askedAt } = approval;
  const { words } = operationOf(approval);
  return (
    <>
      <div className="min-w-0 wrap-anywhere">
        <Link {...ROW_LINK} to="/approvals/$id" params={{ id }} className="font-semibold">
          <bdi>{shortened(callerName(approval))}</bdi>
        </Link>{' '}
        asks for <bdi className="font-semibold">{shortened(visibleLine(serviceName))}</bdi>
        <p className="text-sm text-dim">
          <bdi>{words}</bdi>. {KIND_WORDS[kind]}.
        </p>
      </div>
      <p>
        <span className="text-dim sm:sr-only">Asked </span>
        <Time at={askedAt} />
      </p>
      <p>{last}</p>
    </>
  );
}

const State = ({ approval: { status } }: { readonly approval: Approval }) => (
  <span className={status === 'denied' ? 'text-warn' : status === 'approved' ? 'text-good' : 'text-dim'}>
    {STATUS_WORDS[status]}
  </span>
);
