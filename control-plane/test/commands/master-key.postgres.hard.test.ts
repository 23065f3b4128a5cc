// What a rotation writes is the same statements on both databases, so npm test plays this on one of them.
import './master-key.sqlite.test.ts';
