import { createHash } from 'node:crypto';
import { MAX_LOCKOUTS } from './limiter.ts';
import { DECAY_MS, FIRST_LOCKOUT_MS, MAX_LOCKOUT_MS, MAX_STRIKES_COUNTED } from './kernel.ts';

/** A Lua script, which runs at Redis atomically and in one round trip. */
export interface RedisScript {
  readonly text: string;
  /** Lower-case hex: `EVALSHA` runs a script that Redis has cached by it. */
  readonly sha1: string;
}

const script = (text: string): RedisScript => ({ text, sha1: createHash('sha1').update(text).digest('hex') });

/**
 * A window is stored as `END COUNT`, in milliseconds of Redis's clock. Where that clock was set back, a window that would end
 * too late is cut to its length. A key that holds anything else counts as absent and is overwritten: it must not stop its
 * caller, and no script may fail halfway. (`MGET` fails for no type.)
 *
 * With each counter come the increments that are pending in a process (`reconcile.ts`) and what is left of their window;
 * they begin a window where none is running.
 */
const WINDOWS = `
local now = tonumber(ARGV[1])
if now == nil then
  local time = redis.call('TIME')
  now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function read(key, stored, length, pending, pendingLeft)
  local ends, count = string.match(stored or '', '^(%d+) (%d+)$')
  local left = ends and tonumber(ends) - now or 0
  count = left > 0 and tonumber(count) or 0
  if pending > 0 and count == 0 then left = pendingLeft end
  count = count + pending
  if count == 0 then return 0, 0 end
  if pending > 0 or left > length then
    left = math.min(left, length)
    redis.call('SET', key, string.format('%.0f %.0f', now + left, count), 'PX', length)
  end
  return count, left
end

local function write(key, count, left, length)
  local value = string.format('%.0f %.0f', now + left, count)
  if count == 1 then
    redis.call('SET', key, value, 'PX', length)
  else
    redis.call('SET', key, value, 'KEEPTTL')
  end
end
`;

/**
 * The same rules as `decide` in `kernel.ts`, in the same order.
 *
 * KEYS: box, floor, aggregate, extra counters …, the account's lockouts.
 * ARGV: time or '', caller, '1' where the floor's excess is a strike; pending strikes, milliseconds since the last one and
 * until the lockout ends; then of each counter its limit, its window, pending increments, and milliseconds left of their
 * window.
 * Reply: what denied (0 nothing, 1 the box, n + 1 the n-th counter) and for how long; strikes, milliseconds since the last
 * one and until the lockout ends; then count and milliseconds left of each counter.
 */
