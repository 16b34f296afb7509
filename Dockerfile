# Builds the bundle, and an image that holds nothing else: no shell, no package manager, no node_modules.
FROM node:20-slim AS build
WORKDIR /src
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts
COPY tsconfig.json ./
COPY scripts scripts
COPY src src
RUN npm run build

FROM gcr.io/distroless/nodejs20-debian12:nonroot
COPY --from=build /src/dist /app
COPY LICENSE /app/LICENSE
USER 65532:65532
EXPOSE 8443 9990
# A review leaves little behind: a nursery of 4 MB holds what is in flight, and 16 MB would only be more to keep resident.
ENTRYPOINT ["/nodejs/bin/node", "--max-semi-space-size=4", "/app/signet.js"]
CMD ["serve", "--self-signed"]
