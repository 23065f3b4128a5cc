import type { Command } from 'commander';
import type { Action } from '../lazily.ts';
import { addGrants } from './grant-commands.ts';
import { createToken, getToken, listTokens, removeTokens, setToken, showToken } from './token-commands.ts';

/** Shortcuts for the `tokens` and `grants` commands. */
export const shortcutCommands = (action: Action): readonly Command[] => [
  listTokens(action, 'ls').summary('list tokens: tokens list'),
  getToken(action).summary('print a credential: tokens get'),
  createToken(action, 'add').summary('name a token and store its secret: tokens create'),
  setToken(action).summary('replace a secret: tokens set'),
  showToken(action).summary('show what is known of a token: tokens show'),
  removeTokens(action).summary('delete tokens: tokens rm'),
  addGrants(action, 'grant').summary('let an agent have credentials: grants add'),
];
