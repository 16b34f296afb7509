import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { checkServerIdentity, connect } from 'node:tls';
import { readSecret } from '../../cluster/certificate-secret.js';
import { registeredBundle } from '../../cluster/registration.js';
import { objects } from '../../install/options.js';
import { listAt, objectAt, textAt } from '../../json.js';
import { pemBlocks } from '../../values/pem.js';
import { beware, broken, type Check, type Context, type Said, well } from './context.js';

const group = 'certificate';
const day = 86_400_000;

/** Does the API server believe us, and for how long? */
export const certificateChecks: readonly Check[] = [
  {
    group,
    check: 'caBundle verifies what the endpoint serves',
    section: '#when-something-is-wrong',
    run: isVerified,
  },
];

async function isVerified(context: Context): Promise<Said> {
  const bundle = await registeredBundle(context.api, objects.webhook);
  if (bundle === undefined)
    return broken(
      'the entries have no caBundle, or not the same',
      'signet sets it when it runs with --self-signed, cert-manager when its annotation is there: look at their logs',
    );
  const client = objectAt(listAt(await context.configuration(), 'webhooks')[0], 'clientConfig');
  const url = textAt(client, 'url');
  return url === undefined ? verifiedBySecret(context, bundle) : verifiedByHandshake(new URL(url), bundle);
}

/** A Service cannot be reached from everywhere, so what it serves is looked up where it is kept. */
async function verifiedBySecret({ api, home }: Context, bundle: string): Promise<Said> {
  const secret = await readSecret(api, home, objects.secret).catch(() => undefined);
  const served = secret?.texts['tls.crt'];
  if (served === undefined)
    return beware(`Secret ${home}/${objects.secret} cannot be read`, 'run signet doctor as somebody who may read it');
  const leaf = certificateIn(served);
  const roots = pemBlocks(bundle).flatMap(({ text }) => certificateIn(text) ?? []);
  if (leaf === undefined)
    return broken(
      `Secret ${home}/${objects.secret} holds no certificate that can be read`,
      'delete it: signet makes another',
    );
  const host = `${objects.service}.${home}.svc`;
  if (leaf.checkHost(host) === undefined)
    return broken(`the certificate in the Secret is not for ${host}`, 'delete the Secret: signet makes another');
  const isTrusted = roots.some((root) => leaf.checkIssued(root) && leaf.verify(root.publicKey));
  if (!isTrusted)
    return broken(
      'the certificate in the Secret was not issued by what the API server trusts',
      'restart signet, which sets caBundle at its start',
    );
  return lasting(leaf);
}

function certificateIn(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem);
  } catch {
    return undefined;
  }
}

function verifiedByHandshake(url: URL, bundle: string): Promise<Said> {
  const host = url.hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: Number(url.port || 443),
      ca: bundle,
      timeout: 5000,
      ...(isIP(host) === 0 ? { servername: host } : {}),
      checkServerIdentity: (_name, cert) => checkServerIdentity(host, cert),
    });
    const end = (said: Said) => {
      socket.destroy();
      resolve(said);
    };
    socket.once('secureConnect', () => {
      const served = socket.getPeerX509Certificate();
      end(served === undefined ? broken('it serves no certificate', 'look at its log') : lasting(served));
    });
    const hint = 'is signet running there, and does its log say that it serves another certificate?';
    socket.once('timeout', () => end(broken(`${url.host} does not answer`, hint)));
    socket.once('error', (error) => end(broken(`${url.host}: ${error.message}`, hint)));
  });
}

function lasting(certificate: X509Certificate): Said {
  const left = Date.parse(certificate.validTo) - Date.now();
  const whole = Date.parse(certificate.validTo) - Date.parse(certificate.validFrom);
  const text =
    left > 2 * day ? `${Math.floor(left / day)} days left` : `${Math.max(0, Math.floor(left / 60_000))} minutes left`;
  if (left <= 0)
    return broken(`it expired on ${certificate.validTo}`, 'restart signet; its log says why it was not renewed');
  // It is renewed when a third of its life is left; at a tenth somebody should have a look.
  return left < whole / 10 ? beware(text, 'it should have been renewed by now: look at the log of signet') : well(text);
}
