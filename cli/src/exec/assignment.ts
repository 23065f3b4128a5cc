import { usage } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';
import { serviceNameFrom } from '../tokens/service-name.ts';

/** `--with NAME=SERVICE` */
export interface Assignment {
  /** Of an environment variable. */
  readonly variable: string;
  /** Of the token that fills it. */
  readonly token: string;
}

/** POSIX.1-2017, base definitions 8.1 and 3.235. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** @throws Failure usage */
export function assignments(texts: readonly string[]): readonly Assignment[] {
  const read = texts.map((text) => {
    const [, variable = '', token = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? [];
    if (!VARIABLE.test(variable))
      throw usage(
        `--with takes NAME=SERVICE, such as GITHUB_TOKEN=github; “${plainLine(text).slice(0, 150)}” is none`,
      );
    return { variable, token: serviceNameFrom(token) };
  });
  const twice = read.find(
    ({ variable }, index) => read.findIndex((each) => each.variable === variable) < index,
  );
  if (twice !== undefined) throw usage(`--with fills ${twice.variable} twice`);
  if (read.length === 0) throw usage('exec needs --with NAME=SERVICE, such as --with GITHUB_TOKEN=github');
  return read;
}
