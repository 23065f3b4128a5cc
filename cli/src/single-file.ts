/** Where the single file starts: there is nothing to compile in it that could be kept. See scripts/. */
import { main } from './main.ts';

void main();
