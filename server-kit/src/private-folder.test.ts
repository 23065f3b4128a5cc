import { expect, test } from 'vitest';
import { makePrivateFolder } from './private-folder.ts';

test('a folder that cannot be made is an error that names its setting and who must own it', () => {
  expect(() => makePrivateFolder('/dev/null/data', 'SV_A_FOLDER')).toThrow(
    'SV_A_FOLDER: the folder /dev/null/data cannot be made (ENOTDIR): make it, owned by the user that runs this program',
  );
});
