// SPDX-License-Identifier: Apache-2.0
// Shows the API of the relay that serves this page, which is the folder above the documentation.
const dark = matchMedia('(prefers-color-scheme: dark)')
const apply = () => document.documentElement.classList.toggle('dark-mode', dark.matches)
dark.addEventListener('change', apply)
apply()

SwaggerUIBundle({
  url: new URL('../../openapi.json', location).href,
  dom_id: '#swagger-ui',
  deepLinking: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
})
