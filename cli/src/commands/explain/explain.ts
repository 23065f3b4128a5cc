import { styleText } from 'node:util';
import { EXPLAINED_CODES, type ExplainedCode, findCodes, type Sender } from './explained-codes.ts';
import type { Invocation, Run } from '../../invocation.ts';
import { unique } from '../../one-by-one.ts';
import { type Shape, printList } from '../../output/print.ts';

/** `explain [CODE]`: what a code means and what to do about it. Needs no login and no network. */
export const explain: Run<[code?: string]> = async (invocation, [typed]) => {
  const found = typed === undefined ? EXPLAINED_CODES : findCodes(EXPLAINED_CODES, typed);
  const codes = unique(found.map(({ code }) => code));
  const { format } = invocation.flags;
  const isOneMeaning =
    typed !== undefined && codes.every((code) => code.toUpperCase() === codes[0]?.toUpperCase());
  if (format === 'name') return invocation.terminal.out(codes.map((code) => `${code}\n`).join(''));
  if (isOneMeaning && format !== 'json') return printExplanations(invocation, found);
  printList(invocation, found, SHAPE);
};

const SAID_BY: Readonly<Record<Sender, string>> = {
  service: 'the control plane',
  webhook: 'the webhook',
  oauth: 'OAuth, to MCP clients',
  'json-rpc': 'JSON-RPC, to MCP clients',
  svault: 'an exit code of svault',
};

function printExplanations({ terminal, color }: Invocation, found: readonly ExplainedCode[]): void {
  const block = ({ code, by, statuses, mcpTool, meaning, remedy }: ExplainedCode): string => {
    const name = color ? styleText('bold', code, { validateStream: false }) : code;
    const from = [
      SAID_BY[by],
      ...(statuses.length > 0 ? [`HTTP ${statuses.join(' or ')}`] : []),
      ...(mcpTool === true ? ['MCP tools as well'] : []),
    ];
    return `${name} (${from.join('; ')})\n${meaning}\n${remedy}\n`;
  };
  terminal.out(found.map(block).join('\n'));
}

const SHAPE: Shape<ExplainedCode> = {
  columns: [
    { title: 'code', of: ({ code }) => code, whole: true },
    { title: 'of', of: ({ by }) => by, whole: true },
    { title: 'http', of: ({ statuses }) => statuses.join(' '), whole: true },
    { title: 'meaning', of: ({ meaning }) => meaning },
    { title: 'what to do', of: ({ remedy }) => remedy, wide: true },
  ],
  name: ({ code }) => code,
};
