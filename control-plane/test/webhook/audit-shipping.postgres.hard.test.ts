// Shipping on PostgreSQL, where npm test has two processes ship one log (two-services.postgres.test.ts).
import './audit-shipping.sqlite.test.ts';
