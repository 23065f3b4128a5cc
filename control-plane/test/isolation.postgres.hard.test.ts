// What is one account's alone is asked for in SQL that both databases are given, so npm test plays this on one of them.
import './isolation.sqlite.test.ts';
import './isolation-mcp.sqlite.test.ts';
