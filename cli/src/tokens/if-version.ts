import { usage } from '../failure.ts';

/**
 * Body of `POST …/store-ticket`: which version may be replaced.
 * @param text of `--if-version`
 * @throws Failure usage
 */
export function versionToReplace(text: string | undefined): { readonly ifv?: number } {
  if (text === undefined) return {};
  if (/^\d{1,15}$/.test(text)) return { ifv: Number(text) };
  throw usage('--if-version takes the version that svault show tells, or 0 for none');
}
