import { writeFileSync } from 'node:fs';
import { generatedPages } from './docs/generated-pages.ts';
import { generatedTypes } from './docs/generated-types.ts';

/** `npm run docs:generate`: writes what is made from the code: reference tables into their pages, the console's types. */
for (const { file, now, wanted } of [...(await generatedPages()), await generatedTypes()])
  if (now !== wanted) writeFileSync(file, wanted);
