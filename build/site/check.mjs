// Checks the built site in headless Chromium, and writes screenshots. It fails if
//
//   - a page requests anything from another host, or reports an error,
//   - a page is wider than the screen,
//   - a link inside the site leads nowhere, or the sidebar lacks a page,
//   - axe-core finds something on a page of visited.json, at any width, light or dark,
//   - the search does not find prune-policy.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { chromium } from 'playwright-core'
import { address, sidebar, sources } from './pages.mjs'

const here = import.meta.dirname
const dist = path.join(here, 'dist')
const shots = path.join(here, 'screenshots')
const widths = { 390: 844, 820: 1180, 1440: 900 }
const sought = 'prune-policy'
const axe = path.join(here, 'node_modules/axe-core/axe.min.js')
const programs = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const visited = JSON.parse(fs.readFileSync(path.join(here, 'visited.json'))).map(address)
const types = {
  '.css': 'text/css', '.html': 'text/html', '.js': 'text/javascript', '.json': 'application/json', '.png': 'image/png',
  '.svg': 'image/svg+xml', '.woff2': 'font/woff2',
}

const problems = new Set()

// found reports a problem, once.
function found(problem) {
  if (!problems.has(problem)) console.error(problem)
  problems.add(problem)
}

// browser returns the path of Chromium: CHROMIUM, or a program in PATH.
function browser() {
  const candidates = programs.flatMap((name) => process.env.PATH.split(':').map((folder) => path.join(folder, name)))
  const program = process.env.CHROMIUM || candidates.find((file) => fs.existsSync(file))
  if (!program) throw new Error(`none of ${programs.join(', ')} is in PATH; install one, or set CHROMIUM`)
  return program
}

// isFile reports whether a file exists. An address without a slash at its end may be that of a folder.
const isFile = (name) => fs.existsSync(name) && fs.statSync(name).isFile()

// serve serves the site on a port of loopback.
async function serve() {
  const server = http.createServer((request, response) => {
    const name = decodeURI(new URL(request.url, 'http://localhost').pathname).replace(/\/$/, '/index.html')
    const file = path.join(dist, name)
    if (!isFile(file)) return response.writeHead(404).end()
    response.writeHead(200, { 'content-type': types[path.extname(file)] ?? 'application/octet-stream' })
    fs.createReadStream(file).pipe(response)
  })
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready))
  return server
}

// checkLinks checks that each link inside the site leads to an existing file and heading, and that each page is in the
// sidebar, except the first.
function checkLinks() {
  const files = new Map(fs.readdirSync(dist, { recursive: true }).filter((name) => name.endsWith('.html'))
    .map((name) => ['/' + name, fs.readFileSync(path.join(dist, name), 'utf8')]))
  const ids = new Map([...files].map(([name, text]) => [name, new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id))]))
  for (const [name, text] of files) {
    for (const [, link] of text.matchAll(/<a [^>]*?href="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(link.replaceAll('&amp;', '&'), 'http://site' + name)
      if (origin !== 'http://site') continue
      const to = pathname.replace(/\/$/, '/index.html')
      if (!isFile(path.join(dist, decodeURI(to)))) found(`${name}: link to ${link}: no such page`)
      else if (hash && !ids.get(to)?.has(decodeURIComponent(hash.slice(1)))) found(`${name}: link to ${link}: no such heading`)
    }
  }
  const listed = new Set()
  const list = ({ link, items }) => (listed.add(link), items?.forEach(list))
  sidebar().forEach(list)
  for (const page of sources().map(address).filter((page) => !['index', 'contents'].includes(page))) {
    if (!listed.has(`/${page}.html`)) found(`${page}: the sidebar lacks the page`)
  }
}

// open returns a page of the browser that reports errors and requests to other hosts, which are refused.
async function open(chrome, origin) {
  const context = await chrome.newContext({ reducedMotion: 'reduce' })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const report = (what) => found(`${new URL(page.url()).pathname}: ${what}`)
  await context.route((url) => url.origin !== origin && /^(https?|wss?):$/.test(url.protocol), (route) => {
    report(`requests ${route.request().url()}`)
    return route.abort()
  })
  page.on('pageerror', (error) => report(error.message))
  page.on('console', (message) => message.type() === 'error' && report(message.text()))
  return page
}

async function checkWidth(page, name, width) {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth)
  if (wide > width) found(`${name}: ${wide} pixels wide on a screen of ${width}`)
}

// look checks what a page shows at each width, light and dark, and writes screenshots.
async function look(page, name) {
  await page.evaluate(() => document.fonts.ready)
  await page.addScriptTag({ path: axe })
  for (const width of Object.keys(widths).map(Number)) {
    await page.setViewportSize({ width, height: widths[width] })
    for (const colorScheme of ['light', 'dark']) {
      await page.emulateMedia({ colorScheme })
      await page.locator(colorScheme === 'dark' ? 'html.dark' : 'html:not(.dark)').waitFor({ state: 'attached' })
      await page.screenshot({ path: path.join(shots, `${name.replaceAll('/', '-')}-${width}-${colorScheme}.png`) })
      await inspect(page, `${name}, ${width}, ${colorScheme}`)
    }
    await checkWidth(page, name, width)
  }
}

// inspect reports what axe-core finds on a page as it is now.
async function inspect(page, where) {
  const { violations } = await page.evaluate(() => globalThis.axe.run({ resultTypes: ['violations'] }))
  for (const { id, help, nodes } of violations) {
    for (const { html, failureSummary } of nodes.slice(0, 3)) {
      found(`${where}: ${id}: ${help}\n  ${html.slice(0, 200)}\n  ${failureSummary.replaceAll('\n', '\n  ')}`)
    }
  }
}

async function search(page, origin) {
  await page.goto(`${origin}/contents.html`)
  await page.locator('#local-search button').click()
  await page.locator('#localsearch-input').fill(sought)
  const results = page.locator('#localsearch-list .result')
  await results.first().waitFor({ timeout: 30_000 }).catch(() => found(`search: nothing found for ${sought}`))
  const links = await results.evaluateAll((found) => found.map((result) => result.getAttribute('href')))
  if (!links.some((link) => link.includes('settings'))) found(`search: ${sought} leads to ${links}, want the settings`)
}

fs.rmSync(shots, { recursive: true, force: true })
checkLinks()
const server = await serve()
const origin = `http://127.0.0.1:${server.address().port}`
const chrome = await chromium.launch({ executablePath: browser() })
try {
  const page = await open(chrome, origin)
  for (const name of visited) {
    await page.goto(`${origin}/${name}.html`, { waitUntil: 'networkidle' })
    await look(page, name)
  }
  await search(page, origin)
  await look(page, 'search')
  const [narrow] = Object.keys(widths).map(Number)
  await page.setViewportSize({ width: narrow, height: widths[narrow] })
  for (const name of sources().map(address)) {
    await page.goto(`${origin}/${name}.html`)
    await checkWidth(page, name, narrow)
  }
} finally {
  await chrome.close()
  server.close()
}
console.log(`${sources().length} pages, ${visited.length + 1} of them seen in ${shots}: ${problems.size} problems`)
process.exitCode = problems.size > 0 ? 1 : 0
