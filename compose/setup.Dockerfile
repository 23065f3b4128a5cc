# What sets up the pair of compose.yaml: makes the keys, binds the two programs, then ends. From the root of the repository:
#   docker build -f compose/setup.Dockerfile -t svault-setup:0.1.0 .

FROM node:24-bookworm-slim AS modules
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY server-kit/package.json server-kit/
COPY control-plane/package.json control-plane/
COPY webhook/package.json webhook/
COPY compose/package.json compose/
# No script of a package runs: what is native comes ready-made inside the packages.
RUN npm ci --workspace control-plane --workspace webhook --workspace compose --omit=dev --ignore-scripts --no-audit --no-fund
COPY compose/images/remove-unused.sh ./
RUN sh remove-unused.sh && rm remove-unused.sh

FROM node:24-bookworm-slim
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* /home/node \
  && chmod go-w /var/tmp /run/lock \
  && for each in control-plane webhook; do install -d -m 700 -o node -g node /keys/$each; done
COPY --from=modules /svault /svault
COPY LICENSE /svault/
COPY shared/src /svault/shared/src
COPY server-kit/src /svault/server-kit/src
COPY control-plane/src /svault/control-plane/src
COPY webhook/src /svault/webhook/src
COPY compose/src /svault/compose/src
ENV NODE_ENV=production
WORKDIR /tmp
USER node
ENTRYPOINT ["node", "/svault/compose/src/container-setup.ts"]
