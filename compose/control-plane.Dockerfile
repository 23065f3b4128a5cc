# The control plane. From the root of the repository:
#   docker build -f compose/control-plane.Dockerfile -t svault-control-plane:0.1.0 .

FROM node:24-bookworm-slim AS built
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY server-kit/package.json server-kit/
COPY control-plane/package.json control-plane/
COPY scripts/packing/package.json scripts/packing/
# No script of a package runs: what is native comes ready-made inside the packages.
RUN npm ci --workspace control-plane --workspace scripts/packing --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts/build-programs.ts scripts/
COPY scripts/packing scripts/packing
COPY compose/images/remove-unused.sh ./
COPY shared/src shared/src
COPY server-kit/src server-kit/src
COPY control-plane/src control-plane/src
COPY LICENSE ./
# The modes of a checkout are its umask's; the image has none of them.
RUN node scripts/build-programs.ts control-plane /image/control-plane/dist \
  && sh remove-unused.sh /image/control-plane/dist \
  && install -m 644 control-plane/package.json /image/control-plane \
  && install -m 644 LICENSE /image

FROM node:24-bookworm-slim AS console
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY control-plane/console/package.json control-plane/console/
RUN npm ci --workspace control-plane/console --ignore-scripts --no-audit --no-fund
COPY tsconfig.json ./
COPY shared/tsconfig.json shared/
COPY shared/src shared/src
COPY control-plane/console control-plane/console
RUN npm run build --workspace control-plane/console

FROM node:24-bookworm-slim
# The program needs node alone. What is left of a package manager would help an intruder only.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* /home/node \
  && chmod go-w /var/tmp /run/lock \
  && mkdir -m 1777 /var/lib/svault
COPY --from=built /image /svault
COPY --from=console /svault/control-plane/console/dist/site /svault/control-plane/console/dist/site
# What Node compiles of the program is kept for each start, which takes it two thirds of the time. It is for the user node;
# any other one does without. It is the same in each build where V8 compiles predictably.
ENV NODE_COMPILE_CACHE=/svault/compiled
RUN install -d -o node /svault/compiled \
  && setpriv --reuid node --regid node --clear-groups node --predictable /svault/control-plane/dist/main.js --help > /dev/null \
  && chown -R root:root /svault/compiled && chmod -R a+rX,a-w /svault/compiled
ENV NODE_ENV=production \
  SV_LISTEN=0.0.0.0:8080
WORKDIR /var/lib/svault
# Any other user may run it too: the folder can be written to by everybody, and the rest is only read.
USER node
VOLUME /var/lib/svault
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.SV_LISTEN.split(':').pop()}/readyz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/svault/control-plane/dist/main.js"]
