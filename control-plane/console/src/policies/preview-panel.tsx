import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { ApiFailure } from '../api/client.ts';
import { Snippet } from '../parts/copy.tsx';
import { Failure } from '../parts/failure.tsx';
import { Time } from '../parts/time.tsx';
import { type Draft, isComplete } from './draft.ts';
import { type Event, type Preview, type Target, previewQuery } from './queries.ts';
import { RULE_NAMES, policyWords } from './rule-words.ts';

/** What a draft says, and what it would have decided about recent requests. Nothing of it is saved. */
export function PreviewPanel(props: {
  readonly draft: (Draft & { readonly attachments: readonly Target[] }) | undefined;
  readonly policyId: string | undefined;
  readonly event: Event | undefined;
}) {
  const { draft, policyId, event } = props;
  const { enabled = true, rules = [], attachments = [] } = draft ?? {};
  const isReady = draft !== undefined && isComplete(draft);
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    ...previewQuery({
      // A name that is still missing changes no decision.
      name: draft?.name || 'draft',
      enabled,
      rules: [...rules],
      ...(policyId === undefined ? { attachments: [...attachments] } : { policyId }),
    }),
    enabled: isReady,
    placeholderData: keepPreviousData,
  });
  const unfit = error instanceof ApiFailure && error.code === 'INVALID_ARGUMENT' ? error : undefined;
  return (
    <aside aria-labelledby="preview" aria-busy={isFetching} className="grid gap-4 lg:sticky lg:top-3">
      <section className="card">
        <h2 id="preview">Preview</h2>
        {!isReady && <p className="mt-2 text-dim">It shows once the rules are filled in.</p>}
        {isReady && unfit && <Unfit error={unfit} />}
        {isReady && error && !unfit && <Failure error={error} />}
        {isReady && data && !error && (
          <>
            <p className="mt-2 wrap-anywhere first-letter:uppercase">{policyWords(rules)}.</p>
            <div aria-busy={isPlaceholderData}>
              <Numbers preview={data} />
              {event && <EventLine event={event} preview={data} />}
              {policyId === undefined && attachments.length === 0 && (
                <p className="mt-2 text-sm text-dim">
                  It is attached to nothing, so it decides about no request.
                </p>
              )}
              <Examples preview={data} />
            </div>
          </>
        )}
      </section>
      {draft && (
        <details className="card">
          <summary className="cursor-pointer font-semibold">JSON</summary>
          <div className="mt-3">
            <Snippet
              what="policy as JSON"
              text={JSON.stringify({ name: draft.name, enabled, rules }, null, 2)}
            />
          </div>
        </details>
      )}
    </aside>
  );
}

function Unfit({ error }: { readonly error: ApiFailure }) {
  return (
    <>
      <p className="mt-2 text-dim">It shows once these fit:</p>
      <ul className="mt-1 grid list-disc gap-1 pl-5 text-sm wrap-anywhere">
        {error.issues.slice(0, 5).map(({ path, message }) => (
          <li key={`${path} ${message}`}>
            {placeOf(path)} {message}
          </li>
        ))}
      </ul>
    </>
  );
}

/** `rules.0.windows.1.end` as `Rule 1, window 2, end:` */
function placeOf(path: string): string {
  const words = path
    .replaceAll(/\b(rule|window|cidr|countrie)s\.([0-9]+)/g, (_, noun: string, at: string) => {
      const names: Record<string, string> = { cidr: 'network', countrie: 'country' };
      return `${names[noun] ?? noun} ${Number(at) + 1}`;
    })
    .replaceAll('.', ', ');
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}:`;
}

function Numbers({ preview }: { readonly preview: Preview }) {
  const { looked, since, complete, denied, allowed, unknown } = preview;
  if (looked === 0) return <p className="mt-2 text-dim">The log has no request yet to try it on.</p>;
  const numbers = [
    ['would be denied', denied],
    ['would be let through', allowed],
    ['cannot be told', unknown],
  ] as const;
  return (
    <>
      <dl className="mt-3 grid grid-cols-3 gap-3">
        {numbers.map(([name, value]) => (
          <div key={name} className="flex flex-col-reverse justify-end">
            <dt className="text-sm text-dim">{name}</dt>
            <dd
              className={`text-xl font-semibold ${value > 0 && name === 'would be denied' ? 'text-warn' : ''}`}
            >
              {value.toLocaleString('en')}
            </dd>
          </div>
        ))}
      </dl>
      <p className="mt-2 text-sm text-dim">
        Of {looked.toLocaleString('en')} requests{' '}
        {complete
          ? 'in the log'
          : since !== null && (
              <>
                since <Time at={since} />
              </>
            )}
        , as if it had been saved before.
      </p>
    </>
  );
}

function EventLine({ event, preview }: { readonly event: Event; readonly preview: Preview }) {
  const found = preview.examples.find(({ seq }) => seq === event.seq);
  const said = found?.draftDecision ?? (event.outcome === 'success' ? 'allowed' : 'denied');
  return (
    <p className="mt-2">
      Event {event.seq}{' '}
      {said === 'denied' ? (
        <strong className="text-warn">{found ? 'would be denied' : 'would still be denied'}</strong>
      ) : (
        <strong className="text-good">{found ? 'would be let through' : 'would still be allowed'}</strong>
      )}
      .
    </p>
  );
}

function Examples({ preview: { examples, changed } }: { readonly preview: Preview }) {
  if (examples.length === 0) return null;
  return (
    <>
      <h3 className="mt-4 text-sm font-medium">
        {changed > examples.length ? `The newest ${examples.length} of ${changed}` : 'These requests'}
      </h3>
      <ul
        aria-label="Requests that would be decided otherwise"
        tabIndex={0}
        className="mt-1 max-h-80 divide-y divide-line overflow-y-auto"
      >
        {examples.map(({ eventId, timestamp, serviceName, address, draftDecision, rule, ...who }) => (
          <li key={eventId} className="py-1.5 text-sm wrap-anywhere">
            <bdi>{who.agentName ?? who.proxyName ?? who.agentId ?? who.proxyId}</bdi>
            {serviceName !== undefined && (
              <>
                {' → '}
                <bdi>{serviceName}</bdi>
              </>
            )}
            <span className={`float-right ml-2 ${draftDecision === 'denied' ? 'text-warn' : 'text-good'}`}>
              {draftDecision === 'denied' ? 'denied' : 'let through'}
            </span>
            <br />
            <span className="text-dim">
              <Time at={timestamp} /> from {address ?? 'an unknown address'}, {RULE_NAMES[rule].toLowerCase()}
            </span>
          </li>
        ))}
      </ul>
    </>
  );
}
