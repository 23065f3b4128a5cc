import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { brotliCompress, constants } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { type Plugin, defineConfig } from 'vite';

const compress = promisify(brotliCompress);
const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as {
  readonly version: string;
};

const PUSH_WORKER = 'push-worker';

/** Compresses once here, at the highest quality, what the control plane would compress for each request. */
const withBrotli: Plugin = {
  name: 'svault:brotli',
  generateBundle: {
    order: 'post',
    async handler(_options, bundle) {
      for (const file of Object.values(bundle)) {
        const source = Buffer.from(file.type === 'chunk' ? file.code : file.source);
        const options = { params: { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY } };
        this.emitFile({
          type: 'asset',
          fileName: `${file.fileName}.br`,
          source: await compress(source, options),
        });
      }
    },
  },
};

export default defineConfig({
  plugins: [react(), tailwind(), withBrotli],
  define: { SVAULT_VERSION: JSON.stringify(version) },
  build: {
    outDir: 'dist/site',
    // The licenses of what is in the scripts ask for it.
    license: { fileName: 'THIRD-PARTY-LICENSES.md' },
    // Each file by its own address: the policy allows no script in the page, and names the kinds that it allows.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    target: 'es2023',
    rolldownOptions: {
      input: { index: 'index.html', [PUSH_WORKER]: 'src/notifications/push-worker.ts' },
      // Browsers that have the worker ask for it by the same name, past their cache, whatever was built since.
      output: {
        entryFileNames: ({ name }) => (name === PUSH_WORKER ? 'assets/[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
});
