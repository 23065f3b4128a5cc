import { setTimeout as sleep } from 'node:timers/promises';
import type { Pair } from '@svault/compose/pair';
import { launchChromium } from '@svault/test-kit/chromium';
import { startOnBothCores } from '../machine.ts';
import type { Row } from '../report.ts';
import { median } from '../rounds.ts';
import { TARGETS } from '../targets.ts';

type Browser = Awaited<ReturnType<typeof launchChromium>>;
type Page = Awaited<ReturnType<Browser['newPage']>>;
type Session = Awaited<ReturnType<ReturnType<Page['context']>['newCDPSession']>>;

const PER_MINUTE = 1_000;
/** Events before the heap is looked at first, and ten times as many before it is looked at again. */
const WARM_UP = 300;
const EVENTS = 10 * WARM_UP;

/**
 * The console in Chromium, which shares both cores with the programs: how soon Home is usable with nothing cached, how long a
 * change of screens takes, what the first load is in bytes; and with live events, the longest task, in time of its thread, and
 * what the heap grows by.
 */
export async function consoleRows(pair: Pair, rounds: number): Promise<readonly Row[]> {
  const agent = await pair.admin.call<{ agent: { id: string } }>('POST', '/api/agents', {
    name: 'of the bench',
  });
  const change = (n: number): Promise<unknown> =>
    pair.admin.call('PATCH', `/api/agents/${agent.agent.id}`, { description: `change ${n}` });
  for (let n = 0; n < 100; n++) await change(n);
  const cookie = await signIn(pair);
  const browser = await startOnBothCores(launchChromium);
  try {
    const loads: { ms: number; bytes: number }[] = [];
    const changes: number[] = [];
    for (let round = 0; round < rounds; round++) {
      const context = await browser.newContext();
      await context.addCookies([cookie]);
      const page = await context.newPage();
      loads.push(await firstLoad(page, pair.controlPlaneUrl));
      await openScreens(page);
      changes.push(...(await openScreens(page)));
      await context.close();
    }
    const context = await browser.newContext();
    await context.addCookies([cookie]);
    const page = await context.newPage();
    const live = await liveEvents(browser, page, pair.controlPlaneUrl, change);
    const ms = loads.map((load) => load.ms);
    const bytes = loads.map((load) => load.bytes);
    return [
      { name: 'console, Home usable, nothing cached', value: median(ms), target: TARGETS.consoleLoad },
      { name: 'console, change of screens', value: median(changes), target: TARGETS.consoleScreen },
      { name: 'console, first load', value: median(bytes) / 1_000, target: TARGETS.consoleBytes },
      {
        name: `console, longest task at ${PER_MINUTE} events a minute`,
        value: live.longestTaskMs,
        target: TARGETS.consoleTask,
        note: `of ${EVENTS} events`,
      },
      {
        name: 'console, heap after ten times as many events',
        value: live.heapAfter / live.heapBefore,
        target: TARGETS.consoleHeap,
        note: `${(live.heapBefore / 1e6).toFixed(2)} and ${(live.heapAfter / 1e6).toFixed(2)} MB`,
      },
    ];
  } finally {
    await browser.close();
  }
}

/** Adds a member and uses the link. @returns the session's cookie */
async function signIn({ admin, controlPlaneUrl }: Pair) {
  const person = { email: `${Date.now()}@bench.localhost`, role: 'admin' };
  const { link } = await admin.call<{ link: { url: string } }>('POST', '/api/members', person);
  const response = await fetch(`${controlPlaneUrl}/api/login/link`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: new URL(link.url).searchParams.get('token') }),
  });
  const [name = '', value = ''] = response.headers.getSetCookie()[0]?.split(';')[0]?.split('=') ?? [];
  return { name, value, url: controlPlaneUrl };
}

/** Home with its numbers, its chart and its live feed. */
async function usable(page: Page): Promise<void> {
  await page.getByText('Connected').waitFor();
  await page.getByRole('heading', { name: 'This account' }).waitFor();
}

/** The same in the page, in ms since its navigation began: the driver's looks take a tenth of the time that they measure. */
const NOTE_USABLE = `window.usableAtMs = new Promise((resolve) => {
  const look = () => {
    const main = document.querySelector('#counts') && document.querySelector('main');
    if (main?.textContent.includes('Connected')) resolve(performance.now());
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})`;

