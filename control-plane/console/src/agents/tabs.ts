/** Parts of the screen of an agent, as they are in its address. */
export const AGENT_TABS = ['access', 'connect', 'activity', 'policies', 'clients', 'settings'] as const;
export type AgentTab = (typeof AGENT_TABS)[number];
