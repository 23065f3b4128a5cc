import type { Run } from '../invocation.ts';
import { jsonText } from '../output/json-text.ts';
import { actingLogin } from './acting-login.ts';

/** `context current`: the name of the login that commands act with. */
export const run: Run = async (invocation) => {
  const { name, kind, baseUrl } = (await actingLogin(invocation)).context;
  const { terminal, flags } = invocation;
  terminal.out(flags.format === 'json' ? jsonText({ name, kind, baseUrl }) : `${name}\n`);
};
