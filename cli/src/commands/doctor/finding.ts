/** Hours up to two days, then days. */
export const longTime = (hours: number): string =>
  hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;

/** What a check came to. */
export interface Finding {
  readonly check: string;
  readonly state: 'ok' | 'warning' | 'problem' | 'skipped';
  readonly found: string;
  /** What to do about it. */
  readonly remedy?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, state: 'ok', found });
export const skipped = (check: string, found: string): Finding => ({ check, state: 'skipped', found });
export const warning = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'warning',
  found,
  remedy,
});
export const problem = (check: string, found: string, remedy: string): Finding => ({
  check,
  state: 'problem',
  found,
  remedy,
});
