import type { SealingKey } from '@svault/shared/sealed';
import type { Context } from '../contexts/context.ts';
import type { Invocation } from '../invocation.ts';
import { jsonText } from '../output/json-text.ts';

/**
 * What a sign-in prints as data: the public part of an agent's sealing key as one line, with `--format json` the login, and with
 * `--format name` its name.
 */
export function printLogin(
  { terminal, flags }: Pick<Invocation, 'terminal' | 'flags'>,
  context: Context,
  sealingKey?: SealingKey,
): void {
  switch (flags.format) {
    case 'json':
      return terminal.out(
        jsonText({
          ...context,
          ...(sealingKey !== undefined && {
            sealingKey: sealingKey.publicJwk,
            sealingKeyThumbprint: sealingKey.thumbprint,
          }),
        }),
      );
    case 'name':
      return terminal.out(`${context.name}\n`);
    case 'table':
    case 'wide':
      if (sealingKey !== undefined) terminal.out(`${JSON.stringify(sealingKey.publicJwk)}\n`);
  }
}
