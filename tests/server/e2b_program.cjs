// What E2B's JavaScript SDK does with a server of ours; fails with the first thing that is otherwise.
const assert = require('node:assert/strict')
const { Sandbox, Secret, Template, Volume } = require('@e2b/code-interpreter')

// Helpers of the SDK's own, and what only computes an address.
const INTERNAL = new Set(('length name prototype defaultTemplate defaultMcpTemplate constructor jupyterUrl ' +
  'getJupyterRequestUrl includeDiagnostics handleRequestError resolveApiOpts fileUrl createSandbox forkSandbox ' +
  'connectSandbox resolveOpts boundOpts getHost getMcpUrl betaPause rpc checkHealth start').split(' '))
const used = new Set()

// The same object, which notes the methods that are called.
function noting (object, prefix) {
  return new Proxy(object, {
    get (target, name) {
      const value = Reflect.get(target, name, target)
      if (typeof value !== 'function') {
        return ['files', 'commands', 'pty', 'git'].includes(name) ? noting(value, name + '.') : value
      }
      return (...given) => { used.add(prefix + String(name)); return value.apply(target, given) }
    }
  })
}

function methodsOf (object) {
  const found = new Set()
  for (let one = object; one && one !== Object.prototype && one !== Function.prototype;
    one = Object.getPrototypeOf(one)) {
    for (const name of Object.getOwnPropertyNames(one)) {
      const { value } = Object.getOwnPropertyDescriptor(one, name)
      if (typeof value === 'function' && !name.startsWith('_') && !INTERNAL.has(name)) found.add(name)
    }
  }
  return [...found]
}

async function rest (kind, one) {
  const context = await one.createCodeContext()
  await one.restartCodeContext(context)
  assert.ok((await one.listCodeContexts()).length > 2)
  await one.removeCodeContext(context)

  await one.runCode('y = 1')
  const [copy] = await one.fork({ count: 1 })
  assert.equal((await copy.runCode('y')).text, '1')
  const snapshot = await one.createSnapshot({ name: 'kept' })
  assert.equal((await one.listSnapshots().nextItems()).length, 1)
  const made = await kind.create(snapshot.snapshotId)
  assert.equal((await made.runCode('y')).text, '1')
  assert.equal(await kind.deleteSnapshot(snapshot.snapshotId), true)
  for (const each of [copy, made]) assert.equal(await kind.kill(each.sandboxId), true)
  assert.equal((await kind.getFullInfo(one.sandboxId)).sandboxId, one.sandboxId)

  await one.files.writeFiles([{ path: 'd/e.txt', data: '1' }])
  assert.equal((await one.files.getInfo('d/e.txt')).size, 1)
  assert.equal(await one.files.makeDir('d/f'), true)
  const upload = new FormData()
  upload.append('file', new Blob(['sent']), 'u.txt')
  await fetch(await one.uploadUrl('u.txt'), { method: 'POST', body: upload })
  assert.equal(await one.files.read('u.txt'), 'sent')

  const sleeping = await one.commands.run('sleep 600', { background: true })
  assert.ok((await one.commands.list()).some((each) => each.pid === sleeping.pid))
  await one.commands.connect(sleeping.pid)
  assert.equal(await one.commands.kill(sleeping.pid), true)

  for (const [call, why] of [
    [() => one.pty.create({ cols: 80, rows: 24, onData () {} }), /job control/],
    [() => one.getMetrics(), /recorded/],
    [() => one.updateNetwork({ allowOut: ['example.com'] }), /--allow/],
    [() => kind.create({ mcp: { duckduckgo: {} } }), /MCP gateways/]
  ]) await assert.rejects(call, why)
  await assert.rejects(one.git.init('/tmp/repository'), (error) => error.exitCode === 127)
}

