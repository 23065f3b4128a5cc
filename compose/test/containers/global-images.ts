/** Once before all container tests. */
export { buildImages as setup } from './images.ts';
