import type { Tools } from '../../check/tools.ts';

/** A host that is not the suite's upstream. */
export const ELSEWHERE = 'api.another.example';

/** The allowed entry of the suite's upstream in its parts. */
export interface HostEntry {
  readonly entry: string;
  /** `http://`, or nothing for https. */
  readonly scheme: string;
  readonly host: string;
  readonly port: string | undefined;
}

export async function hostOf(tools: Tools): Promise<HostEntry> {
  const { allowedHost: entry } = await tools.given.upstream();
  const [, scheme = '', host = '', port] = /^(http:\/\/)?(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? [];
  return { entry, scheme, host, port };
}
