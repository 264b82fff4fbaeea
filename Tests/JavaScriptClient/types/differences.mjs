// SPDX-License-Identifier: Apache-2.0
// Prints the differences between the modules of the client in a folder and its types, one a line. Depends on Debian's
// TypeScript.
import { createRequire } from 'node:module'

const typescript = createRequire(import.meta.url)('/usr/share/nodejs/typescript/lib/typescript.js')
const folder = process.argv[2]
const client = await import(`${folder}/stillwire.js`)

const types = `${folder}/stillwire.d.ts`
const program = typescript.createProgram([types], { noLib: true, types: [] })
const checker = program.getTypeChecker()
const declared = new Map(
  checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(types))).map((type) => [type.name, type])
)
const isValue = ({ flags }) => flags & typescript.SymbolFlags.Value

function compare(place, exists, described) {
  for (const name of exists) if (!described.includes(name)) console.log(`the types lack ${place}${name}`)
  for (const name of described) if (!exists.includes(name)) console.log(`the client lacks ${place}${name}`)
}

compare('', Object.keys(client), [...declared.values()].filter(isValue).map(({ name }) => name))

const relay = new client.Stillwire('ws://localhost', { WebSocket: class {} })
const objects = {
  Stillwire: relay,
  Room: relay.room('tea'),
  Reporter: new client.Reporter('ws://localhost', 'key'),
  StillwireError: new client.StillwireError({ code: 'closed' }),
}
const ofErrors = ['name', ...Object.getOwnPropertyNames(new Error('message'))]
for (const [name, object] of Object.entries(objects)) {
  const inherited = object instanceof Error ? ofErrors : []
  const members = [...Object.keys(object), ...Object.getOwnPropertyNames(Object.getPrototypeOf(object))]
  compare(
    `${name}.`,
    members.filter((member) => member !== 'constructor' && !inherited.includes(member)),
    [...(declared.get(name)?.members.keys() ?? [])].filter((member) => !member.startsWith('__'))
  )
}
