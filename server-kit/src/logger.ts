import { createRequire } from 'node:module';
import { Writable } from 'node:stream';
import { type Logger, type LoggerOptions, pino } from 'pino';
import type pretty from 'pino-pretty';
import { scrub } from './scrub.ts';

export type { Logger };

export const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
export const LOG_FORMATS = ['json', 'pretty'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

export interface LineSink {
  write(line: string): unknown;
}

/**
 * A structured logger whose every line passes the scrubber before it is written. pino's own redaction reaches
 * named paths only, neither messages nor error texts, so the finished line is what gets scrubbed.
 */
export function createLogger(options: {
  readonly name: string;
  readonly level: LogLevel;
  readonly format: LogFormat;
  /** Receives each finished line; stdout unless given. */
  readonly destination?: LineSink;
}): Logger {
  const out = options.destination ?? process.stdout;
  const sink = options.format === 'pretty' ? prettySink(out) : out;
  const scrubbing = { write: (line: string): void => void sink.write(scrub(line)) };
  const settings: LoggerOptions = {
    name: options.name,
    level: options.level,
    base: { name: options.name },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label) => ({ level: label }) },
  };
  return pino(settings, scrubbing);
}

function prettySink(out: LineSink): Writable {
  // Loaded only where it is used: production logs JSON.
  const makePretty = createRequire(import.meta.url)('pino-pretty') as typeof pretty;
  const destination = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      out.write(chunk.toString());
      done();
    },
  });
  return makePretty({ destination, colorize: false, singleLine: true, ignore: 'pid,hostname' });
}

/** A logger that writes nothing, for tests and tools. */
export const silentLogger: Logger = pino({ level: 'silent' });
