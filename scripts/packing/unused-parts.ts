import { readFileSync } from 'node:fs';
import type { Plugin } from 'esbuild';

/** The types of what the programs answer, which express looks up by their short names. */
const SENT_TYPES =
  /^(?:text\/(?:html|plain|css|javascript|event-stream|csv)|application\/(?:json|xml|octet-stream|x-www-form-urlencoded|x-ndjson|yaml)|image\/svg\+xml)$/;

/** Modules of dependencies → what is left of them in a built program. */
const LEFT: readonly {
  readonly module: RegExp;
  readonly contents: (path: string) => string;
  readonly loader: 'js' | 'json';
}[] = [
  {
    // Of its many clients one is used, and no fetch, cache, mock or web socket.
    module: /[\\/]undici[\\/]index\.js$/,
    contents: () => `
      const Dispatcher = require('./lib/dispatcher/dispatcher');
      Object.assign(Dispatcher.prototype, require('./lib/api'));
      module.exports = {
        Dispatcher,
        Agent: require('./lib/dispatcher/agent'),
        Client: require('./lib/dispatcher/client'),
        buildConnector: require('./lib/core/connect'),
        errors: require('./lib/core/errors'),
      };`,
    loader: 'js',
  },
  {
    // Bodies are read by raw-body.ts of server-kit; this would bring tables of 100 character sets.
    module: /[\\/]body-parser[\\/]index\.js$/,
    contents: () => 'module.exports = {};',
    loader: 'js',
  },
  {
    module: /[\\/]mime-db[\\/]db\.json$/,
    contents: (path) => {
      const types = JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>;
      return JSON.stringify(
        Object.fromEntries(Object.entries(types).filter(([name]) => SENT_TYPES.test(name))),
      );
    },
    loader: 'json',
  },
];

/** Leaves out of a built program what it would only keep in memory: parts of dependencies that it does not use. */
export function withoutUnusedParts(): Plugin {
  return {
    name: 'without-unused-parts',
    setup: ({ onLoad }) => {
      for (const { module, contents, loader } of LEFT)
        onLoad({ filter: module }, ({ path }) => ({ contents: contents(path), loader }));
    },
  };
}
