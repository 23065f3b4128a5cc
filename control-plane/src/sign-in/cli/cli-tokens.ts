import { createTokenFamilies } from '../tokens/token-family.ts';

/** What a command-line client shows: for a few minutes, and to get the next pair. */
export const cliTokens = createTokenFamilies({ name: 'cli-session', access: 'svcli', refresh: 'svclir' });
