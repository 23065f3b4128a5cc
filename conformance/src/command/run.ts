import { rmSync } from 'node:fs';
import { parseBaseline, type Baseline, BaselineRefused } from '../report/baseline.ts';
import type { Check } from '../check/check.ts';
import { CHECKS, selectChecks } from '../registry.ts';
import { badge } from '../report/badge.ts';
import { formatOf, write, type Format } from '../report/formats.ts';
import type { Report } from '../report/report.ts';
import { createTrafficLog } from '../log/traffic-log.ts';
import { loadRequirements } from '../requirements.ts';
import { runSuite } from '../suite-run.ts';
import type { Binding, WebhookToTest } from '../target.ts';
import {
  openTextFile,
  readInput,
  readTextFile,
  replaceOwnFile,
  reserveFile,
  writeTextFile,
} from './files.ts';
import { EXIT, UsageRefused, type Io } from './io.ts';
import { restartBy } from './restart.ts';
import { progressOn } from './progress.ts';
import { writeBinding } from './saved-binding.ts';
import { upstreamOf } from './upstream-flags.ts';
import { webhookOf, type WebhookFlags } from './webhook-flags.ts';

export interface RunFlags extends WebhookFlags {
  readonly upstreamUrl?: string;
  readonly upstreamListen?: string;
  readonly only: readonly string[];
  readonly skip: readonly string[];
  readonly fast?: true;
  readonly list?: true;
  readonly baseline?: string;
  readonly format: Format;
  readonly report: readonly string[];
  readonly badge?: string;
  readonly log?: string;
  readonly saveBinding?: string;
  readonly replaceKey?: true;
  readonly restart?: string;
  readonly approverLink?: string;
  readonly verbose?: true;
  /** False by `--no-color`. */
  readonly color: boolean;
}

/**
 * Runs the suite and reports.
 * @returns the exit code
 * @throws UsageRefused, TargetRefused, UnknownCheck, UpstreamUnavailable
 */
export async function runCommand(flags: RunFlags, io: Io): Promise<number> {
  const checks = selectChecks(namesIn(flags.only), {
    skip: namesIn(flags.skip),
    fast: flags.fast === true,
  });
  if (flags.list) return listChecks(checks, io);
  const reports = flags.report.map(reportOf);
  if (flags.badge !== undefined && checks.length < CHECKS.length)
    throw new UsageRefused('--badge is for a whole run: leave out --only, --skip and --fast');
  const baseline = flags.baseline === undefined ? undefined : readBaseline(flags.baseline);
  const upstream = upstreamOf(flags);
  const webhook = await webhookOf(flags, io);
  const approverLink = await approverLinkOf(flags, webhook, io);
  const log = flags.log === undefined ? undefined : openTextFile(flags.log);
  const keep = keeperOf(flags, (binding) => writeBinding(webhook.address, binding));
  try {
    const progress = progressOn(io, checks.length);
    const { report, binding } = await runSuite({
      webhook,
      checks,
      requirements: loadRequirements(),
      baseline,
      upstream,
      // A binding that a run made is the suite's own; any other is somebody's who goes on with its key.
      mayReplaceKey: flags.replaceKey ?? ('invitation' in webhook || flags.binding !== undefined),
      restart: restartOf(flags, webhook),
      approverLink: approverLink === undefined ? undefined : () => Promise.resolve(approverLink),
      signal: io.signal,
      log: log && createTrafficLog(log.line),
      onBound: keep.save,
      onCheck: progress.onCheck,
    });
    progress.end();
    if (binding !== undefined) keep.save(binding);
    checkOfKey(flags, 'binding' in webhook ? webhook.binding : undefined, binding, io);
    print(report, { ...flags, reports }, io);
    if (report.interrupted) return EXIT.interrupted;
    return report.accepted ? EXIT.ok : EXIT.fails;
  } finally {
    log?.close();
    keep.end();
  }
}

