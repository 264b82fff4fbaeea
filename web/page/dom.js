// SPDX-License-Identifier: Apache-2.0
// Helpers for the document: elements, texts, icons and drawing. No dependencies.

/**
 * Makes an element with attributes and children. Strings become text, never markup, so that texts of other people
 * cannot become part of the page. Attributes that are null or false are omitted.
 */
export function element(name, attributes = {}, ...children) {
  const node = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) node.setAttribute(key, value === true ? '' : value)
  }
  node.append(...children.filter((child) => child !== null))
  return node
}

/** An icon that `index.html` defines. It is decoration, and hidden from screen readers. */
export function icon(name) {
  const space = 'http://www.w3.org/2000/svg'
  const svg = document.createElementNS(space, 'svg')
  svg.setAttribute('class', 'icon')
  svg.setAttribute('aria-hidden', 'true')
  const use = document.createElementNS(space, 'use')
  use.setAttribute('href', `#${name}`)
  svg.append(use)
  return svg
}

/** Sets the text only if it differs, so that screen readers do not read it again. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text
}

/** Makes `nodes` the children of `parent`. Moves few nodes, because screen readers read a moved node again. */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes)
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove()
  nodes.forEach((node, at) => {
    if (parent.children[at] !== node) parent.insertBefore(node, parent.children[at] ?? null)
  })
}

/** Returns a function that calls `render` at most once for each drawn frame. */
export function perPicture(render) {
  let isRequested = false
  return () => {
    if (isRequested) return
    isRequested = true
    requestAnimationFrame(() => {
      isRequested = false
      render()
    })
  }
}

/** A round picture with the initials of a name. */
export function avatar(name) {
  const initials = name.split(/\s+/).slice(0, 2).map((word) => [...word][0] ?? '').join('')
  return element('span', { class: 'avatar', 'aria-hidden': 'true', 'data-hue': hue(name) }, initials.toUpperCase())
}

/** The app's icon, as iOS shows it on a notification. */
export function appIcon() {
  return element('span', { class: 'app-picture', 'aria-hidden': 'true' }, icon('mark'))
}

function hue(name) {
  return [...name].reduce((sum, letter, at) => sum + letter.codePointAt(0) * (5 * at + 1), 0) % 6
}
