# What sets up the pair of compose.yaml: makes the keys, binds the two programs, then ends. From the root of the repository:
#   docker build -f compose/setup.Dockerfile -t svault-setup:0.1.0 .

FROM node:24-bookworm-slim AS modules
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY compose/package.json compose/
# No script of a package runs: what is native comes ready-made inside the packages.
RUN npm ci --workspace compose --omit=dev --ignore-scripts --no-audit --no-fund
COPY compose/images/remove-unused.sh LICENSE ./
COPY shared/src shared/src
COPY compose/src compose/src
# The modes and times of a checkout are its umask's and its age's; the image has none of them.
RUN sh remove-unused.sh /svault && rm remove-unused.sh && chmod -R u=rwX,go=rX . && find . -exec touch -h {} +

FROM node:24-bookworm-slim AS built
WORKDIR /svault
COPY package.json package-lock.json ./
COPY shared/package.json shared/
COPY server-kit/package.json server-kit/
COPY control-plane/package.json control-plane/
COPY webhook/package.json webhook/
COPY scripts/packing/package.json scripts/packing/
RUN npm ci --workspace control-plane --workspace webhook --workspace scripts/packing --omit=dev --ignore-scripts --no-audit --no-fund
COPY scripts/build-programs.ts scripts/
COPY scripts/packing scripts/packing
COPY compose/images/remove-unused.sh ./
COPY shared/src shared/src
COPY server-kit/src server-kit/src
COPY control-plane/src control-plane/src
COPY webhook/src webhook/src
# What both programs install is kept once, above them.
RUN for each in control-plane webhook; do \
    node scripts/build-programs.ts $each /programs/$each/dist \
      && sh remove-unused.sh /programs/$each/dist \
      && install -m 644 $each/package.json /programs/$each \
      && cp -r /programs/$each/dist/node_modules /programs \
      && rm -r /programs/$each/dist/node_modules || exit; \
  done

FROM node:24-bookworm-slim
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /usr/local/bin/yarn* /opt/yarn* /home/node \
  && chmod go-w /var/tmp /run/lock \
  && for each in control-plane webhook; do install -d -m 700 -o node -g node /keys/$each; done
COPY --from=modules /svault /svault
COPY --from=built /programs /svault
ENV NODE_ENV=production
WORKDIR /tmp
USER node
ENTRYPOINT ["node", "/svault/compose/src/container-setup.ts"]
