/** The yardstick: what one core serves before any of our code runs. `node bare-express.ts PORT`. */
import express from 'express';

const app = express();
app.get('/', (_req, res) => {
  res.json({ ok: true });
});
app.listen(Number(process.argv[2]), '127.0.0.1');
