import { Link } from '@tanstack/react-router';
import { ApiFailure, Problem, signInPath } from '../api/client.ts';

/** In place of a screen, or of a part of one, that cannot be shown: what happened, and how to try again. */
export function Failure({
  error,
  reset,
}: {
  readonly error: unknown;
  readonly reset?: (() => void) | undefined;
}) {
  const known = error instanceof ApiFailure ? error : undefined;
  if (known?.status === 401)
    return (
      <div role="alert" className="card border-warn">
        <p className="text-warn">Your session has ended. What you typed is still here.</p>
        <p className="mt-2">
          <a href={signInPath('/')} target="_blank" rel="noopener">
            Sign in in another tab
          </a>
          , come back, and submit it again.
        </p>
      </div>
    );
  const text = error instanceof Problem ? error.message : 'The console made an error. Load the page again.';
  return (
    <div role="alert" className="card border-warn">
      <p className="text-warn wrap-anywhere">{text}</p>
      {known && (
        <p className="mt-2 text-sm text-dim">
          Code <code>{known.code}</code>
          {known.requestId !== undefined && (
            <>
              , request <code>{known.requestId}</code>
            </>
          )}
        </p>
      )}
      {reset && (
        <button type="button" className="button mt-3" onClick={reset}>
          Try again
        </button>
      )}
    </div>
  );
}

/** At an address that the console has no screen for. */
export function NotFound() {
  return (
    <>
      <h1>There is no page here</h1>
      <p className="mt-3">
        Nothing is at this address. It may be mistyped, or what it showed was deleted. Start at{' '}
        <Link to="/">Home</Link>.
      </p>
    </>
  );
}

/** What is shown of a query that has no answer yet. */
interface Unanswered {
  readonly error: unknown;
  readonly refetch: () => unknown;
}

/** In place of a screen as long as its query has no answer: what it waits for, or why there is none. */
export function ScreenNotLoaded({ query: { error, refetch } }: { readonly query: Unanswered }) {
  if (error instanceof ApiFailure && [404, 422].includes(error.status)) return <NotFound />;
  return error ? <BrokenScreen error={error} reset={() => void refetch()} /> : <Loading />;
}

/** In place of a screen that failed. */
export function BrokenScreen(props: { readonly error: unknown; readonly reset?: (() => void) | undefined }) {
  return (
    <>
      <h1>This screen cannot be shown</h1>
      <div className="mt-4">
        <Failure {...props} />
      </div>
    </>
  );
}

/** The same for a part of a screen. @param props.className reserves its room */
export function NotLoaded(props: { readonly query: Unanswered; readonly className?: string }) {
  const { error, refetch } = props.query;
  return error ? (
    <Failure error={error} reset={() => void refetch()} />
  ) : (
    <Loading className={props.className} />
  );
}

const Loading = ({ className = '' }: { readonly className?: string | undefined }) => (
  <p className={`text-dim ${className}`}>Loading…</p>
);
