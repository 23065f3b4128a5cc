import { isServiceName } from '@svault/shared';
import { usage } from '../../failure.ts';
import type { Invocation } from '../../invocation.ts';
import { listed, plainLine } from '../../output/plain-line.ts';
import { say } from '../../output/say.ts';
import type { Finding, Kind, Parsed, Source } from './finding.ts';
import { NotRead, type ReadSource, readSource } from './read-source.ts';
import { homeOf } from './sources.ts';

/** A credential of this machine. */
export interface Found extends Finding {
  readonly source: Source;
  /** The path as it is shown: `~/.netrc`. */
  readonly file: string;
  /** Names that fit, the best first. */
  readonly names: readonly string[];
  /** Where it comes from, in words that are the same at each run: the control plane keeps them as a note. */
  readonly origin: string;
}

type Parse = (text: string, folder: string) => Parsed | undefined;

/** A parser is loaded where a file of its kind is there. */
const PARSERS: Readonly<Record<Kind, () => Promise<Parse>>> = {
  env: async () => (await import('./env-file.ts')).inEnvFile,
  mcp: async () => (await import('./mcp-config.ts')).inMcpConfig,
  aws: async () => (await import('./aws-credentials.ts')).inAwsCredentials,
  gh: async () => (await import('./gh-hosts.ts')).inGhHosts,
  netrc: async () => (await import('./netrc.ts')).inNetrc,
  npmrc: async () => (await import('./npmrc.ts')).inNpmrc,
};

/** The credentials of some files. What cannot be read, and what others can read, is said on stderr. @throws Failure usage */
export async function inventory(
  invocation: Invocation,
  sources: readonly Source[],
): Promise<readonly Found[]> {
  const found: Found[] = [];
  const openToOthers: string[] = [];
  let skipped = 0;
  for (const source of sources) {
    const file = shownPath(invocation, source.path);
    const read = await readOrSay(invocation, source, file);
    if (read === undefined) continue;
    const parsed = (await PARSERS[source.kind]())(read.text, source.folder);
    if (parsed === undefined) {
      say(invocation, `${file} is skipped: it is not in the format of its kind (${source.kind})`);
      continue;
    }
    skipped += parsed.skipped;
    if (read.isOfAnother) say(invocation, `warning: ${file} belongs to another user`);
    if (read.isOpenToOthers && parsed.findings.length > 0) openToOthers.push(file);
    found.push(...withOrigins(parsed.findings, source, file));
  }
  if (skipped > 0)
    say(
      invocation,
      `${skipped === 1 ? '1 value is' : `${skipped} values are`} left out: placeholders, references, or no secrets by their names`,
    );
  if (openToOthers.length > 0)
    say(
      invocation,
      `warning: other users of this machine can read ${listed(openToOthers)}: rotate what is there`,
    );
  return found;
}

async function readOrSay(
  invocation: Invocation,
  { path, isNamed }: Source,
  file: string,
): Promise<ReadSource | undefined> {
  try {
    return await readSource(path);
  } catch (error) {
    if (!(error instanceof NotRead)) throw error;
    if (isNamed) throw usage(`${plainLine(file)} ${error.message}`);
    say(invocation, `${file} is skipped: it ${error.message}`);
    return undefined;
  }
}

/** A place that occurs twice, such as two passwords of a machine, is numbered. */
function withOrigins(findings: readonly Finding[], source: Source, file: string): readonly Found[] {
  const times = new Map<string, number>();
  return findings.map((finding) => {
    const time = (times.get(finding.place) ?? 0) + 1;
    times.set(finding.place, time);
    const place = time === 1 ? finding.place : `${finding.place} (${time})`;
    const name = serviceNameOf(finding.called);
    const names = [name, serviceNameOf(`${finding.called}-${source.label}`)];
    return { ...finding, ...{ source, file, place, names }, origin: plainLine(`${file} ${place}`) };
  });
}

/** A path below the home folder begins with `~`, so that it reads the same for everybody. */
function shownPath({ env }: Invocation, path: string): string {
  const home = homeOf(env);
  return path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path;
}

const MAX_NAME = 100;

/** Lower case, as people type names, and nothing that a shell takes for anything else. */
function serviceNameOf(text: string): string {
  const name = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}.-]+/gu, '-')
    .replaceAll(/-{2,}/g, '-')
    .slice(0, MAX_NAME)
    .replaceAll(/^[-.]+|[-.]+$/g, '');
  return isServiceName(name) ? name : 'imported';
}
