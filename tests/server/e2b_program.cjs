// What E2B's JavaScript SDK does with a server of ours; fails with the first thing that is otherwise.
const assert = require('node:assert/strict')
const { Sandbox } = require('@e2b/code-interpreter')

async function main() {
  const one = await Sandbox.create({ metadata: { team: 'green' }, envs: { X: '1' } })
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

  assert.equal(await one.pause(), true)
  const again = await Sandbox.connect(one.sandboxId)
  assert.equal((await again.runCode('x')).text, '1')
  const listed = await Sandbox.list({ query: { metadata: { team: 'green' } } }).nextItems()
  assert.deepEqual(listed.map((info) => info.sandboxId), [one.sandboxId])
  await again.setTimeout(60_000)
  assert.equal((await again.getInfo()).state, 'running')
  assert.equal(await again.kill(), true)
  assert.equal(await again.isRunning(), false)
  console.log('all of it works')
}

main().catch((error) => {
  console.error(error)
  process.exit(1)
})
