// Both channels ask the same of the database, which npm test tries on PostgreSQL at each; this it plays on SQLite.
import './rest-and-mcp.sqlite.test.ts';
