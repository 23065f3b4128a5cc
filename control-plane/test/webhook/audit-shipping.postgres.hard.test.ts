// Shipping on PostgreSQL, where npm test has two processes ship one log (audit-shipping.postgres.test.ts).
import './audit-shipping.sqlite.test.ts';
