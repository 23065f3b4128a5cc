import { usage } from '../failure.ts';
import { plainLine } from '../output/plain-line.ts';
import type { TokenType } from './main-secret.ts';
import type { Members } from './record-members.ts';
import { TOKEN_TYPES } from './token-vocabulary.ts';

/**
 * The type of a record, from the command line, else from its body, else as it was.
 * @throws Failure usage where the first two differ
 */
export function tokenTypeOf(
  type: TokenType | undefined,
  { tokenType }: Members,
  otherwise: string,
): TokenType {
  if (type !== undefined && tokenType !== undefined && tokenType !== type)
    throw usage(`--type says ${type}, and --body says something else`);
  const said = type ?? tokenType ?? otherwise;
  const known = TOKEN_TYPES.find((each) => each === said);
  if (known === undefined)
    throw usage(
      `${typeof said === 'string' ? plainLine(said).slice(0, 50) : 'what --body says'} is no type of token: ${TOKEN_TYPES.join(', ')}`,
    );
  return known;
}
