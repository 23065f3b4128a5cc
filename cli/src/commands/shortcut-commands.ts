import type { Command } from 'commander';
import type { Action } from '../lazily.ts';
import { addGrants } from './grant-commands.ts';
import { createToken, getToken, listTokens, removeTokens, setToken, showToken } from './token-commands.ts';

/** Shortcuts for the `tokens` and `grants` commands. */
export const shortcutCommands = (action: Action): readonly Command[] => [
  listTokens(action, 'ls').summary('tokens list'),
  getToken(action).summary('tokens get'),
  createToken(action, 'add').summary('tokens create'),
  setToken(action).summary('tokens set'),
  showToken(action).summary('tokens show'),
  removeTokens(action).summary('tokens rm'),
  addGrants(action, 'grant').summary('grants add'),
];
