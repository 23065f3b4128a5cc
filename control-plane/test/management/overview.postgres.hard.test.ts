// Both databases get the same SQL for an overview, so npm test runs this on one of them.
import './overview.sqlite.test.ts';