const restartOf = ({ restart }: RunFlags, { address }: WebhookToTest): (() => Promise<void>) | undefined =>
  restart === undefined ? undefined : () => restartBy(restart, address.webhookUrl);

/** @throws UsageRefused for one that is no link of this webhook */
async function approverLinkOf(
  { approverLink: flag, bindLink }: RunFlags,
  { address }: WebhookToTest,
  io: Io,
): Promise<string | undefined> {
  if (flag === undefined) return undefined;
  if (flag === '-' && bindLink === '-')
    throw new UsageRefused('--bind-link and --approver-link cannot both be read from stdin');
  const text = flag === '-' ? await readInput('-', io) : flag;
  // The command of the reference webhook says below it until when it works.
  const [link = ''] = text.trim().split(/\s/, 1);
  const isOne = URL.canParse(link) && new URL(link).searchParams.has('code');
  if (!isOne || !link.startsWith(`${address.webhookUrl}/`))
    throw new UsageRefused('--approver-link: this is no link for an approver of this webhook');
  return link;
}

const namesIn = (values: readonly string[]): readonly string[] =>
  values.flatMap((names) => names.split(',')).filter((name) => name !== '');

function listChecks(checks: readonly Check[], io: Io): number {
  for (const { id, title, requirements } of checks) io.out(`${id}\t${requirements.join(' ')}\t${title}`);
  return EXIT.ok;
}

function print(
  report: Report,
  flags: RunFlags & { readonly reports: ReadonlyArray<readonly [path: string, format: Format]> },
  io: Io,
): void {
  const verbose = flags.verbose === true;
  io.out(write(report, flags.format, { verbose, color: flags.color && io.color === true }));
  for (const [path, format] of flags.reports)
    writeTextFile(path, `${write(report, format, { verbose: true })}\n`);
  if (flags.badge !== undefined && !report.interrupted) writeTextFile(flags.badge, badge(report));
}

function reportOf(path: string): readonly [path: string, format: Format] {
  const format = formatOf(path);
  if (format === undefined)
    throw new UsageRefused(
      `--report ${path}: the ending says the format: .txt, .json, .xml (JUnit) or .html`,
    );
  return [path, format];
}

function readBaseline(path: string): Baseline {
  const text = readTextFile(path);
  try {
    return parseBaseline(text);
  } catch (error) {
    if (!(error instanceof BaselineRefused)) throw error;
    throw new UsageRefused(`--baseline ${path}: ${error.message}`, { cause: error });
  }
}

/** Keeps the binding in the file that was asked for, as soon as there is one and whenever its key changes. */
interface Keeper {
  save(binding: Binding): void;
  end(): void;
}

function keeperOf(flags: RunFlags, write: (binding: Binding) => string): Keeper {
  const path = flags.saveBinding ?? flags.binding;
  if (path === undefined) return { save: () => undefined, end: () => undefined };
  if (flags.saveBinding !== undefined) reserveFile(path);
  let saved = flags.saveBinding === undefined ? readTextFile(path) : '';
  return {
    save(binding) {
      const text = write(binding);
      // A file that was written by hand and says the same stays as it is.
      if (saved !== '' && keyIn(saved) === keyIn(text)) return;
      replaceOwnFile(path, text);
      saved = text;
    },
    end() {
      if (saved === '') rmSync(path, { force: true });
    },
  };
}

function keyIn(saved: string): string {
  const { keyId, hmacSecret } = JSON.parse(saved) as { keyId: string; hmacSecret: string };
  return `${keyId} ${hmacSecret}`;
}

/** A key that the run replaced and nobody keeps is lost, and the one that was given holds ten minutes more (ROT-04). */
function checkOfKey(flags: RunFlags, before: Binding | undefined, after: Binding | undefined, io: Io): void {
  const isKept = flags.saveBinding !== undefined || flags.binding !== undefined;
  if (isKept || before === undefined || after === undefined || before.key.id === after.key.id) return;
  io.err(
    'note: the run replaced the key; the one that was given ends in ten minutes, and --save-binding FILE would have kept the new one',
  );
}
