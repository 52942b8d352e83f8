// Node's v9u-smb2, a descendant of smb2 and marsaud-smb2: SMB 2.0.2, and NTLM without Unicode.
'use strict';

const fs = require('fs');
const path = require('path');
const SMB2 = require('@tryjsky/v9u-smb2');

const A = {};
for (let at = 2; at + 1 < process.argv.length; at += 2) A[process.argv[at].slice(2)] = process.argv[at + 1];

function connect(more) {
  return new SMB2({
    share: `\\\\127.0.0.1\\${A.share}`, port: Number(A.port), domain: '', username: A.user, password: A.password,
    autoCloseTimeout: 0, ...more,
  });
}

function is(got, wanted) {
  if (JSON.stringify(got) !== JSON.stringify(wanted)) throw new Error(`is ${JSON.stringify(got)}, not ${JSON.stringify(wanted)}`);
}

const content = (length) => Buffer.from(Array.from({ length }, (_, i) => (i ^ (i >> 8) ^ (i >> 16)) & 255));
const stored = (name) => path.join(A.folder, name);

async function check(name, test) {
  const client = connect();
  try {
    await test(client);
    console.log(`pass ${name}`);
  } catch (error) {
    console.log(`fail ${name}: ${`${error.code || ''} ${error.message}`.trim().replace(/\s+/g, ' ')}`);
  } finally {
    client.disconnect();
  }
}

async function wrongPassword() {
  const client = connect({ password: 'wrong' });
  try {
    await client.readdir('');
  } catch (error) {
    return is(error.code, 'STATUS_LOGON_FAILURE');
  } finally {
    client.disconnect();
  }
  throw new Error('it may enter');
}

async function thereAndBack(client) {
  const wanted = content(3 << 20);
  await client.writeFile('node file', wanted);
  is((await client.readFile('node file')).equals(wanted), true);
  await client.unlink('node file');
}

async function folders(client) {
  await client.mkdir('node');
  for (const name of ['one', 'two']) await client.writeFile(`node\\${name}`, '12345');
  is((await client.readdir('node')).sort(), ['one', 'two']);
  is(await client.getSize('node\\one'), 5);
  is((await client.stat('node')).isDirectory(), true);
  for (const name of ['one', 'two']) await client.unlink(`node\\${name}`);
  await client.rmdir('node');
  client.disconnect(); // it leaves the folder open, which is removed when it is closed
  for (let tries = 0; tries < 50 && fs.existsSync(stored('node')); tries++) await new Promise((go) => setTimeout(go, 100));
  is(fs.existsSync(stored('node')), false);
}

async function renames(client) {
  await client.writeFile('node before', 'before');
  await client.rename('node before', 'node after');
  await client.writeFile('node before', 'over');
  await client.rename('node before', 'node after', { replace: true });
  is(fs.readFileSync(stored('node after'), 'utf8'), 'over');
  await client.unlink('node after');
}

async function names(client) {
  for (const name of ['d'.repeat(255), 'größe 日本語 🗄']) {
    await client.writeFile(name, 'x');
    is(fs.existsSync(stored(name)), true);
    await client.unlink(name);
    is(fs.existsSync(stored(name)), false);
  }
}

async function symbolicLink(client) {
  fs.writeFileSync(stored('node target'), 'kept');
  fs.symlinkSync('node target', stored('node link'));
  await client.unlink('node link');
  is(fs.readdirSync(A.folder).filter((name) => /^node /.test(name)), ['node target']);
}

(async () => {
  await check('a wrong password', wrongPassword);
  await check('3 MB there and back', thereAndBack);
  await check('folders', folders);
  await check('renames and overwrites', renames);
  await check('long and non-ASCII names', names);
  await check('deletes a symbolic link, not its target', symbolicLink);
  process.exit(0);
})();
