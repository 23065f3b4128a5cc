// What an overview counts is asked for in SQL that both databases are given, so npm test plays this on one of them.
import './overview.sqlite.test.ts';