export const ADMIT = script(`${WINDOWS}
local lockouts = KEYS[#KEYS]
local counters = #KEYS - 2
local stored = redis.call('MGET', unpack(KEYS, 1, #KEYS - 1))

local limit, length, count, left = {}, {}, {}, {}
for i = 1, counters do
  local at = 3 + 4 * i
  limit[i], length[i] = tonumber(ARGV[at]), tonumber(ARGV[at + 1])
  count[i], left[i] = read(KEYS[1 + i], stored[1 + i], length[i], tonumber(ARGV[at + 2]), tonumber(ARGV[at + 3]))
end

local longest = math.max(${MAX_LOCKOUT_MS}, length[1])
local strikes, violated, locked = 0, now, now
local function writeBox()
  local expires = math.max(1, locked - now, strikes * ${DECAY_MS})
  redis.call('SET', KEYS[1], string.format('%.0f %.0f %.0f', strikes, violated, locked), 'PX', expires)
end
local function listLockout()
  if redis.call('TYPE', lockouts).ok ~= 'zset' then redis.call('DEL', lockouts) end
  redis.call('ZADD', lockouts, locked, ARGV[2])
  redis.call('ZREMRANGEBYSCORE', lockouts, '-inf', now)
  redis.call('PEXPIRE', lockouts, longest)
end
local s, v, l = string.match(stored[1] or '', '^(%d+) (%d+) (%d+)$')
if s then
  strikes, violated, locked = tonumber(s), tonumber(v), tonumber(l)
  if violated > now or locked > now + longest then
    violated, locked = math.min(violated, now), math.min(locked, now + longest)
    writeBox()
  end
end
local pending, pendingViolated = tonumber(ARGV[4]), math.max(0, now - tonumber(ARGV[5]))
local pendingLocked = now + math.min(tonumber(ARGV[6]), longest)
if pending > 0 and (not s or pendingViolated > violated or pendingLocked > locked) then
  violated = s and math.max(violated, pendingViolated) or pendingViolated
  strikes, locked = math.max(strikes, pending), math.max(locked, pendingLocked)
  writeBox()
  if locked > now then listLockout() end
end

local function use(i)
  if count[i] == 0 then left[i] = length[i] end
  count[i] = count[i] + 1
  write(KEYS[1 + i], count[i], left[i], length[i])
end

local function reply(denied, wait)
  local list = { denied, wait, strikes, now - violated, math.max(0, locked - now) }
  for i = 1, counters do
    list[#list + 1] = count[i]
    list[#list + 1] = left[i]
  end
  return list
end

if locked > now then return reply(1, locked - now) end

if count[1] >= limit[1] then
  if ARGV[3] ~= '1' then return reply(2, left[1]) end
  strikes = math.max(0, strikes - math.floor((now - violated) / ${DECAY_MS})) + 1
  local doubled = ${FIRST_LOCKOUT_MS} * 2 ^ (math.min(strikes, ${MAX_STRIKES_COUNTED}) - 1)
  local lockout = math.max(math.min(doubled, ${MAX_LOCKOUT_MS}), left[1])
  violated, locked = now, now + lockout
  writeBox()
  listLockout()
  return reply(2, lockout)
end
use(1)

if count[2] >= limit[2] then return reply(3, left[2]) end
use(2)

for i = 3, counters do
  if count[i] >= limit[i] then return reply(1 + i, left[i]) end
end
for i = 3, counters do use(i) end
return reply(0, 0)
`);

/**
 * One counter alone. KEYS: the counter. ARGV: time or '', then as in {@link ADMIT}. Reply: 1 where it denied, else 0; count;
 * milliseconds left.
 */
export const TAKE = script(`${WINDOWS}
local limit, length = tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('MGET', KEYS[1])[1]
local count, left = read(KEYS[1], stored, length, tonumber(ARGV[4]), tonumber(ARGV[5]))
if count >= limit then return { 1, count, left } end
if count == 0 then left = length end
count = count + 1
write(KEYS[1], count, left, length)
return { 0, count, left }
`);

/** Counters as they are. KEYS: the counters. ARGV: time or '', the window of each. Reply: count, milliseconds left, count, … */
export const USAGE = script(`${WINDOWS}
local reply = {}
for i, stored in ipairs(redis.call('MGET', unpack(KEYS))) do
  local count, left = read(KEYS[i], stored, tonumber(ARGV[1 + i]), 0, 0)
  reply[#reply + 1] = count
  reply[#reply + 1] = left
end
return reply
`);

/**
 * The longest lockouts of an account, no more than a response lists, since Redis runs nothing else meanwhile. KEYS: the
 * account's lockouts. ARGV: time or '', the prefix of a box's key. Reply: caller, strikes, milliseconds left, caller, …
 */
export const LOCKOUTS = script(`${WINDOWS}
local reply = {}
if redis.call('TYPE', KEYS[1]).ok ~= 'zset' then return reply end
local after = '(' .. string.format('%.0f', now)
for _, caller in ipairs(redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', after, 'LIMIT', 0, ${MAX_LOCKOUTS})) do
  local box = redis.call('MGET', ARGV[2] .. caller)[1]
  local strikes, violated, locked = string.match(box or '', '^(%d+) (%d+) (%d+)$')
  if strikes then
    local decayed = math.floor(math.max(0, now - tonumber(violated)) / ${DECAY_MS})
    reply[#reply + 1] = caller
    reply[#reply + 1] = math.max(0, tonumber(strikes) - decayed)
    reply[#reply + 1] = tonumber(locked) - now
  end
end
return reply
`);
