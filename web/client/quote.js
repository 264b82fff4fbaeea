// SPDX-License-Identifier: Apache-2.0
// The message that a reply quotes. Pure functions without dependencies.

/** Maximum length of a preview: characters as people see them, and bytes. */
const maxPreview = 160
const maxPreviewBytes = 1_024

/**
 * Returns the quote of a reply after an event of the room: an edit or a deletion of the quoted message changes it.
 * Returns the same object for all other events. A quote without a preview stays without one, because the room may have
 * no previews.
 */
export function quoteAfter(quote, { type, seq, body }) {
  if (!quote || quote.seq !== seq) return quote
  const { preview, ...rest } = quote
  if (type === 'deleted') return { ...rest, deleted: true }
  if (type !== 'edited' || preview === undefined) return quote
  const text = typeof body === 'string' ? body : body?.text
  return typeof text === 'string' ? { ...rest, preview: beginning(text) } : rest
}

// The relay cuts a preview in the same way.
function beginning(text) {
  const shown = []
  let size = 0
  for (const character of characters(text)) {
    shown.push(character)
    size += bytes(character)
    if (shown.length <= maxPreview && size <= maxPreviewBytes) continue
    while (shown.length >= maxPreview || size > maxPreviewBytes - bytes('…')) size -= bytes(shown.pop())
    return `${shown.join('')}…`
  }
  return text
}

// Without `Intl.Segmenter`, a character is a code point.
function* characters(text) {
  if (!Intl.Segmenter) return yield* text
  for (const { segment } of new Intl.Segmenter().segment(text)) yield segment
}

const bytes = (text) => new TextEncoder().encode(text).length
