import { readFileSync } from 'node:fs';
import { createServer } from 'node:https';

// The least that a webhook in Node can be: it parses the review and stringifies the answer, and decides nothing.
const [, , port = '0', keyFile = '', certFile = '', operationsFile = ''] = process.argv;
const operations: readonly unknown[] = JSON.parse(readFileSync(operationsFile, 'utf8'));

const server = createServer(
  { key: readFileSync(keyFile), cert: readFileSync(certFile), keepAliveTimeout: 100_000 },
  (request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const { request: asked } = JSON.parse(Buffer.concat(pieces).toString());
      const isTuned = 'config.linkerd.io/proxy-log-level' in asked.object.metadata.annotations;
      const patch = Buffer.from(JSON.stringify(operations[isTuned ? 1 : 0])).toString('base64');
      const answer = {
        uid: asked.uid,
        allowed: true,
        patchType: 'JSONPatch',
        patch,
        auditAnnotations: { reason: 'injected' },
      };
      response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' });
      response.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response: answer }));
    });
  },
);
server.listen(Number(port), '127.0.0.1', () => console.log('listening'));
