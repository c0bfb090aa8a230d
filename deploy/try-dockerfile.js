/*
 * Executes each COPY and RUN of the Dockerfile without Docker: every stage is a new directory that begins empty, and
 * commands run there with the stage's own environment; as root they run as an ordinary user. At the end the image's
 * command is asked for its version and help. Needs npm and the registry; what it cannot show is the base image itself.
 *
 *   npm run try-dockerfile
 */
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';

const CONTEXT = resolve(import.meta.dirname, '..');
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const base = mkdtempSync(join(tmpdir(), 'toncenter-etl-image-'));
const home = join(base, 'home');
mkdirSync(home, { mode: 0o755 });
giveAway(base);

/** Instructions as words, with lines that end in a backslash joined. */
function readDockerfile() {
  return readFileSync(join(CONTEXT, 'Dockerfile'), 'utf8')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#'))
    .map((line) => {
      const [word, ...rest] = line.trim().split(/\s+/);
      return { word: word.toUpperCase(), rest, text: line.trim().slice(word.length).trim() };
    });
}

function giveAway(path) {
  if (!isRoot) return;
  chownSync(path, NOBODY, NOBODY);
  if (statSync(path).isDirectory()) for (const name of readdirSync(path)) giveAwayFile(join(path, name));
}

function giveAwayFile(path) {
  const result = spawnSync('chown', ['-Rh', `${NOBODY}:${NOBODY}`, path]);
  if (result.status !== 0) throw new Error(String(result.stderr));
}

function execute(stage, command, args) {
  const result = spawnSync(command, args, {
    cwd: stage.cwd,
    env: { PATH: process.env.PATH, HOME: home, npm_config_cache: join(home, 'npm'), ...stage.env },
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: 280_000,
    ...(isRoot && { uid: NOBODY, gid: NOBODY }),
  });
  if (result.status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${result.status ?? result.signal}`);
}

/** A name of the build context; what .dockerignore leaves out is not there. */
function fromContext(name) {
  const allowed = readFileSync(join(CONTEXT, '.dockerignore'), 'utf8')
    .split('\n')
    .map((line) => line.replace(/^!/, ''));
  const isAllowed = allowed.some((path) => path !== '*' && (name === path || name.startsWith(`${path}/`)));
  if (!isAllowed) throw new Error(`.dockerignore leaves out ${name}, which is copied`);
  return join(CONTEXT, name);
}

const stages = new Map();
let stage;
let steps = 0;
const image = {};
try {
  for (const { word, rest, text } of readDockerfile()) {
    if (word === 'FROM') {
      const name = rest[1]?.toUpperCase() === 'AS' ? rest[2] : 'image';
      stage = { root: join(base, name), cwd: join(base, name), env: {} };
      mkdirSync(stage.root, { mode: 0o755 });
      giveAway(stage.root);
      stages.set(name, stage);
      console.log(`== FROM ${rest[0]}: ${stage.root}`);
    } else if (word === 'WORKDIR') {
      stage.cwd = join(stage.root, rest[0]);
      mkdirSync(stage.cwd, { recursive: true });
      giveAway(stage.cwd);
    } else if (word === 'ENV') {
      const [name, ...value] = text.split('=');
      stage.env[name] = value.join('=');
    } else if (word === 'COPY') {
      steps += 1;
      console.log(`== COPY ${text}`);
      const other = rest[0].startsWith('--from=') ? stages.get(rest[0].slice(7)) : undefined;
      const names = rest.filter((part) => !part.startsWith('--'));
      const target = names.pop();
      for (const name of names) {
        const from = other === undefined ? fromContext(name) : join(other.root, name);
        if (!existsSync(from)) throw new Error(`${from} does not exist`);
        const place = resolve(stage.cwd, target);
        const to = statSync(from).isDirectory() ? place : join(place, basename(name));
        mkdirSync(dirname(to), { recursive: true });
        cpSync(from, to, { recursive: true, verbatimSymlinks: true });
        giveAwayFileIfRoot(to);
      }
    } else if (word === 'RUN') {
      steps += 1;
      console.log(`== RUN ${text}`);
      execute(stage, '/bin/sh', ['-c', text]);
    } else if (word === 'ENTRYPOINT' || word === 'CMD') image[word] = JSON.parse(text);
    else if (!['USER', 'EXPOSE', 'HEALTHCHECK', 'STOPSIGNAL'].includes(word))
      throw new Error(`${word} is not known here`);
  }
  for (const argument of ['--version', '--help']) {
    console.log(`== ${[...image.ENTRYPOINT, argument].join(' ')}`);
    execute(stage, image.ENTRYPOINT[0], [...image.ENTRYPOINT.slice(1), argument]);
  }
  const size = spawnSync('du', ['-sm', stage.root], { encoding: 'utf8' }).stdout.split('\t')[0];
  console.log(
    `== ${steps} COPY and RUN executed; ${size} MB on top of the base image; starts with ${[...image.ENTRYPOINT, ...image.CMD].join(' ')}`,
  );
} finally {
  rmSync(base, { recursive: true, force: true });
}

function giveAwayFileIfRoot(path) {
  if (isRoot) giveAwayFile(path);
}