// The classes beside the sandbox; each method that asks the server is called.
async function others () {
  assert.equal(await Template.exists('base'), true)
  assert.equal(await Template.aliasExists('none'), false)
  const build = { templateId: 'mine', buildId: 'one' }
  const volume = new Volume('one', 'one', 'the-key')
  const template = () => Template().fromPythonImage()
  const calls = {
    Template: {
      build: () => Template.build(template(), 'mine'), buildInBackground: () => Template.buildInBackground(template(), 'mine'),
      getBuildStatus: () => Template.getBuildStatus(build), assignTags: () => Template.assignTags('base', 'new'),
      removeTags: () => Template.removeTags('base', 'new'), getTags: () => Template.getTags('base')
    },
    Volume: {
      create: () => Volume.create('one'), connect: () => Volume.connect('one'), getInfo: () => Volume.getInfo('one'),
      list: () => Volume.list(), destroy: () => Volume.destroy('one')
    },
    volume: {
      list: () => volume.list('/'), makeDir: () => volume.makeDir('/a'), getInfo: () => volume.getInfo('/a'),
      exists: () => volume.exists('/a'), updateMetadata: () => volume.updateMetadata('/a', { mode: 0o600 }),
      readFile: () => volume.readFile('/a'), writeFile: () => volume.writeFile('/a', 'text'), remove: () => volume.remove('/a')
    },
    Secret: {
      create: () => Secret.create('one', 'value'), update: () => Secret.update('one', 'value'), getInfo: () => Secret.getInfo('one'),
      list: () => Secret.list().nextItems(), exists: () => Secret.exists('one'), destroy: () => Secret.destroy('one')
    }
  }
  const reasons = { Template: /Dockerfiles|no tags/, Volume: /volumes are not/, volume: /volumes are not/, Secret: /--secret/ }
  // What only builds a description.
  const local = new Set(['toJSON', 'toDockerfile', 'exists', 'aliasExists', 'fill', 'iamToken', 'length', 'name', 'prototype'])
  for (const [name, kind] of Object.entries({ Template, Volume, Secret, volume })) {
    const wanted = methodsOf(kind).filter((each) => name === 'volume' || name === 'Secret' ? !['fill', 'iamToken'].includes(each) : !local.has(each))
    assert.deepEqual(wanted.filter((each) => !(each in calls[name])), [], name)
    for (const call of Object.values(calls[name])) await assert.rejects(call, reasons[name])
  }
}

async function main() {
  const kind = noting(Sandbox, 'Sandbox.')
  const one = noting(await kind.create({ metadata: { team: 'green' }, envs: { X: '1' } }), '')
  const printed = []
  const run = await one.runCode("x = 1\nprint('p')\nx + 1", { onStdout: (line) => printed.push(line.line) })
  assert.equal(run.text, '2')
  assert.deepEqual(printed, ['p\n'])
  assert.equal((await one.runCode('1 / 0')).error.name, 'ZeroDivisionError')
  const context = await one.createCodeContext()
  assert.equal((await one.runCode('x', { context })).error.name, 'NameError')
  await one.removeCodeContext(context)

  const done = await one.commands.run('echo $X$Y; echo e >&2', { envs: { Y: '2' } })
  assert.deepEqual([done.stdout, done.stderr, done.exitCode], ['12\n', 'e\n', 0])
  await assert.rejects(one.commands.run('exit 3'), (error) => error.exitCode === 3)
  const handle = await one.commands.run('cat', { background: true, stdin: true })
  await one.commands.sendStdin(handle.pid, 'sent\n')
  await one.commands.closeStdin(handle.pid)
  assert.equal((await handle.wait()).stdout, 'sent\n')

  const events = []
  const watch = await one.files.watchDir('.', (event) => events.push(event.type))
  await one.files.write('a/b.txt', 'text')
  assert.equal(await one.files.read('a/b.txt'), 'text')
  assert.deepEqual((await one.files.list('a')).map((entry) => entry.path), ['/home/user/a/b.txt'])
  await one.files.rename('a/b.txt', 'c.txt')
  assert.equal(await one.files.exists('a/b.txt'), false)
  await one.files.remove('c.txt')
  while (!events.includes('remove')) await new Promise((resolve) => setTimeout(resolve, 20))
  await watch.stop()
  await one.files.write('signed.txt', 'here')
  assert.equal(await (await fetch(await one.downloadUrl('signed.txt'))).text(), 'here')

  await rest(kind, one)
  assert.equal(await one.pause(), true)
  const again = noting(await kind.connect(one.sandboxId), '')
  assert.equal((await again.runCode('x')).text, '1')
  const listed = await kind.list({ query: { metadata: { team: 'green' } } }).nextItems()
  assert.deepEqual(listed.map((info) => info.sandboxId), [one.sandboxId])
  await again.connect()
  await again.setTimeout(60_000)
  assert.equal((await again.getInfo()).state, 'running')
  assert.equal(await again.kill(), true)
  assert.equal(await again.isRunning(), false)

  // Of a terminal nothing can be asked once it cannot be created; streams are inputs like the others.
  const known = new Set(['pty.sendInput', 'pty.resize', 'pty.kill', 'pty.connect', 'pty.streamInput', 'getMcpToken'])
  const wanted = [...methodsOf(await kind.connect(listed[0].sandboxId).catch(() => one))]
  for (const part of ['files', 'commands', 'pty']) wanted.push(...methodsOf(one[part]).map((name) => `${part}.${name}`))
  for (const name of methodsOf(Sandbox)) if (!used.has(name)) wanted.push('Sandbox.' + name)
  const unused = wanted.filter((name) => !used.has(name) && !used.has(name.replace('Sandbox.', '')) && !known.has(name))
  assert.deepEqual(unused, [])
  await others()
  console.log('all of it works')
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
