import { useQuery } from '@tanstack/react-query';
import { Link, type LinkProps, Outlet, useRouterState } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { meQuery } from '../api/queries.ts';
import { PendingBadge } from '../approvals/pending-badge.tsx';
import { useApprovalEvents } from '../approvals/use-approval-events.ts';
import { Notice } from '../parts/notice.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { useKeyboard } from './use-keyboard.ts';

/** In their order. One with the role `admin` is not shown to members. */
const SCREENS: readonly {
  readonly to: NonNullable<LinkProps['to']>;
  readonly name: string;
  readonly role?: 'admin';
}[] = [
  { to: '/', name: 'Home' },
  { to: '/approvals', name: 'Approvals' },
  { to: '/agents', name: 'Agents' },
  { to: '/credentials', name: 'Credentials' },
  { to: '/reach', name: 'Reach' },
  { to: '/policies', name: 'Policies' },
  { to: '/connect', name: 'Connect' },
  { to: '/activity', name: 'Activity' },
  { to: '/webhook', name: 'Vault and webhook' },
  { to: '/people', name: 'People', role: 'admin' },
  { to: '/limits', name: 'Limits' },
  { to: '/account', name: 'Account' },
];

/** What all screens have: the instance, the way between screens, who is signed in, and what program this is. */
export function Shell() {
  const [helpOpen, setHelpOpen] = useState(false);
  useKeyboard({ help: () => setHelpOpen(true) });
  const main = useFocusOnNewScreen();
  useSamePerson();
  useApprovalEvents();
  return (
    <div className="mx-auto flex min-h-screen max-w-7xl flex-col px-3 py-3 sm:px-6">
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
      <div className="mt-3 flex grow flex-col lg:grid lg:grid-cols-[13rem_minmax(0,1fr)] lg:gap-x-6">
        <Screens />
        <main id="main" ref={main} tabIndex={-1} className="grow py-5 outline-none lg:pt-1.5">
          <Outlet />
        </main>
      </div>
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
      <Notice />
    </div>
  );
}

/** The screens; behind a button where there is no room beside the content. */
function Screens() {
  const [open, setOpen] = useState(false);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  useEffect(() => setOpen(false), [path]);
  const { data: me } = useQuery(meQuery);
  const at = path === '/add-credential' ? '/credentials' : path;
  const current = SCREENS.findLast(({ to }) => at === to || at.startsWith(`${to}/`));
  return (
    <nav aria-label="Screens" className="border-b border-line lg:border-b-0">
      <button
        type="button"
        aria-expanded={open}
        aria-controls="screens"
        className="flex w-full cursor-pointer items-center justify-between py-2 font-semibold lg:hidden"
        onClick={() => setOpen(!open)}
      >
        {current?.name ?? 'Screens'}
        <span className="flex items-center gap-2">
          {!open && <PendingBadge />}
          <span aria-hidden="true">{open ? '▴' : '▾'}</span>
        </span>
      </button>
      <ul id="screens" className={`${open ? 'grid' : 'hidden'} gap-0.5 pb-2 lg:sticky lg:top-3 lg:grid`}>
        {SCREENS.filter(({ role }) => role !== 'admin' || me?.role === 'admin').map(({ to, name }) => (
          <li key={to}>
            <Link
              to={to}
              activeOptions={{ exact: to === '/', includeSearch: false }}
              aria-current={to === current?.to ? 'page' : undefined}
              className="flex items-center justify-between gap-2 rounded-md px-2.5 py-1.5 text-ink no-underline hover:bg-line/50 aria-[current=page]:bg-paper aria-[current=page]:font-semibold aria-[current=page]:shadow-[inset_3px_0_0_var(--accent)]"
            >
              {name}
              {to === '/approvals' && <PendingBadge />}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}

/** What is shown belongs to one person of one account: when another tab signs in as somebody else, the page starts anew. */
function useSamePerson(): void {
  const { data: me } = useQuery(meQuery);
  const first = useRef<string>(undefined);
  const person = me && `${me.vaultId} ${me.id}`;
  useEffect(() => {
    first.current ??= person;
    if (person !== first.current) window.location.assign('/');
  }, [person]);
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
    if (before.current !== undefined && before.current !== path)
      // The router has scrolled to the top; the focus would scroll the header out of sight.
      main.current?.focus({ preventScroll: true });
    before.current = path;
  }, [path]);
  return main;
}
