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
  const text =
    error instanceof Problem
      ? error.message
      : error instanceof TypeError
        ? 'The control plane does not answer. Check that it runs and that this computer is online.'
        : 'The console made an error.';
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
