import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { meQuery } from '../api/queries.ts';
import { KeyboardHelp } from './keyboard-help.tsx';
import { useKeyboard } from './use-keyboard.ts';

const SCREENS = [
  { to: '/', name: 'Home' },
  { to: '/agents', name: 'Agents' },
] as const;

/** What all screens have: the instance, the way between screens, who is signed in, and what program this is. */
export function Shell() {
  const [helpOpen, setHelpOpen] = useState(false);
  useKeyboard({ help: () => setHelpOpen(true) });
  const main = useFocusOnNewScreen();
  return (
    <div className="mx-auto flex min-h-screen max-w-6xl flex-col px-3 py-3 sm:px-6">
      <a href="#main" className="sr-only focus:not-sr-only">
        Skip to the content
      </a>
      <header className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Mark />
        <p className="product min-w-0 wrap-anywhere">
          <strong className="text-[1.1rem]">svault</strong>{' '}
          <span className="ml-1 text-[0.925rem] text-dim">{window.location.host}</span>
        </p>
        <Account />
      </header>
      <nav aria-label="Screens" className="mt-3 border-b border-line">
        <ul className="flex flex-wrap gap-x-1">
          {SCREENS.map(({ to, name }) => (
            <li key={to}>
              <Link
                to={to}
                activeOptions={{ exact: to === '/', includeSearch: false }}
                className="-mb-px block border-b-2 border-transparent px-3 py-2 text-ink no-underline aria-[current=page]:border-accent aria-[current=page]:font-semibold"
              >
                {name}
              </Link>
            </li>
          ))}
        </ul>
      </nav>
      <main id="main" ref={main} tabIndex={-1} className="grow py-5 outline-none">
        <Outlet />
      </main>
      <footer className="flex flex-wrap justify-between gap-x-4 border-t border-line pt-3 text-sm text-dim wrap-anywhere">
        <p>
          svault control plane {SVAULT_VERSION} at {window.location.host}: it decides who may use a
          credential, and never sees one.
        </p>
        <button type="button" className="cursor-pointer underline" onClick={() => setHelpOpen(true)}>
          Keyboard
        </button>
      </footer>
      <KeyboardHelp open={helpOpen} onOpenChange={setHelpOpen} />
    </div>
  );
}

function Account() {
  const { data: me } = useQuery(meQuery);
  return (
    <div className="ml-auto flex min-h-9 flex-wrap items-center gap-x-3 text-[0.925rem]">
      {me && (
        <p className="wrap-anywhere">
          <span className="sr-only">Signed in as </span>
          <bdi>{me.email}</bdi>
        </p>
      )}
      <form method="post" action="/login/out">
        <button type="submit" className="button">
          Sign out
        </button>
      </form>
    </div>
  );
}

/** A rounded square with a keyhole, as on the server-rendered pages. */
function Mark() {
  return (
    <svg className="mark flex-none fill-accent" viewBox="0 0 28 28" width="28" height="28" aria-hidden="true">
      <path
        fillRule="evenodd"
        d="M7 0h14a7 7 0 0 1 7 7v14a7 7 0 0 1-7 7H7a7 7 0 0 1-7-7V7a7 7 0 0 1 7-7zm7 6a5 5 0 0 0-2.4 9.4L10 22h8l-1.6-6.6A5 5 0 0 0 14 6z"
      />
    </svg>
  );
}

/** Nothing is loaded anew between screens: who does not see it is put at the beginning of the new one. */
function useFocusOnNewScreen() {
  const main = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ resolvedLocation }) => resolvedLocation?.pathname });
  const before = useRef(path);
  useEffect(() => {
    if (before.current !== undefined && before.current !== path) main.current?.focus();
    before.current = path;
  }, [path]);
  return main;
}
