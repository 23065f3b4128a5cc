import type { Shape, Tone } from '../output/print.ts';
import type { Agent } from './agent.ts';

const TONES: Readonly<Record<string, Tone>> = { suspended: 'yellow', deleted: 'red' };

/**
 * How agents are printed. By name, or by id where the name stands for several.
 * @param agents among which a name has to be one agent's
 */
export function agentsShape(agents: readonly Agent[]): Shape<Agent> {
  const taken = new Set(agents.map(({ id }) => id));
  const ambiguous = new Set<string>();
  for (const { name } of agents) {
    const form = name.normalize();
    if (taken.has(form)) ambiguous.add(form);
    taken.add(form);
  }
  return {
    columns: [
      { title: 'name', of: ({ name }) => name },
      { title: 'status', of: ({ status }) => status, tone: ({ status }) => TONES[status], whole: true },
      { title: 'mcp', of: ({ mcpEnabled }) => (mcpEnabled ? 'on' : 'off'), whole: true },
      {
        title: 'last used',
        of: ({ lastUsedAt }, { time }) => (lastUsedAt === null ? 'never' : time(lastUsedAt)),
        whole: true,
      },
      { title: 'id', of: ({ id }) => id, whole: true },
      { title: 'description', of: ({ description }) => description, wide: true },
      { title: 'key', of: ({ keyPrefix }) => keyPrefix, wide: true },
      { title: 'sealing key', of: ({ sealingKeyThumbprint = '' }) => sealingKeyThumbprint, wide: true },
      { title: 'created', of: ({ createdAt }, { time }) => time(createdAt), wide: true },
    ],
    name: ({ id, name }) => (ambiguous.has(name.normalize()) ? id : name),
    none: 'there are no agents yet: svault agents create --name NAME',
  };
}
