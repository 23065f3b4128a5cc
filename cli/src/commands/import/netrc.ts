import { type Parsed, parsedFrom } from './finding.ts';
import { linesIn } from './lines.ts';
import { credentialFinding } from './plain-finding.ts';

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
 * The passwords of a `.netrc` (its tokens are those of ftp(1)). A macro ends at an empty line. A login
 * name is not shown: some services take a token there.
 */
export function inNetrc(text: string): Parsed {
  return parsedFrom(
    machinesIn(text).flatMap(({ host, login, password }) => {
      // GitHub and others take a token as the login name, and this in place of a password.
      const secret = password?.text === 'x-oauth-basic' || password?.text === '' ? login : password;
      if (secret === undefined) return [];
      return [
        credentialFinding({
          ...{ line: secret.line, value: secret.text },
          place: host === undefined ? 'default' : `machine ${host}`,
          called: `netrc-${host ?? 'default'}`,
          hosts: host === undefined ? [] : [host.toLowerCase()],
        }),
      ];
    }),
  );
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
