import type { Resource } from './resource.ts';

/** What several commands name by a name or an id. */
export const AGENT: Resource = {
  one: 'agent',
  many: 'agents',
  path: '/api/agents',
  idPrefix: 'agt',
  isSearched: true,
};
export const FOLDER: Resource = {
  one: 'folder',
  many: 'folders',
  path: '/api/folders',
  idPrefix: 'fld',
  isSearched: true,
};
export const POLICY: Resource = {
  one: 'policy',
  many: 'policies',
  path: '/api/policies',
  idPrefix: 'pol',
  isSearched: true,
};
export const PROXY: Resource = {
  one: 'proxy',
  many: 'proxies',
  path: '/api/proxies',
  idPrefix: 'prx',
  isSearched: true,
};
export const PROVIDER: Resource = { one: 'provider', many: 'providers', path: '/api/providers' };
export const MEMBER: Resource = {
  one: 'member',
  many: 'members',
  path: '/api/members',
  isSearched: true,
  nameMember: 'email',
};
export const SESSION: Resource = {
  one: 'session',
  many: 'sessions',
  path: '/api/sessions',
  nameMember: 'client',
};
export const APPROVAL: Resource = {
  one: 'approval',
  many: 'approvals',
  path: '/api/approvals',
  idPrefix: 'apr',
};
export const NOTIFICATION: Resource = {
  one: 'notification channel',
  many: 'notifications',
  path: '/api/notifications',
};
export const ADMIN_KEY: Resource = { one: 'admin key', many: 'admin keys', path: '/api/admin-keys' };
