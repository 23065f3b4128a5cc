/** A row of one of the specification's tables, or a rule of the text beside it (specification.md). */
export interface Row {
  /** The heading it stands under. */
  readonly under: string;
  /** Its own words, cells divided by `|`; `…` stands for what another row says. */
  readonly says: string;
}

const WINDOW_MS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const;

/** How often and within what, read from a row's own words (`60 per minute per agent`). */
export function rateOf({ says }: Row): { readonly limit: number; readonly windowMs: number } {
  const [, limit, window] = /(\d+) per (minute|hour|day)/.exec(says) ?? [];
  if (limit === undefined) throw new Error(`no rate in “${says}”`);
  return { limit: Number(limit), windowMs: WINDOW_MS[window as keyof typeof WINDOW_MS] };
}
