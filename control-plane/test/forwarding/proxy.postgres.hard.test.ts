// What a proxy refuses, and in which words, asks the database for nothing of its own; npm test plays it on SQLite.
import './denials.sqlite.test.ts';
