import type { Finding, Parsed } from './finding.ts';
import { isOwnKey, isStandIn } from './is-secret.ts';
import { linesIn } from './lines.ts';
import { plainFinding } from './plain-finding.ts';

interface Machine {
  /** undefined for `default`. */
  readonly host: string | undefined;
  login?: Word;
  password?: Word;
}

interface Word {
  readonly text: string;
  /** From 1. */
  readonly line: number;
}

/**
 * The passwords of a `.netrc` (its words are those of ftp(1)). What a macro has is text of its own, up to an empty line. A login
 * name is not shown: some services take a token there.
 */
export function inNetrc(text: string): Parsed {
  const findings: Finding[] = [];
  let skipped = 0;
  for (const { host, login, password } of machinesIn(text)) {
    // GitHub and others take a token as the login name, and this in place of a password.
    const secret = password?.text === 'x-oauth-basic' || password?.text === '' ? login : password;
    if (secret === undefined) continue;
    const { text: value, line } = secret;
    if (isStandIn(value) || isOwnKey(value)) skipped += 1;
    else
      findings.push(
        plainFinding({
          ...{ line, value },
          place: host === undefined ? 'default' : `machine ${host}`,
          called: `netrc-${host ?? 'default'}`,
          hosts: host === undefined ? [] : [host.toLowerCase()],
        }),
      );
  }
  return { findings, skipped };
}

function machinesIn(text: string): readonly Machine[] {
  const machines: Machine[] = [];
  const words = wordsIn(text);
  for (let word = words.next(); word.done !== true; word = words.next()) {
    const next = (): Word | undefined => {
      const { done, value } = words.next();
      return done === true ? undefined : value;
    };
    const current = machines.at(-1);
    switch (word.value.text) {
      case 'machine':
        machines.push({ host: next()?.text });
        break;
      case 'default':
        machines.push({ host: undefined });
        break;
      case 'login':
      case 'password': {
        const name = word.value.text;
        const found = next();
        if (current !== undefined && found !== undefined) current[name] = found;
        break;
      }
      case 'account':
        next();
        break;
      default:
    }
  }
  return machines;
}

/** Words in the order of the file, without comments and macros; quotes keep white space in one. */
function* wordsIn(text: string): Generator<Word, undefined> {
  let inMacro = false;
  for (const [index, line] of linesIn(text).entries()) {
    if (inMacro && line.trim() !== '') continue;
    inMacro = false;
    for (const [whole, quoted] of line.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/g)) {
      if (whole.startsWith('#') && line.trimStart().startsWith('#')) break;
      if (whole === 'macdef') {
        inMacro = true;
        break;
      }
      yield { text: quoted === undefined ? whole : quoted.replaceAll(/\\(.)/g, '$1'), line: index + 1 };
    }
  }
}
