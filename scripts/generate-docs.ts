import { writeFileSync } from 'node:fs';
import { generatedPages } from './docs/generated-pages.ts';

/** `npm run docs:generate`: writes the reference tables, which are made from the code, into their pages. */
for (const { file, now, wanted } of await generatedPages()) if (now !== wanted) writeFileSync(file, wanted);
