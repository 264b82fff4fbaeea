// SPDX-License-Identifier: Apache-2.0
// The message that a reply quotes. Pure functions without dependencies.

/** Maximum length of a preview, in code points. */
const maxPreview = 160

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

function beginning(text) {
  // A code point has at most two units.
  const points = [...text.slice(0, 2 * (maxPreview + 1))]
  return points.length > maxPreview ? `${points.slice(0, maxPreview - 1).join('')}…` : text
}
