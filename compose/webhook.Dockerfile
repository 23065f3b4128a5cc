# The reference webhook. From the root of the repository:
#   docker build -f compose/webhook.Dockerfile -t svault-webhook:0.1.0 .

FROM node:24-bookworm-slim AS built
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY server-kit/package.json server-kit/
COPY webhook/package.json webhook/
COPY scripts/packing/package.json scripts/packing/
# No script of a package runs: what is native comes ready-made inside the packages.
RUN npm ci --workspace webhook --workspace scripts/packing --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts/build-programs.ts scripts/
COPY scripts/packing scripts/packing
COPY compose/images/remove-unused.sh ./
COPY shared/src shared/src
COPY server-kit/src server-kit/src
COPY webhook/src webhook/src
COPY LICENSE ./
# The modes of a checkout are its umask's; the image has none of them.
RUN node scripts/build-programs.ts webhook /image/webhook/dist \
  && sh remove-unused.sh /image/webhook/dist \
  && install -m 644 webhook/package.json /image/webhook \
  && install -m 644 LICENSE /image

FROM node:24-bookworm-slim
# The program needs node alone. What is left of a package manager would help an intruder only.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* /home/node \
  && chmod go-w /var/tmp /run/lock \
  && mkdir -m 1777 /var/lib/svault
COPY --from=built /image /svault
# What Node compiles of the program is kept for each start, which takes it two thirds of the time. It is for the user node;
# any other one does without. It is the same in each build where V8 compiles predictably.
ENV NODE_COMPILE_CACHE=/svault/compiled
RUN install -d -o node /svault/compiled \
  && setpriv --reuid node --regid node --clear-groups node --predictable /svault/webhook/dist/main.js --help > /dev/null \
  && chown -R root:root /svault/compiled && chmod -R a+rX,a-w /svault/compiled
ENV NODE_ENV=production \
  SV_WEBHOOK_LISTEN=0.0.0.0:8090 \
  SV_WEBHOOK_DATA_DIR=/var/lib/svault/webhook
WORKDIR /var/lib/svault
# Any other user may run it too: the folder can be written to by everybody, and the rest is only read.
USER node
VOLUME /var/lib/svault
EXPOSE 8090
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SV_WEBHOOK_LISTEN.split(':').pop()}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/svault/webhook/dist/main.js"]
