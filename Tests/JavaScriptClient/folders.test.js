// SPDX-License-Identifier: Apache-2.0
// Tests that the modules of each folder import only from permitted folders.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const web = resolve(dirname(fileURLToPath(import.meta.url)), '../../web')
/** The folders that the modules of a folder may import from, besides their own. */
const allowed = { client: [], page: ['client'], watch: ['client', 'page'] }

for (const [folder, others] of Object.entries(allowed)) {
  test(`modules of ${folder} import from ${[folder, ...others].join(', ')} only`, () => {
    const names = readdirSync(`${web}/${folder}`).filter((name) => name.endsWith('.js'))
    assert.ok(names.length > 0)
    for (const name of names) {
      const text = readFileSync(`${web}/${folder}/${name}`, 'utf8')
      for (const [, path] of text.matchAll(/(?:\bfrom|^import|\bimport\()\s*'([^']+)'/gm)) {
        const [target] = relative(web, resolve(web, folder, path)).split('/')
        assert.ok([folder, ...others].includes(target), `${folder}/${name} imports ${path}`)
      }
    }
  })
}