async function firstLoad(page: Page, url: string): Promise<{ ms: number; bytes: number }> {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('Network.enable');
  const assets = new Set<string>();
  let bytes = 0;
  cdp.on('Network.responseReceived', ({ requestId, response }) => {
    if (!new URL(response.url).pathname.startsWith('/api/')) assets.add(requestId);
  });
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (assets.has(requestId)) bytes += encodedDataLength;
  });
  await page.addInitScript(NOTE_USABLE);
  await page.goto(url);
  return { ms: await page.evaluate<number>('usableAtMs'), bytes };
}

const SCREENS = [
  ['Activity', 'ul[aria-label="events"]'],
  ['Agents', 'ul[aria-label="agents"]'],
  ['Home', '#counts'],
] as const;

/** Goes to each screen and back. @returns ms from each click to the frame that shows what the screen is about */
async function openScreens(page: Page): Promise<readonly number[]> {
  const times: number[] = [];
  for (const [link, shown] of SCREENS) times.push(await page.evaluate<number>(openScreen(link, shown)));
  return times;
}

/** In the page, since a click by the driver waits for frames of its own. */
const openScreen = (link: string, shown: string): string => `new Promise((resolve) => {
  const startedAt = performance.now();
  const look = () => {
    if (document.querySelector(${JSON.stringify(shown)}) === null) requestAnimationFrame(look);
    else resolve(performance.now() - startedAt);
  };
  const links = [...document.querySelectorAll('nav[aria-label="Screens"] a')];
  links.find(({ textContent }) => textContent === ${JSON.stringify(link)}).click();
  requestAnimationFrame(look);
})`;

async function liveEvents(
  browser: Browser,
  page: Page,
  url: string,
  change: (n: number) => Promise<unknown>,
) {
  const cdp = await page.context().newCDPSession(page);
  await page.goto(url);
  await usable(page);
  await emit(change, WARM_UP);
  const heapBefore = await heapOf(cdp);
  const tasks = await traceTasks(browser);
  await emit(change, EVENTS);
  const longestTaskMs = await tasks.longestMs();
  return { longestTaskMs, heapBefore, heapAfter: await heapOf(cdp) };
}

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Microseconds of the thread's own time: what else the machine does falls on none. */
  readonly tdur?: number;
  readonly args?: { readonly name?: string };
}

/** Notes how long each task of the main threads of pages takes. */
async function traceTasks(browser: Browser) {
  const cdp = await browser.newBrowserCDPSession();
  const mains = new Set<string>();
  const longest = new Map<string, number>();
  cdp.on('Tracing.dataCollected', ({ value }) => {
    for (const event of value as unknown as TraceEvent[]) {
      const thread = `${event.pid} ${event.tid}`;
      if (event.name === 'thread_name' && event.args?.name === 'CrRendererMain') mains.add(thread);
      if (event.name === 'RunTask' || event.name === 'ThreadControllerImpl::RunTask')
        longest.set(thread, Math.max(longest.get(thread) ?? 0, event.tdur ?? 0));
    }
  });
  const includedCategories = ['toplevel', 'disabled-by-default-devtools.timeline'];
  await cdp.send('Tracing.start', { transferMode: 'ReportEvents', traceConfig: { includedCategories } });
  return {
    longestMs: async (): Promise<number> => {
      const complete = new Promise((resolve) => cdp.once('Tracing.tracingComplete', resolve));
      await cdp.send('Tracing.end');
      await complete;
      return Math.max(...[...longest].map(([thread, us]) => (mains.has(thread) ? us / 1_000 : 0)));
    },
  };
}

async function emit(change: (n: number) => Promise<unknown>, count: number): Promise<void> {
  const startedAt = performance.now();
  for (let n = 0; n < count; n++) {
    await change(n);
    const aheadMs = (n * 60_000) / PER_MINUTE - (performance.now() - startedAt);
    if (aheadMs > 0) await sleep(aheadMs);
  }
}

/** Bytes in use after a collection. */
async function heapOf(cdp: Session): Promise<number> {
  await cdp.send('HeapProfiler.collectGarbage');
  return (await cdp.send('Runtime.getHeapUsage')).usedSize;
}
